"""Work done in a process of its own, which starts quickly and is gone afterwards."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([f"tests.torture.{name}" for name in ("hands", "buying", "disks", "calls")])


def in_child(work: Callable[..., T], *args: Any, within_s: float = 60.0, **options: Any) -> T:
    """What `work` (a function of a module) returns in a new process; fails when that raises, hangs or dies."""
    mine, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_tell, args=(theirs, work, args, options))
    process.start()
    theirs.close()
    try:
        assert mine.poll(within_s), f"{work} hangs"
        result, failure = mine.recv()
    finally:
        process.kill()
        process.join(20)
        process.close()
        mine.close()
    assert failure is None, failure
    return result  # type: ignore[no-any-return]


def _tell(pipe: Connection, work: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> None:
    try:
        result, failure = work(*args, **options), None
    except BaseException:
        result, failure = None, traceback.format_exc()
        pipe.send((result, failure))
        raise
    pipe.send((result, failure))

"""The core on simulated clocks, processes and disks. Nothing else of it is changed."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from anyio import to_thread

from jupyter_gpu_clusters.core import consent, database, models, orders, rows, watch, watching
from jupyter_gpu_clusters.core.claims import Claims

from .clock import wall_time
from .process import CURRENT, Killed

if TYPE_CHECKING:
    from .world import World

_WATCH_TICK_S = 2.0
"""How often watchers look into the journal; the core's quarter of a second would only cost time."""


@contextmanager
def simulated(world: World) -> Iterator[None]:
    """Run the core in `world` for the block."""
    clock = SimpleNamespace(monotonic=world.loop.time)
    numbers = itertools.count()

    def random_bytes(size: int) -> bytes:
        return hashlib.shake_256(str(next(numbers)).encode()).digest(size)

    replaced: list[tuple[Any, str, Any]] = [
        (to_thread, "run_sync", _threads_of(world)),
        (models, "datetime", _wall_clock(world)),
        (consent, "time", clock),
        (watch, "time", clock),
        (watching, "time", clock),
        (watch, "_TICK_S", _WATCH_TICK_S),
        (watching, "_TICK_S", _WATCH_TICK_S),
        (orders, "this_process", _sender),
        (watch, "this_process", _sender),
        (orders, "is_dead", world.is_dead),
        (rows, "gethostname", _host_name),
        (os, "urandom", random_bytes),
        (database, "_is_on_local_disk", lambda path: True),
        (database, "_file_id", lambda path: None),
        (os, "fsync", lambda handle: None),
        (database.Database, "write", _durable(world, database.Database.write)),
        *((Claims, name, _durable(world, getattr(Claims, name))) for name in ("claim", "update", "release")),
    ]
    with ExitStack() as stack:
        for where, name, value in replaced:
            stack.enter_context(patch.object(where, name, value))
        yield


def _threads_of(world: World) -> Callable[..., Any]:
    async def run_sync(work: Callable[..., Any], *args: Any, **_: Any) -> Any:
        """A worker thread that is as fast as it can be; its process may be stopped before and within the work."""
        process = CURRENT.get()
        if process is None:
            return work(*args)
        await process.gate()
        try:
            return work(*args)
        except Killed:
            await process.gate()
        finally:
            world.look_closely()

    return run_sync


def _durable(world: World, original: Callable[..., Any]) -> Callable[..., Any]:
    """A write to the disk: the process may be killed just before and just after it."""

    def write(*args: Any, **kwargs: Any) -> Any:
        process = CURRENT.get()
        if process is not None:
            process.at_disk()
        result = original(*args, **kwargs)
        world.checks.note_write(process)
        if process is not None:
            process.at_disk()
        return result

    return write


def _wall_clock(world: World) -> type[datetime]:
    class WallClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            process = CURRENT.get()
            return wall_time(world.loop.time(), process.host.offset_s if process is not None else 0.0)

    return WallClock


def _host_name() -> str:
    process = CURRENT.get()
    return process.host.name if process is not None else ""


def _sender() -> str:
    process = CURRENT.get()
    assert process is not None
    return process.sender

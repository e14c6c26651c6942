"""Async iterators for synchronous callers, with a pulse, so that a caller can act while nothing comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ..core import bridge

T = TypeVar("T")


@contextmanager
def following(source: Callable[[], AsyncIterator[T]], gap_s: Callable[[], float]) -> Iterator[Iterator[T | None]]:
    """Iterate `source` on the background loop, with ticks; it is closed at the end of the block, however that comes."""

    def ticking() -> AsyncIterator[T | None]:
        return with_ticks(source(), gap_s)

    items = bridge.iterate(ticking)
    try:
        yield items
    finally:
        items.close()


async def with_ticks(source: AsyncIterator[T], gap_s: Callable[[], float]) -> AsyncIterator[T | None]:
    """What `source` yields, and ``None`` whenever nothing has come for ``gap_s()`` seconds.

    `source` is closed when this iterator ends or is closed. The next item is asked for only when the caller
    comes back, so that `source` is at rest between items.
    """
    pending: asyncio.Future[T | None] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(_next(source))
            await asyncio.wait({pending}, timeout=gap_s())
            if not pending.done():
                yield None
                continue
            item, pending = pending.result(), None
            if item is None:
                return
            yield item
    finally:
        if pending is not None:
            pending.cancel()
            await asyncio.wait({pending})
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


async def _next(source: AsyncIterator[T]) -> T | None:
    return await anext(source, None)

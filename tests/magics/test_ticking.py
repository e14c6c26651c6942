"""An iterator with a pulse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from jupyter_gpu_clusters.magics.ticking import with_ticks


class Source:
    """Yields what is put into it; knows whether it was closed while at rest."""

    def __init__(self) -> None:
        self.items: asyncio.Queue[int | None] = asyncio.Queue()
        self.was_closed = False
        self.was_cancelled = False

    async def __call__(self) -> AsyncGenerator[int, None]:
        try:
            while (item := await self.items.get()) is not None:
                yield item
        except GeneratorExit:
            self.was_closed = True
            raise
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


def test_ticks_come_only_while_nothing_else_does() -> None:
    async def go() -> list[int | None]:
        source = Source()
        seen: list[int | None] = []
        source.items.put_nowait(1)
        async for item in with_ticks(source(), lambda: 0.02):
            seen.append(item)
            if len(seen) == 3:
                source.items.put_nowait(2)
                source.items.put_nowait(None)
        return seen

    seen = asyncio.run(go())
    assert seen[:3] == [1, None, None]
    assert [item for item in seen if item is not None] == [1, 2]


def test_leaving_between_items_closes_the_source_undisturbed() -> None:
    async def go() -> Source:
        source = Source()
        source.items.put_nowait(1)
        ticking = with_ticks(source(), lambda: 5.0)
        assert await anext(ticking) == 1
        await ticking.aclose()  # type: ignore[attr-defined]
        return source

    source = asyncio.run(go())
    assert (source.was_closed, source.was_cancelled) == (True, False)


def test_leaving_while_waiting_ends_the_source() -> None:
    async def go() -> Source:
        source = Source()
        async with aclosing(with_ticks(source(), lambda: 0.01)) as ticking:  # type: ignore[type-var]
            assert await anext(ticking) is None
        return source

    assert asyncio.run(go()).was_cancelled


def test_an_error_of_the_source_comes_through() -> None:
    async def broken() -> AsyncGenerator[int, None]:
        raise OSError("gone")
        yield 1

    async def go() -> None:
        async for _ in with_ticks(broken(), lambda: 1.0):
            pass

    with pytest.raises(OSError, match="gone"):
        asyncio.run(go())

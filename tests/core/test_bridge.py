"""The bridge between synchronous callers and the background loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from jupyter_gpu_clusters.core import bridge
from tests.until import until


async def _twice(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def _numbers(ended: list[str]) -> AsyncIterator[int]:
    try:
        for number in range(1000):
            yield number
    finally:
        await asyncio.sleep(0.01)
        ended.append("closed")


class _Slow:
    """A wait whose clean-up takes several steps, as ending a child process does."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.steps = 0

    async def wait(self) -> None:
        try:
            self.began.set()
            await asyncio.sleep(60)
        finally:
            for _ in range(5):
                await asyncio.sleep(0.02)
                self.steps += 1


def test_a_call_gives_the_result_and_the_error() -> None:
    async def fail() -> None:
        raise TimeoutError("its own")

    assert bridge.call(_twice, 21) == 42
    with pytest.raises(TimeoutError, match="its own"):
        bridge.call(fail)


def test_an_iterator_is_closed_with_its_generator() -> None:
    ended: list[str] = []
    numbers = bridge.iterate(_numbers, ended)
    assert [next(numbers), next(numbers)] == [0, 1]
    numbers.close()
    assert ended == ["closed"]


def test_a_cancelled_wait_cleans_up_to_the_end() -> None:
    slow = _Slow()
    future = bridge.start(slow.wait)
    assert slow.began.wait(10)
    future.cancel()
    until(lambda: slow.steps == 5)


def test_closing_lets_what_waits_clean_up_to_the_end() -> None:
    slow = _Slow()
    bridge.start(slow.wait)
    assert slow.began.wait(10)
    bridge.close()
    assert slow.steps == 5

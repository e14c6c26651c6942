"""Simulated time: an event loop whose clock jumps to the next timer, and wall clocks that differ from host to host."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

_BEGAN = datetime(2030, 1, 1, tzinfo=UTC)


class NothingLeftToHappenError(RuntimeError):
    """Every task waits for something that no timer will bring."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes only when nothing is left to do at the present moment; then it jumps."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self._advance))
        self._clock_resolution = 1e-6

    def time(self) -> float:
        """Seconds since the simulation began."""
        return self._now

    def _advance(self, seconds: float) -> None:
        self._now += seconds

    def run_for(self, seconds: float) -> None:
        """Let everything happen that happens within `seconds`."""
        self.run_until_complete(asyncio.sleep(seconds))


class _Jumping(selectors.SelectSelector):
    def __init__(self, advance: Callable[[float], None]) -> None:
        super().__init__()
        self._advance_by = advance

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingLeftToHappenError
        if timeout > 0:
            self._advance_by(timeout)
        return []


def wall_time(true_s: float, offset_s: float) -> datetime:
    """What a wall clock that is `offset_s` ahead shows at a moment of the simulation."""
    return _BEGAN + timedelta(seconds=true_s + offset_s)


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that has nothing to wait for."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("it waited")

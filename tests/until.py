"""Waiting in tests: poll for a condition until a deadline, never a bare sleep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], *, within_s: float = 20.0, every_s: float = 0.05) -> T:
    """The first truthy result of `condition`; fails the test after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition}"
        time.sleep(every_s)


async def until_async(condition: Callable[[], Awaitable[T]], *, within_s: float = 20.0, every_s: float = 0.05) -> T:
    """The same for an async condition."""
    deadline = time.monotonic() + within_s
    while True:
        result = await condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition}"
        await asyncio.sleep(every_s)

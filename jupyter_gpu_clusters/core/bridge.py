"""Runs the service's async verbs for synchronous callers: one background thread with its own event loop.

Nothing is patched or nested, so it works with or without a running loop, from the main thread, subshells and
widget callbacks. Waiting is interruptible: an interrupt cancels the wait; writes that are under way are
shielded by the service and go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import ParamSpec, TypeVar

from anyio import CancelScope
from anyio.from_thread import BlockingPortal, start_blocking_portal

from .service import Service

P = ParamSpec("P")
T = TypeVar("T")

_CLOSE_WITHIN_S = 12.0
_WAKE_S = 0.5
_END = object()


class _Bridge:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.stack = contextlib.ExitStack()
        self.portal: BlockingPortal | None = None
        self.thread: threading.Thread | None = None
        self.service: Service | None = None

    def open_portal(self) -> BlockingPortal:
        with self.lock:
            if self.portal is None:
                self.portal = self.stack.enter_context(start_blocking_portal("asyncio"))
                self.thread = self.portal.call(threading.current_thread)
                threading.Thread(target=self._close_after_main, name="gpu-clusters-close").start()
            return self.portal

    def _close_after_main(self) -> None:
        """At exit the interpreter joins this thread before atexit handlers run, while worker threads still work."""
        threading.main_thread().join()
        self.close()

    def close(self) -> None:
        """End waits, let running writes record their answers (bounded), stop the thread."""
        portal, opened = self.portal, self.service
        if portal is None or os.getpid() != self.pid:
            return
        with contextlib.suppress(FutureTimeoutError, CancelledError, RuntimeError):
            if opened is not None:
                portal.start_task_soon(opened.aclose).result(_CLOSE_WITHIN_S)
            portal.start_task_soon(portal.stop, True).result(_CLOSE_WITHIN_S)
        if self.thread is not None:
            self.thread.join(_CLOSE_WITHIN_S)


_bridge = _Bridge()


def _current() -> _Bridge:
    global _bridge
    if _bridge.pid != os.getpid():
        _bridge = _Bridge()
    return _bridge


def service() -> Service:
    """The service of this process, opened at first use.

    Raises
    ------
    SettingsError : the accounts file has mistakes.
    """
    bridge = _current()
    with bridge.lock:
        if bridge.service is None:
            bridge.service = Service.open()
        return bridge.service


def start(fn: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Run an async function on the background loop without waiting; cancelling the future cancels it."""

    return _start_on(_current().open_portal(), lambda: fn(*args, **kwargs))


def call(fn: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run an async function on the background loop and wait for its result.

    Raises
    ------
    KeyboardInterrupt : the user interrupted; the wait is over, shielded writes go on.
    """
    return _wait(start(fn, *args, **kwargs))


def iterate(fn: Callable[P, AsyncIterator[T]], /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
    """The same for an async iterator; close the generator (an interrupt does) to end it."""
    portal = _current().open_portal()
    source = fn(*args, **kwargs)

    async def step() -> object:
        return await anext(source, _END)

    async def finish() -> None:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()

    try:
        while (item := _wait(_start_on(portal, step))) is not _END:
            yield item  # type: ignore[misc]  # anext's default is told apart by identity
    finally:
        with contextlib.suppress(RuntimeError, FutureTimeoutError, CancelledError):
            _start_on(portal, finish).result(_CLOSE_WITHIN_S)


def _start_on(portal: BlockingPortal, fn: Callable[[], Awaitable[T]]) -> Future[T]:
    """Run `fn` in a task of its own, which is cancelled once and may then clean up in several steps.

    The portal's own scope would cancel again at every step, and cut short the ending of a child process.
    """

    async def run() -> T:
        task = asyncio.ensure_future(fn())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            with CancelScope(shield=True):
                await asyncio.gather(task, return_exceptions=True)
            raise

    return portal.start_task_soon(run)


def _wait(future: Future[T]) -> T:
    try:
        while True:
            with contextlib.suppress(FutureTimeoutError):
                return future.result(_WAKE_S)
            if future.done():
                return future.result()
    except BaseException:
        future.cancel()
        raise


def close() -> None:
    """Stop the background loop; the next use starts a new one."""
    global _bridge
    _bridge.close()
    _bridge = _Bridge()

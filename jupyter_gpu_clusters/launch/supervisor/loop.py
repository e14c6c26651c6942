"""The one place where a node waits."""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable
from typing import Any


class Loop:
    """Calls back for files that can be read. A signal ends a wait too."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        wake_read, wake_write = os.pipe()
        for fd in (wake_read, wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self.watch(wake_read, lambda fd: os.read(fd, 4096))

    def watch(self, thing: Any, callback: Callable[[Any], Any]) -> None:
        self._selector.register(thing, selectors.EVENT_READ, callback)

    def unwatch(self, thing: Any) -> None:
        self._selector.unregister(thing)

    def wait(self, at_most_s: float) -> None:
        for key, _ in self._selector.select(at_most_s):
            # A callback before may have closed this one, and its number may stand for another file by now.
            if self._selector.get_map().get(key.fd) is key:
                key.data(key.fileobj)

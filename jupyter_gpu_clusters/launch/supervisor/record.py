"""When a node's state is written."""

from __future__ import annotations

import contextlib
import time

from .messages import Json
from .state_file import StateFile


class Record:
    """The states of one node: written when they changed, and not more often than a disk can take."""

    PAUSE_S = 0.1
    """Between two states that only time and output changed; each costs a sync of the disk."""
    PATIENCE_S = 600.0
    """For the final state; its space exists, so only a file system that fails needs any."""

    def __init__(self, folder: str, payload_bytes: int) -> None:
        """Raises OSError where the space cannot be had."""
        self._file = StateFile.create(folder, payload_bytes)
        self._saved: Json | None = None
        self._next_save = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next_save

    def save(self, state: Json) -> None:
        """Write the state if it changed. One that cannot be written now is tried again when the next is due."""
        if state == self._saved:
            return
        self._next_save = time.monotonic() + self.PAUSE_S
        with contextlib.suppress(OSError):
            self._file.write(state)
            self._saved = state

    def save_final(self, state: Json) -> None:
        deadline = time.monotonic() + self.PATIENCE_S
        while time.monotonic() < deadline:
            try:
                self._file.write(state)
                return
            except OSError:
                time.sleep(1.0)

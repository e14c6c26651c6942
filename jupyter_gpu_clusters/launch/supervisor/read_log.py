"""The command "read-log": output of all ranks on this machine, as it comes."""

from __future__ import annotations

import os
import select
import time
from typing import BinaryIO

from .folder import folders_of, log_sizes
from .log_reader import LogReader
from .messages import Json, encode
from .status import describe, is_over


class LogFeed:
    """Frames of ``{"rank", "offset", "length"}`` and then so many bytes, until all is told.

    The reader that left is noticed: by its closed stdin, or by a pipe that breaks.
    """

    POLL_S = 0.05
    LOOK_S = 0.2
    BEAT_S = 10.0

    def __init__(self, workload_id: str, request: Json, out: BinaryIO) -> None:
        self._request = request
        self._folders = folders_of(workload_id, request["roots"])
        self._readers: dict[int, LogReader] = {}
        self._out = out
        self._next_look = 0.0
        self._was_over = False
        self._is_first_look = True

    def run(self) -> None:
        """Raises BrokenPipeError."""
        self._greet()
        quiet_since = time.monotonic()
        while True:
            is_over = self._is_over()
            self._find_logs()
            if self._copy_round(is_over):
                quiet_since = time.monotonic()
                continue
            if is_over or not self._request["follow"]:
                break
            self._out.flush()
            if self._has_reader_left():
                return
            if time.monotonic() > quiet_since + self.BEAT_S:
                quiet_since = time.monotonic()
                self._frame({"beat": True})
        self._frame({"end": True})
        self._out.flush()

    def _frame(self, header: Json, data: bytes = b"") -> None:
        self._out.write(encode(header) + data)

    def _greet(self) -> None:
        entries = [entry for entry in map(describe, self._folders) if entry]
        about = next((entry["state"]["about"] for entry in entries if entry["state"]), None)
        world = about["nodes"] * (about["procs_per_node"] or 1) if about else None
        self._frame({"is_known": bool(entries), "world": world})

    def _has_reader_left(self) -> bool:
        """Waits for a moment on the way."""
        return bool(select.select([0], [], [], self.POLL_S)[0]) and not os.read(0, 4096)

    def _is_over(self) -> bool:
        """Looked at before the logs are read, so that what is read after a "yes" is all there is."""
        if not self._was_over and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + self.LOOK_S
            self._was_over = all(is_over(describe(folder)) for folder in self._folders)
        return self._was_over

    def _find_logs(self) -> None:
        """Logs there are; all of a node's appear before anything runs."""
        wanted = self._request["ranks"]
        for folder in self._folders:
            for rank in sorted(log_sizes(folder)):
                if rank not in self._readers and (wanted is None or rank in wanted):
                    self._readers[rank] = self._open(rank, folder)
        self._is_first_look = False

    def _open(self, rank: int, folder: str) -> LogReader:
        offset, tail = self._request["offsets"].get(str(rank)), self._request["tail"]
        reader = LogReader(rank, folder, offset or 0)
        if offset is None and tail is not None and self._is_first_look:
            reader.start_at_tail(tail)
        return reader

    def _copy_round(self, is_over: bool) -> bool:
        """One piece of every rank, so that none waits for another."""
        has_moved = False
        for reader in self._readers.values():
            offset = reader.position
            piece = reader.read(self._request["follow"], is_over)
            if piece:
                has_moved = True
                self._frame({"rank": reader.rank, "offset": offset, "length": len(piece)}, piece)
        return has_moved

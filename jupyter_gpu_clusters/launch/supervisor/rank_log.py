"""Output of ranks on disk."""

from __future__ import annotations

import contextlib
import errno
import os
import time

from .state_file import write_all


class RankLog:
    """One rank's output file. What does not fit on the disk is dropped and counted; the rank never notices.

    As soon as there is room again, a line in the file says how much is missing at that place.
    """

    RETRY_S = 0.5
    ROOM_BYTES = 64 * 1024

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        self.lost_bytes = 0
        self._gap_bytes = 0
        self._gap_cause = ""
        self._next_try = 0.0
        self._is_at_line_start = True

    def write(self, data: bytes) -> None:
        self.mark_gap()
        if self._gap_bytes:
            self._lose(len(data), self._gap_cause)
            return
        view = memoryview(data)
        try:
            while view:
                count = os.write(self.fd, view)
                self._is_at_line_start = view[count - 1] == 10
                view = view[count:]
        except OSError as exc:
            self._lose(len(view), os.strerror(exc.errno or errno.EIO))

    def mark_gap(self) -> None:
        """If there is a gap, write the line that marks it, where there is room for it and some output after it."""
        if self._gap_bytes and time.monotonic() >= self._next_try and self._has_room():
            self._next_try = time.monotonic() + self.RETRY_S
            self._write_mark()

    def _write_mark(self) -> None:
        """The whole line or nothing."""
        start = "" if self._is_at_line_start else "\n"
        line = f"{start}[... {self._gap_bytes} bytes of output lost: {self._gap_cause}]\n".encode()
        size = os.fstat(self.fd).st_size
        with contextlib.suppress(OSError):
            if os.write(self.fd, line) < len(line):
                os.ftruncate(self.fd, size)
                return
            self._gap_bytes = 0
            self._is_at_line_start = True

    def _has_room(self) -> bool:
        disk = os.fstatvfs(self.fd)
        return disk.f_bavail * disk.f_frsize >= self.ROOM_BYTES

    def _lose(self, count: int, cause: str) -> None:
        self.lost_bytes += count
        self._gap_bytes += count
        self._gap_cause = cause

    def close(self) -> None:
        """Nothing is written after it; a gap is marked now, however little room there is."""
        if self._gap_bytes:
            self._write_mark()
        os.close(self.fd)


class Reserve:
    """A file of zeros that is given back at the end, so that gaps can be marked although the disk stayed full."""

    def __init__(self, folder: str, ranks: int) -> None:
        """Raises OSError where the space cannot be had."""
        self._path = os.path.join(folder, "reserve")
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(fd, bytes(8192 * ranks))
            os.fsync(fd)
        finally:
            os.close(fd)

    def release(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)

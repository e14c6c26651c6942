"""Reading one rank's log in pieces that can be shown as they are."""

from __future__ import annotations

import os
import time

from .folder import log_path


class LogReader:
    """Pieces end with a line, or, where a line is slow to end, with a whole character."""

    PIECE_BYTES = 64 * 1024
    PATIENCE_S = 0.4

    def __init__(self, rank: int, folder: str, offset: int) -> None:
        self.rank = rank
        self.position = offset
        self._fd = os.open(log_path(folder, rank), os.O_RDONLY)
        self._size_before = os.fstat(self._fd).st_size
        self._waiting: tuple[int, float] = (-1, 0.0)

    def start_at_tail(self, lines: int) -> None:
        """Move to the last so many lines."""
        self.position = tail_position(self._fd, lines)

    def read(self, is_followed: bool, is_over: bool) -> bytes:
        """The next piece, empty when there is none (yet). Its first byte is at `position`, which moves on.

        Without following, only what was there at the beginning is read, so that a flood has an end.
        """
        room = self.PIECE_BYTES if is_followed else max(0, self._size_before - self.position)
        data = os.pread(self._fd, min(room, self.PIECE_BYTES), self.position)
        piece = data[: self._cut(data, is_followed, is_over)]
        self.position += len(piece)
        return piece

    def _cut(self, data: bytes, is_followed: bool, is_over: bool) -> int:
        line_end = data.rfind(b"\n") + 1
        is_full = len(data) == self.PIECE_BYTES
        if line_end or not data:
            return line_end
        if is_over and not is_full:
            return len(data)
        if is_followed and not is_full and self._may_wait():
            return 0
        return whole_characters(data)

    def _may_wait(self) -> bool:
        """Whether the line that begins at `position` may still get its end."""
        if self._waiting[0] != self.position:
            self._waiting = (self.position, time.monotonic() + self.PATIENCE_S)
        return time.monotonic() < self._waiting[1]


def whole_characters(data: bytes) -> int:
    """Length of `data` without an UTF-8 character that is cut at its end."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1
        return len(data) - back if needed > back else len(data)
    return len(data)


def tail_position(fd: int, lines: int) -> int:
    """Where the last `lines` lines begin; an unfinished last line counts as one."""
    position = size = os.fstat(fd).st_size
    if lines <= 0 or size == 0:
        return size
    missing = lines + (os.pread(fd, 1, size - 1) == b"\n")
    while position > 0:
        begin = max(0, position - 65536)
        block = os.pread(fd, position - begin, begin)
        if block.count(b"\n") < missing:
            missing -= block.count(b"\n")
            position = begin
            continue
        at = len(block)
        for _ in range(missing):
            at = block.rfind(b"\n", 0, at)
        return begin + at + 1
    return 0

"""Prints output of many ranks on one screen: whole lines with a prefix, half lines soon, never without bound."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, field

from ..core.models import LogChunk

MAX_LINES = 10_000
MAX_CHARACTERS = 2_000_000
_CHARACTERS_PER_S = 400_000
_BURST_S = 0.5
_MAX_HALF_LINE = 20_000
_LEFT_OUT = "... what follows is in the log but not shown here ...\n"
# Escape sequences other than colours: a log must not move the cursor or speak to the terminal.
_ESCAPES = re.compile(r"\x1b\[[0-9;:?<=>!]*[ -/]*[@-ln-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")


@dataclass
class LogPrinter:
    """Takes chunks in the order they come; what is missing between two of one rank is said.

    ``is_cut`` says that something came after the bound was reached; ``hidden_lines`` counts the whole lines of it.
    """

    hidden_lines: int = 0
    is_cut: bool = False
    _lines: int = 0
    _characters: int = 0
    _halves: dict[int, str] = field(default_factory=dict)
    _on_screen: dict[int, str] = field(default_factory=dict)
    _ends: dict[int, int] = field(default_factory=dict)
    _open_rank: int | None = None
    _free_at: float = 0.0

    @property
    def is_full(self) -> bool:
        """Whether the bound is reached."""
        return self._lines >= MAX_LINES or self._characters >= MAX_CHARACTERS

    def take(self, chunk: LogChunk) -> None:
        """Print the whole lines of a chunk; keep the rest until it is complete or `show_halves` is called."""
        missing = chunk.offset - self._ends.get(chunk.rank, chunk.offset)
        self._ends[chunk.rank] = chunk.end
        gap = f"\n... {missing} bytes are missing here ...\n" if missing > 0 else ""
        *whole, half = (self._halves.pop(chunk.rank, "") + gap + chunk.text).split("\n")
        self._write([self._finished(chunk.rank, line) for line in whole])
        self._halves[chunk.rank] = _last_version(half)
        if len(half) > _MAX_HALF_LINE:
            self.show_halves()
            self._halves[chunk.rank] = self._on_screen[chunk.rank] = ""

    def show_halves(self) -> None:
        """Print lines that are not complete yet (a prompt, a progress bar)."""
        halves = [(rank, half) for rank, half in self._halves.items() if half != self._on_screen.get(rank, "")]
        if not halves:
            return
        self._write([self._within_bound(rank, half) for rank, half in halves])
        sys.stdout.flush()

    def finish(self) -> None:
        """Print what is left and end the line."""
        self.show_halves()
        if self._open_rank is not None:
            self._write(["\n"])
            self._open_rank = None
        sys.stdout.flush()

    def _finished(self, rank: int, line: str) -> str:
        was_full = self.is_full
        text = self._within_bound(rank, _last_version(line), "\n")
        self._lines += not was_full
        self.hidden_lines += was_full
        self._on_screen.pop(rank, None)
        self._open_rank = None
        return text

    def _within_bound(self, rank: int, line: str, end: str = "") -> str:
        """What brings `line` on the screen as far as the bound lets it; where that is not all, once the note."""
        if self.is_full:
            return self._left_out()
        text = self._more_of(rank, line) + end
        fitting = text[: MAX_CHARACTERS - self._characters]
        self._characters += len(fitting)
        return fitting if fitting == text else fitting + self._left_out()

    def _left_out(self) -> str:
        if self.is_cut:
            return ""
        self.is_cut = True
        start = "" if self._open_rank is None else "\n"
        self._open_rank = None
        return start + _LEFT_OUT

    def _more_of(self, rank: int, line: str) -> str:
        """What brings `line` on the screen, given the part of it that is there."""
        seen = self._on_screen.get(rank, "")
        is_open = self._open_rank == rank
        is_longer = line.startswith(seen)
        start = "" if is_open and is_longer else "\r" if is_open else "" if self._open_rank is None else "\n"
        prefix = "" if is_open and is_longer else f"[rank {rank}] "
        self._on_screen[rank], self._open_rank = line, rank
        return start + prefix + (line[len(seen) :] if is_longer else line)

    def _write(self, pieces: list[str]) -> None:
        text = _ESCAPES.sub("", "".join(pieces))
        if not text:
            return
        sys.stdout.write(text)
        now = time.monotonic()
        self._free_at = max(self._free_at, now - _BURST_S) + len(text) / _CHARACTERS_PER_S
        if self._free_at > now:
            time.sleep(self._free_at - now)


def _last_version(line: str) -> str:
    """Of a line that overwrites itself with carriage returns, the version that remains."""
    return line.rstrip("\r").rpartition("\r")[2]

"""One line that says how a wait is going, refreshed in place where the front end can do that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_CLEAR_TO_END = "\x1b[K"


class Progress(Protocol):
    """Where the line goes."""

    def show(self, line: str, *, is_news: bool) -> None:
        """Show the line; `is_news` when more than the time has changed."""

    def close(self) -> None:
        """The wait is over, the last line stays."""


def progress_for(shell: InteractiveShell) -> Progress:
    """In a kernel a display that is updated, in a terminal one line, elsewhere a line for each piece of news."""
    if getattr(shell, "kernel", None) is not None:
        return _DisplayLine()
    return _TerminalLine() if sys.stdout.isatty() else _NewsOnly()


class _DisplayLine:
    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, line: str, *, is_news: bool) -> None:
        from IPython.display import display

        data = {"text/plain": line}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(data, raw=True)

    def close(self) -> None:
        pass


class _TerminalLine:
    def show(self, line: str, *, is_news: bool) -> None:
        sys.stdout.write(f"\r{line}{_CLEAR_TO_END}")
        sys.stdout.flush()

    def close(self) -> None:
        sys.stdout.write("\n")


class _NewsOnly:
    def show(self, line: str, *, is_news: bool) -> None:
        if is_news:
            sys.stdout.write(f"{line}\n")

    def close(self) -> None:
        pass

"""What code does to the outside while it runs: files, processes, sockets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

NETWORK = frozenset({"socket.connect", "socket.getaddrinfo", "socket.sendto"})
ALL = NETWORK | {"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "sqlite3.connect", "subprocess.Popen"}

_listening: list[tuple[frozenset[str], list[str]]] = []
_installed: list[bool] = []


def _hear(event: str, args: tuple[object, ...]) -> None:
    for events, seen in _listening:
        if event in events:
            seen.append(f"{event} {args[:2]}")


@contextmanager
def watched(events: frozenset[str] = ALL) -> Iterator[list[str]]:
    """Collect what this process does of `events` (names of audit events) inside the block, on any thread."""
    if not _installed:
        sys.addaudithook(_hear)  # a hook stays for ever, so there is one
        _installed.append(True)
    entry: tuple[frozenset[str], list[str]] = (events, [])
    _listening.append(entry)
    try:
        yield entry[1]
    finally:
        _listening.remove(entry)

"""The sandbox's own books: the truth against which clients are judged."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

_ENTRIES_KEPT = 100_000


@dataclass(slots=True)
class Entry:
    """One write that reached a service.

    ``worked`` is false when a fault kept the service from seeing it; ``made`` and ``ended`` are ids of what it
    created and removed, in the service's own order; ``key`` is the label of the credential, never its text.
    """

    seq: int
    at: float
    service: str
    action: str
    method: str
    path: str
    key: str
    body_sha256: str
    status: int | None
    worked: bool
    fault: str | None
    made: list[str]
    ended: list[str]
    note: dict[str, Any] = field(default_factory=dict)


class Books:
    """All entries, oldest first; beyond 100,000 the oldest are dropped and counted."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_ENTRIES_KEPT)
        self._dropped = 0

    def add(self, entry: Entry) -> None:
        """Write one down."""
        self._dropped += len(self._entries) == _ENTRIES_KEPT
        self._entries.append(entry)

    def births(self, service: str) -> Mapping[str, tuple[float, int]]:
        """Id -> (when it was made, its place among what the same order made)."""
        return {
            made: (entry.at, place)
            for entry in self._entries
            if entry.service == service
            for place, made in enumerate(entry.made)
        }

    def of(self, service: str) -> list[dict[str, Any]]:
        """The entries of one service as JSON."""
        return [asdict(entry) for entry in self._entries if entry.service == service]

    @property
    def dropped(self) -> int:
        """How many old entries no longer fit."""
        return self._dropped

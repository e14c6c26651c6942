"""What an account owns beside clusters: keys, security groups, volumes and addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .accounts import Place

T = TypeVar("T")


class Table(Generic[T]):
    """Rows of one kind, each in its place; an id is known in that place only."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[Place, T]] = {}

    def add(self, place: Place, row_id: int, row: T) -> T:
        """Put a row there."""
        self._rows[row_id] = (place, row)
        return row

    def get(self, place: Place, row_id: int) -> T | None:
        """The row, or `None` when that place has none of this id."""
        where, row = self._rows.get(row_id, (None, None))
        return row if where == place else None

    def remove(self, row_id: int) -> None:
        """Take a row away."""
        del self._rows[row_id]

    def at(self, place: Place) -> list[T]:
        """All rows of a place; of every location when it names none."""
        return [row for where, row in self._rows.values() if place in (where, Place(where.account, where.project, ""))]

    def all(self) -> Iterator[tuple[Place, T]]:
        """All rows of all places."""
        yield from self._rows.values()


@dataclass
class SshKey:
    pk: int
    label: str
    ssh_key: str
    added: str
    """The day, as the listing writes it."""

    def short(self) -> dict[str, Any]:
        """As clusters and the answer to a new key show it."""
        return {"pk": self.pk, "label": self.label, "ssh_key": self.ssh_key}

    def json(self) -> dict[str, Any]:
        """As the listing shows it."""
        return {**self.short(), "timestamp": self.added}


@dataclass
class Group:
    id: int
    name: str
    description: str
    rules: list[dict[str, Any]]

    def json(self) -> dict[str, Any]:
        """As the listing shows it."""
        return {"id": self.id, "name": self.name, "description": self.description, "rules": self.rules}


@dataclass
class Volume:
    """A shared or parallel file system or a dataset; ``row`` is how its listing shows it."""

    id: int
    name: str
    row: dict[str, Any]
    paid_gb: int = 0
    created: float = 0.0


@dataclass
class ReservedIp:
    """A public address; ``service`` is what it is attached to."""

    id: int
    ip_address: str
    location: str
    project: int
    created: float
    service: tuple[str, str, int] | None = None
    """Type, name and id."""
    vpc: dict[str, Any] = field(default_factory=dict)

    def json(self, free_word: str) -> dict[str, Any]:
        """As the listing shows it."""
        kind, name, number = self.service or (None, None, None)
        return {
            "id": self.id,
            "ip_address": self.ip_address,
            "status": "Unavailable" if self.service else free_word,
            "service_name": name,
            "service_type": kind,
            "service_id": number,
            "location": self.location,
            "egress_ip": None,
            "connection_status": "Connected" if self.service else None,
            "vpc_details": self.vpc if self.service else None,
            "myaccount_project_id": self.project,
        }

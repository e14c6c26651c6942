"""What all services of one sandbox share."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from uuid import UUID

from .books import Books
from .choices import Choice, Choices
from .clock import Clock


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node's SSH server listens."""

    user: str
    host: str
    port: int


def read_addresses(text: str) -> list[Address]:
    """``[user@]host:port,...`` as addresses; the user is root when left out.

    Raises
    ------
    ValueError : a part is no ``host:port``.
    """
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        user, _, place = part.rpartition("@")
        host, _, port = place.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError("addresses are written [user@]host:port, with commas between them")
        found.append(Address(user or "root", host, int(port)))
    return found


ADDRESSES = Choice(
    key="nodes.addresses",
    default="",
    about="[user@]host:port,... of running SSH servers, handed out in turn to new nodes; empty: invented addresses.",
    check=read_addresses,
)


@dataclass(frozen=True)
class World:
    """Clock, seeded random, choices and books; a service keeps everything else itself."""

    clock: Clock
    random: Random
    choices: Choices
    books: Books

    def uuid(self) -> str:
        """A new id out of the seeded random."""
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def hex(self, digits: int) -> str:
        """That many random hexadecimal digits."""
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def addresses(self) -> list[Address]:
        """The real SSH servers chosen for new nodes, maybe none."""
        return read_addresses(self.choices[ADDRESSES.key])

"""Processes that find each other over TCP and add up numbers: the small half of a distributed job.

Every process is a *rank*. The ranks are told about each other as PyTorch's are, by four environment
variables::

    RANK         this process's number, 0 .. WORLD_SIZE - 1
    WORLD_SIZE   how many processes there are
    MASTER_ADDR  the host of rank 0
    MASTER_PORT  the port where rank 0 listens

They form a star: rank 0 listens, the others connect to it. An *all-reduce* is one message from each
rank to rank 0 and the totals back. Libraries for large models use rings and trees, which spread the
traffic; a star is the shortest thing that is right.

The numbers are whole numbers, because those add exactly and in any order. `to_exact` makes one of
any float, so that sums of floats are exact too.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

LONGEST_MESSAGE = 1 << 20  # bytes
RETRY_S = 0.1


class GroupError(Exception):
    """The ranks cannot find, or have lost, each other."""


def to_exact(value: float) -> int:
    """A finite float as a whole number of 2**-1074, the smallest positive float; nothing is lost."""
    numerator, denominator = value.as_integer_ratio()
    return numerator * ((1 << 1074) // denominator)


def from_exact(total: int) -> float:
    """The float nearest to that many times 2**-1074: the one place where a sum is rounded."""
    return total / (1 << 1074)


class Place(NamedTuple):
    """Which rank this process is, and where rank 0 listens. By default a world of one."""

    rank: int = 0
    world_size: int = 1
    address: str = ""
    port: int = 0


def read_place(environment: Mapping[str, str]) -> Place:
    """Find this process's place in the environment; without RANK and WORLD_SIZE it is alone.

    Raises
    ------
    GroupError
        A variable is missing or senseless; the message names every such one.
    """
    if "RANK" not in environment and "WORLD_SIZE" not in environment:
        return Place()
    problems: list[str] = []

    def number(name: str, lowest: int, highest: int) -> int:
        text = environment.get(name, "")
        if text.isascii() and text.isdecimal() and lowest <= int(text) <= highest:
            return int(text)
        found = f"is {text!r}" if name in environment else "is not set"
        problems.append(f"{name} {found}; expected is a whole number from {lowest} to {highest}")
        return lowest

    world_size = number("WORLD_SIZE", 1, 1024)
    rank = number("RANK", 0, 1023 if problems else world_size - 1)
    port = number("MASTER_PORT", 1, 65535)
    address = environment.get("MASTER_ADDR", "")
    if not address:
        problems.append("MASTER_ADDR is not set; expected is the host of rank 0")
    if problems:
        raise GroupError("\n  ".join(["the environment does not describe a rank:", *problems]))
    return Place(rank, world_size, address, port)


class Peer:
    """A connection to another rank. A message is its length in 4 bytes, then that much JSON.

    Parameters
    ----------
    name : who is at the other end, for error messages.
    timeout_s : how long a peer may be silent.
    """

    def __init__(self, connection: socket.socket, name: str, timeout_s: float) -> None:
        connection.settimeout(timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # do not hold back short messages
        self.name = name
        self._timeout_s = timeout_s
        self._connection = connection
        self._stream = connection.makefile("rwb")

    def send(self, values: Sequence[int]) -> None:
        """Send whole numbers of any size."""
        body = json.dumps(values).encode()
        try:
            self._stream.write(len(body).to_bytes(4, "big") + body)
            self._stream.flush()
        except OSError as error:
            raise self._lost(error) from error

    def receive(self) -> list[int]:
        """Wait for the next message.

        Raises
        ------
        GroupError
            The peer is gone, is silent for too long, or is not one of us.
        """
        try:
            length = int.from_bytes(self._read(4), "big")
            if length > LONGEST_MESSAGE:
                raise ValueError("too long")
            return [int(value) for value in json.loads(self._read(length))]
        except OSError as error:
            raise self._lost(error) from error
        except (ValueError, TypeError) as error:
            raise GroupError(f"{self.name} sent something that is not a message between ranks") from error

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
        with contextlib.suppress(OSError):  # a peer that is gone cannot take what is left to send
            self._stream.close()

    def _read(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise ConnectionError("the connection was closed")
        return data

    def _lost(self, error: OSError) -> GroupError:
        if isinstance(error, TimeoutError):
            return GroupError(f"{self.name} was silent for {self._timeout_s:g} s")
        return GroupError(f"{self.name} is gone ({error.strerror or error}); its own output says why")


class Group:
    """The ranks of one job, connected. Use it in a ``with`` statement, which ends the connections."""

    def __init__(self, place: Place, peers: Sequence[Peer] = ()) -> None:
        self.rank = place.rank
        self.world_size = place.world_size
        self._peers = peers

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        for peer in self._peers:
            peer.close()

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This rank's part, dealt out like cards: the parts differ in length by one at most."""
        return items[self.rank :: self.world_size]

    def all_reduce(self, values: Sequence[int]) -> list[int]:
        """Add up the lists of all ranks, place by place; every rank gets the same totals."""
        if self.rank > 0:
            self._peers[0].send(values)
            return self._peers[0].receive()
        lists = [values, *(peer.receive() for peer in self._peers)]
        totals = [sum(column) for column in zip(*lists, strict=True)]
        for peer in self._peers:
            peer.send(totals)
        return totals


def join(place: Place, timeout_s: float) -> Group:
    """Bring the ranks together.

    Parameters
    ----------
    timeout_s : how long to wait for the others, now and at every later message.

    Raises
    ------
    GroupError
        Not all ranks came in time, or one came that does not belong here.
    """
    if place.world_size == 1:
        return Group(place)
    peers = wait_for_calls(place, timeout_s) if place.rank == 0 else [call_first(place, timeout_s)]
    return Group(place, peers)


def wait_for_calls(place: Place, timeout_s: float) -> list[Peer]:
    """As rank 0, listen until every other rank has called and said who it is."""
    deadline = time.monotonic() + timeout_s
    peers: dict[int, Peer] = {}
    try:
        listener = socket.create_server((place.address, place.port), backlog=place.world_size)
    except OSError as error:
        raise GroupError(f"rank 0 cannot listen at {place.address}:{place.port} ({error.strerror or error})") from error
    with listener, contextlib.ExitStack() as on_failure:
        while missing := sorted(set(range(1, place.world_size)) - set(peers)):
            listener.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                names = ", ".join(f"rank {rank}" for rank in missing)
                raise GroupError(f"no call from {names} within {timeout_s:g} s") from None
            peer = Peer(connection, "a caller", timeout_s)
            on_failure.callback(peer.close)
            peers[identify(peer, missing, place.world_size)] = peer
        on_failure.pop_all()  # all are here: keep the connections
    return [peers[rank] for rank in sorted(peers)]


def identify(peer: Peer, expected: Sequence[int], world_size: int) -> int:
    """Read a caller's first message, its rank and WORLD_SIZE, and name it by its rank."""
    hello = peer.receive()
    if len(hello) != 2 or hello[0] not in expected or hello[1] != world_size:
        raise GroupError(f"a caller is none of the expected ranks {expected} of {world_size}: {hello[:2]}")
    peer.name = f"rank {hello[0]}"
    return hello[0]


def call_first(place: Place, timeout_s: float) -> Peer:
    """As any other rank, call rank 0 until it answers, and say who we are."""
    deadline = time.monotonic() + timeout_s
    problem = "no answer"
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            connection = socket.create_connection((place.address, place.port), timeout=left_s)
        except OSError as error:
            problem = error.strerror or str(error)
        else:
            if connection.getsockname() != connection.getpeername():
                peer = Peer(connection, "rank 0", timeout_s)
                peer.send([place.rank, place.world_size])
                return peer
            connection.close()  # nobody listens yet: TCP connected a free local port to itself
        time.sleep(RETRY_S)
    raise GroupError(f"rank 0 does not listen at {place.address}:{place.port} after {timeout_s:g} s ({problem})")

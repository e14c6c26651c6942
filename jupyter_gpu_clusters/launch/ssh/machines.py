"""Who has which connection: one for each machine, kept, shared by everybody in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import anyio

from ...core.errors import GpuClustersError, TransportError
from ...core.models import SshTarget
from .options import SshOptions
from .pins import Pins

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection

    from .forward import Forward
    from .host import SshHost

T = TypeVar("T")

FAILED_FOR_S = 5.0
MAX_FAILED_FOR_S = 60.0
"""So long a failure to connect is the answer for all others who want the same machine: from the first, doubling, to
the second, so that a dead node does not hold up every look at the others."""

CHANNELS = 4
"""Short commands at a time on one connection; sshd takes 10 sessions, and frees a place late (``MaxSessions``)."""

_OPEN_TRIES = 8
_OPEN_PAUSE_S = 0.1


class Link:
    """The connection to one machine, made at first use and made again after a loss."""

    def __init__(self, target: SshTarget, options: SshOptions, pins: Pins) -> None:
        self.target = target
        self.places = asyncio.Semaphore(CHANNELS)
        self.fingerprint: str | None = None
        self._options = options
        self._pins = pins
        self._lock = asyncio.Lock()
        self._connection: SSHClientConnection | None = None
        self._failure: GpuClustersError | None = None
        self._failed_until = 0.0
        self._failures = 0

    async def connection(self, name: str) -> SSHClientConnection:
        """The connection; raises like `connecting.connect`."""
        from .connecting import connect

        async with self._lock:
            if self._connection is not None and not self._connection.is_closed():
                return self._connection
            if self._failure is not None and monotonic() < self._failed_until:
                raise self._failure
            try:
                self._connection = await connect(self.target, name, self._options, self._pins, self._meet)
            except GpuClustersError as exc:
                rests_s = min(FAILED_FOR_S * 2.0**self._failures, MAX_FAILED_FOR_S)
                self._failure, self._failed_until = exc, monotonic() + rests_s
                self._failures = min(self._failures + 1, 10)
                raise
            self._failure, self._failures = None, 0
            return self._connection

    def _meet(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    async def opened(self, name: str, open_channel: Callable[[SSHClientConnection], Awaitable[T]]) -> T:
        """What `open_channel` opens on the connection, tried again while sshd has no place for one more.

        A channel that could not be opened has run nothing, so it may be tried again also over a new connection.

        Raises
        ------
        TransportError : it cannot be opened; nothing was run.
        """
        import asyncssh

        for attempt in range(1, _OPEN_TRIES + 1):
            connection = await self.connection(name)
            try:
                return await open_channel(connection)
            except (asyncssh.ChannelOpenError, asyncssh.ConnectionLost, BrokenPipeError, ConnectionError) as exc:
                if attempt == _OPEN_TRIES:
                    raise TransportError(f"{name} takes no more commands at a time: {exc}.") from exc
            await anyio.sleep(_OPEN_PAUSE_S * attempt)
        raise AssertionError

    def drop(self) -> None:
        """The next use makes a new connection."""
        if self._connection is not None:
            self._connection.abort()
        self._connection = None
        self.try_again()

    def try_again(self) -> None:
        """Somebody asks by hand: a failure of before does not count."""
        self._failure, self._failures = None, 0

    async def aclose(self) -> None:
        """Close it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            with anyio.move_on_after(2):
                await connection.wait_closed()


class SshMachines:
    """The machines of one account. Opens nothing before something is run; `aclose` closes all."""

    def __init__(self, options: SshOptions, pins: Pins | None = None) -> None:
        self.pins = pins or Pins()
        self.options = options
        self.forwards: list[Forward] = []
        self._links: dict[tuple[str, str, int, str | None], Link] = {}

    def host(self, target: SshTarget, name: str) -> SshHost:
        """A machine on which something can be run; `name` is what messages call it. No I/O."""
        from .host import SshHost

        return SshHost(name, self.link(target))

    def link(self, target: SshTarget) -> Link:
        """The kept connection of a machine."""
        key = (target.identity, target.host, target.port, target.user)
        return self._links.setdefault(key, Link(target, self.options, self.pins))

    async def forget(self, identity: str) -> None:
        """Forget a machine's host key: the next contact is a first one. Raises JournalError."""
        await anyio.to_thread.run_sync(self.pins.forget, identity)
        for key, link in self._links.items():
            if key[0] == identity:
                link.drop()

    async def aclose(self) -> None:
        """Close all connections."""
        forwards, self.forwards = self.forwards, []
        for forward in forwards:
            await forward.aclose()
        links, self._links = list(self._links.values()), {}
        for link in links:
            await link.aclose()

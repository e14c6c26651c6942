"""Processes that can be suspended, and killed at any await and at any write to the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.service import Service

CURRENT: ContextVar[Process | None] = ContextVar("process", default=None)
"""The process whose code runs; tasks inherit it."""


class Killed(BaseException):
    """The process ends here, in the middle of a write."""


class WorldIsOver(BaseException):
    """The simulation is being taken down; nothing counts any more."""


@dataclass
class Host:
    """A machine with its own wall clock, which may be wrong."""

    name: str
    offset_s: float = 0.0


@dataclass(eq=False)
class Process:
    """One kernel: a service on a journal, on a host.

    ``fuse`` counts its awaits and disk writes down; at zero it is killed there. What is dead never runs again: its
    tasks wait for ever, without any clean-up.
    """

    name: str
    host: Host
    journal: str
    opened: Journal
    service: Service
    is_dead: bool = False
    is_suspended: bool = False
    is_over: bool = False
    fuse: int | None = None
    on_death: Callable[[], None] = lambda: None
    commands: list[asyncio.Task[None]] = field(default_factory=list)
    _stopped: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def sender(self) -> str:
        """How other processes name it."""
        return f"{self.host.name}|{self.name}"

    async def gate(self) -> None:
        """An await of the network or the disk: here it may be killed or suspended."""
        if self.is_over:
            raise WorldIsOver
        self._burn()
        while self.is_dead or self.is_suspended:
            stop = asyncio.get_running_loop().create_future()
            self._stopped.append(stop)
            await stop

    def at_disk(self) -> None:
        """A moment just before or after something became durable."""
        self._burn()
        if self.is_dead:
            raise Killed

    def _burn(self) -> None:
        if self.fuse is not None and not self.is_dead:
            self.fuse -= 1
            if self.fuse <= 0:
                self.kill()

    def kill(self) -> None:
        """SIGKILL."""
        self.is_dead = True
        self.fuse = None
        self.on_death()

    def go_on(self) -> None:
        """SIGCONT."""
        self.is_suspended = False
        stopped, self._stopped = self._stopped, []
        for stop in stopped:
            if not stop.done():
                stop.set_result(None)

    def end_of_world(self) -> None:
        """Whatever it waits for ends by an exception."""
        self.is_over = True
        for stop in self._stopped:
            if not stop.done():
                stop.set_exception(WorldIsOver())

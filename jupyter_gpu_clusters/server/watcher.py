"""Follows what changes and tells the event bus, as long as somebody looks or something is owed."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing

from ..core.errors import GpuClustersError
from ..core.journal import has_journal
from ..core.models import State
from ..core.service import Service
from .events import Bus, changes
from .http_errors import where_it_failed
from .owner import ServiceOwner

HEARTBEAT_S = 10.0
# A visible sidebar asks at least every 30 s; what it started is followed a while after it was closed.
LINGER_S = 300.0


class Watcher:
    """Two tasks of the server's loop: a heartbeat, and one that iterates ``service.watch()``.

    Iterating is what keeps the providers polled, so it rests when nobody has looked for 5 minutes, nothing is in
    transition and nothing is owed. What a dead kernel or an earlier server left open is found at the first heartbeat,
    without anybody looking. A failure ends it until the next heartbeat or look.
    """

    def __init__(self, bus: Bus, log: logging.Logger, owner: ServiceOwner) -> None:
        self._bus = bus
        self._log = log
        self._owner = owner
        self._is_owed = False
        self._service: Service | None = None
        self._looked_at = float("-inf")
        self._last = State()
        self._heart: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    def is_following(self) -> bool:
        """Whether changes are being followed now."""
        return self._following is not None and not self._following.done()

    def start(self) -> None:
        """Begin with the heartbeat. Call it inside the server's loop."""
        if not self._is_stopped:
            self._heart = asyncio.create_task(self._beat(), name="gpu-clusters heartbeat")

    def look(self, service: Service) -> None:
        """Somebody looks now: follow changes, and poll at the steady pace for a minute."""
        service.note_attention()
        self._service = service
        self._looked_at = time.monotonic()
        self._follow_or_rest()

    async def stop(self) -> None:
        """End both tasks and wait for their end."""
        self._is_stopped = True
        tasks = [task for task in (self._heart, self._following) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _beat(self) -> None:
        while True:
            self._bus.heartbeat()
            await self._see_to_debts()
            self._follow_or_rest()
            await asyncio.sleep(HEARTBEAT_S)

    async def _see_to_debts(self) -> None:
        """Whether an order, a delete or an end time needs somebody to look, and to be there."""
        try:
            if self._service is None and await asyncio.to_thread(has_journal):
                self._service = await self._owner.service()
            if self._service is not None:
                self._is_owed = await self._service.see_to_debts()
        except GpuClustersError as exc:
            self._log.warning("gpu-clusters cannot see what is owed: %s", exc.message)
        except Exception as exc:  # noqa: BLE001 - the outer edge, as in `_follow`
            self._log.error("gpu-clusters cannot see what is owed:\n%s", where_it_failed(exc))

    def _follow_or_rest(self) -> None:
        if self._is_stopped or self._service is None:
            return
        wanted = self._is_owed or is_wanted(self._last, time.monotonic() - self._looked_at)
        if wanted and not self.is_following:
            self._following = asyncio.create_task(self._follow(self._service), name="gpu-clusters watcher")
        elif self._following is not None and not wanted:
            self._following.cancel()

    async def _follow(self, service: Service) -> None:
        try:
            async with aclosing(service.watch()) as states:
                async for state in states:
                    self._bus.tell(await asyncio.to_thread(changes, self._last, state))
                    self._last = state
        except GpuClustersError as exc:
            self._log.warning("gpu-clusters cannot follow changes: %s", exc.message)
        except Exception as exc:  # noqa: BLE001 - the outer edge: a fault of ours is logged, and the next look tries again
            self._log.error("gpu-clusters stopped following changes:\n%s", where_it_failed(exc))


def is_wanted(state: State, unseen_s: float) -> bool:
    """Whether changes are to be followed.

    Parameters
    ----------
    state : what was last seen.
    unseen_s : seconds since somebody looked.
    """
    return (
        unseen_s < LINGER_S or bool(state.orders) or any(cluster.phase.is_in_transition for cluster in state.clusters)
    )

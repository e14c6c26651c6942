"""One watcher per identity and machine: whoever holds the lease polls, everybody else reads the journal.

A lease is an epoch plus a heartbeat counter that others judge by their own awake-time clock: unchanged for
10 s means that its holder is gone. The cadence follows what is going on: short while something is in
transition, steady while somebody looks, slow otherwise; failures back off up to 300 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable

from anyio import to_thread

from .errors import AuthError, GpuClustersError, JournalError
from .journal import Journal
from .journal_times import Lease
from .look import failure_of, look
from .orders import Orders
from .processes import this_process
from .provider import Provider
from .rows import LeaseLostError

LEASE_LIFE_S = 10.0
_BEAT_S = 2.5
_TICK_S = 0.25
_IDLE_S = 60.0
_POKED_FOR_S = 15.0
_LONGEST_BACKOFF_S = 300.0


class Watcher:
    """Keeps one account's last known state fresh while it runs.

    Parameters
    ----------
    is_watched : whether somebody in this process is looking now.
    """

    def __init__(self, provider: Provider, journal: Journal, orders: Orders, is_watched: Callable[[], bool]) -> None:
        self._provider = provider
        self._journal = journal
        self._orders = orders
        self._is_watched = is_watched
        self._holder = f"{this_process()}|{os.urandom(4).hex()}"
        self._failures = 0
        self._poked_at = float("-inf")

    async def run(self) -> None:
        """Poll or stand by until cancelled; gives the lease up at the end."""
        identity = (await self._provider.identity()).key
        try:
            while True:
                await self._run_once(identity)
        finally:
            await self._give_up(identity)

    async def _run_once(self, identity: str) -> None:
        try:
            await self._hold(identity, await self._wait_for_lease(identity))
        except GpuClustersError:
            await self._give_up(identity)
            await asyncio.sleep(_BEAT_S)

    async def _give_up(self, identity: str) -> None:
        with contextlib.suppress(JournalError):
            await to_thread.run_sync(self._journal.give_up_lease, identity, self._holder)

    async def _wait_for_lease(self, identity: str) -> Lease:
        seen, since = await self._lease(identity), time.monotonic()
        while True:
            is_free = not seen.holder or time.monotonic() - since > LEASE_LIFE_S
            if is_free and await to_thread.run_sync(self._journal.take_lease, identity, seen, self._holder):
                return await self._lease(identity)
            await asyncio.sleep(_TICK_S if is_free else _TICK_S * 4)
            now = await self._lease(identity)
            if (now.epoch, now.holder, now.beat) != (seen.epoch, seen.holder, seen.beat):
                seen, since = now, time.monotonic()

    async def _hold(self, identity: str, lease: Lease) -> None:
        beating = asyncio.create_task(self._beat(identity, lease.epoch))
        try:
            pokes = lease.pokes
            while not beating.done():
                await self._round(identity, lease.epoch)
                pokes = await self._rest(identity, pokes)
            await beating
        finally:
            beating.cancel()

    async def _beat(self, identity: str, epoch: int) -> None:
        is_held = True
        while is_held:
            await asyncio.sleep(_BEAT_S)
            is_held = await to_thread.run_sync(self._journal.beat, identity, epoch)

    async def _round(self, identity: str, epoch: int) -> None:
        try:
            await look(self._provider, self._journal, self._orders, epoch=epoch)
            self._failures = 0
        except LeaseLostError:
            raise
        except GpuClustersError as exc:
            self._failures += 1
            await to_thread.run_sync(self._journal.record_failure, identity, failure_of(exc))
            if isinstance(exc, AuthError):
                raise

    async def _rest(self, identity: str, pokes: int) -> int:
        """Sleep until the next look is due; a poke brings it forward. Returns the pokes seen."""
        started = time.monotonic()
        is_moving = await self._is_moving(identity)
        while True:
            await asyncio.sleep(_TICK_S)
            lease = await self._lease(identity)
            if lease.pokes != pokes:
                self._poked_at = time.monotonic()
                return lease.pokes
            if time.monotonic() - started >= self._pause_s(is_moving):
                return pokes

    def _pause_s(self, is_moving: bool) -> float:
        if self._failures:
            return min(_LONGEST_BACKOFF_S, self._provider.poll_steady_s * 2.0 ** min(self._failures, 10))
        if not self._is_watched() and time.monotonic() - self._poked_at > _POKED_FOR_S:
            return _IDLE_S
        return self._provider.poll_transition_s if is_moving else self._provider.poll_steady_s

    async def _is_moving(self, identity: str) -> bool:
        clusters = await to_thread.run_sync(self._journal.clusters, [identity])
        workloads = await to_thread.run_sync(self._journal.workloads, [identity])
        return any(c.phase.is_in_transition for c in clusters) or any(not w.phase.is_final for w in workloads)

    async def _lease(self, identity: str) -> Lease:
        return await to_thread.run_sync(self._journal.lease, identity)

"""Following changes: runs a watcher per account while somebody follows, and tells each change as it is recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

from anyio import to_thread

from .accounts import Accounts
from .journal import Journal
from .models import Cluster, ClusterPhase, State, Workload, WorkloadPhase
from .orders import Orders
from .state import read_state, tell_cluster
from .watch import Watcher

_TICK_S = 0.25
_ATTENTION_S = 60.0
_POKE_S = 5.0


class Watching:
    """The watchers of one process, started with the first follower of an account and stopped with the last."""

    def __init__(self, journal: Journal, orders: Orders, accounts: Accounts) -> None:
        self._journal = journal
        self._orders = orders
        self._accounts = accounts
        self._followers: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._attention_until = float("-inf")

    def note_attention(self) -> None:
        """Somebody looks now, and probably for the next minute."""
        self._attention_until = time.monotonic() + _ATTENTION_S

    async def aclose(self) -> None:
        """Stop all watchers."""
        for name in list(self._tasks):
            await self._stop(name)

    async def states(self) -> AsyncGenerator[State, None]:
        """The state now and at every change of anything but ages."""
        last: State | None = None
        while True:
            names = self._accounts.names()
            async with self._running(names), aclosing(self._changes()) as changes:
                async for _ in changes:
                    state = await read_state(self._journal, self._accounts)
                    if last is None or _timeless(state) != _timeless(last):
                        last = state
                        yield state
                    if self._accounts.names() != names:
                        break

    async def cluster(self, cluster: Cluster) -> AsyncGenerator[Cluster, None]:
        """One cluster now and at every change, until it is deleted."""
        identity = (await self._accounts.provider(cluster.account).identity()).key
        last: Cluster | None = None
        async with self._running([cluster.account]):
            async for _ in self._changes(poke=identity):
                now = await to_thread.run_sync(tell_cluster, self._journal, identity, cluster.cluster_id)
                if now is not None and now != last:
                    last = now
                    yield now
                if now is not None and now.phase is ClusterPhase.DELETED:
                    return

    async def workload(self, workload: Workload) -> AsyncGenerator[Workload, None]:
        """One workload now and at every change, until its final phase or the end of its cluster.

        With the cluster its record goes; what became of it in its last moment is then unknown, and said so.
        """
        identity = (await self._accounts.provider(workload.account).identity()).key
        last: Workload | None = None
        async with self._running([workload.account]):
            async for _ in self._changes(poke=identity):
                now = await to_thread.run_sync(self._journal.workload, identity, workload.workload_id)
                if now is None and await self._is_deleted(identity, workload.cluster_id):
                    lost = {"phase": WorkloadPhase.UNKNOWN, "reason": "Its cluster was deleted."}
                    yield (last or workload).model_copy(update=lost)
                    return
                now = now or last or workload
                if now != last:
                    last = now
                    yield now
                if now.phase.is_final:
                    return

    async def _is_deleted(self, identity: str, cluster_id: str) -> bool:
        cluster = await to_thread.run_sync(self._journal.cluster, identity, cluster_id)
        return cluster is not None and cluster.phase is ClusterPhase.DELETED

    async def _changes(self, poke: str | None = None) -> AsyncGenerator[None, None]:
        """Once now, then whenever anybody has written to the journal (looked at 4 times a second).

        With `poke` (an identity), whoever polls it is asked again and again for fresh data.
        """
        mark, poked_at = None, float("-inf")
        while True:
            if poke is not None:
                self.note_attention()
                if time.monotonic() - poked_at > _POKE_S:
                    await to_thread.run_sync(self._journal.poke, poke)
                    poked_at = time.monotonic()
            for task in self._tasks.values():
                if task.done():
                    task.result()
            now = await to_thread.run_sync(self._journal.database.change_mark)
            if now != mark:
                mark = now
                yield None
            await asyncio.sleep(_TICK_S)

    @asynccontextmanager
    async def _running(self, names: Sequence[str]) -> AsyncIterator[None]:
        providers, _ = self._accounts.usable(names)
        for name, provider in providers.items():
            self._followers[name] = self._followers.get(name, 0) + 1
            if name not in self._tasks or self._tasks[name].done():
                watcher = Watcher(provider, self._journal, self._orders, self._is_watched)
                self._tasks[name] = asyncio.create_task(watcher.run(), name=f"watch {name}")
        try:
            yield
        finally:
            for name in providers:
                self._followers[name] -= 1
                if self._followers[name] == 0:
                    await self._stop(name)

    async def _stop(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    def _is_watched(self) -> bool:
        return time.monotonic() < self._attention_until


def _timeless(state: State) -> State:
    accounts = tuple(a.model_copy(update={"age_s": None, "observed_at": None}) for a in state.accounts)
    return state.model_copy(update={"accounts": accounts, "seq": 0})

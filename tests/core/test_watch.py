"""One watcher per identity, whatever the number of processes that follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import watch
from jupyter_gpu_clusters.core.errors import AuthError, TransportError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import ClusterPhase, State
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.settings import Account
from tests.until import until_async

from . import make
from .fake import Books, FakeAccounts, FakeProvider

pytestmark = pytest.mark.anyio


class Follower:
    """A process that follows: its own service over the shared folder and books."""

    def __init__(self, folder: Path, books: Books) -> None:
        provider = FakeProvider(Account(name="fake", provider="fake"), books)
        self.journal = Journal(folder)
        self.service = Service(self.journal, FakeAccounts(provider))
        self.states: list[State] = []
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async with aclosing(self.service.watch()) as states:
            async for state in states:
                self.service.note_attention()
                self.states.append(state)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.service.aclose()

    def phases(self) -> list[ClusterPhase]:
        return [cluster.phase for cluster in self.states[-1].clusters] if self.states else []


class Group:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.books = Books()
        self.members: list[Follower] = []

    def join(self) -> Follower:
        member = Follower(self.folder, self.books)
        self.members.append(member)
        return member


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    made = Group(tmp_path)
    yield made
    for member in made.members:
        await member.stop()


async def shows(follower: Follower, phase: ClusterPhase) -> None:
    async def there() -> bool:
        return follower.phases() == [phase]

    await until_async(there)


async def test_ten_followers_cost_as_many_requests_as_one(group: Group) -> None:
    group.books.clusters["c1"] = make.cluster()
    first = group.join()
    await shows(first, ClusterPhase.RUNNING)
    followers = [group.join() for _ in range(9)]
    for follower in followers:
        await shows(follower, ClusterPhase.RUNNING)
    holders = {follower.journal.lease(make.IDENTITY).holder for follower in followers}
    assert len(holders) == 1
    before, started = group.books.lists, asyncio.get_running_loop().time()
    await asyncio.sleep(2)
    rounds = (asyncio.get_running_loop().time() - started) / 0.2
    assert group.books.lists - before <= rounds + 1


async def test_a_change_reaches_every_follower(group: Group) -> None:
    group.books.clusters["c1"] = make.cluster(phase=ClusterPhase.CREATING)
    followers = [group.join() for _ in range(3)]
    for follower in followers:
        await shows(follower, ClusterPhase.CREATING)
    group.books.clusters["c1"] = make.cluster()
    for follower in followers:
        await shows(follower, ClusterPhase.RUNNING)


async def test_when_the_holder_ends_another_takes_over(group: Group) -> None:
    group.books.clusters["c1"] = make.cluster(phase=ClusterPhase.CREATING)
    first = group.join()
    await shows(first, ClusterPhase.CREATING)
    second = group.join()
    await shows(second, ClusterPhase.CREATING)
    epoch = second.journal.lease(make.IDENTITY).epoch
    await first.stop()
    group.books.clusters["c1"] = make.cluster()
    await shows(second, ClusterPhase.RUNNING)
    assert second.journal.lease(make.IDENTITY).epoch > epoch


async def test_a_holder_without_heartbeat_is_replaced(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LEASE_LIFE_S", 1.0)
    monkeypatch.setattr(watch, "_BEAT_S", 0.2)
    journal = Journal(group.folder)
    journal.take_lease(make.IDENTITY, journal.lease(make.IDENTITY), "a process that was killed")
    journal.close()
    group.books.clusters["c1"] = make.cluster()
    await shows(group.join(), ClusterPhase.RUNNING)


async def test_an_outage_keeps_the_last_good_list_with_its_reason(group: Group) -> None:
    group.books.clusters["c1"] = make.cluster()
    follower = group.join()
    await shows(follower, ClusterPhase.RUNNING)

    def fail() -> None:
        raise TransportError("the network is down")

    group.books.on_list = fail

    async def is_told() -> bool:
        error = follower.states[-1].accounts[0].error
        return error is not None and error.message == "the network is down"

    await until_async(is_told)
    assert follower.phases() == [ClusterPhase.RUNNING]
    assert follower.states[-1].accounts[0].observed_at is not None


async def test_a_fault_of_the_adapter_is_told_and_watched_further(group: Group) -> None:
    group.books.clusters["c1"] = make.cluster(phase=ClusterPhase.CREATING)
    faults = iter([TypeError("a bug")])

    def fail_once() -> None:
        for fault in faults:
            raise fault

    group.books.on_list = fail_once
    follower = group.join()
    await shows(follower, ClusterPhase.CREATING)
    errors = [state.accounts[0].error for state in follower.states]
    assert any(error is not None and "TypeError" in error.message for error in errors)


async def test_failures_are_repeated_ever_more_slowly(group: Group) -> None:
    def fail() -> None:
        raise TransportError("the network is down")

    group.books.on_list = fail
    group.join()
    await asyncio.sleep(3)
    assert 2 <= group.books.lists <= 5


async def test_a_refused_credential_gives_the_lease_up(group: Group) -> None:
    def refuse() -> None:
        raise AuthError("the key is wrong")

    group.books.on_list = refuse
    follower = group.join()

    async def is_free() -> bool:
        return group.books.lists > 0 and follower.journal.lease(make.IDENTITY).holder == ""

    await until_async(is_free)


async def test_without_followers_nobody_polls(group: Group) -> None:
    follower = group.join()
    await shows_nothing_yet(follower)
    await follower.stop()
    before = group.books.lists
    await asyncio.sleep(1)
    assert group.books.lists == before


async def shows_nothing_yet(follower: Follower) -> None:
    async def has_state() -> bool:
        return bool(follower.states)

    await until_async(has_state)

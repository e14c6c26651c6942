"""A provider whose far side is an object of the test: its books are what really exists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from jupyter_gpu_clusters.core.accounts import Accounts
from jupyter_gpu_clusters.core.errors import GpuClustersError, ProviderError, TransportError
from jupyter_gpu_clusters.core.models import (
    AccountStatus,
    Cluster,
    ClusterPhase,
    Listing,
    Lookup,
    Money,
    Order,
    Plan,
    Verb,
)
from jupyter_gpu_clusters.core.provider import CreatesClusters, Provider, RemoteIdentity, Search
from jupyter_gpu_clusters.core.settings import Account

from . import make


class FakeSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    nodes: int = 1


class Books:
    """The far side: what exists, what was asked, and how the next answers go wrong."""

    def __init__(self) -> None:
        self.clusters: dict[str, Cluster] = {}
        self.creates = 0
        self.lists = 0
        self.deletes = 0
        self.before_work: Callable[[], None] = lambda: None
        self.after_work: Callable[[], None] = lambda: None
        self.on_list: Callable[[], None] = lambda: None
        self.release: asyncio.Event | None = None
        self.hidden: set[str] = set()

    def lose_answer(self) -> None:
        raise TransportError("the connection was cut")

    def refuse(self) -> None:
        raise ProviderError("no such image", status=400, is_definite=True)


class FakeProvider(CreatesClusters):
    name: ClassVar[str] = "fake"
    title: ClassVar[str] = "A service"
    poll_transition_s: ClassVar[float] = 0.05
    poll_steady_s: ClassVar[float] = 0.2
    spec_model: ClassVar[type[BaseModel]] = FakeSpec
    scope: str = "project"
    marks: bool = False
    """Names carry marks and nothing else tells orders, as with a service that knows nothing of us."""

    def __init__(self, account: Account, books: Books) -> None:
        super().__init__(account)
        self.books = books

    async def identity(self) -> RemoteIdentity:
        return RemoteIdentity(provider="fake", origin="http://127.0.0.1", scope=self.scope)

    async def check_account(self) -> AccountStatus:
        return AccountStatus(account="fake", provider="fake", is_usable=True, detail="works")

    async def list_clusters(self) -> Listing[Cluster]:
        self.books.lists += 1
        self.books.on_list()
        found = [c for c in self.books.clusters.values() if c.cluster_id not in self.books.hidden]
        return Listing[Cluster](items=tuple(found))

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        found = self.books.clusters.get(cluster_id)
        return Lookup[Cluster](answer="found" if found else "absent", item=found)

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        return make.plan(
            name=name,
            identity_key=(await self.identity()).key,
            spec_digest=digest,
            shown=spec.model_dump(),
            is_free=False,
            marks_name=self.marks,
            price_per_hour=Money(amount=Decimal(10), currency="USD"),
        )

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        self.books.creates += 1
        self.books.before_work()
        if self.books.release is not None:
            await self.books.release.wait()
        cluster = make.cluster(
            cluster_id=f"c{self.books.creates}",
            name=order.remote_name,
            order_id=None if self.marks else order.order_id,
            price_per_hour=plan.price_per_hour,
        )
        self.books.clusters[cluster.cluster_id] = cluster
        self.books.after_work()
        return cluster

    async def find_created(self, order: Order) -> Search:
        listing = await self.list_clusters()
        if self.marks:
            return Search(found=tuple(c for c in listing.items if c.name == order.remote_name))
        return Search(found=tuple(c for c in listing.items if c.order_id == order.order_id))

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        assert order.verb is Verb.DELETE
        self.books.deletes += 1
        self.books.before_work()
        found = self.books.clusters.get(cluster.cluster_id)
        if found is None:
            return Lookup[Cluster](answer="absent")
        going = found.model_copy(update={"phase": ClusterPhase.DELETING})
        self.books.clusters[cluster.cluster_id] = going
        return Lookup[Cluster](answer="cannot_tell", item=going, reason="It is being taken down.")


class FakeAccounts(Accounts):
    """One account `fake`, without a file."""

    def __init__(self, provider: Provider) -> None:
        super().__init__()
        self._fake = provider

    def names(self) -> tuple[str, ...]:
        return ("fake",)

    def account(self, name: str) -> Account:
        if name != "fake":
            raise GpuClustersError(name)
        return self._fake.account

    def provider_class(self, name: str) -> type[Provider]:
        return type(self._fake)

    def provider(self, name: str) -> Provider:
        return self._fake

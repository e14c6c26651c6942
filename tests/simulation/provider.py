"""The adapter of the simulated cloud: as careful as the real ones, over a simulated network."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from jupyter_gpu_clusters.core import models
from jupyter_gpu_clusters.core.accounts import Accounts
from jupyter_gpu_clusters.core.errors import GpuClustersError, TransportError
from jupyter_gpu_clusters.core.http_errors import LostAnswerError, NotSentError
from jupyter_gpu_clusters.core.models import (
    AccountStatus,
    Billing,
    Cluster,
    ClusterPhase,
    Listing,
    Lookup,
    Money,
    Order,
    Plan,
    Verb,
)
from jupyter_gpu_clusters.core.names import base_name
from jupyter_gpu_clusters.core.provider import CreatesClusters, Provider, RemoteIdentity, Search
from jupyter_gpu_clusters.core.settings import Account, Settings

from .cloud import Request, Row
from .process import CURRENT

if TYPE_CHECKING:
    from .world import World

T = TypeVar("T")

_TIMEOUT_S = 90.0
_SECOND_LOOK_S = 6.0
IDENTITY = RemoteIdentity(provider="sim", origin="https://sim.example", scope="project")
PRICE = Money(amount=Decimal(10), currency="USD")


class SimSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    nodes: int = 2


class SimProvider(CreatesClusters):
    name: ClassVar[str] = "sim"
    title: ClassVar[str] = "A simulated cloud"
    spec_model: ClassVar[type[BaseModel]] = SimSpec

    def __init__(self, world: World, journal: str) -> None:
        super().__init__(Account(name="sim", provider="sim"))
        self._world = world
        self._cloud = world.cloud
        self._journal = journal

    async def identity(self) -> RemoteIdentity:
        return IDENTITY

    async def check_account(self) -> AccountStatus:
        return AccountStatus(account="sim", provider="sim", is_usable=True, detail="works")

    # The network

    async def _call(self, work: Callable[[], T], *, is_write: bool = False) -> T:
        """Send a request; the far side works on it whatever becomes of the process that sent it."""
        process = CURRENT.get()
        if process is not None:
            await process.gate()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        loop.call_later(self._cloud.latency(), self._serve, work, answer)
        try:
            return await asyncio.wait_for(answer, _TIMEOUT_S)
        except TimeoutError as exc:
            raise (LostAnswerError if is_write else TransportError)("No answer in time.") from exc
        finally:
            if process is not None:
                await process.gate()

    def _serve(self, work: Callable[[], T], answer: asyncio.Future[T]) -> None:
        try:
            result = work()
        except (GpuClustersError, LookupError) as exc:
            self._later(answer, lambda failure=exc: answer.set_exception(failure))  # type: ignore[misc]
        else:
            self._later(answer, lambda: answer.set_result(result))

    def _later(self, answer: asyncio.Future[T], tell: Callable[[], None]) -> None:
        loop = answer.get_loop()
        loop.call_later(self._cloud.latency(), lambda: None if answer.done() else tell())

    # Looking

    async def _rows(self) -> tuple[Sequence[Row], bool]:
        began = asyncio.get_running_loop().time()
        rows, is_complete = await self._call(self._cloud.list)
        self._world.evidence.listed(self._journal, began, {row.cluster_id for row in rows}, is_complete)
        return rows, is_complete

    async def list_clusters(self) -> Listing[Cluster]:
        began = models.utc_now()
        rows, is_complete = await self._rows()
        return Listing[Cluster](items=tuple(_cluster(row) for row in rows), observed_at=began, is_complete=is_complete)

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        began = models.utc_now()
        row = await self._call(lambda: self._cloud.get(cluster_id))
        if row is not None:
            self._world.evidence.shown(self._journal, cluster_id)
            return Lookup[Cluster](answer="found", item=_cluster(row), observed_at=began)
        self._world.evidence.not_found(self._journal, cluster_id)
        rows, is_complete = await self._rows()
        if is_complete and all(one.cluster_id != cluster_id for one in rows):
            return Lookup[Cluster](answer="absent", observed_at=began)
        return Lookup[Cluster](answer="cannot_tell", reason="HTTP 404, which proves nothing.", observed_at=began)

    # Creating

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        assert isinstance(spec, SimSpec)
        return Plan(
            verb=Verb.CREATE,
            provider=self.name,
            account=self.account.name,
            identity_key=IDENTITY.key,
            name=name,
            spec_digest=digest,
            request=spec,
            shown=spec.model_dump(),
            marks_name=True,
            nodes=spec.nodes,
            price_per_hour=PRICE,
        )

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        fate = self._world.fate_of(plan)
        if fate == "not_sent":
            raise NotSentError("There is no network.")
        ends_at = None if plan.max_hours is None else order.created_at + timedelta(hours=plan.max_hours)
        request = Request(self._journal, order.order_id, order.remote_name, order.name, fate, ends_at)

        def arrive() -> Row:
            self._world.checks.request(request)
            return self._cloud.create(request, plan.nodes)

        row = await self._call(arrive, is_write=True)
        self._world.evidence.shown(self._journal, row.cluster_id)
        changes = {"name": order.name, "order_id": order.order_id, "created_here": True}
        return _cluster(row).model_copy(update=changes)

    async def find_created(self, order: Order) -> Search:
        rows, is_complete = await self._rows()
        ours = [row for row in rows if row.cluster_id in order.remote_ids or order.mark in row.name]
        changes = {"name": order.name, "order_id": order.order_id, "created_here": True}
        found = tuple(_cluster(row).model_copy(update=changes) for row in ours)
        if found:
            return Search(found=found)
        alike = tuple(_cluster(row) for row in rows if base_name(row.name) == row.name == order.name)
        return Search(candidates=alike, reason=None if is_complete else "The list could not be read as a whole.")

    # Deleting

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        self._world.checks.delete_request(self._journal, cluster.cluster_id)
        with contextlib.suppress(LookupError):
            await self._call(lambda: self._cloud.delete(cluster.cluster_id), is_write=True)
        first = await self._after_delete(cluster)
        if first.answer != "absent":
            return first
        await asyncio.sleep(_SECOND_LOOK_S)
        return await self._after_delete(cluster)

    async def _after_delete(self, cluster: Cluster) -> Lookup[Cluster]:
        try:
            answer = await self.get_cluster(cluster.cluster_id)
        except TransportError as exc:
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=exc.message)
        if answer.answer == "absent":
            return answer
        item = (answer.item or cluster).model_copy(update={"name": cluster.name, "order_id": cluster.order_id})
        return Lookup[Cluster](answer="cannot_tell", item=item, reason=answer.reason, observed_at=answer.observed_at)


def _cluster(row: Row) -> Cluster:
    return Cluster(
        provider="sim",
        account="sim",
        cluster_id=row.cluster_id,
        name=row.name,
        phase=ClusterPhase.DELETING if row.deleting else ClusterPhase.RUNNING,
        node_count=row.members,
        price_per_hour=PRICE,
        billing=Billing.YES,
    )


class SimAccounts(Accounts):
    """The one account `sim`, without a file."""

    def __init__(self, provider: SimProvider) -> None:
        self._sim = provider
        self._retired, self._providers = [], {}

    @property
    def settings(self) -> Settings:
        return Settings(accounts={"sim": self._sim.account})

    def names(self) -> tuple[str, ...]:
        return ("sim",)

    def account(self, name: str) -> Account:
        return self._sim.account

    def provider_class(self, name: str) -> type[Provider]:
        return SimProvider

    def provider(self, name: str) -> Provider:
        return self._sim

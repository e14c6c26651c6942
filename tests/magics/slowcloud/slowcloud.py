"""A paid provider from outside the package, found by its entry point. Its far side is a folder of files.

``SLOWCLOUD_BOOKS`` names the folder: one JSON file per cluster, and ``phase`` with the phase that clusters
are in (``creating`` when there is none). A file ``fault`` with the word ``before`` or ``after`` makes the next create
lose its answer before or after it did its work.
"""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from jupyter_gpu_clusters.core.errors import TransportError
from jupyter_gpu_clusters.core.models import (
    AccountStatus,
    Billing,
    Cluster,
    ClusterPhase,
    Listing,
    Lookup,
    Money,
    Offer,
    Order,
    Plan,
    Verb,
)
from jupyter_gpu_clusters.core.provider import CreatesClusters, ListsOffers, RemoteIdentity, Search


class SlowSpec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    nodes: int = Field(1, ge=1, le=8, description="How many nodes.")
    payment: Literal["hourly", "unknown", "committed"] = "hourly"
    token: SecretStr | None = None


class SlowCloud(ListsOffers, CreatesClusters):
    name: ClassVar[str] = "slowcloud"
    title: ClassVar[str] = "Slow cloud"
    poll_transition_s: ClassVar[float] = 0.1
    poll_steady_s: ClassVar[float] = 0.2
    spec_model: ClassVar[type[BaseModel]] = SlowSpec

    @property
    def books(self) -> Path:
        return Path(os.environ["SLOWCLOUD_BOOKS"])

    async def identity(self) -> RemoteIdentity:
        return RemoteIdentity(provider=self.name, origin=self.books.as_uri())

    async def check_account(self) -> AccountStatus:
        return AccountStatus(account=self.account.name, provider=self.name, is_usable=True, detail="fine")

    async def list_offers(self) -> Listing[Offer]:
        prices: list[tuple[str, int | None]] = [("big", 90), ("mystery", None), ("small", 6)]
        return Listing[Offer](
            items=tuple(
                Offer(
                    account=self.account.name,
                    provider=self.name,
                    offer_id=title,
                    title=title,
                    gpu_type="H100 SXM",
                    gpus_per_node=8,
                    nodes_available=2,
                    price_per_node_hour=None if amount is None else Money(amount=Decimal(amount), currency="USD"),
                )
                for title, amount in prices
            )
        )

    async def list_clusters(self) -> Listing[Cluster]:
        found = [Cluster.model_validate_json(file.read_text()) for file in sorted(self.books.glob("*.json"))]
        return Listing[Cluster](items=tuple(self._now(cluster) for cluster in found))

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        found = [c for c in (await self.list_clusters()).items if c.cluster_id == cluster_id]
        return Lookup[Cluster](answer="found" if found else "absent", item=found[0] if found else None)

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        assert isinstance(spec, SlowSpec)
        price = Money(amount=Decimal(6 * spec.nodes), currency="USD")
        return Plan(
            verb=Verb.CREATE,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=name,
            spec_digest=digest,
            request=spec,
            shown=spec.model_dump(mode="json"),
            nodes=spec.nodes,
            gpus=8 * spec.nodes,
            price_per_hour=None if spec.payment == "unknown" else price,
            commitment=price.times(720) if spec.payment == "committed" else None,
            warnings=("The cloud is slow.",),
        )

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        cluster = Cluster(
            provider=self.name,
            account=self.account.name,
            cluster_id=f"id-{order.name}",
            name=order.name,
            phase=ClusterPhase.CREATING,
            node_count=plan.nodes,
            price_per_hour=plan.price_per_hour,
            billing=Billing.YES,
            order_id=order.order_id,
        )
        fault = self.books / "fault"
        when = fault.read_text() if fault.exists() else ""
        fault.unlink(missing_ok=True)
        if when != "before":
            (self.books / f"{order.name}.json").write_text(cluster.model_dump_json())
        if when:
            raise TransportError("The connection was cut.", provider=self.name)
        return self._now(cluster)

    async def find_created(self, order: Order) -> Search:
        return Search(found=tuple(c for c in (await self.list_clusters()).items if c.order_id == order.order_id))

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        (self.books / f"{cluster.name}.json").unlink(missing_ok=True)
        return Lookup[Cluster](answer="absent")

    def _now(self, cluster: Cluster) -> Cluster:
        file = self.books / "phase"
        phase = ClusterPhase(file.read_text() if file.exists() else ClusterPhase.CREATING)
        return cluster.model_copy(update={"phase": phase})

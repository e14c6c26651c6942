"""A provider that costs money and answers as slowly as a test wants, behind a real service and journal."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any, ClassVar

from anyio import to_thread
from pydantic import BaseModel

from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Cluster, Money, Order, Plan
from jupyter_gpu_clusters.core.paths import data_dir
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.settings import Account

from ..core.fake import Books, FakeAccounts, FakeProvider
from .models import Everything


def dollars(amount: int) -> Money:
    return Money(amount=Decimal(amount), currency="USD")


class PaidProvider(FakeProvider):
    """Costs 10 USD an hour unless a test says otherwise.

    ``plan_gates`` and ``create_gate`` hold answers back, deaf to cancellation as a slow service is; ``pricing``
    replaces fields of every plan.
    """

    def __init__(self) -> None:
        super().__init__(Account(name="fake", provider="fake"), Books())
        self.plan_gates: dict[int, threading.Event] = {}
        self.create_gate: threading.Event | None = None
        self.pricing: dict[str, Any] = {}
        self.planned: list[int] = []
        self.specs: list[BaseModel] = []

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        nodes = int(getattr(spec, "nodes", 1))
        self.planned.append(nodes)
        self.specs.append(spec)
        if nodes in self.plan_gates:
            await to_thread.run_sync(self.plan_gates[nodes].wait)
        plan = await super().plan_cluster(name, spec, digest)
        return plan.model_copy(update={"nodes": nodes, "gpus": 8 * nodes, **self.pricing})

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        if self.create_gate is not None:
            await to_thread.run_sync(self.create_gate.wait)
        return await super().create_cluster(plan, order)


class WideProvider(PaidProvider):
    """The same with a spec that has every kind of field."""

    spec_model: ClassVar[type[BaseModel]] = Everything


def service_of(provider: PaidProvider) -> Service:
    return Service(Journal(data_dir()), FakeAccounts(provider))

"""A provider whose lists of choices answer as slowly, and fail as often, as a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from jupyter_gpu_clusters.core.choices import Choice, LookUp, looked_up
from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.core.models import Cluster, Listing, Order, Plan, Verb
from jupyter_gpu_clusters.core.provider import Action, ActsOnClusters, LooksUp, Search

from ..core import make
from .paid import PaidProvider


class Mount(BaseModel):
    model_config = ConfigDict(extra="forbid")
    volume: str | None = Field(None, json_schema_extra=looked_up("volumes", ["location"]))


class ChoosySpec(BaseModel):
    model_config = ConfigDict(extra="forbid")
    nodes: int = 1
    location: str | None = None
    sku: int | None = Field(None, json_schema_extra=looked_up("skus", ["location"]))
    image: str | None = Field(None, json_schema_extra=looked_up("images"))
    keys: list[int] | None = Field(None, json_schema_extra=looked_up("keys"))
    same: int | None = Field(None, json_schema_extra=looked_up("skus", ["location"]))
    mounts: list[Mount] | None = None


class Restart(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Note(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    image: str | None = Field(None, json_schema_extra=looked_up("images"))


class ChoosyProvider(PaidProvider, LooksUp, ActsOnClusters):
    """`gates` hold answers back by what they were asked; `answers` makes them."""

    spec_model: ClassVar[type[BaseModel]] = ChoosySpec
    look_ups: ClassVar[Mapping[str, LookUp]] = {
        "skus": LookUp(title="Node types", depends_on=("location",)),
        "images": LookUp(title="Images"),
        "keys": LookUp(title="Keys"),
        "volumes": LookUp(title="Volumes", depends_on=("location",)),
    }
    actions: ClassVar[Mapping[str, Action]] = {
        "restart": Action(title="Restart", description="Everything on it ends.", model=Restart, is_restart=True),
        "note": Action(title="Note", description="Writes a name on it.", model=Note),
    }

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.now = 0
        self.most = 0
        self.gates: dict[tuple[str, Any], threading.Event] = {}
        self.answers: dict[str, Callable[[Mapping[str, Any]], Listing[Choice]]] = {
            "skus": self._skus,
            "images": lambda _: listing(Choice(value="ubuntu", label="Ubuntu 24", detail={"size": "5 GB"})),
            "keys": lambda _: listing(Choice(value=7, label="laptop"), Choice(value=8, label="desktop")),
            "volumes": lambda _: listing(Choice(value="v-1", label="data")),
        }
        self.acted: list[tuple[str | None, dict[str, Any]]] = []

    def _skus(self, given: Mapping[str, Any]) -> Listing[Choice]:
        place = given.get("location") or "Delhi"
        return listing(
            Choice(value=17, label=f"H200 in {place}", detail={"GPUs": 8}),
            Choice(value=18, label=f"L40S in {place}", why_not="none is free"),
        )

    async def list_choices(self, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        self.asked.append((look_up, dict(given)))
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            gate = self.gates.get((look_up, given.get("location")))
            if gate is not None:
                await to_thread.run_sync(gate.wait)
            return self.answers[look_up](given)
        finally:
            self.now -= 1

    def count(self, look_up: str, **given: Any) -> int:
        """How often this was asked."""
        return self.asked.count((look_up, given))

    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel, digest: str) -> Plan:
        return make.plan(
            verb=Verb.ACT,
            name=cluster.name,
            target_id=cluster.cluster_id,
            action=action,
            identity_key=(await self.identity()).key,
            spec_digest=digest,
            shown={"action": action, **spec.model_dump(exclude_none=True)},
            is_free=True,
            confirm="Everything that runs on it ends." if action == "restart" else None,
        )

    async def act(self, plan: Plan, order: Order) -> Cluster:
        self.acted.append((plan.action, dict(plan.shown)))
        self.books.before_work()
        return self.books.clusters[plan.target_id or ""]

    async def find_acted(self, order: Order) -> Search:
        return Search()


def listing(*choices: Choice, is_complete: bool = True, not_seen: tuple[str, ...] = ()) -> Listing[Choice]:
    return Listing[Choice](items=choices, is_complete=is_complete, not_seen=not_seen)


def refuse(_: Mapping[str, Any]) -> Listing[Choice]:
    raise SettingsError("The list needs a location.", hint="Fill in `location` first.")

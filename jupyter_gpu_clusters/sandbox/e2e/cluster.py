"""One training cluster: its life and the two forms in which the service shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from ..choices import Choices
from ..clock import Clock
from ..lifecycle import Lifecycle
from .accounts import Account, Place
from .billing import Charge
from .bodies import CreateBody
from .catalogue import ImageVersion, Price, Sku
from .things import SshKey

GONE = "GONE"
RUNNING, CREATING = "Running", "Creating"
_CPU_KEPT, _MEMORY_KEPT_GB = 1, 18
"""What the service's own processes use on every node."""


@dataclass
class Cluster:
    """A cluster, from the moment its order was accepted until for ever."""

    id: int
    place: Place
    name: str
    body: CreateBody
    owner: Account
    key: str
    sku: Sku
    price: Price
    image: ImageVersion
    ssh_keys: list[SshKey]
    groups: list[int]
    created: float
    life: Lifecycle
    charges: list[Charge]
    address: str
    ip_s: float
    ips: dict[int, str] = field(default_factory=dict)
    deleted: float | None = None

    def status(self, now: float) -> str:
        """The status word, or `GONE`."""
        return self.life.state(now)

    def is_there(self, now: float) -> bool:
        """Whether the service still knows it."""
        return self.status(now) != GONE

    @property
    def nodes(self) -> int:
        """All nodes ordered."""
        return sum(charge.nodes for charge in self.charges)

    def nodes_up(self, now: float) -> int:
        """Nodes that have started."""
        return sum(charge.nodes for charge in self.charges if charge.ready <= now)

    def ssh_public_ip(self, now: float) -> str:
        """Its address, empty until it has one."""
        up = self.life.first((RUNNING,), now)
        return self.address if up is not None and now >= up + self.ip_s else ""

    def cost(self, now: float, choices: Choices) -> float:
        """What it has cost by now."""
        return sum(charge.cost(now, self.deleted, choices) for charge in self.charges)

    def delete(self, now: float, word: str, teardown_s: float) -> None:
        """Begin the teardown."""
        self.deleted = now
        self.life.plan(now, (0, word), (teardown_s, GONE))

    def force(self, now: float, word: str) -> None:
        """Be in some state from now on, until something else happens to it."""
        self.life.plan(now, (0, word))
        if word == GONE and self.deleted is None:
            self.deleted = now
        if word == RUNNING:
            self.charges = [replace(charge, ready=min(charge.ready, now)) for charge in self.charges]

    def _common(self, now: float, clock: Clock) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "created_by": self.owner.owner(),
            "no_of_nodes": self.nodes,
            "created_at": clock.shown(self.created).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "private_cloud_id": None,
            "private_cloud_name": None,
            "sku_details": {"specs": self.sku.specs(self.nodes), "plan": self.price.json()},
            "has_local_storage": False,
            "status": self.status(now),
            "image_version": self.image.json(),
        }

    def _free(self, up: int) -> tuple[int, int]:
        return up * (self.sku.cpu - _CPU_KEPT), up * (self.sku.memory - _MEMORY_KEPT_GB)

    def detail(self, now: float, clock: Clock) -> dict[str, Any]:
        """As create, get and most actions show it."""
        up = self.nodes_up(now)
        cpu, memory = self._free(up)
        return {
            **self._common(now, clock),
            "total_gpu": up * self.sku.gpu,
            "total_cpu": up * self.sku.cpu,
            "total_memory": f"{up * self.sku.memory} GB",
            "available_gpu": up * self.sku.gpu,
            "available_cpu": cpu,
            "available_memory": f"{memory} GB",
            "worker_nodes": [],
            "local_storage_per_node": None,
            "image_pull_policy": "IfNotPresent",
            "ssh_keys": [key.short() for key in self.ssh_keys],
            "ssh_public_ip": self.ssh_public_ip(now),
            "has_floating_ip": True,
            "reserve_ip": [{"id": ip, "ip_address": address} for ip, address in self.ips.items()],
            "clone_data": self.body.clone(self.place.project),
        }

    def summary(self, now: float, clock: Clock) -> dict[str, Any]:
        """As the list shows it: totals are texts under other names, sizes have no space, SSH is missing."""
        up = self.nodes_up(now)
        cpu, memory = self._free(up)
        return {
            **self._common(now, clock),
            "no_of_gpu": str(up * self.sku.gpu),
            "no_of_cpu": str(up * self.sku.cpu),
            "node_memory": f"{up * self.sku.memory}GB",
            "available_gpu": up * self.sku.gpu,
            "available_cpu": cpu,
            "available_memory": f"{memory}GB",
        }

    def alive_row(self, now: float) -> Mapping[str, Any]:
        """As the books show it."""
        return {
            "id": str(self.id),
            "kind": "cluster",
            "name": self.name,
            "account": self.place.account,
            "project": self.place.project,
            "location": self.place.location,
            "key": self.key,
            "status": self.status(now),
            "nodes": self.nodes,
            "ssh_key_ids": [key.pk for key in self.ssh_keys],
            "security_group_ids": list(self.groups),
            "image_version_id": self.image.id,
            "sku_item_price_id": self.price.id,
        }


def plan_of_start(now: float, start_s: float, fate: str) -> tuple[Lifecycle, float]:
    """The life of a new cluster, and when its nodes are up; a fate other than Running means never."""
    if fate == CREATING:
        return Lifecycle(now, (0, CREATING)), inf
    life = Lifecycle(now, (0, CREATING), (start_s, fate))
    return life, now + start_s if fate == RUNNING else inf

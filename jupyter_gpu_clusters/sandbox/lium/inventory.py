"""The nodes for rent and the fabrics that join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..world import World

H100, H200, RTX4090 = "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA GeForce RTX 4090"
A6000, RTX3090 = "NVIDIA RTX A6000", "NVIDIA GeForce RTX 3090"
_MEMORY_MIB = {H100: 81559, H200: 143771, RTX4090: 24564, A6000: 49140, RTX3090: 24576}
_COUNTRIES = {"US": "United States", "DE": "Germany", "JP": "Japan"}


@dataclass
class Executor:
    """One host.

    ``share`` is the smallest number of GPUs that may be rented from it, `None` for the whole host only; ``taken`` means
    somebody else has it, ``offline`` that it cannot be reached.
    """

    id: str
    machine_name: str
    gpu_count: int
    price_per_gpu: float
    country: str
    tier: str = "secure"
    share: int | None = None
    ports: int = 20
    download_mbps: float = 900.0
    counted: bool = True
    taken: bool = False
    offline: bool = False

    def json(self, available: int) -> dict[str, Any]:
        """As listings and pods show it; ``available`` GPUs are free."""
        memory = _MEMORY_MIB[self.machine_name]
        gpus = [{"name": self.machine_name, "capacity": memory} for _ in range(self.gpu_count)]
        row: dict[str, Any] = {
            "id": self.id,
            "machine_name": self.machine_name,
            "gpu_count": self.gpu_count,
            "available_gpu_count": available,
            "min_gpu_count_for_rental": self.share,
            "is_whole_host_free": available == self.gpu_count,
            "price_per_gpu": self.price_per_gpu,
            "location": {"country": _COUNTRIES[self.country], "country_code": self.country},
            "specs": {
                "gpu": {"count": self.gpu_count, "driver": "570.124.06", "details": gpus},
                "cpu": {"count": 16 * self.gpu_count},
                "ram": {"total": 128 * self.gpu_count * 2**20, "pod_reserve": 2**20},
                "hard_disk": {"total": 4 * 2**30, "free": 3 * 2**30},
                "available_port_count": self.ports,
                "sysbox_runtime": True,
                "interconnect": None,
                "disk_health": "ok",
            },
            "status": "offline" if self.offline else "active",
            "active": not self.offline,
            "tier": self.tier,
            "max_cuda_version": 12.8,
            "effective_upload_speed_mbps": self.download_mbps / 2,
            "effective_download_speed_mbps": self.download_mbps,
            "nvlink": self.machine_name in (H100, H200),
            "interconnect": None,
            "gpu_power_limited": False,
            "gpu_power_limit_w": 700,
            "gpu_power_limit_default_w": 700,
            "frequent_rent_failures": self.tier == "spot",
            "reliability_score": 0.99,
            "last_verified_at": None,
        }
        if not self.counted:
            del row["gpu_count"]
        return row


@dataclass
class Fabric:
    """Nodes on one RDMA network; without a ``type`` the service leaves the word out."""

    id: str
    type: str | None
    link_rate: str | None
    measured: bool | None
    members: list[Executor]


class Inventory:
    """Everything on the market.

    Parameters
    ----------
    nodes : how many nodes the InfiniBand fabric with free nodes has.
    """

    def __init__(self, world: World, nodes: int) -> None:
        def group(count: int, name: str, price: float, country: str, **more: Any) -> list[Executor]:
            prices = [round(price + 0.01 * n, 4) for n in range(count)]
            return [Executor(world.uuid(), name, 8, each, country, **more) for each in prices]

        h100 = group(nodes, H100, 2.1, "US")
        rtx4090 = group(3, RTX4090, 0.35, "DE")
        h200 = group(2, H200, 3.2, "JP", taken=True)
        self.fabrics = [
            Fabric(f"cold:infiniband:0x3:0x7fff:{H100}:8", "infiniband", "400 Gb/sec (4X NDR)", True, h100),
            Fabric(f"hot:roce:10.0.0.0/24:{RTX4090}:8", "roce", None, False, rtx4090),
            Fabric(f"cold:infiniband:0x9:0x7fff:{H200}:8", None, None, None, h200),
        ]
        singles = [
            Executor(world.uuid(), A6000, 1, 0.45, "DE", tier="spot", download_mbps=200.0),
            Executor(world.uuid(), RTX4090, 4, 0.31, "US", share=1),
            Executor(world.uuid(), RTX3090, 8, 0.18, "JP", share=2, counted=False, ports=3),
        ]
        every = [node for fabric in self.fabrics for node in fabric.members] + singles
        self.executors = {node.id: node for node in every}

    def fabric_of(self, executor_id: str) -> Fabric | None:
        """The fabric a node is on."""
        return next((f for f in self.fabrics if any(node.id == executor_id for node in f.members)), None)

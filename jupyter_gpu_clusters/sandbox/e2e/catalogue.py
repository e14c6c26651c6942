"""Node types with their prices, and images, of each location. No id of one location is known in the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

CATEGORY, VARIANT, CURRENCY = "distributed_job", "e2e", "INR"
SERVICES = ("notebook", "pipeline", "inference_service", "vector_db", "private_cloud")


@dataclass(frozen=True)
class Price:
    """A price row. ``unit_price`` is for one node: an hour of it, or the whole term of ``days``."""

    id: int
    days: int
    unit_price: float
    location: str
    is_active: bool = True

    def json(self) -> dict[str, Any]:
        """As plans and clusters show it."""
        return {
            "sku_item_price_id": self.id,
            "sku_type": "committed" if self.days else "hourly",
            "committed_days": self.days,
            "unit_price": self.unit_price,
            "currency": CURRENCY,
            "is_active": self.is_active,
            "description": None,
            "location": self.location,
        }


@dataclass
class Sku:
    """A node type; ``stock`` nodes of it exist."""

    id: int
    name: str
    series: str
    cpu: int
    gpu: int
    memory: int
    gpu_memory: int
    family: str
    card: str | None
    stock: int
    prices: list[Price] = field(default_factory=list)

    def price(self, price_id: int) -> Price | None:
        """One of its own price rows."""
        return next((price for price in self.prices if price.id == price_id), None)

    def hourly(self) -> Price | None:
        """What a node costs without a commitment."""
        return next((price for price in self.prices if not price.days and price.is_active), None)

    def specs(self, nodes: int) -> dict[str, Any]:
        """As clusters show it: numbers are numbers."""
        return {
            "sku_id": self.id,
            "name": self.name,
            "series": self.series,
            "cpu": self.cpu,
            "gpu": self.gpu,
            "memory": self.memory,
            "ephemeral_storage": 0,
            "gpu_memory": self.gpu_memory,
            "is_free": False,
            "is_active": True,
            "local_storage_in_gb": 0,
            "sku_type": self.family,
            "gpu_card_type": self.card,
            "category": CATEGORY,
            "variant": VARIANT,
            "no_of_nodes": nodes,
        }

    def plan(self, free: int) -> dict[str, Any]:
        """As the plans call shows it: the sizes are texts."""
        sizes = {"cpu": self.cpu, "gpu": self.gpu, "memory": self.memory, "gpu_memory": self.gpu_memory}
        return {
            "sku_id": self.id,
            "name": self.name,
            "series": self.series,
            **{name: str(size) for name, size in sizes.items()},
            "sku_type": self.family,
            "gpu_card_type": self.card,
            "is_inventory_available": free > 0,
            "plans": [price.json() for price in self.prices],
        }


@dataclass(frozen=True)
class ImageVersion:
    """What a cluster runs; ``id_key`` is the name under which the image listing shows the version's id."""

    id: int
    version: str
    image_id: int
    name: str
    slug_name: str
    framework: str
    id_key: str = "id"

    def json(self) -> dict[str, Any]:
        """As clusters show it."""
        return {
            "id": self.id,
            "version": self.version,
            "description": "",
            "tags": [],
            "name": self.name,
            "slug_name": self.slug_name,
            "framework": self.framework,
            "is_internal": False,
        }

    def row(self) -> dict[str, Any]:
        """As the image listing shows it."""
        return {
            self.id_key: self.id,
            "version": self.version,
            "description": None,
            "tags": [],
            "is_internal": False,
        }


_TERMS = ((0, 1.0, True), (30, 0.9, True), (90, 0.8, True), (365, 0.7, False))
"""Days of a term, its share of the hourly price, and whether it is on sale."""


def make_skus() -> dict[str, list[Sku]]:
    """Location -> its node types."""
    small = _Kind("SX.8-32GB", "CPU", 8, 0, 32, 0, "SX-250GB", None)
    l40s = _Kind("SX.4xL40S-64.384GB", "GPU", 64, 4, 384, 192, "SX-4xL40S", "L40S")
    h100 = _Kind("SX.8xH100-224.1800GB", "GPU", 224, 8, 1800, 640, "SX-8xH100", "H100")
    h200 = _Kind("SX.8xH200-224.2000GB", "GPU", 224, 8, 2000, 1128, "SX-8xH200", "H200")
    return {
        "Delhi": [
            _sku(401, small, 64, _prices(8701, "Delhi", 12.25)),
            _sku(411, l40s, 16, _prices(8711, "Delhi", 420.5)),
            _sku(412, h100, 16, _prices(8721, "Delhi", 1992.0)),
        ],
        "Chennai": [
            _sku(451, small, 64, _prices(8801, "Chennai", 11.75)),
            _sku(461, h100, 4, _prices(8811, "Chennai", 1912.0)),
            _sku(462, h200, 16, _prices(8821, "Chennai", 2401.0)),
        ],
    }


class _Kind(NamedTuple):
    name: str
    series: str
    cpu: int
    gpu: int
    memory: int
    gpu_memory: int
    family: str
    card: str | None


def _sku(sku_id: int, kind: _Kind, stock: int, prices: list[Price]) -> Sku:
    return Sku(sku_id, *kind, stock, prices)


def _prices(first: int, location: str, hour: float) -> list[Price]:
    return [
        Price(first + n, days, round(hour * share * 24 * days, 2) if days else hour, location, active)
        for n, (days, share, active) in enumerate(_TERMS)
    ]


def make_images() -> dict[str, list[ImageVersion]]:
    """Location -> its image versions."""
    found = {}
    for location, image, first in (("Delhi", 14, 57), ("Chennai", 16, 67)):
        slurm, nemo = (image, "Ubuntu Slurm", "ubuntu-slurm", "Slurm"), (image + 1, "NeMo", "nemo", "NeMo")
        found[location] = [
            ImageVersion(first, "v2-slurm25.11-ubuntu24.04", *slurm),
            ImageVersion(first + 1, "v3-slurm26.05-ubuntu24.04", *slurm, id_key="image_version_id"),
            ImageVersion(first + 2, "v1-nemo2.4-slurm25.11", *nemo),
        ]
    return found

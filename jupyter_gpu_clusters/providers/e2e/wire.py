"""E2E's JSON as models. The same quantity comes as 8, "8", "2000 GB" and "2000GB"; every field may be missing or odd.

Source: contract, sections 2.2 and 3; ``tests/contracts/e2e.openapi.yaml``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from ...core.lenient import OBJECT, OBJECTS, Amount, Flag, Size, Text, Time, Whole, Wire


class Price(Wire):
    """A price row. ``sku_type`` is the billing kind here."""

    sku_item_price_id: Whole = None
    sku_type: Text = None
    committed_days: Whole = None
    unit_price: Amount = None
    currency: Text = None
    is_active: Flag = None
    description: Text = None
    location: Text = None

    @property
    def days(self) -> int | None:
        """Length of the term that it buys, 0 for an hourly one; ``None`` where it does not plainly say which."""
        days = self.committed_days if (self.committed_days or 0) > 0 else 0
        return days if days or (self.sku_type or "").lower() == "hourly" else None

    def fits(self, days: int, location: str) -> bool:
        """Whether it is offered for that term and place."""
        is_here = (self.location or location).lower() == location.lower()
        return self.is_active is not False and self.days == days and is_here

    def __str__(self) -> str:
        kind = {None: "neither hourly nor a term", 0: "hourly"}.get(self.days, f"{self.days} days")
        price = f"{self.unit_price} {self.currency or ''}".strip() if self.unit_price is not None else "price unknown"
        return f"{kind}: {price}"


class Sku(Wire):
    """A node type. ``sku_type`` is a hardware family here."""

    sku_id: Whole = None
    name: Text = None
    series: Text = None
    cpu: Whole = None
    gpu: Whole = None
    memory: Size = None
    gpu_memory: Size = None
    gpu_card_type: Text = None
    sku_type: Text = None
    is_active: Flag = None
    is_inventory_available: Flag = None
    plans: Annotated[tuple[Price, ...], OBJECTS] = ()

    @property
    def is_offered(self) -> bool:
        """Whether nothing says that it cannot be had now."""
        return self.is_active is not False and self.is_inventory_available is not False

    @property
    def title(self) -> str:
        """What to call it."""
        return self.name or f"node type {self.sku_id}"


class SkuDetails(Wire):
    """Node type and price of a cluster."""

    specs: Annotated[Sku, OBJECT] = Sku()
    plan: Annotated[Price, OBJECT] = Price()


class ImageVersion(Wire):
    """A version of an image; its id stands under either name."""

    id: Whole = None
    image_version_id: Whole = None
    version: Text = None
    description: Text = None
    name: Text = None
    slug_name: Text = None

    @property
    def number(self) -> int | None:
        """What create calls ``image_version_id``."""
        return self.id if self.image_version_id is None else self.image_version_id


class Image(Wire):
    """An image with its versions."""

    id: Whole = None
    name: Text = None
    slug_name: Text = None
    framework: Text = None
    versions: Annotated[tuple[ImageVersion, ...], OBJECTS] = ()


class SshKey(Wire):
    """A public key."""

    pk: Whole = None
    label: Text = None
    ssh_key: Text = None
    timestamp: Text = None


class Thing(Wire):
    """A security group, file system, dataset or project: something with an id and a name."""

    id: Whole = None
    project_id: Whole = None
    name: Text = None
    description: Text = None
    status: Text = None
    size_in_gb: Size = None
    disk_size: Size = None
    disk_size_in_gb: Size = None
    storage_type: Text = None
    location: Text = None


class ReservedIp(Wire):
    """A public address."""

    id: Whole = None
    ip_address: Text = None
    status: Text = None
    service_name: Text = None
    service_type: Text = None
    location: Text = None


def _all_objects(value: object) -> object:
    """``None`` unless it can be read as a whole."""
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


class Cluster(Wire):
    """Detail and summary in one; they share no names for the totals.

    ``ssh_keys`` is ``None`` where the answer does not tell which keys there are.
    """

    id: Whole = None
    name: Text = None
    status: Text = None
    created_at: Time = None
    no_of_nodes: Whole = None
    sku_details: Annotated[SkuDetails, OBJECT] = SkuDetails()
    image_version: Annotated[ImageVersion, OBJECT] = ImageVersion()
    ssh_public_ip: Text = None
    ssh_keys: Annotated[tuple[SshKey, ...] | None, BeforeValidator(_all_objects)] = None

    @property
    def key_ids(self) -> list[int] | None:
        """The numbers of its SSH keys; ``None`` where not all of them are told."""
        found = [key.pk for key in self.ssh_keys or () if key.pk is not None]
        return found if self.ssh_keys is not None and len(found) == len(self.ssh_keys) else None

"""E2E's JSON as models. The same quantity comes as 8, "8", "2000 GB" and "2000GB"; every field may be missing or odd.

Source: contract, sections 2.2 and 3; ``tests/contracts/e2e.openapi.yaml``.
"""

from __future__ import annotations

from typing import Annotated, Any

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
    def is_committed(self) -> bool:
        """Whether it buys a whole term; what is not plainly hourly counts as one."""
        return (self.sku_type or "").lower() != "hourly" or bool(self.committed_days)


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


class Cluster(Wire):
    """Detail and summary in one; they share no names for the totals."""

    id: Whole = None
    name: Text = None
    status: Text = None
    created_at: Time = None
    no_of_nodes: Whole = None
    sku_details: Annotated[SkuDetails, OBJECT] = SkuDetails()
    image_version: Annotated[ImageVersion, OBJECT] = ImageVersion()
    ssh_public_ip: Text = None
    ssh_keys: Annotated[tuple[SshKey, ...], OBJECTS] = ()
    worker_nodes: Annotated[tuple[dict[str, Any], ...], OBJECTS] = ()
    reserve_ip: Annotated[tuple[dict[str, Any], ...], OBJECTS] = ()

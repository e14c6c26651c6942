"""E2E's JSON as models. The same quantity comes as 8, "8", "2000 GB" and "2000GB"; every field may be missing or odd.

Source: contract, sections 2.2 and 3; ``tests/contracts/e2e.openapi.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:GB|GiB)?\s*", re.IGNORECASE)


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return None
    found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return Decimal(found[1]) if found else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_finite() and number == number.to_integral_value() else None


def _size(value: object) -> float | None:
    number = _number(value)
    return float(number) if number is not None and number.is_finite() else None


def _amount(value: object) -> Decimal | None:
    """A price; text, zero, negative and not-a-number are no price."""
    number = _number(value)
    return number if number is not None and number.is_finite() and number > 0 else None


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return ", ".join(text for item in value if (text := _text(item))) or None
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _time(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found


def _object(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _lenient(read: Callable[[object], object]) -> BeforeValidator:
    return BeforeValidator(read)


Whole = Annotated[int | None, _lenient(_whole)]
Size = Annotated[float | None, _lenient(_size)]
Amount = Annotated[Decimal | None, _lenient(_amount)]
Text = Annotated[str | None, _lenient(_text)]
Flag = Annotated[bool | None, _lenient(_flag)]
Time = Annotated[datetime | None, _lenient(_time)]


class Wire(BaseModel):
    """What the service sent, as far as it can be read."""

    model_config = ConfigDict(frozen=True, extra="ignore")


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
    plans: Annotated[tuple[Price, ...], _lenient(_objects)] = ()


class SkuDetails(Wire):
    """Node type and price of a cluster."""

    specs: Annotated[Sku, _lenient(_object)] = Sku()
    plan: Annotated[Price, _lenient(_object)] = Price()


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
    versions: Annotated[tuple[ImageVersion, ...], _lenient(_objects)] = ()


class SshKey(Wire):
    """A public key."""

    pk: Whole = None
    label: Text = None
    ssh_key: Text = None
    timestamp: Text = None


class Thing(Wire):
    """A security group, file system, dataset or project: something with an id and a name."""

    id: Whole = None
    project_id: Annotated[int | None, _lenient(lambda value: _whole(value))] = None
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
    sku_details: Annotated[SkuDetails, _lenient(_object)] = SkuDetails()
    image_version: Annotated[ImageVersion, _lenient(_object)] = ImageVersion()
    ssh_public_ip: Text = None
    ssh_keys: Annotated[tuple[SshKey, ...], _lenient(_objects)] = ()
    worker_nodes: Annotated[tuple[dict[str, Any], ...], _lenient(_objects)] = ()
    reserve_ip: Annotated[tuple[dict[str, Any], ...], _lenient(_objects)] = ()

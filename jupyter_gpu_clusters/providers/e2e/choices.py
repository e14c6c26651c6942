"""The lists that forms and ``%cluster_choices`` offer, one look-up each. Source: contract, section 3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.choices import Choice, LookUp
from ...core.errors import SettingsError
from ...core.models import Listing
from .client import Client
from .options import LOCATIONS, Options
from .pages import Page
from .wire import Price, ReservedIp, Sku, SshKey, Thing

_MOST = 1000
_HERE = ("location",)

LOOK_UPS: Mapping[str, LookUp] = {
    "locations": LookUp(title="Locations"),
    "projects": LookUp(title="Projects of the MyAccount side; their ids may not be TIR's"),
    "skus": LookUp(title="Node types", depends_on=_HERE),
    "sku_ids": LookUp(title="Node types by id", depends_on=_HERE),
    "prices": LookUp(title="Prices of a node type", depends_on=("location", "sku", "sku_id")),
    "images": LookUp(title="Images", depends_on=_HERE),
    "image_version_ids": LookUp(title="Image versions by id", depends_on=_HERE),
    "ssh_keys": LookUp(title="SSH keys", depends_on=_HERE),
    "ssh_key_ids": LookUp(title="SSH keys by id", depends_on=_HERE),
    "security_groups": LookUp(title="Security groups", depends_on=_HERE),
    "security_group_ids": LookUp(title="Security groups by id", depends_on=_HERE),
    "sfs": LookUp(title="Shared file systems", depends_on=_HERE),
    "pfs": LookUp(title="Parallel file systems", depends_on=_HERE),
    "datasets": LookUp(title="Datasets", depends_on=_HERE),
    "reserved_ips": LookUp(title="Reserved addresses", depends_on=_HERE),
    "reserved_ip_ids": LookUp(title="Reserved addresses by id", depends_on=_HERE),
    "generic_skus": LookUp(title="Node types of E2E's other products", depends_on=_HERE),
    "iam_accounts": LookUp(title="Accounts that can be acted for"),
}


class Choices:
    """The look-ups for one request as far as it is filled in."""

    def __init__(self, client: Client, options: Options, given: Mapping[str, Any]) -> None:
        self._client = client
        self._options = options
        self._given = given
        location = given.get("location") or options.location
        self._location = location if isinstance(location, str) else options.location

    async def look_up(self, name: str) -> Listing[Choice]:
        """One list; at most 1000 entries.

        Raises
        ------
        SettingsError : the location is none.
        """
        if self._location not in LOCATIONS:
            raise SettingsError(
                f"{self._location!r} is no location of E2E.", hint=f"Choose `location`: {', '.join(LOCATIONS)}."
            )
        choices, is_whole = await self._read(name.removesuffix("_ids"), is_by_id=name.endswith("_ids"))
        return Listing[Choice](items=tuple(choices[:_MOST]), is_complete=is_whole and len(choices) <= _MOST)

    async def _read(self, name: str, *, is_by_id: bool) -> tuple[list[Choice], bool]:
        match name:
            case "locations":
                return [Choice(value=place, label=place) for place in LOCATIONS], True
            case "sku" | "skus":
                page = await self._client.list_plans(self._location, self._options.variant)
                return [_sku(row, is_by_id) for row in page if row.sku_id is not None], page.is_whole
            case "prices":
                return await self._prices()
            case "image_version" | "images":
                return await self._images(is_by_id)
            case "ssh_key" | "ssh_keys":
                keys = await self._client.list_ssh_keys(self._location)
                return [key_choice(key, is_by_id) for key in keys if key.pk is not None], keys.is_whole
            case "reserved_ip" | "reserved_ips":
                ips = await self._client.list_reserved_ips(self._location)
                return [_ip(ip, is_by_id) for ip in ips if ip.id is not None], ips.is_whole
            case "generic_skus":
                service = str(self._given.get("service") or "notebook")
                skus = await self._client.list_generic_skus(self._location, service)
                return [_sku(row, False) for row in skus if row.sku_id is not None], skus.is_whole
        things = await self._things(name)
        is_by_id = is_by_id or name in ("projects", "iam_accounts")
        return [_thing(one, is_by_id) for one in things if _number(one) is not None], things.is_whole

    async def _things(self, name: str) -> Page[Thing]:
        match name:
            case "projects":
                return await self._client.list_projects()
            case "iam_accounts":
                return await self._client.list_iam_accounts()
            case "sfs":
                return await self._client.list_sfs(self._location)
            case "pfs":
                return await self._client.list_pfs(self._location)
            case "datasets":
                return await self._client.list_datasets(self._location)
        return await self._client.list_security_groups(self._location)

    async def _prices(self) -> tuple[list[Choice], bool]:
        page = await self._client.list_plans(self._location, self._options.variant)
        wanted_id, wanted = self._given.get("sku_id"), self._given.get("sku")
        skus: Iterable[Sku] = page
        if wanted_id is not None:
            skus = [sku for sku in page if sku.sku_id == wanted_id]
        elif isinstance(wanted, str):
            skus = [sku for sku in page if sku.title.lower() == wanted.lower()]
        rows = [(sku, row) for sku in skus for row in sku.plans if row.sku_item_price_id is not None]
        here = [(sku, row) for sku, row in rows if (row.location or self._location).lower() == self._location.lower()]
        return [_price(sku, row) for sku, row in here], page.is_whole

    async def _images(self, is_by_id: bool) -> tuple[list[Choice], bool]:
        choices: dict[str | int, Choice] = {}
        is_whole = True
        for framework in self._options.frameworks:
            page = await self._client.list_images(self._location, framework)
            is_whole = is_whole and page.is_whole
            for image in page:
                for version in image.versions:
                    label = f"{image.name or image.slug_name} {version.version or ''}".strip()
                    value = version.number if is_by_id else label
                    if value is not None:
                        detail = {"id": version.number, "framework": image.framework}
                        choices[value] = Choice(value=value, label=label, detail=detail)
        return list(choices.values()), is_whole


def key_choice(key: SshKey, is_by_id: bool) -> Choice:
    """A key by its label or its number, with the key itself."""
    label = key.label or str(key.pk)
    detail = {"public_key": key.ssh_key, "added": key.timestamp}
    return Choice(value=(key.pk or 0) if is_by_id else label, label=label, detail=detail)


def _sku(sku: Sku, is_by_id: bool) -> Choice:
    detail = {"GPUs": sku.gpu, "CPUs": sku.cpu, "memory_gb": sku.memory, "price": _cheapest(sku)}
    value = (sku.sku_id or 0) if is_by_id else sku.title
    return Choice(
        value=value, label=sku.title, detail=detail, why_not=None if sku.is_offered else "it cannot be had now"
    )


def _cheapest(sku: Sku) -> str | None:
    hourly = [row for row in sku.plans if row.days == 0 and row.unit_price is not None]
    row = min(hourly, key=lambda one: one.unit_price or 0, default=None)
    return f"{row.unit_price} {row.currency or ''}".strip() + " an hour" if row is not None else None


def _price(sku: Sku, row: Price) -> Choice:
    why_not = "not offered now" if row.is_active is False else None
    return Choice(value=row.sku_item_price_id or 0, label=str(row), detail={"node type": sku.name}, why_not=why_not)


def _ip(ip: ReservedIp, is_by_id: bool) -> Choice:
    """The word for a free one is not known; the one for an attached one is."""
    choice = _named(ip.id, ip.ip_address, {"status": ip.status, "used by": ip.service_name}, is_by_id)
    is_taken = (ip.status or "").lower() == "unavailable"
    return choice.model_copy(update={"why_not": "in use"}) if is_taken else choice


def _thing(one: Thing, is_by_id: bool) -> Choice:
    size = one.size_in_gb or one.disk_size_in_gb or one.disk_size
    return _named(_number(one), one.name, {"size_gb": size, "status": one.status}, is_by_id)


def _number(one: Thing) -> int | None:
    return one.id if one.id is not None else one.project_id


def _named(number: int | None, name: str | None, detail: Mapping[str, Any], is_by_id: bool) -> Choice:
    label = name or str(number)
    known = {key: value for key, value in {"id": number, **detail}.items() if value is not None}
    return Choice(value=(number or 0) if is_by_id else label, label=label, detail=known)

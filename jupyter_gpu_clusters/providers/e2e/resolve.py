"""From what the user asked for to the request itself: names become ids, prices are found, contradictions are told.

Every fault is collected. A list that cannot be read makes no plan impossible where plain ids are given; it is said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from pydantic import SecretStr

from ...core.findings import Findings, named
from ...core.nearest import did_you_mean
from .client import Client, Page
from .options import Options
from .spec import E2ESpec, Mount
from .wire import Image, ImageVersion, Price, Sku, Thing

T = TypeVar("T")
_DAYS = {"hourly": 0, "30d": 30, "90d": 90, "365d": 365}


@dataclass
class Resolved:
    """The request without its name, and what is known of its price.

    ``price`` is ``None`` where it could not be found out.
    """

    location: str
    fields: dict[str, Any]
    nodes: int = 0
    sku: Sku | None = None
    price: Price | None = None


class Lists:
    """The look-ups of one location, each read once; one that fails is ``None`` and a warning."""

    def __init__(self, client: Client, options: Options, location: str, findings: Findings) -> None:
        self._client = client
        self._options = options
        self.location = location
        self._findings = findings

    async def plans(self) -> Page[Sku] | None:
        """Node types with prices."""
        return await self._read("node types", lambda: self._client.list_plans(self.location, self._options.variant))

    async def images(self) -> list[Image] | None:
        """Images of all frameworks; ``None`` only where none could be read."""
        found: list[Image] | None = None
        for framework in self._options.frameworks:
            call = partial(self._client.list_images, self.location, framework)
            page = await self._read(f"{framework} images", call)
            found = found if page is None else [*(found or []), *page]
        return found

    async def keys(self) -> dict[str, int] | None:
        """Labels of SSH keys and their numbers."""
        page = await self._read("SSH keys", lambda: self._client.list_ssh_keys(self.location))
        return None if page is None else {key.label or str(key.pk): key.pk for key in page if key.pk is not None}

    async def groups(self) -> dict[str, int] | None:
        """Names of security groups and their numbers."""
        return _by_name(await self._read("security groups", lambda: self._client.list_security_groups(self.location)))

    async def things(self, kind: str) -> dict[str, int] | None:
        """Names and numbers of file systems or datasets."""
        calls: dict[str, Callable[[str], Awaitable[Page[Thing]]]] = {
            "sfs": self._client.list_sfs,
            "pfs": self._client.list_pfs,
            "datasets": self._client.list_datasets,
        }
        return _by_name(await self._read(kind, lambda: calls[kind](self.location)))

    async def addresses(self) -> dict[str, int] | None:
        """Reserved addresses and their numbers."""
        page = await self._read("reserved addresses", lambda: self._client.list_reserved_ips(self.location))
        return None if page is None else {ip.ip_address or str(ip.id): ip.id for ip in page if ip.id is not None}

    async def _read(self, what: str, call: Callable[[], Awaitable[T]]) -> T | None:
        return await self._findings.unless_silent(f"{what} of {self.location}", call)


async def resolve(spec: E2ESpec, client: Client, options: Options, findings: Findings) -> Resolved:
    """The request that `spec` asks for.

    Raises
    ------
    AuthError : the credential is refused, so nothing can be looked up.
    """
    location = spec.location or options.location
    lists = Lists(client, options, location, findings)
    nodes = findings.one_of("nodes", spec.nodes, "no_of_nodes", spec.no_of_nodes)
    if nodes is None:
        findings.wrong("nodes", "is needed: how many nodes.")
    sku, sku_id, price, price_id = await _node_type(spec, lists, findings)
    fields: dict[str, Any] = {
        "image_version_id": await image_version(lists, findings, spec.image, spec.image_version_id),
        "ssh_key_ids": await _keys(spec, lists, findings),
        "security_group_id": await _group(spec, lists, findings),
        **_script(spec, findings),
        **await _mounts(spec, lists, findings),
        "sku_id": sku_id,
        "no_of_nodes": nodes,
        "sku_item_price_id": price_id,
    }
    return Resolved(location, {k: v for k, v in fields.items() if v is not None}, nodes or 0, sku, price)


def chosen(findings: Findings, name: str, wanted: str, known: dict[str, int] | None) -> int | None:
    """The number behind a name."""
    if known is None:
        findings.wrong(name, f"{wanted!r} cannot be looked up now; write its id instead, or try again.")
        return None
    if wanted in known:
        return known[wanted]
    same = [number for label, number in known.items() if label.lower() == wanted.lower()]
    if len(same) == 1:
        return same[0]
    findings.wrong(name, f"there is no {wanted!r} here.{did_you_mean(wanted, known)}{named(known)}")
    return None


async def _node_type(
    spec: E2ESpec, lists: Lists, findings: Findings
) -> tuple[Sku | None, int | None, Price | None, int | None]:
    plans = await lists.plans()
    if plans is None:
        for name, value in (("sku_id", spec.sku_id), ("sku_item_price_id", spec.sku_item_price_id)):
            if value is None:
                findings.wrong(name, "is needed, since node types cannot be looked up now.")
        return None, spec.sku_id, None, spec.sku_item_price_id
    sku = _sku(spec, plans, findings)
    if spec.sku_item_price_id is not None:
        price = _given_price(spec, sku, plans, findings)
        sku_id = sku.sku_id if sku is not None else spec.sku_id
        return sku, sku_id, price, spec.sku_item_price_id
    if sku is None:
        return None, spec.sku_id, None, None
    price = _found_price(spec, sku, lists.location, findings)
    return sku, sku.sku_id, price, price.sku_item_price_id if price is not None else None


def _sku(spec: E2ESpec, plans: Sequence[Sku], findings: Findings) -> Sku | None:
    by_name = {sku.name or str(sku.sku_id): sku for sku in plans}
    if spec.sku_id is not None:
        found = next((sku for sku in plans if sku.sku_id == spec.sku_id), None)
        if found is None:
            findings.warnings.append(f"Node type {spec.sku_id} is not among those listed; its price is unknown.")
        elif spec.sku is not None and spec.sku.lower() != (found.name or "").lower():
            findings.wrong("sku", f"says {spec.sku!r} and sku_id {spec.sku_id} is {found.name!r}; leave one out.")
        return found
    if spec.sku is not None:
        found = next((sku for name, sku in by_name.items() if name.lower() == spec.sku.lower()), None)
        if found is None:
            findings.wrong("sku", f"there is no {spec.sku!r} here.{did_you_mean(spec.sku, by_name)}{named(by_name)}")
        return found
    if spec.gpu is not None:
        return _cheapest(spec, plans, by_name, findings)
    owner = next((sku for sku in plans for row in sku.plans if row.sku_item_price_id == spec.sku_item_price_id), None)
    if spec.sku_item_price_id is None or owner is None:
        findings.wrong("sku", f"is needed: sku, gpu or sku_id.{named(by_name)}")
    return owner if spec.sku_item_price_id is not None else None


def _cheapest(spec: E2ESpec, plans: Sequence[Sku], names: Iterable[str], findings: Findings) -> Sku | None:
    wanted = (spec.gpu or "").lower()
    fitting = [sku for sku in plans if wanted in f"{sku.gpu_card_type or ''} {sku.name or ''}".lower()]
    if not fitting:
        findings.wrong("gpu", f"no node type has {spec.gpu!r}.{named(names)}")
        return None
    days = _DAYS[spec.plan or "hourly"]

    def cost(sku: Sku) -> Decimal:
        prices = [row.unit_price for row in sku.plans if _fits(row, days) and row.unit_price is not None]
        return min(prices, default=Decimal("Infinity"))

    return min(fitting, key=lambda sku: (cost(sku), sku.sku_id or 0))


def _fits(row: Price, days: int) -> bool:
    return row.is_active is not False and row.is_committed == bool(days) and (row.committed_days or 0) == days


def _given_price(spec: E2ESpec, sku: Sku | None, plans: Sequence[Sku], findings: Findings) -> Price | None:
    number = spec.sku_item_price_id
    owner, price = next(
        ((one, row) for one in plans for row in one.plans if row.sku_item_price_id == number), (None, None)
    )
    if price is None or owner is None:
        findings.warnings.append(
            f"Price {number} is not among those listed: it may be hourly or a committed term that is paid at once."
        )
        return None
    if sku is not None and owner.sku_id != sku.sku_id:
        findings.wrong("sku_item_price_id", f"{number} is a price of {owner.name!r}, not of {sku.name!r}.")
    if spec.plan is not None and not _fits(price, _DAYS[spec.plan]):
        findings.wrong("plan", f"says {spec.plan} and price {number} is {_kind(price)}; leave one out.")
    return price


def _found_price(spec: E2ESpec, sku: Sku, location: str, findings: Findings) -> Price | None:
    plan = spec.plan or "hourly"
    rows = [row for row in sku.plans if _fits(row, _DAYS[plan]) and row.location in (None, location)]
    if len(rows) == 1:
        return rows[0]
    offered = ", ".join(f"{row.sku_item_price_id} ({_kind(row)})" for row in sku.plans) or "none"
    text = f"{sku.name!r} has {len(rows) or 'no'} prices for {plan} in {location}"
    findings.wrong("plan", f"{text}; write one as sku_item_price_id. Listed: {offered}.")
    return None


def _kind(row: Price) -> str:
    price = f"{row.unit_price} {row.currency}" if row.unit_price is not None else "price unknown"
    return f"{row.committed_days} days, {price}" if row.is_committed else f"hourly, {price}"


async def image_version(lists: Lists, findings: Findings, image: str | None, number: int | None) -> int | None:
    """The id of an image's version; for a name, of its newest version."""
    images = await lists.images()
    versions = [(one, version) for one in images or () for version in one.versions if version.number is not None]
    if number is not None:
        match = next(((one, v) for one, v in versions if v.number == number), None)
        if match is None and images is not None:
            findings.warnings.append(f"Image version {number} is not among those listed.")
        if match is not None and image is not None and image.lower() not in _image_words(*match):
            findings.wrong("image", f"says {image!r} and image_version_id {number} is another; leave one out.")
        return number
    words = sorted({one.name or one.slug_name or "" for one, _ in versions})
    if image is None:
        findings.wrong("image", f"is needed: image or image_version_id.{named(words)}")
        return None
    if images is None:
        findings.wrong("image", f"{image!r} cannot be looked up now; write image_version_id instead, or try again.")
        return None
    found = [v.number or 0 for one, v in versions if image.lower() in _image_words(one, v)]
    if not found:
        findings.wrong("image", f"there is no {image!r} here.{did_you_mean(image, words)}{named(words)}")
    return max(found, default=None)


def _image_words(image: Image, version: ImageVersion) -> set[str]:
    names = {name.lower() for name in (image.name, image.slug_name, version.name, version.slug_name) if name}
    label = (version.version or "").lower()
    return names | ({label} if label else set()) | {f"{name} {label}" for name in names if label}


async def _keys(spec: E2ESpec, lists: Lists, findings: Findings) -> list[int] | None:
    if spec.ssh_keys is None and spec.ssh_key_ids is None:
        known = await lists.keys()
        findings.wrong("ssh_keys", f"is needed: labels of keys that may log in.{named(known or ())}")
        return None
    numbers = await key_ids(lists, findings, spec.ssh_keys, spec.ssh_key_ids)
    if not numbers and not findings.problems:
        findings.warnings.append("No SSH key is given: nobody will be able to log in.")
    return numbers


async def key_ids(
    lists: Lists, findings: Findings, labels: Sequence[str] | None, numbers: Sequence[int] | None
) -> list[int]:
    """The numbers of keys given by label or by number, without repeats."""
    found = list(numbers or ())
    if labels:
        known = await lists.keys()
        found += [number for label in labels if (number := chosen(findings, "ssh_keys", label, known)) is not None]
    return list(dict.fromkeys(found))


async def _group(spec: E2ESpec, lists: Lists, findings: Findings) -> int | None:
    if spec.security_group is None:
        if spec.security_group_id is None:
            known = await lists.groups()
            findings.wrong("security_group", f"is needed: one group; it opens TCP 22 or nothing.{named(known or ())}")
        return spec.security_group_id
    number = chosen(findings, "security_group", spec.security_group, await lists.groups())
    return findings.one_of("security_group", number, "security_group_id", spec.security_group_id)


def _script(spec: E2ESpec, findings: Findings) -> dict[str, Any]:
    script = spec.lifecycle_script
    if spec.script_added is not None and spec.script_added != bool(script):
        findings.wrong(
            "script_added", f"is {str(spec.script_added).lower()}, but there is {'a' if script else 'no'} script."
        )
    if script:
        return {"script_added": True, "lifecycle_script": SecretStr(script)}
    return {} if spec.script_added is None else {"script_added": spec.script_added}


async def _mounts(spec: E2ESpec, lists: Lists, findings: Findings) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for short, own in (("sfs", "sfs_mount_list"), ("pfs", "pfs_mount_list"), ("datasets", "dataset_mount_list")):
        given = [(short, mount) for mount in getattr(spec, short) or ()]
        given += [(own, mount) for mount in getattr(spec, own) or ()]
        if given:
            known = await lists.things(short)
            made[own] = [_mount(name, index, mount, known, findings) for index, (name, mount) in enumerate(given)]
    return made


def _mount(name: str, index: int, mount: Mount, known: dict[str, int] | None, findings: Findings) -> dict[str, Any]:
    where = f"{name}[{index}]"
    if mount.id is None and mount.name is None:
        findings.wrong(where, "needs a name or an id.")
    number, label = mount.id, mount.name
    if number is None and label is not None:
        number = chosen(findings, f"{where}.name", label, known)
    elif label is None:
        label = next((one for one, value in (known or {}).items() if value == number), None)
        if label is None:
            findings.wrong(f"{where}.name", f"is needed: {number} is not among those listed.")
    elif known and known.get(label) not in (None, number):
        findings.wrong(f"{where}.id", f"{number} is not {label!r}.")
    return {"id": number, "name": label, "mount_path": mount.mount_path}


def _by_name(page: Page[Thing] | None) -> dict[str, int] | None:
    return None if page is None else {one.name or str(one.id): one.id for one in page if one.id is not None}

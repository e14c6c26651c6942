"""A create body against what there is: every id must be known in this place, and the account must be able to pay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..service import Problem, Refused
from .accounts import Place
from .billing import needed_credit
from .bodies import CreateBody, LooseMount, Mount
from .catalogue import ImageVersion, Price, Sku
from .errors import bad
from .state import Tir
from .things import SshKey, Table, Volume

_NAME_RULES = {
    "safe": r"[a-z][a-z0-9-]{1,48}[a-z0-9]",
    "free": r"(?s).+",
    "console": r"training-cluster-[0-9]{12}",
}
_CUT = 24
_NOT_HERE = "Object with id={} does not exist in this location."


@dataclass(frozen=True)
class Order:
    """What a create body comes to."""

    sku: Sku
    price: Price
    image: ImageVersion
    ssh_keys: list[SshKey]


def resolve(tir: Tir, place: Place, body: CreateBody) -> Order:
    """The order, if it can be carried out.

    Raises
    ------
    Refused : 400 with all wrong fields, 409 for a name in use, 412 for want of credit or nodes, 429 for the quota.
    """
    sku = next((one for one in tir.skus[place.location] if one.id == body.sku_id), None)
    price = sku.price(body.sku_item_price_id) if sku else None
    image = find_image(tir, place, body.image_version_id)
    problems = [*_text_problems(tir, body), *_id_problems(tir, place, body, price), *_mount_problems(tir, place, body)]
    if sku is None:
        problems.append(("sku_id", _NOT_HERE.format(body.sku_id)))
    if image is None:
        problems.append(("image_version_id", _NOT_HERE.format(body.image_version_id)))
    if problems or sku is None or price is None or image is None:
        raise Refused(400, "Invalid request", problems=problems)
    _refuse_second_name(tir, place, body.name)
    _refuse_beyond_quota(tir, place)
    account = next(one for one in tir.accounts if one.id == place.account)
    tir.need_credit(account, needed_credit(body.no_of_nodes, price.unit_price, price.days))
    need_nodes(tir, sku, body.no_of_nodes)
    return Order(sku, price, image, find_keys(tir, place, body.ssh_key_ids))


def find_image(tir: Tir, place: Place, number: int) -> ImageVersion | None:
    """An image version of this location."""
    return next((one for one in tir.images[place.location] if one.id == number), None)


def find_keys(tir: Tir, place: Place, numbers: Sequence[int]) -> list[SshKey]:
    """The SSH keys, each once; raises `Refused` 400 for one that is unknown here."""
    found = [tir.keys.get(place.without_project(), number) for number in dict.fromkeys(numbers)]
    if None in found:
        raise Refused(400, "Invalid request", problems=_key_problems(tir, place, numbers))
    return [key for key in found if key is not None]


def need_nodes(tir: Tir, sku: Sku, nodes: int) -> None:
    """Refuse, with the number, what there is no room for."""
    free = tir.free_nodes(sku)
    if free < nodes:
        raise Refused(412, f"Only {free} nodes of {sku.name} are available, {nodes} were asked for")


def given_name(tir: Tir, name: str) -> str:
    """What the service makes of a name."""
    kept = tir.world.choices["e2e.name_kept"]
    if kept == "suffixed":
        return f"{name}-{tir.world.hex(4)}"
    return name[:_CUT] if kept == "cut" else name


def _text_problems(tir: Tir, body: CreateBody) -> Iterator[Problem]:
    choices = tir.world.choices
    if not re.fullmatch(_NAME_RULES[choices["e2e.name_rule"]], body.name):
        yield "name", "This name is not allowed."
    if choices["e2e.script_added"] == "checked" and body.script_added != bool(body.lifecycle_script):
        yield "script_added", "It must be true exactly when there is a lifecycle_script."


def _id_problems(tir: Tir, place: Place, body: CreateBody, price: Price | None) -> Iterator[Problem]:
    yield from _key_problems(tir, place, body.ssh_key_ids)
    if tir.groups.get(place, body.security_group_id) is None:
        yield "security_group_id", _NOT_HERE.format(body.security_group_id)
    if price is None:
        yield "sku_item_price_id", "This is no price of that SKU in this location."
    elif not price.is_active:
        yield "sku_item_price_id", "This price is not active."


def _key_problems(tir: Tir, place: Place, numbers: Sequence[int]) -> list[Problem]:
    lost = [number for number in numbers if tir.keys.get(place.without_project(), number) is None]
    return [("ssh_key_ids", _NOT_HERE.format(number)) for number in lost]


def _mount_problems(tir: Tir, place: Place, body: CreateBody) -> Iterator[Problem]:
    lists: tuple[tuple[str, Sequence[Mount | LooseMount], Table[Volume]], ...] = (
        ("sfs_mount_list", body.sfs_mount_list, tir.sfs),
        ("pfs_mount_list", body.pfs_mount_list, tir.pfs),
        ("dataset_mount_list", body.dataset_mount_list, tir.datasets),
    )
    seen: set[str] = set()
    for name, mounts, table in lists:
        loose = name != "sfs_mount_list" and tir.world.choices["e2e.mounts"] == "loose"
        for number, mount in enumerate(mounts):
            for field, text in _volume_problems(mount, table, place, loose=loose):
                yield f"{name}.{number}.{field}", text
            if mount.mount_path and mount.mount_path in seen:
                yield f"{name}.{number}.mount_path", "Something else is mounted there."
            seen.add(mount.mount_path)


def _volume_problems(
    mount: Mount | LooseMount, table: Table[Volume], place: Place, *, loose: bool
) -> Iterator[Problem]:
    given = mount.model_fields_set
    missing = [] if loose else [name for name in ("id", "name", "mount_path") if name not in given]
    yield from ((name, "This field is required.") for name in missing)
    volume = table.get(place, mount.id)
    if "id" in given and volume is None:
        yield "id", _NOT_HERE.format(mount.id)
    elif volume is not None and "name" in given and volume.name != mount.name:
        yield "name", "The volume has another name."
    if "mount_path" in given and not re.fullmatch(r"(/[^/\0]+)+/?", mount.mount_path):
        yield "mount_path", "An absolute path is needed."


def _refuse_second_name(tir: Tir, place: Place, name: str) -> None:
    rule, now = tir.world.choices["e2e.names"], tir.now()
    here = (one for one in tir.clusters.values() if one.place == place and one.is_there(now))
    if rule != "free" and any(one.name == name for one in here):
        text = "A cluster with this name already exists."
        raise bad("name", text) if rule == "400" else Refused(409, text)


def _refuse_beyond_quota(tir: Tir, place: Place) -> None:
    most, now = int(tir.world.choices.number("e2e.max_clusters")), tir.now()
    held = sum(one.place == place and one.is_there(now) for one in tir.clusters.values())
    if most and held >= most:
        raise Refused(429, f"Quota exceeded: this project may hold {most} clusters here and holds {held}")

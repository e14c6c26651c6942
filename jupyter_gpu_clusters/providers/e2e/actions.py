"""E2E's own actions on a running cluster, all sent by one PUT. Source: contract, section 2.3.

``scale_cluster`` is not here: it adds nodes, and our word for size is the wanted total (see ``provider.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from ...core.findings import Findings
from ...core.provider import Action
from . import wire
from .lists import Lists, chosen, expect
from .resolve import group_id, image_version, key_ids
from .spec import AddSecurityGroup, AttachIp, DetachIp, Nothing, RemoveSecurityGroup, UpdateImage, UpdateSshKeys

ACTIONS: Mapping[str, Action] = {
    "restart_cluster": Action(
        title="Restart",
        description="Restarts the Slurm controller and all nodes; what runs there ends.",
        model=Nothing,
        is_restart=True,
    ),
    "restart_workers": Action(
        title="Restart workers",
        description="Restarts the compute nodes, not the Slurm controller; jobs on them end.",
        model=Nothing,
    ),
    "update_ssh_keys": Action(
        title="SSH keys", description="Changes who may log in, on all nodes.", model=UpdateSshKeys
    ),
    "update_image": Action(title="Image", description="Changes the image on all nodes.", model=UpdateImage),
    "attach_ip": Action(title="Attach address", description="Gives it a reserved public address.", model=AttachIp),
    "detach_ip": Action(title="Detach address", description="Takes a reserved public address away.", model=DetachIp),
    "add_security_group": Action(
        title="Add security groups", description="Attaches more security groups.", model=AddSecurityGroup
    ),
    "remove_security_group": Action(
        title="Remove security group", description="Detaches one security group.", model=RemoveSecurityGroup
    ),
}

_CONFIRM: Mapping[str, str] = {
    "restart_cluster": "Everything that runs on it ends.",
    "restart_workers": "Everything that runs on its nodes ends.",
    "update_image": "All nodes get another image.",
    "attach_ip": "A reserved address is billed as long as it is reserved.",
    "detach_ip": "Connections over that address end; it stays reserved and billed.",
    "remove_security_group": "Connections that only this group allows will end.",
}


@dataclass(frozen=True)
class Wish:
    """What an action needs to know: where it is done, the cluster now, and what the user wrote."""

    lists: Lists
    findings: Findings
    now: wire.Cluster


Builder = Callable[[Wish, Any], Awaitable[dict[str, Any]]]


async def body_of(action: str, wish: Wish, spec: BaseModel) -> dict[str, Any]:
    """The body of the PUT; faults go into the wish's findings."""
    return {"action": action, **await _BUILDERS[action](wish, spec)}


def confirm_of(action: str, spec: BaseModel) -> str | None:
    """What must be agreed to."""
    if isinstance(spec, UpdateSshKeys):
        return "Keys that are there now are dropped; who uses them can no longer log in." if spec.replace else None
    return _CONFIRM.get(action)


async def _nothing(wish: Wish, spec: Nothing) -> dict[str, Any]:
    return {}


async def _keys(wish: Wish, spec: UpdateSshKeys) -> dict[str, Any]:
    """The call replaces all keys, so those that are there now are sent along unless they are to go."""
    wanted = await key_ids(wish.lists, wish.findings, spec.ssh_keys, spec.ssh_key_ids)
    if not wanted and not wish.findings.problems:
        wish.findings.wrong("ssh_keys", "is needed: at least one key, else nobody could log in.")
    present = [] if spec.replace else wish.now.key_ids
    if present is None:
        wish.findings.wrong("replace", "must be true: E2E does not tell which keys are there now, so all would go.")
    return {"ssh_key_ids": list(dict.fromkeys([*(present or ()), *wanted]))}


async def _image(wish: Wish, spec: UpdateImage) -> dict[str, Any]:
    return {"image_version_id": await image_version(wish.lists, wish.findings, spec.image, spec.image_version_id)}


async def _ip(wish: Wish, spec: AttachIp) -> dict[str, Any]:
    own = spec.reserved_ip_id
    if spec.ip is None and own is None:
        wish.findings.wrong("ip", "is needed: a reserved address, or reserved_ip_id.")
    known = await wish.lists.addresses()
    expect(wish.findings, "Reserved IP", () if own is None else (own,), known)
    number = None if spec.ip is None else chosen(wish.findings, "ip", spec.ip, known)
    return {"reserved_ip_id": wish.findings.one_of("ip", number, "reserved_ip_id", own)}


async def _detach(wish: Wish, spec: DetachIp) -> dict[str, Any]:
    return {**await _ip(wish, spec), "ip_type": spec.ip_type}


async def _add_groups(wish: Wish, spec: AddSecurityGroup) -> dict[str, Any]:
    numbers = list(spec.security_groups_ids or ())
    known = await wish.lists.groups()
    expect(wish.findings, "Security groups", numbers, known)
    named = (chosen(wish.findings, "security_groups", name, known) for name in spec.security_groups or ())
    numbers += [number for number in named if number is not None]
    if not numbers and not wish.findings.problems:
        wish.findings.wrong("security_groups", "is needed: at least one group.")
    return {"security_groups_ids": list(dict.fromkeys(numbers))}


async def _remove_group(wish: Wish, spec: RemoveSecurityGroup) -> dict[str, Any]:
    number = await group_id(wish.lists, wish.findings, spec.security_group, spec.security_group_id)
    return {"security_group_id": number}


_BUILDERS: Mapping[str, Builder] = {
    "restart_cluster": _nothing,
    "restart_workers": _nothing,
    "update_ssh_keys": _keys,
    "update_image": _image,
    "attach_ip": _ip,
    "detach_ip": _detach,
    "add_security_group": _add_groups,
    "remove_security_group": _remove_group,
}


def took_effect(action: str | None, shown: Mapping[str, Any], now: wire.Cluster) -> bool | None:
    """Whether a cluster shows what an action wanted; ``None`` where nothing that can be read tells."""
    if action == "update_ssh_keys":
        return now.key_ids is not None and set(shown.get("ssh_key_ids") or ()) == set(now.key_ids)
    if action == "update_image":
        return now.image_version.number == shown.get("image_version_id")
    return None

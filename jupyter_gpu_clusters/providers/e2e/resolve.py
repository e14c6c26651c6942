"""From what the user asked for to the request itself: names become ids, prices are found, contradictions are told.

Every fault is collected. A list that cannot be read makes no plan impossible where plain ids are given; it is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from ...core.findings import Findings, named
from ...core.nearest import did_you_mean
from .client import Client
from .lists import Known, Lists, chosen, expect
from .node_types import NodeType, node_type
from .options import Options
from .spec import E2ESpec, Mount
from .wire import Image, ImageVersion


@dataclass
class Resolved:
    """The request without its name, and what it asks for."""

    location: str
    fields: dict[str, Any]
    nodes: int
    node_type: NodeType


async def resolve(spec: E2ESpec, client: Client, options: Options, findings: Findings) -> Resolved:
    """The request that `spec` asks for.

    Raises
    ------
    AuthError : the credential is refused, so nothing can be looked up.
    """
    location = spec.location or options.location
    if location not in options.locations:
        listed = ", ".join(options.locations)
        findings.wrong("location", f"{location} is not among the account's `locations` ({listed}): add it there.")
    lists = Lists(client, options, location, findings)
    nodes = findings.one_of("nodes", spec.nodes, "no_of_nodes", spec.no_of_nodes)
    if nodes is None:
        findings.wrong("nodes", "is needed: how many nodes.")
    kind = await node_type(spec, lists, findings)
    fields: dict[str, Any] = {
        "image_version_id": await image_version(lists, findings, spec.image, spec.image_version_id),
        "ssh_key_ids": await _keys(spec, lists, findings),
        "security_group_id": await group_id(lists, findings, spec.security_group, spec.security_group_id),
        **_script(spec, findings),
        **await _mounts(spec, lists, findings),
        "sku_id": kind.sku_id,
        "no_of_nodes": nodes,
        "sku_item_price_id": kind.price_id,
    }
    return Resolved(location, {k: v for k, v in fields.items() if v is not None}, nodes or 0, kind)


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
    if labels or found:
        known = await lists.keys()
        expect(findings, "SSH keys", found, known)
        found += [n for label in labels or () if (n := chosen(findings, "ssh_keys", label, known)) is not None]
    return list(dict.fromkeys(found))


async def group_id(lists: Lists, findings: Findings, name: str | None, number: int | None) -> int | None:
    """The number of one security group given by name or by number."""
    known = await lists.groups()
    if name is None and number is None:
        findings.wrong("security_group", f"is needed: a group's name, or security_group_id.{named(known or ())}")
        return None
    expect(findings, "Security group", () if number is None else (number,), known)
    found = None if name is None else chosen(findings, "security_group", name, known)
    return findings.one_of("security_group", found, "security_group_id", number)


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
    used: set[str] = set()
    for short, own in (("sfs", "sfs_mount_list"), ("pfs", "pfs_mount_list"), ("datasets", "dataset_mount_list")):
        given = [(f"{short}[{index}]", mount) for index, mount in enumerate(getattr(spec, short) or ())]
        given += [(f"{own}[{index}]", mount) for index, mount in enumerate(getattr(spec, own) or ())]
        known = await lists.things(short) if given else None
        for where, mount in given:
            made.setdefault(own, []).append(_mount(where, mount, known, findings))
            if mount.mount_path in used:
                findings.wrong(f"{where}.mount_path", f"{mount.mount_path} is the place of another mount already.")
            used.add(mount.mount_path)
    return made


def _mount(where: str, mount: Mount, known: Known | None, findings: Findings) -> dict[str, Any]:
    number, label = mount.id, mount.name
    if number is None and label is None:
        findings.wrong(where, "needs a name or an id.")
    elif number is None and label is not None:
        number = chosen(findings, f"{where}.name", label, known)
    elif label is None:
        label = next((name for name, numbers in (known or {}).items() if number in numbers), None)
        if label is None:
            why = "the names cannot be looked up now" if known is None else f"{number} is not among those listed"
            findings.wrong(f"{where}.name", f"is needed: {why}.")
    elif known and label in known and number not in known[label]:
        findings.wrong(f"{where}.id", f"{number} is not {label!r}.")
    return {"id": number, "name": label, "mount_path": mount.mount_path}

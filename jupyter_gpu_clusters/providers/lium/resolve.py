"""From what the user asked for to the rent itself: nodes are chosen, names become ids, contradictions are told.

Every fault is collected. A list that cannot be read makes no plan impossible where plain ids are given; it is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from ...core.findings import Findings, named
from ...core.models import Money
from ...core.nearest import did_you_mean
from .client import Client
from .convert import CURRENCY
from .nodes import choose, price_in_all
from .spec import LiumSpec
from .wire import Executor, Template

CLUSTER_IMAGE = "daturaai/lium-cluster"
_SENT_AS_IT_IS = (
    "backup_log_id", "restore_path", "skip_add_agent_ssh_key", "termination_hours", "initial_port_count",
    "enable_jupyter", "enable_volume_encryption", "enable_backups", "ncu_profiling",
)  # fmt: skip
_SENT_IF_ASKED = ("gpu_count", "build_context_sha256")
_FIREWALLED = re.compile(r"http://[0-9]{1,3}(\.[0-9]{1,3}){3}|\.\./\.\./")
_FIREWALL_BYTES = 64 * 1024


@dataclass
class Rent:
    """The request without its name, the nodes it is for in rank order, and what is known of its price."""

    executor_ids: list[str]
    fields: dict[str, Any]
    nodes: list[Executor]
    price: Money | None

    @property
    def is_single(self) -> bool:
        """Whether it goes to the route for single nodes."""
        return len(self.executor_ids) == 1

    @property
    def gpus(self) -> int:
        """GPUs in all, as far as known."""
        asked = self.fields.get("gpu_count")
        return asked if self.is_single and isinstance(asked, int) else sum(node.gpus or 0 for node in self.nodes)


async def resolve(spec: LiumSpec, client: Client, findings: Findings) -> Rent:
    """The rent that `spec` asks for.

    Raises
    ------
    AuthError : the key is refused, so nothing can be looked up.
    """
    count = _count(spec, findings)
    ids, nodes = await choose(spec, count, client, findings)
    fields: dict[str, Any] = {
        "template_id": await _template(spec, count, client, findings),
        "user_public_key": await _keys(spec, client, findings),
        "volume_id": await _volume(spec, count, client, findings),
        **{name: getattr(spec, name) for name in (*_SENT_AS_IT_IS, *_SENT_IF_ASKED)},
    }
    if spec.dockerfile_content is not None:
        fields["dockerfile_content"] = SecretStr(spec.dockerfile_content)
        _check_dockerfile(spec.dockerfile_content, count, findings)
    if count > 1:
        _check_whole(spec, nodes, findings)
    if (spec.backup_log_id is None) != (spec.restore_path is None):
        findings.wrong("restore_path", "goes only together with backup_log_id.")
    price = price_in_all(nodes, ids, spec.gpu_count if count == 1 else None)
    if spec.max_price_per_hour is not None and (price is None or price.amount > spec.max_price_per_hour):
        told = str(price) if price is not None else "an unknown price"
        findings.wrong(
            "max_price_per_hour", f"is {spec.max_price_per_hour} {CURRENCY}, and this costs {told} per hour."
        )
    return Rent(ids, {key: value for key, value in fields.items() if value is not None}, nodes, price)


def _count(spec: LiumSpec, findings: Findings) -> int:
    given = len(spec.executor_uuids) if spec.executor_uuids is not None else None
    if given is not None and spec.nodes is not None and spec.nodes != given:
        findings.wrong("nodes", f"says {spec.nodes} and executor_uuids names {given}; leave one out.")
    if spec.executor_uuids is not None and len(set(spec.executor_uuids)) != given:
        findings.wrong("executor_uuids", "names a node twice.")
    return given or spec.nodes or 2


def _check_whole(spec: LiumSpec, nodes: Sequence[Executor], findings: Findings) -> None:
    """What only one node can have."""
    if spec.build_context_sha256 is not None:
        findings.wrong("build_context_sha256", "is for one single node.")
    if spec.gpu_count is not None and any(node.gpus != spec.gpu_count for node in nodes):
        findings.wrong("gpu_count", "is for one single node; several nodes are always whole.")


def _check_dockerfile(text: str, count: int, findings: Findings) -> None:
    if count > 1:
        findings.warnings.append("Several nodes run only the cluster image, so Lium may refuse the Dockerfile.")
    if _FIREWALLED.search(text) or len(text.encode()) > _FIREWALL_BYTES:
        findings.warnings.append(
            "Lium's firewall refuses requests with http:// addresses made of numbers, with ../../, or above 64 KB."
        )


async def _template(spec: LiumSpec, count: int, client: Client, findings: Findings) -> str | None:
    if spec.template is None and count == 1:
        return spec.template_id
    templates = await findings.unless_silent("templates", client.list_templates)
    if templates is None:
        if spec.template is not None or spec.template_id is None:
            findings.wrong("template", "cannot be looked up now; write template_id instead, or try again.")
        return spec.template_id
    if spec.template is None and spec.template_id is None:
        return _newest_cluster_image(templates, findings)
    wanted, field = spec.template or spec.template_id, "template" if spec.template is not None else "template_id"
    found = newest_first(one for one in templates if wanted in (one.id, one.name))
    if not found and spec.template is None:
        findings.warnings.append(f"Template {wanted} is not among those listed; it could not be checked.")
        return spec.template_id
    if not found:
        names = [one.name or one.id or "" for one in templates]
        findings.wrong("template", f"there is no {wanted!r}.{did_you_mean(wanted or '', names)}{named(names)}")
        return None
    if count > 1 and not (found[0].docker_image or "").startswith(CLUSTER_IMAGE):
        findings.wrong(field, f"several nodes run only images of {CLUSTER_IMAGE}; this is {found[0].docker_image}.")
    if spec.template_id is not None and found[0].id != spec.template_id:
        findings.wrong("template", f"{spec.template!r} is {found[0].id} and template_id is another; leave one out.")
    return found[0].id


def _newest_cluster_image(templates: Sequence[Template], findings: Findings) -> str | None:
    ours = [one for one in templates if (one.docker_image or "").startswith(CLUSTER_IMAGE)]
    found = newest_first(one for one in ours if one.status != "VERIFY_FAILED")
    if not found:
        findings.wrong("template", f"is needed: no template of {CLUSTER_IMAGE} is listed.")
        return None
    return found[0].id


def newest_first(templates: Iterable[Template]) -> list[Template]:
    """By the version in the tag; of equal ones by id."""
    known = [one for one in templates if one.id is not None]
    return sorted(known, key=lambda one: (_version(one.docker_image_tag), one.id or ""), reverse=True)


def _version(tag: str | None) -> tuple[int, ...]:
    parts = (tag or "").lstrip("v").split(".")
    return tuple(int(part) if part.isdecimal() else -1 for part in parts)


async def _keys(spec: LiumSpec, client: Client, findings: Findings) -> list[str] | None:
    keys = list(spec.user_public_key or ())
    if spec.ssh_keys:
        kept = await findings.unless_silent("SSH keys", client.list_ssh_keys)
        known = {key.name or key.id or "": key.public_key for key in kept or ()}
        for name in spec.ssh_keys:
            if kept is None:
                findings.wrong("ssh_keys", f"{name!r} cannot be looked up now; write user_public_key instead.")
            elif known.get(name) is None:
                findings.wrong("ssh_keys", f"there is no {name!r}.{did_you_mean(name, known)}{named(known)}")
            else:
                keys.append(known[name] or "")
    if any("PRIVATE KEY" in key for key in keys):
        findings.wrong("user_public_key", "holds a private key; it was not sent. Write the public half.")
    if not spec.ssh_keys and not spec.user_public_key:
        findings.wrong("ssh_keys", "is needed: names of keys that may log in, or user_public_key.")
    return list(dict.fromkeys(keys))


async def _volume(spec: LiumSpec, count: int, client: Client, findings: Findings) -> str | None:
    if count > 1 and (spec.volume is not None or spec.volume_id is not None):
        findings.warnings.append("A volume belongs to one pod at a time, so Lium may refuse it for several nodes.")
    if spec.volume is None:
        return spec.volume_id
    volumes = await findings.unless_silent("volumes", client.list_volumes)
    if volumes is None:
        findings.wrong("volume", "cannot be looked up now; write volume_id instead, or try again.")
        return spec.volume_id
    found = [one.id for one in volumes if one.name == spec.volume]
    if not found:
        names = [one.name or "" for one in volumes]
        findings.wrong("volume", f"there is no {spec.volume!r}.{did_you_mean(spec.volume, names)}{named(names)}")
        return None
    if spec.volume_id is not None and spec.volume_id not in found:
        findings.wrong("volume", f"{spec.volume!r} is another than volume_id; leave one out.")
    if spec.volume_id is None and len(found) > 1:
        findings.wrong("volume", f"{spec.volume!r} is the name of {len(found)} volumes; write volume_id instead.")
    return spec.volume_id or found[0]


def shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The request for people and for the journal: keys shortened, texts that may hold secrets masked."""
    out = {key: "***" if isinstance(value, SecretStr) else value for key, value in fields.items()}
    if "user_public_key" in out:
        out["user_public_key"] = [_short(key) for key in out["user_public_key"]]
    return out


def _short(key: str) -> str:
    kind, _, rest = key.partition(" ")
    return f"{kind} …{rest.split(' ')[0][-8:]}"

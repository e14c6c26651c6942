"""From what the user asked for to the rent itself: nodes are chosen, names become ids, contradictions are told.

Every fault is collected. A list that cannot be read makes no plan impossible where plain ids are given; it is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from ...core.findings import Findings, named
from ...core.models import Money
from ...core.nearest import did_you_mean
from .client import Client
from .convert import CURRENCY, cheapest_first, price_of
from .spec import LiumSpec
from .wire import Executor, Fabric, Template

CLUSTER_IMAGE = "daturaai/lium-cluster"
_SENT_AS_IT_IS = (
    "backup_log_id", "restore_path", "skip_add_agent_ssh_key", "termination_hours", "initial_port_count",
    "enable_jupyter", "enable_volume_encryption", "enable_backups", "ncu_profiling",
)  # fmt: skip
_SINGLE_ONLY = ("gpu_count", "dockerfile_content", "build_context_sha256")


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
        return asked if isinstance(asked, int) else sum(node.gpus or 0 for node in self.nodes)


async def resolve(spec: LiumSpec, client: Client, findings: Findings) -> Rent:
    """The rent that `spec` asks for.

    Raises
    ------
    AuthError : the key is refused, so nothing can be looked up.
    """
    count = _count(spec, findings)
    ids, nodes = await _nodes(spec, count, client, findings)
    fields: dict[str, Any] = {
        "template_id": await _template(spec, count, client, findings),
        "user_public_key": await _keys(spec, client, findings),
        "volume_id": await _volume(spec, count, client, findings),
        **{name: getattr(spec, name) for name in (*_SENT_AS_IT_IS, *_SINGLE_ONLY)},
    }
    if spec.dockerfile_content is not None:
        fields["dockerfile_content"] = SecretStr(spec.dockerfile_content)
    if count > 1:
        for name in _SINGLE_ONLY:
            if getattr(spec, name) is not None:
                findings.wrong(name, "is for one single node; several nodes are whole and run the cluster image.")
    if (spec.backup_log_id is None) != (spec.restore_path is None):
        findings.wrong("restore_path", "goes only together with backup_log_id.")
    price = _price(nodes, ids, spec.gpu_count if count == 1 else None)
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


def _price(nodes: Sequence[Executor], ids: Sequence[str], gpus: int | None) -> Money | None:
    prices = [price_of(node, gpus) for node in nodes]
    if len(nodes) != len(ids) or not prices or any(price is None for price in prices):
        return None
    known = [price for price in prices if price is not None]
    return known[0].model_copy(update={"amount": sum(price.amount for price in known)})


async def _nodes(spec: LiumSpec, count: int, client: Client, findings: Findings) -> tuple[list[str], list[Executor]]:
    if count == 1:
        return await _one_node(spec, client, findings)
    fabrics = await findings.unless_silent("fabrics", client.list_fabrics)
    if spec.executor_uuids is not None:
        return list(spec.executor_uuids), _given_nodes(spec, fabrics, findings)
    if fabrics is None:
        findings.wrong("nodes", "cannot be chosen, since fabrics cannot be looked up now; write executor_uuids.")
        return [], []
    chosen = _cheapest_on_one(spec, count, _fabrics(spec, fabrics, findings), findings)
    return [node.id or "" for node in chosen], chosen


def _given_nodes(spec: LiumSpec, fabrics: Sequence[Fabric] | None, findings: Findings) -> list[Executor]:
    """The hosts behind ids; all must be free on one fabric, as far as can be seen."""
    wanted = spec.executor_uuids or []
    if fabrics is None:
        return []
    homes = {node.id: fabric.fabric_id for fabric in fabrics for node in fabric.nodes if node.id in wanted}
    known = {node.id: node for fabric in fabrics for node in fabric.nodes if node.id in homes}
    strange = [one for one in wanted if one not in known]
    if strange:
        findings.wrong("executor_uuids", f"{', '.join(strange)}: not free on any fabric now.")
    if len(set(homes.values())) > 1:
        findings.wrong("executor_uuids", "the nodes are on different fabrics; all must be on one.")
    return [known[one] for one in wanted if one in known]


def _fabrics(spec: LiumSpec, fabrics: Sequence[Fabric], findings: Findings) -> list[Fabric]:
    fitting = [one for one in fabrics if one.fabric_id is not None]
    if spec.fabric is not None:
        exact = [one for one in fitting if one.fabric_id == spec.fabric]
        begun = [one for one in fitting if (one.fabric_id or "").startswith(spec.fabric)]
        fitting = exact or begun
        if not exact and len(begun) != 1:
            text = "is the beginning of several" if begun else "is none that has free nodes"
            findings.wrong("fabric", f"{spec.fabric!r} {text}.{named(one.fabric_id for one in begun or fabrics)}")
            return []
    return fitting


def _cheapest_on_one(spec: LiumSpec, count: int, fabrics: Sequence[Fabric], findings: Findings) -> list[Executor]:
    """The cheapest `count` nodes that share a fabric: all or none."""
    wanted = (spec.gpu or "").lower()
    sets = []
    for fabric in fabrics:
        nodes = cheapest_first(node for node in fabric.nodes if wanted in (node.machine_name or "").lower())
        if len(nodes) >= count:
            sets.append(nodes[:count])
    if not sets and fabrics:
        free = [f"{len(one.nodes)} x {one.nodes[0].machine_name if one.nodes else '?'}" for one in fabrics]
        findings.wrong(
            "nodes", f"no fabric has {count} free nodes{f' with {spec.gpu}' if spec.gpu else ''}.{named(free)}"
        )
    return min(sets, key=_rank, default=[])


def _rank(nodes: Sequence[Executor]) -> tuple[bool, Any, list[str]]:
    price = _price(nodes, [node.id or "" for node in nodes], None)
    return price is None, price.amount if price is not None else 0, [node.id or "" for node in nodes]


async def _one_node(spec: LiumSpec, client: Client, findings: Findings) -> tuple[list[str], list[Executor]]:
    executors = await findings.unless_silent("nodes", client.list_executors)
    if spec.fabric is not None:
        findings.wrong("fabric", "is for several nodes; one node needs none.")
    if spec.executor_uuids is not None:
        found = [one for one in executors or () if one.id == spec.executor_uuids[0]]
        if executors is not None and not found:
            findings.warnings.append(f"Node {spec.executor_uuids[0]} is not among those listed; its price is unknown.")
        return list(spec.executor_uuids), [one for one in found if _has_gpus(one, spec, findings)]
    if executors is None:
        findings.wrong("nodes", "cannot be chosen, since nodes cannot be looked up now; write executor_uuids.")
        return [], []
    wanted = (spec.gpu or "").lower()
    fitting = [one for one in executors if wanted in (one.machine_name or "").lower() and _is_free(one, spec)]
    chosen = cheapest_first(fitting)[:1]
    if not chosen:
        names = sorted({one.machine_name or "" for one in executors})
        findings.wrong("gpu", f"no free node fits{f' {spec.gpu!r}' if spec.gpu else ''}.{named(names)}")
    return [one.id or "" for one in chosen], chosen


def _free(executor: Executor) -> int:
    free = executor.available_gpu_count
    return (free if free is not None else executor.gpus) or 0


def _is_free(executor: Executor, spec: LiumSpec) -> bool:
    """A rent without a count takes, and bills, every free GPU: then only a wholly free host will do."""
    if executor.active is False:
        return False
    whole = executor.gpus or 0
    least = executor.min_gpu_count_for_rental or whole
    if spec.gpu_count is None:
        return whole > 0 and _free(executor) == whole
    return least <= spec.gpu_count <= _free(executor)


def _has_gpus(executor: Executor, spec: LiumSpec, findings: Findings) -> bool:
    if spec.gpu_count is not None and spec.gpu_count > _free(executor):
        findings.wrong("gpu_count", f"is {spec.gpu_count}, and the node has {_free(executor)} free.")
    elif spec.gpu_count is None and _free(executor) < (executor.gpus or 0):
        told = f"the node has {_free(executor)} of {executor.gpus} GPUs free"
        findings.wrong("gpu_count", f"is needed: {told}, and without a count all of them are taken.")
    return True


async def _template(spec: LiumSpec, count: int, client: Client, findings: Findings) -> str | None:
    if spec.template is None and (spec.template_id is not None or count == 1):
        return spec.template_id
    templates = await findings.unless_silent("templates", client.list_templates)
    if templates is None:
        findings.wrong("template", "cannot be looked up now; write template_id instead, or try again.")
        return spec.template_id
    if spec.template is None:
        return _newest_cluster_image(templates, findings)
    found = newest_first(one for one in templates if spec.template in (one.id, one.name))
    if not found:
        names = [one.name or one.id or "" for one in templates]
        findings.wrong("template", f"there is no {spec.template!r}.{did_you_mean(spec.template, names)}{named(names)}")
        return None
    if count > 1 and not (found[0].docker_image or "").startswith(CLUSTER_IMAGE):
        findings.wrong(
            "template", f"several nodes run only images of {CLUSTER_IMAGE}; this is {found[0].docker_image}."
        )
    if spec.template_id is not None and found[0].id != spec.template_id:
        findings.wrong("template", f"{spec.template!r} is {found[0].id} and template_id is another; leave one out.")
    return found[0].id


def _newest_cluster_image(templates: Sequence[Template], findings: Findings) -> str | None:
    found = newest_first(one for one in templates if (one.docker_image or "").startswith(CLUSTER_IMAGE))
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
    if spec.ssh_keys is None and spec.user_public_key is None:
        findings.wrong("ssh_keys", "is needed: names of keys that may log in, or user_public_key.")
    return list(dict.fromkeys(keys))


async def _volume(spec: LiumSpec, count: int, client: Client, findings: Findings) -> str | None:
    if count > 1 and (spec.volume is not None or spec.volume_id is not None):
        findings.warnings.append("A volume belongs to one pod at a time, so Lium may refuse it for several nodes.")
    if spec.volume is None:
        return spec.volume_id
    volumes = await findings.unless_silent("volumes", client.list_volumes)
    known = {one.name or "": one.id for one in volumes or ()}
    if spec.volume not in known:
        findings.wrong("volume", f"there is no {spec.volume!r}.{did_you_mean(spec.volume, known)}{named(known)}")
        return None
    if spec.volume_id is not None and known[spec.volume] != spec.volume_id:
        findings.wrong("volume", f"{spec.volume!r} is another than volume_id; leave one out.")
    return known[spec.volume]


def shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The request for people and for the journal: keys shortened, texts that may hold secrets masked."""
    out = {key: "***" if isinstance(value, SecretStr) else value for key, value in fields.items()}
    if "user_public_key" in out:
        out["user_public_key"] = [_short(key) for key in out["user_public_key"]]
    return out


def _short(key: str) -> str:
    kind, _, rest = key.partition(" ")
    return f"{kind} …{rest.split(' ')[0][-8:]}"

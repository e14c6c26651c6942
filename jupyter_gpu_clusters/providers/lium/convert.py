"""From Lium's words to ours, pure. Source: contract, section 4, "Pod fields" and "Status values", and section 6."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from ...core.models import Billing, Cluster, ClusterPhase, Money, Node, Offer
from .wire import Executor, Fabric, Pod

CURRENCY = "USD"
_SINGLE = "pod/"
_USER, _HOST = r"[A-Za-z_][\w.-]*", r"[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]"
_SSH = re.compile(rf"ssh (?P<user>{_USER})@(?P<host>{_HOST})(?: -p (?P<port>[0-9]{{1,5}}))?")
_PHASES: Mapping[str, ClusterPhase] = {
    "PENDING": ClusterPhase.CREATING,
    "START_PENDING": ClusterPhase.CREATING,
    "REBOOT_PENDING": ClusterPhase.CREATING,
    "RUNNING": ClusterPhase.RUNNING,
    "STOP_PENDING": ClusterPhase.STOPPING,
    "STOPPED": ClusterPhase.STOPPED,
    "DELETING": ClusterPhase.DELETING,
    "CREATION_FAILED": ClusterPhase.FAILED,
    "FAILED": ClusterPhase.FAILED,
    "REBOOT_FAILED": ClusterPhase.FAILED,
    "BROKEN": ClusterPhase.FAILED,
    "ERROR": ClusterPhase.FAILED,
    "TERMINATED": ClusterPhase.DELETED,
    "DELETED": ClusterPhase.DELETED,
    "REMOVED": ClusterPhase.DELETED,
    "CANCELLED": ClusterPhase.DELETED,
}
_UNBILLED = frozenset({"BROKEN", "CREATION_FAILED", "DELETING", "TERMINATED", "DELETED", "REMOVED", "CANCELLED"})
_BILLED = frozenset({"PENDING", "START_PENDING", "RUNNING", "REBOOT_PENDING", "REBOOT_FAILED"})
_KIB_PER_GIB = 1024**2


def cluster_id_of(pod: Pod) -> str:
    """The service's id of the cluster; for a pod of none, one of our own."""
    return pod.cluster_id or f"{_SINGLE}{pod.id}"


def pod_of(cluster_id: str) -> str | None:
    """The pod that a single node is."""
    return cluster_id.removeprefix(_SINGLE) if cluster_id.startswith(_SINGLE) else None


def groups_of(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Members by cluster: grouping is the only known way to list clusters."""
    groups: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.id is not None:
            groups.setdefault(cluster_id_of(pod), []).append(pod)
    return groups


def address_of(command: str | None) -> str | None:
    """``user@host:port`` out of an SSH command, each part checked; ``None`` where it is not plainly one."""
    found = _SSH.fullmatch(" ".join((command or "").split()))
    if found is None or int(found["port"] or 22) > 65535:
        return None
    return f"{found['user']}@{found['host']}:{found['port'] or 22}"


def phase_of(pod: Pod) -> ClusterPhase:
    """Our phase of one node; running only once it can be logged in to."""
    phase = _PHASES.get((pod.status or "").upper(), ClusterPhase.UNKNOWN)
    if phase is ClusterPhase.RUNNING and pod.ssh_connect_cmd is None:
        return ClusterPhase.CREATING
    return phase


def cluster_of(cluster_id: str, pods: Sequence[Pod], account: str, expected: Sequence[str] = ()) -> Cluster:
    """A cluster out of its members.

    Parameters
    ----------
    expected : ids of members that an order's answer named; who is not listed is shown as not seen.
    """
    members, strange = _in_rank_order(pods)
    missing = [one for one in expected if one not in {pod.id for pod in pods}]
    nodes = [_node(index, pod) for index, pod in members]
    free = (index for index in range(len(nodes) + len(missing)) if index not in {node.index for node in nodes})
    nodes += [
        Node(index=index, node_id=one, phase=ClusterPhase.UNKNOWN) for index, one in zip(free, missing, strict=False)
    ]
    nodes.sort(key=lambda node: node.index)
    phase, reason = _phase(nodes, missing, strange)
    first = members[0][1]
    return Cluster(
        provider="lium",
        account=account,
        cluster_id=cluster_id,
        name=first.pod_name or cluster_id,
        phase=phase,
        provider_state=_state(pods),
        nodes=tuple(nodes),
        node_count=len(nodes),
        gpu_type=first.gpu_name,
        gpus_per_node=max((node.gpus for node in nodes), default=0),
        price_per_hour=_price(pods, missing),
        billing=_billing(pods, missing),
        region=first.executor.location.country_code or first.executor.location.country,
        created_at=min((pod.created_at for pod in pods if pod.created_at is not None), default=None),
        ends_at=_end(pods, missing),
        created_here=False,
        reason=reason,
    )


def _in_rank_order(pods: Sequence[Pod]) -> tuple[list[tuple[int, Pod]], str | None]:
    """Members with the provider's own index; where indices are missing or double, by id, and that is said."""
    if len(pods) == 1 and pods[0].cluster_id is None:
        return [(0, pods[0])], None
    indices = [pod.cluster_node_index for pod in pods]
    if None not in indices and len(set(indices)) == len(indices):
        ranked = sorted(pods, key=lambda pod: pod.cluster_node_index or 0)
        gap = max((index or 0) for index in indices) + 1 != len(indices)
        text = "Members are missing from the list: their indices have gaps." if gap else None
        return [(pod.cluster_node_index or 0, pod) for pod in ranked], text
    by_id = sorted(pods, key=lambda pod: pod.id or "")
    return list(enumerate(by_id)), "Lium does not say which node is which; no rank order can be trusted."


def _node(index: int, pod: Pod) -> Node:
    return Node(
        index=index,
        node_id=pod.id or "",
        phase=phase_of(pod),
        provider_state=": ".join(word for word in (pod.status, pod.phase) if word) or None,
        address=address_of(pod.ssh_connect_cmd),
        gpus=pod.gpu_count or 0,
    )


def _phase(nodes: Sequence[Node], missing: Sequence[str], strange: str | None) -> tuple[ClusterPhase, str | None]:
    phases = {node.phase for node in nodes}
    if missing:
        text = f"{len(missing)} of {len(nodes)} nodes are not listed (yet): {', '.join(missing)}. They may be billed."
        return ClusterPhase.DEGRADED if ClusterPhase.RUNNING in phases else ClusterPhase.CREATING, text
    if len(phases) == 1 and strange is None:
        return phases.pop(), None
    dead = [node for node in nodes if node.phase in (ClusterPhase.FAILED, ClusterPhase.STOPPED, ClusterPhase.DELETED)]
    if dead:
        names = ", ".join(f"node {node.index} ({node.provider_state})" for node in dead)
        return ClusterPhase.DEGRADED, f"{names}; the others go on and are billed."
    if strange is not None:
        return ClusterPhase.DEGRADED, strange
    order = (ClusterPhase.DELETING, ClusterPhase.STOPPING, ClusterPhase.UNKNOWN, ClusterPhase.CREATING)
    return next((phase for phase in order if phase in phases), ClusterPhase.UNKNOWN), None


def _state(pods: Sequence[Pod]) -> str | None:
    words = sorted({pod.status for pod in pods if pod.status})
    return ", ".join(words) or None


def _price(pods: Sequence[Pod], missing: Sequence[str]) -> Money | None:
    """The sum of the pods' own prices, which are of the whole pod; unknown if one of them is."""
    if missing or any(pod.price is None for pod in pods):
        return None
    total = sum((pod.price for pod in pods if pod.price is not None), start=Decimal(0))
    return Money(amount=total, currency=CURRENCY) if total > 0 else None


def _billing(pods: Sequence[Pod], missing: Sequence[str]) -> Billing:
    words = [(pod.status or "").upper() for pod in pods]
    if any(word in _BILLED for word in words):
        return Billing.YES
    if not missing and words and all(word in _UNBILLED for word in words):
        return Billing.NO
    return Billing.UNKNOWN


def _end(pods: Sequence[Pod], missing: Sequence[str]) -> datetime | None:
    """An end time only where every member has one; then the last of them."""
    ends = [pod.removal_scheduled_at for pod in pods]
    if missing or not ends or any(end is None for end in ends):
        return None
    return max(end for end in ends if end is not None)


def price_of(executor: Executor, gpus: int | None = None) -> Money | None:
    """Of a host, or of some of its GPUs, per hour."""
    count = gpus if gpus is not None else executor.gpus
    if executor.price_per_gpu is None or not count:
        return None
    return Money(amount=executor.price_per_gpu, currency=CURRENCY).times(count)


def cheapest_first(executors: Iterable[Executor]) -> list[Executor]:
    """By the price of the whole host, then by id; those without a price last."""
    known = [one for one in executors if one.id is not None]
    return sorted(known, key=lambda one: ((price := price_of(one)) is None, price.amount if price else 0, one.id or ""))


def fabric_offer(fabric: Fabric, account: str) -> Offer | None:
    """A fabric with free nodes; its price is that of its cheapest node."""
    nodes = cheapest_first(fabric.nodes)
    if fabric.fabric_id is None or not nodes:
        return None
    first = nodes[0]
    rate = fabric.link_rate or ""
    kind = "RoCE" if (fabric.fabric_type or "").lower() == "roce" else "InfiniBand"
    measured = "" if fabric.fabric_measured else ", not measured"
    return Offer(
        account=account,
        provider="lium",
        offer_id=fabric.fabric_id,
        title=f"{len(nodes)} of {fabric.node_count or len(nodes)} nodes on one fabric",
        **_host(first),
        nodes_available=len(nodes),
        interconnect=f"{kind} {rate}".strip() + measured,
        spec={"fabric": fabric.fabric_id, "nodes": min(2, len(nodes))},
    )


def host_offer(executor: Executor, account: str) -> Offer | None:
    """One host by itself."""
    if executor.id is None or executor.active is False:
        return None
    free = executor.available_gpu_count if executor.available_gpu_count is not None else executor.gpus
    spot = " (spot: can be taken back)" if executor.tier == "spot" else ""
    return Offer(
        account=account,
        provider="lium",
        offer_id=executor.id,
        title=f"one node, {free if free is not None else '?'} GPUs free{spot}",
        **_host(executor),
        nodes_available=0 if free == 0 else 1,
        spec={"nodes": 1, "executor_uuids": [executor.id]},
    )


def _host(executor: Executor) -> dict[str, Any]:
    ram = executor.specs.ram.total
    return {
        "gpu_type": executor.machine_name,
        "gpus_per_node": executor.gpus or 0,
        "cpus_per_node": executor.specs.cpu.count,
        "memory_gib_per_node": round(ram / _KIB_PER_GIB, 1) if ram is not None else None,
        "price_per_node_hour": price_of(executor),
        "region": executor.location.country_code or executor.location.country,
    }

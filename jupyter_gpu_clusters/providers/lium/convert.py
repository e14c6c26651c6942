"""From Lium's words to ours, pure. Source: contract, section 4, "Pod fields" and "Status values", and section 6."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from ...core.models import ClusterPhase, Money, Offer
from .wire import Executor, Fabric, Pod

CURRENCY = "USD"
_SINGLE = "pod/"
_USER, _HOST = r"[A-Za-z_][A-Za-z0-9_.-]*", r"[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]"
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
UNBILLED = frozenset({"BROKEN", "CREATION_FAILED", "DELETING", "TERMINATED", "DELETED", "REMOVED", "CANCELLED"})
_KIB_PER_GIB = 1024**2


def cluster_id_of(pod: Pod) -> str:
    """The service's id of the cluster; for a pod of none, one of our own."""
    return pod.cluster_id or f"{_SINGLE}{pod.id}"


def pod_of(cluster_id: str) -> str | None:
    """The pod that a single node is."""
    return cluster_id.removeprefix(_SINGLE) if cluster_id.startswith(_SINGLE) else None


def groups_of(pods: Iterable[Pod], homes: Mapping[str, str] | None = None) -> dict[str, list[Pod]]:
    """Members by cluster: grouping is the only known way to list clusters.

    Parameters
    ----------
    homes : pod id -> cluster id where that is known for certain, whatever a list shows.
    """
    groups: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.id is not None:
            groups.setdefault((homes or {}).get(pod.id) or cluster_id_of(pod), []).append(pod)
    return groups


def address_of(command: str | None) -> str | None:
    """``user@host:port`` out of an SSH command, each part checked; ``None`` where it is not plainly one."""
    found = _SSH.fullmatch(" ".join((command or "").split()))
    port = int(found["port"] or 22) if found is not None else 0
    return f"{found['user']}@{found['host']}:{port}" if found is not None and 0 < port <= 65535 else None


def phase_of(pod: Pod) -> ClusterPhase:
    """Our phase of one node; running only once it can be logged in to."""
    phase = _PHASES.get((pod.status or "").upper(), ClusterPhase.UNKNOWN)
    if phase is ClusterPhase.RUNNING and pod.ssh_connect_cmd is None:
        return ClusterPhase.CREATING
    return phase


def spend_of(pods: Iterable[Pod]) -> Decimal:
    """What pods cost together, USD per hour, as far as prices are known; those that are closed cost nothing."""
    billed = (pod for pod in pods if (pod.status or "").upper() not in UNBILLED)
    return sum((pod.price for pod in billed if pod.price is not None), start=Decimal(0))


def price_of(executor: Executor, gpus: int | None = None) -> Money | None:
    """Of a host, or of some of its GPUs, per hour."""
    count = gpus if gpus is not None else executor.gpus
    if executor.price_per_gpu is None or not count:
        return None
    return Money(amount=executor.price_per_gpu, currency=CURRENCY).times(count)


def free_gpus(executor: Executor) -> int:
    """GPUs of a host that can be rented now; all of them where that is not told."""
    free = executor.available_gpu_count
    return (free if free is not None else executor.gpus) or 0


def wholly_free(fabric: Fabric) -> list[Executor]:
    """Its nodes of which nobody has a part: only whole ones make a cluster."""
    return [node for node in fabric.nodes if free_gpus(node) >= (node.gpus or 0)]


def cheapest_first(executors: Iterable[Executor], gpus: int | None = None) -> list[Executor]:
    """Each host once, by the price of the whole host or of so many GPUs, then by id; those without a price last."""
    known = {one.id: one for one in executors if one.id is not None}.values()
    priced = [((price.amount if (price := price_of(one, gpus)) else None), one) for one in known]
    return [one for _, one in sorted(priced, key=lambda pair: (pair[0] is None, pair[0] or 0, pair[1].id or ""))]


def fabric_offer(fabric: Fabric, account: str) -> Offer | None:
    """A fabric with free nodes; its price is that of its cheapest node. A cluster needs two."""
    nodes = cheapest_first(wholly_free(fabric))
    if fabric.fabric_id is None or not nodes:
        return None
    first = nodes[0]
    rate = fabric.link_rate or ""
    kind = "RoCE" if (fabric.fabric_type or "").lower() == "roce" else "InfiniBand"
    measured = "" if fabric.fabric_measured else ", not measured"
    several = {"fabric": fabric.fabric_id, "nodes": 2}
    return Offer(
        account=account,
        provider="lium",
        offer_id=fabric.fabric_id,
        title=f"{len(nodes)} of {fabric.node_count or len(nodes)} nodes on one fabric",
        **_host(first, first.gpus),
        nodes_available=len(nodes),
        interconnect=f"{kind} {rate}".strip() + measured,
        spec=several if len(nodes) > 1 else {"nodes": 1, "executor_uuids": [first.id]},
    )


def host_offer(executor: Executor, account: str) -> Offer | None:
    """One host by itself, or those of its GPUs that are free where so few may be rented."""
    free, whole = free_gpus(executor), executor.gpus or 0
    least = executor.min_gpu_count_for_rental or whole
    if executor.id is None or executor.active is False or free == 0 or free < least:
        return None
    spot = " (spot: can be taken back)" if (executor.tier or "").lower() == "spot" else ""
    part = {"gpu_count": free} if free < whole else {}
    return Offer(
        account=account,
        provider="lium",
        offer_id=executor.id,
        title=f"one node, {free} of {whole} GPUs free{spot}",
        **_host(executor, free),
        nodes_available=1,
        spec={"nodes": 1, "executor_uuids": [executor.id], **part},
    )


def _host(executor: Executor, gpus: int | None) -> dict[str, Any]:
    ram = executor.specs.ram.total
    return {
        "gpu_type": executor.machine_name,
        "gpus_per_node": gpus or 0,
        "cpus_per_node": executor.specs.cpu.count,
        "memory_gib_per_node": round(ram / _KIB_PER_GIB, 1) if ram is not None else None,
        "price_per_node_hour": price_of(executor, gpus),
        "region": executor.location.country_code or executor.location.country,
    }

"""A cluster out of its members, pure: what they are together, and what a user should know about it.

Source: contract, section 4, "Pod fields" and "Status values", and section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...core.models import Billing, Cluster, ClusterPhase, Money, Node
from .convert import CURRENCY, UNBILLED, address_of, cluster_id_of, phase_of, pod_of
from .wire import Pod

_MOST_NODES = 1000
_SAME_END = timedelta(minutes=1)
_BILLED = frozenset({"PENDING", "START_PENDING", "RUNNING", "REBOOT_PENDING", "REBOOT_FAILED"})
_DEAD = frozenset({ClusterPhase.FAILED, ClusterPhase.STOPPED, ClusterPhase.DELETED})
_ORDER = (
    ClusterPhase.DELETING,
    ClusterPhase.STOPPING,
    ClusterPhase.UNKNOWN,
    ClusterPhase.CREATING,
    ClusterPhase.RUNNING,
)


def cluster_of(cluster_id: str, pods: Sequence[Pod], account: str, expected: Sequence[str] = ()) -> Cluster:
    """A cluster out of its members.

    Parameters
    ----------
    expected : ids of members that an order's answer named; who is not listed is shown as not seen.
    """
    ranked = _in_rank_order(cluster_id, pods)
    missing = [one for one in expected if one not in {pod.id for pod in pods}]
    nodes = _nodes(ranked, missing)
    strays = [pod.id or "" for pod in pods if cluster_id_of(pod) != cluster_id]
    phase, reasons = _phase(nodes, missing, ranked, strays)
    ends_at, about_end = _end(ranked, missing)
    first = ranked.members[0][1]
    return Cluster(
        provider="lium",
        account=account,
        cluster_id=cluster_id,
        name=first.pod_name or cluster_id,
        phase=phase,
        provider_state=", ".join(sorted({pod.status for pod in pods if pod.status})) or None,
        nodes=tuple(nodes),
        node_count=len(nodes),
        gpu_type=first.gpu_name,
        gpus_per_node=max((node.gpus for node in nodes), default=0),
        price_per_hour=_price(pods, missing),
        billing=_billing(pods, missing),
        region=first.executor.location.country_code or first.executor.location.country,
        created_at=min((pod.created_at for pod in pods if pod.created_at is not None), default=None),
        ends_at=ends_at,
        member_ids=tuple(expected),
        rank_fault=ranked.fault,
        created_here=False,
        reason=" ".join([*reasons, *about_end]) or None,
    )


@dataclass(frozen=True)
class _Ranked:
    """Members by index; `fault` says why their order cannot be trusted, `gap` which indices nobody has."""

    members: list[tuple[int, Pod]]
    fault: str | None = None
    gap: str | None = None


def _in_rank_order(cluster_id: str, pods: Sequence[Pod]) -> _Ranked:
    """Members with the provider's own index; where indices are missing or double, by id."""
    if pod_of(cluster_id) is not None:
        return _Ranked([(0, pods[0])])
    indices = {pod.id: _index(pod) for pod in pods}
    ranked = sorted((index, pod.id or "") for pod in pods if (index := indices[pod.id]) is not None)
    taken = [index for index, _ in ranked]
    if len(ranked) < len(pods) or len(set(taken)) < len(taken):
        told = ", ".join(f"{one} says {'none' if index is None else index}" for one, index in sorted(indices.items()))
        fault = f"Lium does not say which node is which ({told}); no rank order can be trusted."
        return _Ranked(list(enumerate(sorted(pods, key=lambda pod: pod.id or ""))), fault=fault)
    gaps = sorted(set(range(taken[-1])) - set(taken))
    names = ", ".join(str(index) for index in gaps)
    members = sorted(((indices[pod.id] or 0, pod) for pod in pods), key=lambda member: member[0])
    return _Ranked(members, gap=f"Not listed, but there must be: node {names}." if gaps else None)


def _index(pod: Pod) -> int | None:
    index = pod.cluster_node_index
    return index if index is not None and 0 <= index < _MOST_NODES else None


def _nodes(ranked: _Ranked, missing: Sequence[str]) -> list[Node]:
    """Listed members at their index; those that are not listed fill the free ones."""
    taken = {index for index, _ in ranked.members}
    free = (index for index in range(len(taken) + len(missing)) if index not in taken)
    unseen = [
        Node(index=index, node_id=one, phase=ClusterPhase.UNKNOWN) for index, one in zip(free, missing, strict=False)
    ]
    return sorted([*(_node(index, pod) for index, pod in ranked.members), *unseen], key=lambda node: node.index)


def _node(index: int, pod: Pod) -> Node:
    return Node(
        index=index,
        node_id=pod.id or "",
        phase=phase_of(pod),
        provider_state=": ".join(word for word in (pod.status, pod.phase) if word) or None,
        address=address_of(pod.ssh_connect_cmd),
        overlay_address=pod.cluster_overlay_ip,
        gpus=pod.gpu_count or 0,
    )


def _phase(
    nodes: Sequence[Node], missing: Sequence[str], ranked: _Ranked, strays: Sequence[str]
) -> tuple[ClusterPhase, list[str]]:
    """What all nodes are together, and why where that needs words."""
    listed = [node for node in nodes if node.node_id not in missing]
    dead = [node for node in listed if node.phase in _DEAD]
    phases = {node.phase for node in listed}
    reasons = [ranked.fault] if ranked.fault else []
    if missing:
        text = f"{len(missing)} of {len(nodes)} nodes are not listed (yet): {', '.join(missing)}. They may be billed."
        reasons.append(text)
    elif ranked.gap:
        reasons.append(ranked.gap)
    if strays:
        reasons.append(f"Listed outside the cluster, but rented with it: {', '.join(strays)}.")
    if dead and len(dead) < len(nodes):
        names = ", ".join(f"node {node.index} ({node.provider_state})" for node in dead)
        reasons.append(f"{names}; the others go on and are billed.")
    closed_to_us = [node for node in listed if node.phase is ClusterPhase.RUNNING and node.address is None]
    if closed_to_us:
        names = ", ".join(f"node {node.index}" for node in closed_to_us)
        reasons.append(f"The SSH command that Lium shows for {names} is not of its usual form, so it is not used.")
    if any((node.provider_state or "").upper().startswith("BROKEN") for node in dead):
        reasons.append("Lium has closed what is BROKEN: only deleting works, and until then blocks renting that host.")
    if len(dead) == len(nodes):
        return phases.pop() if len(phases) == 1 else ClusterPhase.FAILED, reasons
    if phases == {ClusterPhase.DELETING}:
        return ClusterPhase.DELETING, reasons
    if missing and phases == {ClusterPhase.CREATING} and not dead:
        return ClusterPhase.CREATING, reasons
    if dead or missing or strays or ranked.fault or ranked.gap or closed_to_us:
        return ClusterPhase.DEGRADED, reasons
    return next(phase for phase in _ORDER if phase in phases), reasons


def _price(pods: Sequence[Pod], missing: Sequence[str]) -> Money | None:
    """The sum of the pods' own prices, which are of the whole pod; unknown if one of them is."""
    if missing or any(pod.price is None for pod in pods):
        return None
    total = sum(pod.price for pod in pods if pod.price is not None)
    return Money(amount=total, currency=CURRENCY) if total else None


def _billing(pods: Sequence[Pod], missing: Sequence[str]) -> Billing:
    words = [(pod.status or "").upper() for pod in pods]
    if any(word in _BILLED for word in words):
        return Billing.YES
    if not missing and words and all(word in UNBILLED for word in words):
        return Billing.NO
    return Billing.UNKNOWN


def _end(ranked: _Ranked, missing: Sequence[str]) -> tuple[datetime | None, list[str]]:
    """An end time only where every member has one: the first of them, and that they differ where they do."""
    ends = [(pod.removal_scheduled_at, index) for index, pod in ranked.members]
    known = sorted((end, index) for end, index in ends if end is not None)
    if not known:
        return None, []
    if missing or len(known) < len(ends):
        without = ", ".join(f"node {index}" for end, index in ends if end is None)
        return None, [f"NO END TIME on {without}; other nodes have one."] if without else []
    (first, one), (last, other) = known[0], known[-1]
    if last - first <= _SAME_END:
        return first, []
    times = [f"node {index} at {end.astimezone(UTC):%Y-%m-%d %H:%M}" for end, index in ((first, one), (last, other))]
    return first, [f"Not all end together: {', '.join(times)} UTC."]

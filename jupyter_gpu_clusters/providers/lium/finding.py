"""What an order made, told from what is listed. Nothing is sent, and nothing that was there before is looked at.

| what shows | taken as |
|---|---|
| what an answer named, as one cluster | found |
| the mark in the name, on exactly the hosts that were ordered, and nothing else with that mark | found |
| the mark in the name, on other or fewer hosts | candidate |
| no mark, on hosts that were ordered | candidate |
| no mark of any order, as many nodes, created within an hour of the order | candidate |

Candidates are for the user to judge. Times only ever add one, since clocks differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ...core.models import Order
from ...core.names import base_name
from .wire import Pod

_NEAR = timedelta(hours=1)


@dataclass(frozen=True)
class Finding:
    """The cluster that is the order's for certain, and the ids of members that an answer named; else what may be it.

    ``candidates`` are cluster id -> what speaks for it.
    """

    cluster_id: str | None = None
    members: tuple[str, ...] = ()
    candidates: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None


def find(order: Order, groups: Mapping[str, Sequence[Pod]], others: Collection[str]) -> Finding:
    """What `order` made.

    Parameters
    ----------
    groups : cluster id -> its pods, of everything that is listed.
    others : ids of clusters that answers to other orders named.
    """
    new = {
        one: fresh
        for one, pods in groups.items()
        if one not in order.baseline and (fresh := [pod for pod in pods if pod.id not in order.baseline])
    }
    named = {one: pods for one, pods in new.items() if _is_named(order, one, pods)}
    if named:
        return _of_named(order, named)
    free = {one: pods for one, pods in new.items() if one not in others}
    wanted = set(order.shown.get("executor_uuids") or ())
    marked = {one: pods for one, pods in free.items() if _is_marked(order, pods)}
    whole = [one for one, pods in marked.items() if _hosts(pods) == wanted]
    if len(marked) == len(whole) == 1:
        return Finding(cluster_id=whole[0])
    if marked:
        seen = ", ".join(f"{one} ({len(pods)} of {len(wanted)} nodes)" for one, pods in marked.items())
        reason = f"Something of its name shows, but not all of it: {seen}. It may be billed."
        return Finding(candidates=dict.fromkeys(marked, "It has the order's mark."), reason=reason)
    likely = {one: why for one, pods in free.items() if (why := _why(order, pods, wanted)) is not None}
    exact = [] if _has_mark(order) else ["It was ordered under an exact name; without a mark nothing is adopted."]
    told = [*exact, *(f"{one}: {why}" for one, why in likely.items())]
    return Finding(candidates=likely, reason=" ".join(told) or None)


def _of_named(order: Order, named: Mapping[str, Sequence[Pod]]) -> Finding:
    is_one = len(named) == 1
    (cluster_id, pods), *_ = named.items()
    is_cluster = pods[0].cluster_id is not None or len(order.shown.get("executor_uuids") or ()) == 1
    if not is_one or not is_cluster:
        return Finding(reason="Its nodes are listed, but not yet as one cluster; they are billed.")
    members = [one for one in order.remote_ids if one != cluster_id and one not in order.baseline]
    return Finding(cluster_id=cluster_id, members=tuple(members))


def _is_named(order: Order, cluster_id: str, pods: Sequence[Pod]) -> bool:
    return cluster_id in order.remote_ids or any(pod.id in order.remote_ids for pod in pods)


def _has_mark(order: Order) -> bool:
    return order.mark in order.remote_name


def _is_marked(order: Order, pods: Sequence[Pod]) -> bool:
    return _has_mark(order) and any(order.mark in (pod.pod_name or "").lower() for pod in pods)


def _hosts(pods: Sequence[Pod]) -> set[str | None]:
    return {pod.host_id for pod in pods}


def _why(order: Order, pods: Sequence[Pod], wanted: set[str]) -> str | None:
    """What speaks for a cluster without the order's mark."""
    shared = len(_hosts(pods) & wanted)
    if shared:
        return f"It is on {shared} of the {len(wanted)} hosts that were ordered."
    is_anothers = any(base_name(pod.pod_name or "") != (pod.pod_name or "") for pod in pods)
    times = [pod.created_at for pod in pods if pod.created_at is not None]
    if len(pods) == len(wanted) and not is_anothers and any(abs(at - order.created_at) <= _NEAR for at in times):
        return "It has as many nodes and was created at about that time."
    return None

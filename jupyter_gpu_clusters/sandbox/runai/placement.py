"""Which node takes which pod: all pods of a workload in one pool, or none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from .inventory import Node, NodePool, Project
from .workload import Obstacle, Workload, gpus_of

_TINY = 1e-9


def needs(workload: Workload, pool: NodePool) -> list[tuple[float, str | None]]:
    """GPUs and node type of every pod in that pool, in the order of the pods."""
    size = pool.nodes[0].gpu_bytes if pool.nodes else 1
    return [(gpus_of(spec, size), spec.get("nodeType")) for _, count, spec in workload.roles() for _ in range(count)]


def used_by(holders: Iterable[Workload]) -> dict[str, float]:
    """GPUs in use by node id."""
    used: dict[str, float] = defaultdict(float)
    for holder in holders:
        for pod in holder.run.pods if holder.run else ():
            if pod.node is not None:
                used[pod.node.id] += pod.gpus
    return used


def allocated(holders: Iterable[Workload], project: Project, pool: str, *, fixed_only: bool = False) -> float:
    """GPUs that a project holds in a pool; with `fixed_only` by work that cannot be preempted."""
    mine = [h for h in holders if h.project is project and h.run and h.run.pool and h.run.pool.name == pool]
    return sum(pod.gpus for h in mine if h.run and not (fixed_only and h.preemptible) for pod in h.run.pods)


def place(workload: Workload, pool: NodePool, used: Mapping[str, float]) -> list[Node] | None:
    """A node for every pod, in their order; `None` when they do not all fit."""
    taken: dict[str, float] = defaultdict(float)
    chosen: list[Node] = []
    for gpus, node_type in needs(workload, pool):
        node = next((n for n in pool.nodes if _takes(n, gpus, node_type, used.get(n.id, 0.0) + taken[n.id])), None)
        if node is None:
            return None
        taken[node.id] += gpus
        chosen.append(node)
    return chosen


def _takes(node: Node, gpus: float, node_type: str | None, busy: float) -> bool:
    fits = node.status == "Ready" and node.gpus - busy + _TINY >= gpus
    return fits and node_type in (None, node.node_type)


def forbidden(workload: Workload, pool: NodePool, holders: Collection[Workload]) -> Obstacle | None:
    """What quota and limit of the project say against that pool."""
    project = workload.project
    quota = project.quotas.get(pool.name)
    need = sum(gpus for gpus, _ in needs(workload, pool))
    if quota is None or not need:
        return None
    total = allocated(holders, project, pool.name) + need
    if quota.limit is not None and total > quota.limit + _TINY:
        text = f"{need:g} more GPUs would exceed the limit of {quota.limit:g} of project {project.name}"
        return Obstacle(pool.name, "OverLimit", text)
    fixed = allocated(holders, project, pool.name, fixed_only=True) + need
    if not workload.preemptible and fixed > quota.deserved + _TINY:
        text = f"non-preemptible work must fit in the quota of {quota.deserved:g} GPUs of project {project.name}"
        return Obstacle(pool.name, "NonPreemptibleOverQuota", text)
    return None


def victims(workload: Workload, pool: NodePool, holders: Collection[Workload]) -> list[Workload]:
    """Preemptible work that may have to make room, the first to go first."""
    found = [
        h for h in holders if h.preemptible and h.run and h.run.pool is pool and _outranks(workload, h, pool, holders)
    ]
    return sorted(found, key=lambda h: (h.priority, -h.created_at))


def _outranks(workload: Workload, other: Workload, pool: NodePool, holders: Collection[Workload]) -> bool:
    if other.project is workload.project:
        return workload.priority > other.priority
    mine, theirs = workload.project.quotas.get(pool.name), other.project.quotas.get(pool.name)
    need = sum(gpus for gpus, _ in needs(workload, pool))
    within = mine is not None and allocated(holders, workload.project, pool.name) + need <= mine.deserved + _TINY
    above = theirs is None or allocated(holders, other.project, pool.name) > theirs.deserved + _TINY
    return within and above

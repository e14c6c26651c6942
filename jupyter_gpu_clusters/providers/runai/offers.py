"""Node pools as offers: what there is, and how much of it is whose quota. Nothing is rented, and no price is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...core.models import Offer
from .wire_org import Node, NodePool, Project

_MAX_NAMED = 4


def make(pools: Sequence[NodePool], nodes: Sequence[Node], projects: Sequence[Project], account: str) -> list[Offer]:
    """One offer a node pool. ``spec`` asks for that pool; the quota stands in the title."""
    return [_offer(pool, _nodes_of(pool, nodes), projects, account) for pool in pools if pool.name]


def _nodes_of(pool: NodePool, nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if node.nodePool == pool.name and node.clusterUuid == pool.clusterId]


def _offer(pool: NodePool, nodes: Sequence[Node], projects: Sequence[Project], account: str) -> Offer:
    kinds = dict.fromkeys(node.gpuInfo.gpuType for node in nodes if node.gpuInfo.gpuType)
    counts = Counter(node.gpuInfo.gpuCount or 0 for node in nodes)
    where = f"{pool.name} in {pool.clusterName or pool.clusterId}"
    size = f"{len(nodes) or len(pool.status.nodes)} nodes"
    return Offer(
        account=account,
        provider="runai",
        offer_id=pool.id or pool.name or "",
        title=f"{where}, {size}; GPU quota: {_quotas(pool, projects)}",
        gpu_type=", ".join(kinds) or None,
        gpus_per_node=next(iter(counts)) if len(counts) == 1 else 0,
        region=pool.clusterName,
        spec={"spec": {"nodePools": [pool.name]}},
    )


def _quotas(pool: NodePool, projects: Sequence[Project]) -> str:
    """Whose quota is how large and how much of it is used: ``vision 8 of 16``."""
    told = [
        f"{project.name} {_used(project, pool):g} of {quota.gpu.deserved:g} in use"
        for project in projects
        if project.clusterId == pool.clusterId
        for quota in project.resources
        if quota.nodePool.name == pool.name and quota.gpu.deserved
    ]
    more = f" and {len(told) - _MAX_NAMED} more" if len(told) > _MAX_NAMED else ""
    return ", ".join(told[:_MAX_NAMED]) + more if told else "none"


def _used(project: Project, pool: NodePool) -> float:
    usage = project.status.nodePoolQuotaStatuses
    return next((status.allocated.gpu or 0.0 for status in usage if status.nodePoolName == pool.name), 0.0)

"""Small complete values for tests of the core."""

from __future__ import annotations

from typing import Any

from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, Order, Plan, Verb, Workload, WorkloadPhase
from jupyter_gpu_clusters.core.processes import this_process

IDENTITY = "fake|http://127.0.0.1|project|"


def plan(**changes: Any) -> Plan:
    base: dict[str, Any] = {
        "verb": Verb.CREATE,
        "provider": "fake",
        "account": "fake",
        "identity_key": IDENTITY,
        "name": "demo",
        "spec_digest": "digest",
        "request": {"nodes": 2},
        "shown": {"nodes": 2},
        "is_free": True,
    }
    return Plan(**base | changes)


def order(**changes: Any) -> Order:
    base: dict[str, Any] = {
        "order_id": "order1",
        "verb": Verb.CREATE,
        "provider": "fake",
        "account": "fake",
        "identity_key": IDENTITY,
        "name": "demo",
        "remote_name": "demo",
        "mark": "j-order1",
        "idempotency_key": "order1",
        "spec_digest": "digest",
        "shown": {"nodes": 2},
        "sender": this_process(),
    }
    return Order(**base | changes)


def cluster(**changes: Any) -> Cluster:
    base: dict[str, Any] = {
        "provider": "fake",
        "account": "fake",
        "cluster_id": "c1",
        "name": "demo",
        "phase": ClusterPhase.RUNNING,
        "node_count": 2,
    }
    return Cluster(**base | changes)


def workload(**changes: Any) -> Workload:
    base: dict[str, Any] = {
        "provider": "fake",
        "account": "fake",
        "cluster_id": "c1",
        "cluster_name": "demo",
        "workload_id": "w1",
        "name": "train",
        "phase": WorkloadPhase.RUNNING,
    }
    return Workload(**base | changes)

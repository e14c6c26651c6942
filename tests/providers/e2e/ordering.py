"""Clusters as the tests of this folder order them, and what the sandbox wrote down."""

from __future__ import annotations

import json
from typing import Any

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.models import Cluster, Plan
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

CLUSTERS = "/distributed_jobs_v2/cluster/"
ONE = "/distributed_jobs_v2/cluster/{id}/"
SPEC: dict[str, Any] = {
    "gpu": "H100",
    "nodes": 2,
    "image": "ubuntu-slurm",
    "ssh_keys": ["spare"],
    "security_group": "ssh-only",
}


async def planned(service: Service, name: str = "lab", **changes: Any) -> Plan:
    spec = {key: value for key, value in {**SPEC, **changes}.items() if value is not None}
    return await service.plan_create("e2e", name, build_spec(service.spec_model("e2e"), spec))


async def ordered(service: Service, name: str = "lab", **changes: Any) -> Cluster:
    plan = await planned(service, name, **changes)
    return (await service.create(plan, consent=consent_to(plan))).cluster


async def acted(service: Service, cluster: Cluster, action: str, **spec: Any) -> Cluster:
    plan = await service.plan_action(cluster, action, build_spec(service.action_model("e2e", action), spec))
    return await service.act(plan, consent=consent_to(plan))


def bodies(sandbox: CheckedSandbox, method: str) -> list[dict[str, Any]]:
    """What was sent, in order; deletes have none."""
    return [json.loads(one["body"] or "{}") for one in sandbox.requests() if one["method"] == method]


def alive(sandbox: CheckedSandbox) -> dict[str, dict[str, Any]]:
    """The clusters that are there and cost, by their id as we write it."""
    rows = [row for row in sandbox.books()["services"]["e2e"]["alive"] if row.get("kind") == "cluster"]
    return {f"{row['location']}/{row['id']}": row for row in rows}

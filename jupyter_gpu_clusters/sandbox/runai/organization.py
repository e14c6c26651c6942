"""Clusters, departments, projects with their quota in use, node pools, nodes, and what the caller may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from ..world import World
from .inventory import TENANT, Cluster, Department, Inventory, Project, Quota
from .listing import flag, page, select, word
from .placement import allocated
from .quantity import amount
from .scheduler import Scheduler
from .times import shown
from .tokens import Tokens
from .workload import Workload

_AVERAGES = [
    f"avg{what}{span}"
    for span in ("24h", "7d", "30d")
    for what in ("GpuAllocation", "GpuUtilization", "GpuMemoryUtilization")
]
_PROJECT_FIELDS = (
    "name", "clusterId", "departmentId", "parentId", "parentName", "phase", "totalGpuQuota", "gpuAllocated",
    "createdAt", *_AVERAGES,
)  # fmt: skip
_PROJECT_NAMES = {
    "departmentId": "parentId",
    "parentName": "parent.name",
    "phase": "status.phase",
    "totalGpuQuota": "totalResources.gpuQuota",
    "gpuAllocated": "status.quotaStatus.allocated.gpu",
}
_POOL_FIELDS = (
    "name", "clusterId", "phase", "createdAt", "updatedAt", "gpuNetworkAccelerationDetection", "networkTopologyName",
    "gpuNetworkAccelerationDetected", "gpuNetworkAccelerationLabelKey", "swapEnabled", "nodeLevelSchedulerEnabled",
)  # fmt: skip
_NODE_FIELDS = ("name", "status", "nodePool", "gpuType", "nvLinkDomainUid", "nvLinkCliqueId", "clusterUuid")
_MOST_MINIMAL_TERMS = 10
_UNREACHABLE = "http://127.0.0.1:9"


class Organization:
    """What exists besides workloads."""

    def __init__(self, world: World, inventory: Inventory, scheduler: Scheduler, tokens: Tokens, prefix: str) -> None:
        self._world, self._inventory, self._scheduler, self._tokens = world, inventory, scheduler, tokens
        self._prefix = prefix

    def routes(self) -> list[Route]:
        """Every operation here."""
        return [
            Route("GET", "/api/v1/clusters", self._clusters),
            Route("GET", "/api/v1/clusters/minimal", self._minimal_clusters),
            Route("GET", "/api/v1/clusters/{cluster}", self._cluster),
            Route("GET", "/api/v1/clusters/{cluster}/minimal", self._minimal_cluster),
            Route("GET", "/api/v1/org-unit/departments", self._departments),
            Route("GET", "/api/v1/org-unit/projects", self._projects),
            Route("GET", "/api/v1/org-unit/projects/{project}", self._project),
            Route("GET", "/api/v1/node-pools", self._pools),
            Route("GET", "/api/v1/nodes", self._nodes),
            Route("GET", "/api/v1/authorization/me/access-rules", self._access_rules),
        ]

    def _found(self, call: Call) -> Cluster:
        cluster = self._inventory.clusters.get(call.params["cluster"].lower())
        if cluster is None:
            raise Refused(404, "cluster not found")
        return cluster

    def _clusters(self, call: Call) -> Answer:
        flag(call, "includeRequestedForDelete")
        return Answer.json([self._cluster_row(call, cluster) for cluster in self._inventory.clusters.values()])

    def _cluster(self, call: Call) -> Answer:
        return Answer.json(self._cluster_row(call, self._found(call)))

    def _domain(self, call: Call) -> str | None:
        where = self._world.choices["runai.cluster_api"]
        if where == "here":
            return f"http://{call.headers.get('host', '127.0.0.1')}{self._prefix}"
        return _UNREACHABLE if where == "unreachable" else None

    def _cluster_row(self, call: Call, cluster: Cluster) -> dict[str, Any]:
        full = word(call, "verbosity", ("metadata", "full"), "full") == "full"
        now = self._world.clock.now()
        row = {
            "uuid": cluster.id,
            "tenantId": TENANT,
            "name": cluster.name,
            "createdAt": shown(self._world, self._inventory.started),
            "updatedAt": shown(self._world, self._inventory.started),
            "deletedAt": None,
            "domain": self._domain(call),
            "version": cluster.version,
            "lastLiveness": shown(self._world, now),
        }
        if not full:
            return row
        return {**row, "status": {"state": "Connected", "conditions": [], **_status(cluster)}}

    def _minimal(self, call: Call, cluster: Cluster) -> dict[str, Any]:
        return {
            "uuid": cluster.id,
            "name": cluster.name,
            "tenantId": TENANT,
            "version": cluster.version,
            "domain": self._domain(call),
            "platform": _status(cluster)["platform"],
            "state": "Connected",
        }

    def _minimal_wrapper(self) -> str:
        wrapper = self._world.choices["runai.minimal_clusters"]
        if wrapper == "missing":
            raise Refused(404, "no such path")
        return wrapper

    def _minimal_clusters(self, call: Call) -> Answer:
        wrapper = self._minimal_wrapper()
        if len((call.asked("filterBy") or "").split(",")) > _MOST_MINIMAL_TERMS:
            raise Refused(400, f"parameter filterBy takes at most {_MOST_MINIMAL_TERMS} terms")
        rows = [self._minimal(call, cluster) for cluster in self._inventory.clusters.values()]
        found = page(call, select(call, rows, None))
        return Answer.json(found.body("clusters") if wrapper == "object" else list(found.rows))

    def _minimal_cluster(self, call: Call) -> Answer:
        self._minimal_wrapper()
        return Answer.json(self._minimal(call, self._found(call)))

    def _departments(self, call: Call) -> Answer:
        verbose = word(call, "verbosity", ("meta", "brief", "verbose"), "brief") == "verbose"
        rows = [self._department_row(department, verbose) for department in self._inventory.departments.values()]
        return Answer.json(page(call, select(call, rows, None)).body("departments"))

    def _department_row(self, department: Department, verbose: bool) -> dict[str, Any]:
        projects = [project for project in self._inventory.projects.values() if project.department is department]
        quotas: dict[str, Quota] = {}
        for project in projects:
            for name, quota in project.quotas.items():
                quotas[name] = Quota(quota.deserved + (quotas[name].deserved if name in quotas else 0))
        row = {
            "id": department.id,
            "name": department.name,
            "clusterId": department.cluster.id,
            "createdAt": shown(self._world, self._inventory.started),
            "updatedAt": shown(self._world, self._inventory.started),
            "resources": _resources(department.cluster, quotas),
            "totalResources": _total(quotas),
        }
        members = [w for w in self._scheduler.workloads.values() if w.project in projects]
        return {**row, "status": {"quotaStatus": self._quota_status(projects, members, None)}} if verbose else row

    def _projects(self, call: Call) -> Answer:
        rows = [self._project_row(project) for project in self._inventory.visible()]
        found = select(call, rows, _PROJECT_FIELDS, names=_PROJECT_NAMES)
        return Answer.json(page(call, found).body("projects"))

    def _project(self, call: Call) -> Answer:
        project = self._inventory.projects.get(call.params["project"])
        if project is None or not project.is_ours:
            raise Refused(404 if project is None else 403, "project not found")
        return Answer.json(self._project_row(project))

    def _project_row(self, project: Project) -> dict[str, Any]:
        members = [w for w in self._scheduler.workloads.values() if w.project is project]
        pools = [pool for pool in project.cluster.pools.values() if pool.name in project.quotas]
        since = shown(self._world, self._inventory.started)
        return {
            "id": project.id,
            "name": project.name,
            "description": "",
            "clusterId": project.cluster.id,
            "parentId": project.department.id,
            "parent": {"id": project.department.id, "name": project.department.name},
            "requestedNamespace": None,
            "enforceRunaiScheduler": True,
            "createdAt": since,
            "updatedAt": since,
            "defaultNodePools": list(project.quotas),
            "effective": {"defaultNodePools": list(project.quotas)},
            "resources": _resources(project.cluster, project.quotas),
            "totalResources": _total(project.quotas),
            "status": {
                "namespace": project.namespace,
                "phase": "Ready",
                "phaseMessage": None,
                "quotaStatus": self._quota_status([project], members, None),
                "nodePoolQuotaStatuses": [
                    {"nodePoolName": p.name, "nodePoolId": p.id, **self._quota_status([project], members, p.name)}
                    for p in pools
                ],
            },
        }

    def _quota_status(
        self, projects: Sequence[Project], members: Sequence[Workload], pool: str | None
    ) -> dict[str, Any]:
        holders = self._scheduler.holders()
        held = [w for w in members if w.run is not None and w.run.pool is not None and pool in (None, w.run.pool.name)]
        waits = [w for w in members if w.run is not None and w.run.pool is None and pool in (None, *w.pools())]
        names = {name for project in projects for name in project.quotas} if pool is None else {pool}

        def gpus(fixed_only: bool) -> float:
            return sum(allocated(holders, p, name, fixed_only=fixed_only) for p in projects for name in names)

        fixed = [w for w in held if not w.preemptible]
        return {
            "allocated": _cpu(held, gpus(False)),
            "allocatedNonPreemptible": _cpu(fixed, gpus(True)),
            "requested": _cpu([*held, *waits], gpus(False) + sum(_devices(w) for w in waits)),
        }

    def _pools(self, call: Call) -> Answer:
        since = shown(self._world, self._inventory.started)
        rows = [
            {
                "id": pool.id,
                "name": pool.name,
                "labelKey": "run.ai/node-pool",
                "labelValue": pool.name,
                "clusterId": cluster.id,
                "clusterName": cluster.name,
                "tenantId": TENANT,
                "isDefault": pool.is_default,
                "phase": "Ready" if any(node.status == "Ready" for node in pool.nodes) else "Unschedulable",
                "status": {"nodes": [node.name for node in pool.nodes], "conditions": []},
                "createdAt": since,
                "createdBy": "admin@example.org",
                "updatedAt": since,
                "updatedBy": "admin@example.org",
            }
            for cluster in self._inventory.clusters.values()
            for pool in cluster.pools.values()
        ]
        return Answer.json({"nodepools": list(page(call, select(call, rows, _POOL_FIELDS)).rows)})

    def _nodes(self, call: Call) -> Answer:
        since = shown(self._world, self._inventory.started)
        rows: list[dict[str, Any]] = [
            {
                "id": node.id,
                "name": node.name,
                "clusterUuid": cluster.id,
                "status": node.status,
                "nodePool": pool.name,
                "createdAt": since,
                "updatedAt": since,
                "taints": [],
                "conditions": [],
                "gpuInfo": {"gpuType": node.gpu_type, "gpuCount": node.gpus},
                "nvLinkDomainUid": None,
                "nvLinkCliqueId": None,
            }
            for cluster in self._inventory.clusters.values()
            for pool in cluster.pools.values()
            for node in pool.nodes
        ]
        found = select(call, rows, _NODE_FIELDS, names={"gpuType": "gpuInfo.gpuType"})
        return Answer.json({"nodes": list(page(call, found).rows)})

    def _access_rules(self, call: Call) -> Answer:
        role = {"member": "AI practitioner", "viewer": "Viewer"}.get(self._tokens.accounts[call.key].role)
        rows = [
            {
                "roleName": role,
                "scopeType": "project",
                "scopeId": project.id,
                "scopeName": project.name,
                "subjectType": "service-account",
                "clusterId": project.cluster.id,
            }
            for project in self._inventory.visible()
        ]
        found = select(call, rows, None, searched=["scopeName"])
        part = list(page(call, found).rows)
        body = {"totalRecords": len(found), "displayRecords": len(part), "accessRules": part}
        return Answer.json({"accessRules": body})


def policy_handler(inventory: Inventory) -> Callable[[Call], Answer]:
    """``GET /api/v2/policy/distributed``: the effective policy of a scope."""

    def handler(call: Call) -> Answer:
        scope = word(call, "scope", ("tenant", "cluster", "department", "project"))
        if scope is None:
            raise Refused(400, "parameter scope is required")
        if scope != "tenant" and call.asked(f"{scope}Id") is None:
            raise Refused(400, f"parameter {scope}Id is required with scope {scope}")
        if scope != "project":
            return Answer.json({"meta": {"scope": scope}, "policy": None})
        project = inventory.projects.get(call.asked("projectId") or "")
        if project is None:
            raise Refused(404, "project not found")
        has = project.policy.defaults or project.policy.rules
        meta = {"scope": scope, "projectId": project.id}
        return Answer.json({"meta": meta, "policy": project.policy.shown() if has else None})

    return handler


def _status(cluster: Cluster) -> dict[str, Any]:
    operator = {"available": cluster.training_operator, "components": {}}
    if not cluster.training_operator:
        operator["reason"] = "the training operator is not installed"
    return {
        "platform": {"type": "vanilla", "kubeVersion": "v1.33.4"},
        "dependencies": {"required": {"prometheus": {"available": True}}, "optional": {"distributed": operator}},
    }


def _resources(cluster: Cluster, quotas: Mapping[str, Quota]) -> list[dict[str, Any]]:
    return [
        {
            "nodePool": {"id": cluster.pools[name].id, "name": name},
            "gpu": {"deserved": quota.deserved, "limit": quota.limit, "overQuotaWeight": quota.weight},
            "cpu": {"deserved": None, "limit": None, "overQuotaWeight": None},
            "memory": {"deserved": None, "limit": None, "overQuotaWeight": None, "units": "Mib"},
        }
        for name, quota in quotas.items()
    ]


def _total(quotas: Mapping[str, Quota]) -> dict[str, Any]:
    return {"gpuQuota": sum(quota.deserved for quota in quotas.values()), "cpuQuota": None, "memoryQuota": None}


def _cpu(workloads: Iterable[Workload], gpus: float) -> dict[str, float]:
    cpu = memory = 0.0
    for workload in workloads:
        for _, count, spec in workload.roles():
            compute = spec.get("compute") or {}
            cpu += count * float(compute.get("cpuCoreRequest") or 0)
            memory += count * float(amount(compute.get("cpuMemoryRequest") or "0") or 0)
    return {"gpu": gpus, "cpu": cpu, "memory": memory}


def _devices(workload: Workload) -> float:
    roles = workload.roles()
    return sum(count * float((spec.get("compute") or {}).get("gpuDevicesRequest") or 0) for _, count, spec in roles)

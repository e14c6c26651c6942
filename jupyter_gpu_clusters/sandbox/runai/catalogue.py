"""Assets, templates, priorities, categories, types, storage classes and data volumes, read-only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

from ..service import Answer, Call, Refused, Route
from ..world import World
from .assets import CREDENTIAL_KINDS, SOURCE_KEYS, Asset, make_assets, make_templates
from .inventory import CATEGORIES, PRIORITIES, TENANT, Inventory, Project
from .listing import flag, number, page, select, word
from .spec import Framework
from .times import shown

_SOURCE_PATHS = {
    "pvc": "pvc",
    "nfs": "nfs",
    "s3": "s3",
    "git": "git",
    "host-path": "hostPath",
    "config-map": "config-map",
    "secrets": "secret-volume",
}
_TEMPLATE_FIELDS = (
    "name", "workloadType", "runnable", "scopeType", "clusterId", "projectId", "departmentId", "createdAt",
    "updatedAt", "createdBy", "updatedBy",
)  # fmt: skip
_WORKLOAD_TYPES = ("Workspace", "Training", "Distributed", "Inference")


class Catalogue:
    """What forms choose from."""

    def __init__(self, world: World, inventory: Inventory) -> None:
        self._world, self._inventory = world, inventory
        self._assets = make_assets(world, inventory)
        self._templates = make_templates(world, inventory)
        self._ids = {name: world.uuid() for name in (*PRIORITIES, *CATEGORIES, *_WORKLOAD_TYPES, "volume")}

    def routes(self) -> list[Route]:
        """Every operation here."""
        return [
            Route("GET", "/api/v1/asset/compute", self._lister("compute")),
            Route("GET", "/api/v1/asset/environment", self._lister("environment")),
            Route("GET", "/api/v1/asset/datasource", self._sources),
            *(Route("GET", f"/api/v1/asset/datasource/{path}", self._lister(k)) for path, k in _SOURCE_PATHS.items()),
            Route("GET", "/api/v1/asset/credentials", self._lister(*CREDENTIAL_KINDS)),
            Route("GET", "/api/v1/workload-templates", self._list_templates),
            Route("GET", "/api/v1/workload-templates/distributed", self._list_templates),
            Route("GET", "/api/v1/workload-templates/distributed/{template}", self._get_template),
            Route("GET", "/api/v1/workload-priorities", self._priorities),
            Route("GET", "/api/v1/workload-types", self._types),
            Route("GET", "/api/v1/workload-categories", self._categories),
            Route("GET", "/api/v2/storage-classes", self._storage_classes),
            Route("GET", "/api/v1/datavolumes", self._volumes),
        ]

    def template(self, template_id: str) -> dict[str, Any] | None:
        """One template."""
        return next((t for t in self._templates if t["meta"]["id"] == template_id), None)

    def _lister(self, *kinds: str) -> Callable[[Call], Answer]:
        def handler(call: Call) -> Answer:
            return Answer.json({"entries": [self._shown(call, a, a.spec) for a in self._chosen(call, kinds)]})

        return handler

    def _sources(self, call: Call) -> Answer:
        found = self._chosen(call, list(SOURCE_KEYS))
        return Answer.json({"entries": [self._shown(call, a, {SOURCE_KEYS[a.kind]: a.spec}) for a in found]})

    def _chosen(self, call: Call, kinds: Sequence[str]) -> list[Asset]:
        name, scope = call.asked("name"), word(call, "scope", ("system", "tenant", "cluster", "department", "project"))
        project = call.asked("projectId")
        if project is not None:
            number(call, "projectId", 0, 0, 2**31 - 1)
        wanted = (call.asked("assetIds") or "").split(",") if call.asked("assetIds") else None
        framework = word(call, "distributedFramework", get_args(Framework))
        distributed = flag(call, "isDistributed")
        for switch in ("usageInfo", "statusInfo", "includeDescendants", "isTraining", "isWorkspace", "isInference"):
            flag(call, switch)
        if scope is not None and flag(call, "includeDescendants"):
            raise Refused(400, "parameters scope and includeDescendants exclude each other")
        return [
            asset
            for asset in self._assets
            if asset.kind in kinds
            and name in (None, asset.name)
            and scope in (None, asset.scope)
            and (wanted is None or asset.id in wanted)
            and (project is None or _reaches(asset, project, only=scope == "project"))
            and (framework is None or asset.framework in (None, framework))
            and distributed in (None, asset.is_distributed)
        ]

    def _shown(self, call: Call, asset: Asset, spec: Any) -> dict[str, Any]:
        since = shown(self._world, self._inventory.started)
        project = asset.project
        meta = {
            "id": asset.id,
            "name": asset.name,
            "description": None,
            "kind": asset.kind,
            "scope": asset.scope,
            "clusterId": project.cluster.id if project else None,
            "departmentId": project.department.id if project else None,
            "projectId": int(project.id) if project else None,
            "projectName": project.name if project else None,
            "tenantId": TENANT,
            "workloadSupportedTypes": {"distributed": asset.is_distributed, "distFramework": asset.framework},
            "createdBy": "admin@example.org",
            "createdAt": since,
            "updatedBy": "admin@example.org",
            "updatedAt": since,
        }
        entry = {"meta": meta, "spec": dict(spec)}
        compliance = self._compliance(call, asset)
        return {**entry, "compliance": compliance} if compliance else entry

    def _compliance(self, call: Call, asset: Asset) -> dict[str, Any] | None:
        asked = call.asked("complyToProject")
        word(call, "complyToWorkloadType", _WORKLOAD_TYPES)
        replica = word(call, "complyToReplicaType", ("Worker", "Master"), "Worker")
        if asked is None:
            return None
        number(call, "complyToProject", 0, 0, 2**31 - 1)
        project = self._inventory.projects.get(asked)
        if project is None:
            raise Refused(400, "parameter complyToProject names no project")
        spec = {"compute": asset.spec} if asset.kind == "compute" else {}
        issues = project.policy.issues(str(replica).lower(), spec, spec)
        reasons = [issue for issue in issues if issue["field"].partition(".")[0] in spec]
        return {"imposed": False, "compliance": not reasons, "reason": reasons}

    def _list_templates(self, call: Call) -> Answer:
        names = {name: f"meta.{name}" for name in _TEMPLATE_FIELDS if name != "runnable"}
        names["runnable"] = "runnable.isRunnable"
        rows = select(call, self._templates, _TEMPLATE_FIELDS, names=names, searched=["meta.name"])
        return Answer.json({"entries": list(page(call, rows).rows), "pagination": {}})

    def _get_template(self, call: Call) -> Answer:
        found = self.template(call.params["template"].lower())
        if found is None:
            raise Refused(404, "template not found")
        return Answer.json(found)

    def _priorities(self, call: Call) -> Answer:
        clusters = [{"clusterId": cluster_id, "phase": "Ready"} for cluster_id in self._inventory.clusters]
        rows = [
            {"id": self._ids[name], "name": name, "value": value, "source": "system", "status": clusters}
            for name, value in PRIORITIES.items()
        ]
        return Answer.json({"priorities": select(call, rows, ("name", "source", "value"))})

    def _types(self, call: Call) -> Answer:
        flag(call, "externalTypesOnly")
        low = {"priorityId": self._ids["low"], "priorityName": "low"}
        rows = [
            {
                "id": self._ids[name],
                "name": name,
                "group": "run.ai",
                "categoryId": self._ids["Train"],
                "categoryName": "Train",
                "clusterStatuses": None,
                **low,
            }
            for name in ([] if flag(call, "externalTypesOnly") else _WORKLOAD_TYPES)
        ]
        return Answer.json({"types": select(call, rows, ("name", "group"))})

    def _categories(self, call: Call) -> Answer:
        rows = [{"id": self._ids[name], "name": name, "description": text} for name, text in CATEGORIES.items()]
        return Answer.json({"categories": rows})

    def _storage_classes(self, call: Call) -> Answer:
        cluster = (call.asked("clusterId") or "").lower()
        if cluster not in self._inventory.clusters:
            raise Refused(400 if not cluster else 404, "parameter clusterId is missing or names no cluster")
        flag(call, "includeNone")
        wanted = call.asked("name")
        rows = [
            {
                "clusterId": cluster,
                "storageClassName": name,
                "spec": {"provisioner": provisioner, "allowVolumeExpansion": True, "isDefault": name == "standard"},
                "customization": {"claimSize": {"min": "1G", "max": "10T"}},
            }
            for name, provisioner in (("standard", "csi.example.org"), ("fast-shared", "nfs.csi.k8s.io"))
            if wanted in (None, name)
        ]
        return Answer.json({"items": rows})

    def _volumes(self, call: Call) -> Answer:
        kind = word(call, "requestType", ("Originated", "UsableInProject"))
        usable = call.asked("usableInProjectId")
        if kind is None or (kind == "UsableInProject" and usable is None):
            raise Refused(400, "parameters requestType and, with UsableInProject, usableInProjectId are required")
        origin = self._inventory.projects["4500012"]
        row = {
            "id": self._ids["volume"],
            "name": "imagenet",
            "originPvcName": "imagenet-claim",
            "projectId": origin.id,
            "projectName": origin.name,
            "clusterId": origin.cluster.id,
            "status": {"phase": "Ready"},
        }
        known = self._inventory.projects.get(usable or origin.id)
        rows = [row] if known is not None and known.cluster is origin.cluster else []
        return Answer.json(page(call, select(call, rows, None)).body("datavolumes"))


def _reaches(asset: Asset, project: str, *, only: bool) -> bool:
    own: Project | None = asset.project
    return own.id == project if own is not None else not only

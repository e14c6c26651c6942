"""What may be chosen for fields of a workload, looked up at the control plane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from ...core.choices import Choice, LookUp
from ...core.errors import SettingsError
from ...core.models import Listing, utc_now
from ...core.nearest import did_you_mean
from .client import AssetKind, Client
from .fields import PROJECT
from .pages import Page, Rows, read_all
from .resolve import all_projects, find_project
from .wire_org import Asset, Named, Project, Template

MAX_CHOICES = 1000

LOOK_UPS: Mapping[str, LookUp] = {
    "projects": LookUp(title="Projects"),
    "project_ids": LookUp(title="Projects, by id"),
    "clusters": LookUp(title="Clusters"),
    "node_pools": LookUp(title="Node pools", depends_on=PROJECT),
    "templates": LookUp(title="Workload templates", depends_on=PROJECT),
    "template_ids": LookUp(title="Workload templates, by id", depends_on=PROJECT),
    "compute_assets": LookUp(title="Compute assets", depends_on=PROJECT),
    "environment_assets": LookUp(title="Environment assets", depends_on=PROJECT),
    "datasources": LookUp(title="Data sources", depends_on=PROJECT),
    "pvc_claims": LookUp(title="Claims", depends_on=PROJECT),
    "credentials": LookUp(title="Credentials", depends_on=PROJECT),
    "priorities": LookUp(title="Priorities"),
    "categories": LookUp(title="Categories"),
    "workload_types": LookUp(title="Types of workloads"),
    "storage_classes": LookUp(title="Storage classes", depends_on=PROJECT),
    "data_volumes": LookUp(title="Data volumes", depends_on=PROJECT),
}

Rest = Mapping[str, str | int | float | None]


class Choices:
    """The look-ups of one account.

    Parameters
    ----------
    given : the spec as far as it is filled in; anything in it may be wrong.
    default_project : of the account.
    """

    def __init__(self, client: Client, given: Mapping[str, Any], default_project: str | None) -> None:
        self._client = client
        self._given = given
        self._default = default_project

    async def look_up(self, name: str) -> Listing[Choice]:
        """The choices of one look-up, at most 1,000.

        Raises
        ------
        SettingsError : the project, on which they depend, is not said or unknown.
        """
        began = utc_now()
        rows = await self._asked(name)
        choices, is_complete = rows.items, rows.is_complete
        is_complete = is_complete and len(choices) <= MAX_CHOICES
        return Listing[Choice](items=tuple(choices[:MAX_CHOICES]), observed_at=began, is_complete=is_complete)

    async def _asked(self, name: str) -> _Found:
        client = self._client
        match name:
            case "projects" | "project_ids":
                return _found(await all_projects(client), lambda p: _project(p, by_id=name == "project_ids"))
            case "clusters":
                clusters = await client.list_clusters()
                return _found(
                    clusters, lambda c: _choice(c.uuid, c.name, {"version": c.version, "state": c.status.state})
                )
            case "node_pools":
                return await self._node_pools()
            case "templates" | "template_ids":
                by_id = name == "template_ids"
                rows = await read_all(lambda o: client.list_templates(offset=o), lambda t: t.meta.id)
                return _found(rows, lambda t: _template(t, by_id=by_id))
            case "compute_assets" | "environment_assets" | "datasources" | "credentials":
                return await self._assets(name)
            case "pvc_claims":
                page = await client.list_assets("datasource/pvc", project_id=await self._project_id())
                return _found(page, lambda a: _asset(a, value=str(a.spec.get("claimName") or a.meta.name or "")))
            case "priorities":
                return await self._named(client.list_priorities)
            case "categories":
                return await self._named(client.list_categories)
            case "workload_types":
                return await self._named(client.list_workload_types)
            case "storage_classes":
                return await self._storage_classes()
            case "data_volumes":
                return await self._data_volumes()
            case _:
                raise SettingsError(f"There is no list of {name!r}.{did_you_mean(name, LOOK_UPS)}")

    async def _node_pools(self) -> _Found:
        project = await self._project()
        filters = [f"clusterId=={project.clusterId}"] if project is not None and project.clusterId else []
        rows = await read_all(lambda o: self._client.list_node_pools(filter_by=filters, offset=o), lambda p: p.id)
        return _found(
            rows,
            lambda p: _choice(
                p.name,
                p.name,
                {"cluster": p.clusterName, "nodes": len(p.status.nodes), "phase": p.phase},
                None if (p.phase or "Ready").lower() == "ready" else f"It is {p.phase}.",
            ),
        )

    async def _assets(self, name: str) -> _Found:
        kinds: Mapping[str, AssetKind] = {
            "compute_assets": "compute",
            "environment_assets": "environment",
            "datasources": "datasource",
            "credentials": "credentials",
        }
        page = await self._client.list_assets(kinds[name], project_id=await self._project_id())
        return _found(page, lambda asset: _asset(asset, value=asset.meta.name))

    async def _named(self, ask: Callable[[], Awaitable[Page[Named]]]) -> _Found:
        return _found(await ask(), lambda n: _choice(n.name, n.name, {"value": n.value, "about": n.description}))

    async def _storage_classes(self) -> _Found:
        project = await self._project()
        if project is None or not project.clusterId:
            raise _project_needed("storage classes")
        page = await self._client.list_storage_classes(project.clusterId)
        return _found(
            page,
            lambda c: _choice(
                c.storageClassName or c.name, c.storageClassName or c.name, {"provisioner": c.spec.provisioner}
            ),
        )

    async def _data_volumes(self) -> _Found:
        project_id = await self._project_id()
        rows = await read_all(lambda o: self._client.list_data_volumes(project_id, offset=o), lambda v: v.id)
        return _found(rows, lambda v: _choice(v.id, v.name, {"project": v.projectName, "claim": v.originPvcName}))

    async def _project_id(self) -> str | None:
        project = await self._project()
        return project.id if project is not None else None

    async def _project(self) -> Project | None:
        """The project of the spec, or of the account; ``None`` where neither names one."""
        wanted = next((v for n in PROJECT if isinstance(v := self._given.get(n), str) and v), self._default)
        if wanted is None:
            return None
        project = await find_project(self._client, wanted)
        if project is None:
            raise SettingsError(f"There is no project {wanted!r} that this account can see.", provider="runai")
        return project


_Found = Rows[Any]


def _found(rows: Rows[Any] | Page[Any], choice: Callable[[Any], Choice | None]) -> _Found:
    items: Iterable[Any] = rows.items if isinstance(rows, Rows) else rows.rows
    is_complete = rows.is_complete if isinstance(rows, Rows) else rows.is_whole
    made = [made for item in items if (made := choice(item)) is not None]
    return _Found(list({one.value: one for one in made}.values()), is_complete)


def _choice(value: str | None, label: str | None, detail: Rest, why_not: str | None = None) -> Choice | None:
    """``None`` for a row without what would go into the field."""
    if not value:
        return None
    told = {name: item for name, item in detail.items() if item is not None}
    return Choice(value=value, label=label or value, detail=told, why_not=why_not)


def _project(project: Project, *, by_id: bool) -> Choice | None:
    quotas = [quota.gpu.deserved for quota in project.resources if quota.gpu.deserved is not None]
    detail = {
        "id": project.id,
        "department": project.parent.name,
        "gpu_quota": sum(quotas) if quotas else project.totalResources.gpuQuota,
        "gpus_in_use": project.status.quotaStatus.allocated.gpu,
    }
    phase = project.status.phase
    why_not = None if (phase or "Ready").lower() in ("ready", "updating") else f"It is {phase}."
    return _choice(project.id if by_id else project.name, project.name, detail, why_not)


def _template(template: Template, *, by_id: bool) -> Choice | None:
    worker = template.worker
    detail = {
        "framework": str(worker.get("distributedFramework") or ""),
        "image": str(worker.get("image") or ""),
        "scope": template.meta.scopeType,
        "needs": template.runnable.issue,
    }
    return _choice(template.meta.id if by_id else template.meta.name, template.meta.name, detail)


def _asset(asset: Asset, *, value: str | None) -> Choice | None:
    detail = {"kind": asset.meta.kind, "scope": asset.meta.scope, "project": asset.meta.projectName}
    for name in ("gpuDevicesRequest", "gpuPortionRequest", "cpuCoreRequest", "cpuMemoryRequest", "image"):
        told = asset.spec.get(name)
        if isinstance(told, str | int | float) and not isinstance(told, bool):
            detail[name] = str(told)
    reasons = "; ".join(str(reason.get("details") or "") for reason in asset.compliance.reason)
    why_not = (reasons or "A policy refuses it.") if asset.compliance.compliance is False else None
    return _choice(value, asset.meta.name, detail, why_not)


def _project_needed(what: str) -> SettingsError:
    return SettingsError(f"The {what} depend on the project: fill in `project` first.", provider="runai")

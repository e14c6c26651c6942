"""Finds what a workload spec names: project, template, assets, and what the project's policy lays under it.

A name that cannot be looked up is an error. An id is taken as it is where the service does not answer, with a warning.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ...core.errors import AuthError, NotFoundError, Problem, ProviderError, TransportError
from ...core.models import Cluster
from ...core.nearest import did_you_mean
from .client import AssetKind, Client
from .fields import Compute, Security
from .pages import Page, Rows, read_all
from .request import Facts, Json
from .spec import MasterSpec, RunaiWorkload
from .wire_org import Asset, Named, NodePool, Policy, Project, Template

T = TypeVar("T")
_SAFE = re.compile(r"[A-Za-z0-9._-]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MAX_NAMED = 8


@dataclass
class Findings:
    """What was found on the way."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def unless_silent(work: Awaitable[T]) -> T | None:
    """`work`, or ``None`` where the service does not answer it; a refused credential is always an error."""
    try:
        return await work
    except AuthError as exc:
        if exc.status != 403:
            raise
    except (ProviderError, TransportError):
        pass
    return None


async def find_project(client: Client, wanted: str, cluster_id: str | None = None) -> Project | None:
    """The project of that name or id, that of the cluster first; ``None`` where there is none.

    Its name is asked for directly, for a first page of all projects may not have it (contract, gotcha 6).
    """
    filters = [f"name=={wanted}"] if _SAFE.fullmatch(wanted) else []
    found = await all_projects(client, filters)
    named = [project for project in found.items if project.name == wanted or project.id == wanted]
    named.sort(key=lambda project: project.clusterId != cluster_id)
    if named or not _SAFE.fullmatch(wanted):
        return named[0] if named else None
    try:
        return await client.get_project(wanted)
    except ProviderError as exc:
        if isinstance(exc, NotFoundError) or exc.status in (400, 403):
            return None
        raise


async def all_projects(client: Client, filters: list[str] | None = None) -> Rows[Project]:
    """All projects that the credential sees."""
    return await read_all(lambda o: client.list_projects(filter_by=filters or (), offset=o), lambda p: p.id)


class Resolver:
    """Looks up what one spec names."""

    def __init__(self, client: Client, cluster: Cluster, default_project: str | None) -> None:
        self._client = client
        self._cluster = cluster
        self._default = default_project
        self.found = Findings()

    async def resolve(self, spec: RunaiWorkload) -> Facts:
        """Everything that can be found; what is wrong is in `found`.

        Raises
        ------
        AuthError : the credential was refused.
        TransportError, ProviderError : something named only by its name could not be looked up.
        """
        if spec.clusterId is not None and spec.clusterId.lower() != self._cluster.cluster_id.lower():
            self._problem("clusterId", f"is not that of {self._cluster.name} ({self._cluster.cluster_id}).")
        project_id, project = await self._project(spec)
        template, compute, environment, policy = await asyncio.gather(
            self._template(spec),
            self._asset("compute_asset", spec.compute_asset, "compute", project_id),
            self._asset("environment_asset", spec.environment_asset, "environment", project_id),
            self._policy(project_id),
        )
        await self._check_names(spec)
        defaults = (policy or Policy()).defaults
        return Facts(
            project_id=project_id,
            project=project,
            template=template,
            template_id=(template.meta.id if template is not None else None) or spec.templateId,
            compute=self._of_compute(compute),
            environment=self._of_environment(environment),
            worker_defaults=defaults.worker,
            master_defaults=defaults.master,
            has_policy=policy is not None,
        )

    def _problem(self, name: str, text: str) -> None:
        self.found.problems.append(Problem(name, text))

    # Project

    async def _project(self, spec: RunaiWorkload) -> tuple[str, Project | None]:
        if spec.projectId is not None:
            return await self._project_by_id(spec.projectId, spec.project)
        wanted = spec.project or self._default
        if wanted is None:
            return await self._only_project()
        project = await self._named_project(wanted)
        if project is None:
            return wanted, None
        self._check_cluster("project", project)
        return project.id or wanted, project

    async def _named_project(self, wanted: str) -> Project | None:
        try:
            project = await find_project(self._client, wanted, self._cluster.cluster_id)
        except (ProviderError, TransportError) as exc:
            if not wanted.isdecimal() or getattr(exc, "status", None) == 401:
                raise
            self.found.warnings.append(f"Whether there is a project {wanted} could not be looked up.")
            return None
        if project is None:
            known = await unless_silent(all_projects(self._client)) or Rows[Project]()
            names = [p.name or "" for p in known.items]
            text = f"There is no project {wanted!r} that this account can see.{did_you_mean(wanted, names)}"
            self._problem("project", text)
        return project

    async def _project_by_id(self, project_id: str, name: str | None) -> tuple[str, Project | None]:
        project = await unless_silent(_absent_as(self._client.get_project(project_id), Project()))
        if project is None:
            self.found.warnings.append(f"Whether there is a project {project_id} could not be looked up.")
            return project_id, None
        if project.id is None:
            self._problem("projectId", f"There is no project of the id {project_id!r}.")
            return project_id, None
        if name is not None and name not in (project.id, project.name):
            self._problem("project", f"is {name!r}, and the project of the id {project_id} is {project.name!r}.")
        self._check_cluster("projectId", project)
        return project_id, project

    async def _only_project(self) -> tuple[str, Project | None]:
        rows = await all_projects(self._client, [f"clusterId=={self._cluster.cluster_id}"])
        if len(rows.items) == 1 and rows.is_complete:
            return rows.items[0].id or "", rows.items[0]
        names = sorted(project.name or "" for project in rows.items)
        some = ", ".join(names[:_MAX_NAMED]) + (" and more" if len(names) > _MAX_NAMED else "")
        self._problem("project", f"is missing; on {self._cluster.name} there is {some or 'none that you can see'}.")
        return "", None

    def _check_cluster(self, name: str, project: Project) -> None:
        if project.clusterId and project.clusterId.lower() != self._cluster.cluster_id.lower():
            self._problem(name, f"{project.name!r} is on another cluster than {self._cluster.name!r}.")

    # Template, assets, policy

    async def _template(self, spec: RunaiWorkload) -> Template | None:
        wanted = spec.templateId or spec.template
        if wanted is None:
            return None
        name = "templateId" if spec.templateId is not None else "template"
        template = await (self._template_by_id(wanted) if _UUID.fullmatch(wanted) else self._template_by_name(wanted))
        if template is None:
            return None
        if template.meta.id is None:
            self._problem(name, f"There is no template {wanted!r}.{did_you_mean(wanted, await self._template_names())}")
            return None
        if spec.templateId and spec.template and spec.template not in (template.meta.id, template.meta.name):
            self._problem("template", f"is {spec.template!r}, and templateId is that of {template.meta.name!r}.")
        if template.runnable.isRunnable is False:
            issue = template.runnable.issue or "no reason given"
            self.found.warnings.append(f"Template {template.meta.name!r} cannot run as it is: {issue}.")
        return template

    async def _template_by_id(self, wanted: str) -> Template | None:
        template = await unless_silent(_absent_as(self._client.get_template(wanted), Template()))
        if template is None:
            self.found.warnings.append(f"Template {wanted} could not be looked up; what it brings is not counted.")
        return template

    async def _template_by_name(self, wanted: str) -> Template:
        filters = [f"name=={wanted}"] if _SAFE.fullmatch(wanted) else []
        page = await self._client.list_templates(filter_by=filters)
        return next((template for template in page.rows if template.meta.name == wanted), Template())

    async def _template_names(self) -> list[str]:
        page = await unless_silent(self._client.list_templates())
        return [template.meta.name or "" for template in page.rows] if page is not None else []

    async def _asset(self, name: str, wanted: str | None, kind: AssetKind, project_id: str) -> Asset | None:
        if wanted is None:
            return None
        rows = (await self._client.list_assets(kind, project_id=project_id)).rows
        asset = next((asset for asset in rows if wanted in (asset.meta.name, asset.meta.id)), None)
        if asset is None:
            names = [asset.meta.name or "" for asset in rows]
            self._problem(name, f"There is no {kind} asset {wanted!r}.{did_you_mean(wanted, names)}")
        elif asset.compliance.compliance is False:
            reasons = "; ".join(str(r.get("details") or "") for r in asset.compliance.reason)
            self.found.warnings.append(f"A policy of the project refuses the asset {wanted!r}: {reasons}.")
        return asset

    def _of_compute(self, asset: Asset | None) -> Json:
        return self._taken(asset, Compute) if asset is not None else {}

    def _of_environment(self, asset: Asset | None) -> Json:
        """Its fields that a pod has, and those of its security."""
        if asset is None:
            return {}
        pod, security = self._taken(asset, MasterSpec, quietly=True), self._taken(asset, Security, quietly=True)
        self._tell_left(asset, {*pod, *security})
        return pod | ({"security": security} if security else {})

    def _taken(self, asset: Asset, model: type[BaseModel], *, quietly: bool = False) -> Json:
        taken: Json = {}
        for name, value in asset.spec.items():
            if name in model.model_fields and value is not None and _fits(model, name, value):
                taken[name] = value
        if not quietly:
            self._tell_left(asset, set(taken))
        return taken

    def _tell_left(self, asset: Asset, taken: Iterable[str]) -> None:
        left = [name for name, value in asset.spec.items() if name not in set(taken) and value not in (None, [], {})]
        if left:
            self.found.warnings.append(
                f"Of the asset {asset.meta.name!r} this is not taken over: {', '.join(sorted(left))}."
            )

    async def _policy(self, project_id: str) -> Policy | None:
        if not project_id or self.found.problems:
            return Policy()
        answer = await unless_silent(self._client.get_policy("project", project_id))
        return answer.policy if answer is not None else None

    # Names in the spec

    async def _check_names(self, spec: RunaiWorkload) -> None:
        parts = [("spec", spec.spec), ("masterSpec", spec.masterSpec)]
        given = [(path, part) for path, part in parts if part is not None]
        if any(part.nodePools for _, part in given):
            pools = await unless_silent(self._pools())
            self._check_known(given, "nodePools", [p.name for p in pools.rows] if pools else None)
        if any(part.priorityClass for _, part in given):
            await self._check_named(given, "priorityClass", self._client.list_priorities)
        if any(part.category for _, part in given):
            await self._check_named(given, "category", self._client.list_categories)

    def _pools(self) -> Awaitable[Page[NodePool]]:
        return self._client.list_node_pools(filter_by=[f"clusterId=={self._cluster.cluster_id}"])

    async def _check_named(
        self, given: list[tuple[str, Any]], name: str, ask: Callable[[], Awaitable[Page[Named]]]
    ) -> None:
        page = await unless_silent(ask())
        self._check_known(given, name, [row.name for row in page.rows] if page else None)

    def _check_known(self, given: list[tuple[str, Any]], name: str, known: list[str | None] | None) -> None:
        names = [one for one in known or () if one]
        for path, part in given:
            value = getattr(part, name)
            for wanted in value if isinstance(value, tuple | list) else [value] if value else []:
                if names and wanted not in names:
                    self._problem(f"{path}.{name}", f"There is no {wanted!r}.{did_you_mean(wanted, names)}")


async def _absent_as(work: Awaitable[T], nothing: T) -> T:
    """`work`, or `nothing` where the service says that there is no such thing."""
    try:
        return await work
    except NotFoundError:
        return nothing
    except ProviderError as exc:
        if exc.status == 400:
            return nothing
        raise


def _fits(model: type[BaseModel], name: str, value: Any) -> bool:
    try:
        model.model_validate({name: value})
    except ValidationError:
        return False
    return True

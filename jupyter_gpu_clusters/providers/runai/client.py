"""The calls of Run:ai's control plane, one method each. Source: contract, sections 3 and 5."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import SecretStr

from ...core.errors import AuthError, TransportError
from ...core.http import Answer, Body, HttpClient, segment
from .kinds import Wire
from .pages import PAGE, Page, read_page
from .tokens import Tokens
from .wire import Distributed, Event, Measurement, Pod, Record, WorkloadRow
from .wire_org import (
    AccessRule,
    Asset,
    BatchAnswer,
    ClusterRow,
    CountAnswer,
    DataVolume,
    Named,
    Node,
    NodePool,
    PolicyAnswer,
    Project,
    StorageClass,
    Template,
)

W = TypeVar("W", bound=Wire)
Params = dict[str, str | int | SecretStr]

DISTRIBUTED = "/api/v1/workloads/distributed"
WORKLOADS = "/api/v1/workloads"
AssetKind = Literal[
    "compute", "environment", "datasource", "datasource/pvc", "datasource/nfs", "datasource/s3", "datasource/git",
    "datasource/host-path", "datasource/config-map", "datasource/secrets", "credentials",
]  # fmt: skip
Scope = Literal["tenant", "cluster", "department", "project"]


class Client:
    """One account's calls. A refused token is replaced once per call; what is refused again is an error.

    Parameters
    ----------
    http : the account's client; this object sets its authorization.
    """

    def __init__(self, http: HttpClient, tokens: Tokens) -> None:
        self._http = http
        self._tokens = tokens
        self._sealed: SecretStr | None = None

    async def token(self) -> SecretStr:
        """A token that is good now; for the cluster API, which takes the same."""
        token = await self._tokens.current()
        if token != self._sealed:
            self._sealed = token
            self._http.authorize(headers={"authorization": SecretStr(f"Bearer {token.get_secret_value()}")})
        return token

    async def _call(self, send: Callable[[], Awaitable[Answer]]) -> Answer:
        token = await self.token()
        try:
            return await send()
        except AuthError as exc:
            if exc.status != 401 or not await self._tokens.renew(token):
                raise
        await self.token()
        return await send()

    async def _get(self, path: str, params: Params | None = None) -> Answer:
        return await self._call(lambda: self._http.get(path, params or {}))

    async def _post(self, path: str, body: Body | None = None) -> Answer:
        return await self._call(lambda: self._http.send("POST", path, body))

    async def _page(self, path: str, key: str, model: type[W], params: Params | None = None) -> Page[W]:
        return read_page((await self._get(path, params)).data, key, model)

    # Workloads

    async def create_distributed(self, body: Body) -> Distributed:
        """Submit; sent once."""
        return _one((await self._post(DISTRIBUTED, body)).data, Distributed)

    async def get_distributed(self, workload_id: str) -> Distributed:
        """The typed read."""
        return _needed((await self._get(f"{DISTRIBUTED}/{segment(workload_id)}")).data, Distributed)

    async def delete_distributed(self, workload_id: str) -> None:
        """Accepted, not done."""
        path = f"{DISTRIBUTED}/{segment(workload_id)}"
        await self._call(lambda: self._http.send("DELETE", path))

    async def suspend_distributed(self, workload_id: str) -> None:
        """Accepted, not done. A POST: one public client uses GET, which the contract does not know."""
        await self._post(f"{DISTRIBUTED}/{segment(workload_id)}/suspend")

    async def resume_distributed(self, workload_id: str) -> None:
        """Accepted, not done."""
        await self._post(f"{DISTRIBUTED}/{segment(workload_id)}/resume")

    async def batch(self, ids: Sequence[str], action: Literal["delete", "suspend", "resume"]) -> BatchAnswer:
        """One action on several workloads; since 2.22."""
        answer = await self._post(f"{WORKLOADS}/batch", Body.from_json({"ids": list(ids), "action": action}))
        return _one(answer.data, BatchAnswer)

    async def list_workloads(
        self, *, filter_by: Sequence[str] = (), deleted: bool = False, offset: int = 0
    ) -> Page[WorkloadRow]:
        """Workloads of all types, oldest first, so that new ones come at the end."""
        params: Params = {"limit": PAGE, "offset": offset, "sortBy": "createdAt", "sortOrder": "asc"}
        params |= {"deleted": True} if deleted else {}
        return await self._page(WORKLOADS, "workloads", WorkloadRow, params | _filter(filter_by))

    async def count_workloads(self, *, filter_by: Sequence[str] = (), deleted: bool = False) -> int | None:
        """How many there are."""
        params: Params = {"deleted": True} if deleted else {}
        return _one((await self._get(f"{WORKLOADS}/count", params | _filter(filter_by))).data, CountAnswer).count

    async def get_workload(self, workload_id: str) -> WorkloadRow:
        """The generic read, which has been refused with 403 for distributed workloads (contract, gotcha 3)."""
        return _needed((await self._get(f"{WORKLOADS}/{segment(workload_id)}")).data, WorkloadRow)

    async def list_pods(self, workload_id: str, *, deleted: bool = False, offset: int = 0) -> Page[Pod]:
        """Pods of one workload."""
        params: Params = {"limit": PAGE, "offset": offset, **({"deleted": True} if deleted else {})}
        return await self._page(f"{WORKLOADS}/{segment(workload_id)}/pods", "pods", Pod, params)

    async def list_all_pods(self, *, filter_by: Sequence[str] = (), offset: int = 0) -> Page[Pod]:
        """Pods of all workloads."""
        return await self._page(
            f"{WORKLOADS}/pods", "pods", Pod, {"limit": PAGE, "offset": offset} | _filter(filter_by)
        )

    async def list_events(self, workload_id: str, *, offset: int = 0) -> Page[Event]:
        """Events, the newest first."""
        params: Params = {"limit": PAGE, "offset": offset, "sortOrder": "desc"}
        return await self._page(f"{WORKLOADS}/{segment(workload_id)}/events", "events", Event, params)

    async def list_history(self, workload_id: str, *, offset: int = 0) -> Page[Record]:
        """Phases and events."""
        params: Params = {"limit": PAGE, "offset": offset}
        return await self._page(f"{WORKLOADS}/{segment(workload_id)}/history", "records", Record, params)

    async def workload_metrics(
        self, workload_id: str, types: Sequence[str], start: datetime, end: datetime, samples: int
    ) -> Page[Measurement]:
        """Measurements; those that could not be had are left out by the service."""
        path = f"{WORKLOADS}/{segment(workload_id)}/metrics"
        return await self._page(path, "measurements", Measurement, _span(types, start, end, samples))

    async def pod_metrics(
        self, workload_id: str, pod_id: str, types: Sequence[str], start: datetime, end: datetime, samples: int
    ) -> Page[Measurement]:
        """Measurements of one pod, some of them for each GPU."""
        path = f"{WORKLOADS}/{segment(workload_id)}/pods/{segment(pod_id)}/metrics"
        return await self._page(path, "measurements", Measurement, _span(types, start, end, samples))

    # The organization

    async def list_clusters(self) -> Page[ClusterRow]:
        """All clusters; not paged."""
        return await self._page("/api/v1/clusters", "clusters", ClusterRow)

    async def get_cluster(self, cluster_id: str) -> ClusterRow:
        """One cluster."""
        return _needed((await self._get(f"/api/v1/clusters/{segment(cluster_id)}")).data, ClusterRow)

    async def list_clusters_minimal(self) -> Page[ClusterRow]:
        """The short form, which more people may read; since 2.25."""
        return await self._page("/api/v1/clusters/minimal", "clusters", ClusterRow, {"limit": PAGE})

    async def get_cluster_minimal(self, cluster_id: str) -> ClusterRow:
        """The short form of one."""
        return _needed((await self._get(f"/api/v1/clusters/{segment(cluster_id)}/minimal")).data, ClusterRow)

    async def list_projects(self, *, filter_by: Sequence[str] = (), offset: int = 0) -> Page[Project]:
        """Projects with their quotas."""
        params: Params = {"limit": PAGE, "offset": offset}
        return await self._page("/api/v1/org-unit/projects", "projects", Project, params | _filter(filter_by))

    async def get_project(self, project_id: str) -> Project:
        """One project."""
        return _needed((await self._get(f"/api/v1/org-unit/projects/{segment(project_id)}")).data, Project)

    async def list_departments(self, *, offset: int = 0) -> Page[Project]:
        """Departments with their quotas."""
        params: Params = {"limit": PAGE, "offset": offset, "verbosity": "verbose"}
        return await self._page("/api/v1/org-unit/departments", "departments", Project, params)

    async def list_node_pools(self, *, filter_by: Sequence[str] = (), offset: int = 0) -> Page[NodePool]:
        """Node pools; the answer has no ``next``, so that a full page may have a following one."""
        params: Params = {"limit": PAGE, "offset": offset}
        page = await self._page("/api/v1/node-pools", "nodepools", NodePool, params | _filter(filter_by))
        return _with_next(page, offset)

    async def list_nodes(self, *, filter_by: Sequence[str] = (), offset: int = 0) -> Page[Node]:
        """Nodes; see `list_node_pools` about pages."""
        params: Params = {"limit": PAGE, "offset": offset}
        page = await self._page("/api/v1/nodes", "nodes", Node, params | _filter(filter_by))
        return _with_next(page, offset)

    async def my_access_rules(self, *, offset: int = 0) -> Page[AccessRule]:
        """What the caller may do where."""
        params: Params = {"limit": PAGE, "offset": offset}
        return await self._page("/api/v1/authorization/me/access-rules", "accessRules", AccessRule, params)

    # What can be chosen

    async def list_assets(self, kind: AssetKind, *, project_id: str | None = None) -> Page[Asset]:
        """Assets of a kind, not paged; those that the project's policy refuses are marked, where there are such."""
        params: Params = {}
        if project_id is not None and project_id.isdecimal() and kind != "credentials":
            # A number here, unlike everywhere else (contract, gotcha 15).
            params = {"complyToProject": int(project_id), "complyToWorkloadType": "Distributed"}
        return await self._page(f"/api/v1/asset/{kind}", "entries", Asset, params)

    async def list_templates(self, *, filter_by: Sequence[str] = (), offset: int = 0) -> Page[Template]:
        """Templates of distributed workloads; the keys of ``pagination`` are unknown, so pages are told by size."""
        params: Params = {"limit": PAGE, "offset": offset}
        path = "/api/v1/workload-templates/distributed"
        return _with_next(await self._page(path, "entries", Template, params | _filter(filter_by)), offset)

    async def list_all_templates(self, *, offset: int = 0) -> Page[Template]:
        """Templates of all types."""
        params: Params = {"limit": PAGE, "offset": offset}
        return _with_next(await self._page("/api/v1/workload-templates", "entries", Template, params), offset)

    async def get_template(self, template_id: str) -> Template:
        """One template."""
        path = f"/api/v1/workload-templates/distributed/{segment(template_id)}"
        return _needed((await self._get(path)).data, Template)

    async def list_priorities(self) -> Page[Named]:
        """Priority classes with their values."""
        return await self._page("/api/v1/workload-priorities", "priorities", Named)

    async def list_workload_types(self) -> Page[Named]:
        """Types of workloads."""
        return await self._page("/api/v1/workload-types", "types", Named)

    async def list_categories(self) -> Page[Named]:
        """Categories of workloads."""
        return await self._page("/api/v1/workload-categories", "categories", Named)

    async def get_policy(self, scope: Scope, scope_id: str | None = None) -> PolicyAnswer:
        """The policy that holds for distributed workloads."""
        params: Params = {"scope": scope, **({f"{scope}Id": scope_id} if scope_id is not None else {})}
        return _one((await self._get("/api/v2/policy/distributed", params)).data, PolicyAnswer)

    async def list_storage_classes(self, cluster_id: str) -> Page[StorageClass]:
        """Storage classes of a cluster."""
        return await self._page("/api/v2/storage-classes", "items", StorageClass, {"clusterId": cluster_id})

    async def list_data_volumes(self, project_id: str | None, *, offset: int = 0) -> Page[DataVolume]:
        """Data volumes that a project may use, or those that are one's own."""
        params: Params = {"limit": PAGE, "offset": offset, "requestType": "Originated"}
        if project_id is not None:
            params |= {"requestType": "UsableInProject", "usableInProjectId": project_id}
        return await self._page("/api/v1/datavolumes", "datavolumes", DataVolume, params)


def _one(data: object, model: type[W]) -> W:
    return model.model_validate(data) if isinstance(data, Mapping) else model()


def _needed(data: object, model: type[W]) -> W:
    if not isinstance(data, Mapping):
        raise TransportError("The answer is not an object.", hint="Check the address of the service.", provider="runai")
    return model.model_validate(data)


def _filter(terms: Sequence[str]) -> Params:
    return {"filterBy": ",".join(terms)} if terms else {}


def _span(types: Sequence[str], start: datetime, end: datetime, samples: int) -> Params:
    return {
        "metricType": ",".join(types),
        "start": _moment(start),
        "end": _moment(end),
        "numberOfSamples": samples,
    }


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _with_next(page: Page[W], offset: int) -> Page[W]:
    if page.next is None and len(page.rows) >= PAGE:
        return Page(page.rows, offset + len(page.rows), page.is_whole)
    return page

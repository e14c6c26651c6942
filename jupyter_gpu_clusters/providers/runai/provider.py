"""The promise of ``core/provider.py`` for NVIDIA Run:ai: clusters exist already; distributed workloads run on them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from pydantic import BaseModel

from ...core.choices import Choice, LookUp
from ...core.errors import AuthError, GpuClustersError, NotFoundError
from ...core.models import (
    AccountStatus,
    Cluster,
    ClusterPhase,
    Details,
    Listing,
    Lookup,
    Offer,
    Order,
    Workload,
    WorkloadPhase,
    utc_now,
)
from ...core.nearest import did_you_mean
from ...core.provider import Asked, ListsOffers, LooksUp, RemoteIdentity, ShowsDetails, SuspendsWorkloads
from ...core.settings import Account
from . import details, offers
from .access import Access, Connection
from .choices import LOOK_UPS, Choices
from .convert import cluster_of, workload_of
from .jwt import claims_of, number_in
from .launcher import RunaiLauncher
from .options import Login
from .pages import Page, Rows, read_all
from .resolve import all_projects, unless_silent
from .spec import RunaiWorkload
from .wire import WorkloadRow
from .wire_org import ClusterRow, Node, Project

_NODES_FOR_S = 60.0
_DELETED_WITHIN = timedelta(days=2)
_MAX_NODE_PAGES = 4
_GIVEN = "Run:ai clusters exist already: an administrator connects them, and they are listed here."


class RunaiProvider(SuspendsWorkloads, LooksUp, ShowsDetails, ListsOffers):
    """NVIDIA Run:ai as one account sees it."""

    name: ClassVar[str] = "runai"
    title: ClassVar[str] = "NVIDIA Run:ai"
    reasons: ClassVar[Mapping[str, str]] = {
        "create": _GIVEN,
        "delete": _GIVEN,
        "scale": "The nodes of a Run:ai cluster are shared by everybody and changed by its administrator.",
        "actions": "What is done to a Run:ai cluster is done by its administrator.",
        "ssh_keys": "Run:ai starts containers, which have no SSH keys.",
    }
    asks: ClassVar[Sequence[Asked]] = (
        Asked(name="base_url", label="Address of the web page (https://...)", is_secret=False),
        Asked(name="client_id", label="Client id of the service account or access key", is_secret=False),
        Asked(name="client_secret", label="Client secret"),
        Asked(name="project", label="Project that workloads go to", is_secret=False, is_required=False),
    )
    poll_transition_s: ClassVar[float] = 10.0
    poll_steady_s: ClassVar[float] = 15.0
    workload_model: ClassVar[type[BaseModel]] = RunaiWorkload
    look_ups: ClassVar[Mapping[str, LookUp]] = LOOK_UPS
    cluster_details: ClassVar[Mapping[str, str]] = details.CLUSTER_DETAILS
    workload_details: ClassVar[Mapping[str, str]] = details.WORKLOAD_DETAILS

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._access = Access(account)
        self._nodes: tuple[float, Rows[Node] | None] | None = None
        self._has_looked = False
        self._type_filter = ["type==Distributed"]
        self._is_filter_proven = False

    async def aclose(self) -> None:
        """Close the connections."""
        await self._access.aclose()

    # The account

    async def identity(self) -> RemoteIdentity:
        """Control plane and credential. The project is part of each request: it hides nothing of the others."""
        return await self._access.identity()

    async def check_account(self) -> AccountStatus:
        """Whether a token is given and something can be seen with it."""
        try:
            connection = await self._access.connect()
            projects = await all_projects(connection.client)
        except GpuClustersError as exc:
            return self._status(False, " ".join(exc.lines()))
        return self._told(connection, projects)

    def _told(self, connection: Connection, projects: Rows[Project]) -> AccountStatus:
        where = connection.http[0].origin
        names = [project.name or "" for project in projects.items]
        wanted = connection.options.project
        count = f"{len(names)} project{'s' * (len(names) != 1)}"
        if wanted is not None and str(wanted) not in (*names, *(project.id for project in projects.items)):
            text = f"{where}: the account's project {wanted!r} is not one of the {count} it sees."
            return self._status(False, text + did_you_mean(str(wanted), names), connection)
        default = f", project {wanted}" if wanted is not None else ""
        return self._status(True, f"{where}, {count}{default}; Run:ai tells no price", connection)

    def _status(self, is_usable: bool, detail: str, connection: Connection | None = None) -> AccountStatus:
        return AccountStatus(
            account=self.account.name,
            provider=self.name,
            is_usable=is_usable,
            detail=detail,
            credential=self.account.credential,
            expires_at=_login_ends(connection),
        )

    # Clusters

    async def list_clusters(self) -> Listing[Cluster]:
        """All clusters; one call, and one for the nodes each minute where they may be read."""
        began = utc_now()
        page, nodes = await asyncio.gather(self._cluster_rows(), self._known_nodes())
        rows = [row for row in page.rows if (row.uuid or row.id) and row.deletedAt is None]
        clusters = tuple(self._cluster(row, nodes) for row in rows)
        return Listing[Cluster](items=clusters, observed_at=began, is_complete=page.is_whole)

    async def _cluster_rows(self) -> Page[ClusterRow]:
        """The full list or, where the role does not cover it, the short one."""
        client = await self._access.client()
        try:
            return await client.list_clusters()
        except AuthError as exc:
            page = await unless_silent(client.list_clusters_minimal()) if exc.status == 403 else None
            if page is None:
                raise
            return page

    async def _known_nodes(self) -> Rows[Node] | None:
        now = asyncio.get_running_loop().time()
        if self._nodes is None or now - self._nodes[0] > _NODES_FOR_S:
            client = await self._access.client()
            reading = read_all(
                lambda offset: client.list_nodes(offset=offset),
                lambda node: f"{node.clusterUuid} {node.name}",
                max_pages=_MAX_NODE_PAGES,
            )
            self._nodes = now, await unless_silent(reading)
        return self._nodes[1]

    def _cluster(self, row: ClusterRow, nodes: Rows[Node] | None) -> Cluster:
        cluster_id = row.uuid or row.id
        mine = [node for node in nodes.items if node.clusterUuid == cluster_id] if nodes is not None else None
        return cluster_of(row, mine, self.account.name)

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        """One cluster. That it is not shown proves nothing: a role can change, and nothing here makes or ends one."""
        if not cluster_id:
            return Lookup[Cluster](answer="absent")
        client = await self._access.client()
        nodes = await self._known_nodes()
        try:
            return Lookup[Cluster](answer="found", item=self._cluster(await client.get_cluster(cluster_id), nodes))
        except NotFoundError as exc:
            return Lookup[Cluster](
                answer="cannot_tell", reason=f"Run:ai does not show it to this account: {exc.message}"
            )
        except AuthError as exc:
            row = await unless_silent(client.get_cluster_minimal(cluster_id)) if exc.status == 403 else None
            if row is None:
                raise
            return Lookup[Cluster](answer="found", item=self._cluster(row, nodes))

    async def list_offers(self) -> Listing[Offer]:
        """The node pools, with what the account's projects may take of them; nothing is rented and no price told."""
        began = utc_now()
        client = await self._access.client()
        pools, nodes, projects = await asyncio.gather(
            read_all(lambda offset: client.list_node_pools(offset=offset), lambda pool: pool.id),
            self._known_nodes(),
            unless_silent(all_projects(client)),
        )
        made = offers.make(
            pools.items, nodes.items if nodes else [], projects.items if projects else [], self.account.name
        )
        return Listing[Offer](items=tuple(made), observed_at=began, is_complete=pools.is_complete)

    # Workloads

    def launcher(self, cluster: Cluster) -> RunaiLauncher:
        """The launcher of one cluster."""
        return RunaiLauncher(self._access, cluster)

    async def list_workloads(self, clusters: Sequence[Cluster]) -> Listing[Workload]:
        """All distributed workloads of these clusters, whoever started them.

        Those that were live at the last look and are gone now are looked for among the deleted ones. While one that
        was just made does not show yet, the list is not complete.
        """
        began = utc_now()
        by_id = {cluster.cluster_id: cluster for cluster in clusters}
        rows = await self._distributed_rows()
        found = [self._workload(row, by_id) for row in rows.items if _is_ours(row, by_id)]
        found += await self._missed(frozenset(workload.workload_id for workload in found), by_id)
        is_late = bool(self._access.live - {workload.workload_id for workload in found})
        self._access.live |= {workload.workload_id for workload in found if not workload.phase.is_final}
        return Listing[Workload](items=tuple(found), observed_at=began, is_complete=rows.is_complete and not is_late)

    async def _missed(self, seen: frozenset[str], by_id: Mapping[str, Cluster]) -> list[Workload]:
        """What became of those that were live and are not listed; at the first look, what was deleted lately at all."""
        missed = frozenset(self._access.live - seen)
        if self._has_looked and not missed:
            return []
        deleted = await self._deleted(missed if self._has_looked else None, by_id)
        self._has_looked = True
        self._access.live -= {workload_id for workload_id in missed if not self._access.is_young(workload_id)}
        self._access.live -= {workload.workload_id for workload in deleted}
        return [workload for workload in deleted if workload.workload_id not in seen]

    async def _deleted(self, wanted: frozenset[str] | None, by_id: Mapping[str, Cluster]) -> list[Workload]:
        """What was deleted lately before its end; of `wanted` alone, if given."""
        since = (utc_now() - _DELETED_WITHIN).isoformat(timespec="seconds").replace("+00:00", "Z")
        rows = await self._workload_rows([*self._type_filter, f"deletedAt>={since}"], deleted=True)
        chosen = [row for row in rows.items if _is_ours(row, by_id) and (wanted is None or row.id in wanted)]
        return [self._workload(row, by_id) for row in chosen if row.completedAt is None]

    async def _distributed_rows(self) -> Rows[WorkloadRow]:
        """Filtered by the service. The type is free text, so an empty answer is checked once without the filter."""
        rows = await self._workload_rows(self._type_filter)
        if rows.items or not rows.is_complete or self._is_filter_proven:
            return rows
        everything = await self._workload_rows([])
        if any(_is_distributed(row) for row in everything.items):
            self._type_filter = []
        self._is_filter_proven = True
        return everything

    async def _workload_rows(self, filters: Sequence[str], *, deleted: bool = False) -> Rows[WorkloadRow]:
        client = await self._access.client()
        return await read_all(
            lambda offset: client.list_workloads(filter_by=filters, deleted=deleted, offset=offset), lambda row: row.id
        )

    def _workload(self, row: WorkloadRow, by_id: Mapping[str, Cluster]) -> Workload:
        return workload_of(row, by_id[row.clusterId or ""], is_young=self._access.is_young(row.id or ""))

    async def suspend_workload(self, workload: Workload, order: Order) -> Workload:
        """Give back its GPUs; it keeps its place in lists and can be resumed."""
        client = await self._access.client()
        resting = (WorkloadPhase.STOPPED, WorkloadPhase.STOPPING)
        now = await self._now(workload)
        if now.phase in resting:
            return now
        await client.suspend_distributed(workload.workload_id)
        return await self._after(workload, WorkloadPhase.STOPPING)

    async def resume_workload(self, workload: Workload, order: Order) -> Workload:
        """Let it queue for GPUs again."""
        client = await self._access.client()
        now = await self._now(workload)
        if now.phase in (WorkloadPhase.PENDING, WorkloadPhase.RUNNING):
            return now
        await client.resume_distributed(workload.workload_id)
        return await self._after(workload, WorkloadPhase.PENDING)

    async def _now(self, workload: Workload) -> Workload:
        cluster = _cluster_named(workload)
        seen = (await self.launcher(cluster).get_workload(workload.workload_id)).item or workload
        return seen.model_copy(update={"name": workload.name, "created_here": workload.created_here})

    async def _after(self, workload: Workload, expected: WorkloadPhase) -> Workload:
        """What the service shows now; it accepted the change, so a read that fails is no failure of it."""
        try:
            return await self._now(workload)
        except GpuClustersError:
            return workload.model_copy(update={"phase": expected})

    # Look-ups and tables

    async def list_choices(self, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        """What may be chosen for a field.

        Raises
        ------
        SettingsError : the project, on which it depends, is not filled in or not known.
        """
        connection = await self._access.connect()
        default = connection.options.project
        return await Choices(connection.client, given, None if default is None else str(default)).look_up(look_up)

    async def show_details(self, thing: Cluster | Workload, kind: str) -> Details:
        """One of Run:ai's own tables."""
        return await details.show(await self._access.client(), thing, kind)


def _is_ours(row: WorkloadRow, by_id: Mapping[str, Cluster]) -> bool:
    return bool(row.id) and _is_distributed(row) and row.clusterId in by_id


def _is_distributed(row: WorkloadRow) -> bool:
    return row.type is None or row.type.strip().lower() == "distributed"


def _cluster_named(workload: Workload) -> Cluster:
    """As much of a workload's cluster as its own row tells."""
    return Cluster(
        provider=workload.provider,
        account=workload.account,
        cluster_id=workload.cluster_id,
        name=workload.cluster_name,
        phase=ClusterPhase.UNKNOWN,
    )


def _login_ends(connection: Connection | None) -> datetime | None:
    """When a login ends, which cannot be renewed; a service account has no such end."""
    if connection is None or not isinstance(connection.credential, Login):
        return None
    end = number_in(claims_of(connection.credential.token), "exp")
    try:
        return datetime.fromtimestamp(end, UTC) if end is not None else None
    except (OverflowError, OSError, ValueError):
        return None

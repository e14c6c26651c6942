"""Tables that only Run:ai has: about a workload, and about a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from ...core.errors import SettingsError
from ...core.models import Cluster, Details, Workload, utc_now
from .client import Client
from .convert import ranks_of
from .pages import Page, Rows, W, read_all
from .resolve import unless_silent
from .wire import Event, Measurement, Pod, Record, WorkloadRow
from .wire_org import Node, NodePool, Project

MAX_ROWS = 1000
SAMPLES = 20
CLUSTER_DETAILS: Mapping[str, str] = {
    "projects": "Projects and their quotas",
    "node_pools": "Node pools",
    "nodes": "Nodes",
    "departments": "Departments and their quotas",
    "access": "What this account may do",
}
WORKLOAD_DETAILS: Mapping[str, str] = {
    "pods": "Pods",
    "events": "Events",
    "history": "History",
    "metrics": "Metrics",
    "waiting": "Why it waits",
}
METRICS = (
    "GPU_UTILIZATION",
    "GPU_MEMORY_USAGE_BYTES",
    "GPU_MEMORY_REQUEST_BYTES",
    "CPU_USAGE_CORES",
    "CPU_REQUEST_CORES",
    "CPU_LIMIT_CORES",
    "CPU_MEMORY_USAGE_BYTES",
    "CPU_MEMORY_REQUEST_BYTES",
    "CPU_MEMORY_LIMIT_BYTES",
    "POD_COUNT",
    "RUNNING_POD_COUNT",
    "GPU_ALLOCATION",
    "NVLINK_BANDWIDTH_TOTAL",
)
_MAX_TEXT = 500

Cell = str | int | float | None
Row = Mapping[str, Cell]


async def show(client: Client, thing: Cluster | Workload, kind: str) -> Details:
    """One table about a thing."""
    if isinstance(thing, Cluster):
        return await _about_cluster(client, thing.cluster_id, kind)
    return await _about_workload(client, thing, kind)


async def _about_workload(client: Client, workload: Workload, kind: str) -> Details:
    workload_id = workload.workload_id
    match kind:
        case "pods":
            return await _pods(client, workload_id)
        case "events":
            page = await client.list_events(workload_id)
            return _table(WORKLOAD_DETAILS[kind], _newest(map(_event, page.rows)), page)
        case "history":
            rows = await read_all(lambda o: client.list_history(workload_id, offset=o), _record_key, max_pages=4)
            return _table(WORKLOAD_DETAILS[kind], _newest(map(_record, rows.items)), rows)
        case "metrics":
            return await _metrics(client, workload)
        case "waiting":
            row = await unless_silent(client.get_workload(workload_id)) or WorkloadRow()
            messages = row.pendingSchedulingMessages
            told = [
                {"node_pool": m.nodePool, "why": m.phaseReason, "text": m.userMessage or m.reason} for m in messages
            ]
            note = None if told else row.phaseMessage or "Run:ai tells no reason."
            return _table(WORKLOAD_DETAILS[kind], told, note=note)
        case _:
            raise SettingsError(f"There is no table {kind!r} of a workload.", provider="runai")


async def _about_cluster(client: Client, cluster_id: str, kind: str) -> Details:
    title = CLUSTER_DETAILS.get(kind, "")
    here = [f"clusterId=={cluster_id}"]
    match kind:
        case "projects":
            rows = await read_all(lambda o: client.list_projects(filter_by=here, offset=o), lambda p: p.id, max_pages=4)
            return _table(title, [line for project in rows.items for line in _quotas(project)], rows)
        case "departments":
            some = await read_all(lambda o: client.list_departments(offset=o), lambda d: d.id, max_pages=4)
            mine = [d for d in some.items if d.clusterId in (None, cluster_id)]
            return _table(title, [line for department in mine for line in _quotas(department)], some)
        case "node_pools":
            pools = await read_all(
                lambda o: client.list_node_pools(filter_by=here, offset=o), lambda p: p.id, max_pages=4
            )
            return _table(title, [_pool(pool) for pool in pools.items], pools)
        case "nodes":
            filters = [f"clusterUuid=={cluster_id}"]
            nodes = await read_all(
                lambda o: client.list_nodes(filter_by=filters, offset=o), lambda n: n.name, max_pages=4
            )
            return _table(title, [_node(node) for node in nodes.items], nodes)
        case "access":
            page = await client.my_access_rules()
            return _table(title, [{"role": r.roleName, "on": r.scopeType, "of": r.scopeName} for r in page.rows], page)
        case _:
            raise SettingsError(f"There is no table {kind!r} of a cluster.", provider="runai")


async def _pods(client: Client, workload_id: str) -> Details:
    pods = await read_all(lambda o: client.list_pods(workload_id, offset=o), lambda p: p.name, max_pages=4)
    gone = await unless_silent(client.list_pods(workload_id, deleted=True))
    told = await unless_silent(client.get_distributed(workload_id))
    has_master = told is not None and bool(told.masterSpecSameAsWorker or told.masterSpec)
    by_rank = {pod.name: rank for rank, pod in ranks_of(pods.items, has_master=has_master).items()}
    ordered = sorted(pods.items, key=lambda pod: (by_rank.get(pod.name, MAX_ROWS), pod.name or ""))
    rows = [_pod(pod, by_rank.get(pod.name)) for pod in ordered]
    rows += (
        [{**_pod(pod, None), "is": f"{pod.k8sPhase or 'unknown'}, deleted"} for pod in gone.rows if gone]
        if gone
        else []
    )
    return _table(WORKLOAD_DETAILS["pods"], rows, pods)


async def _metrics(client: Client, workload: Workload) -> Details:
    """One line a moment, one column a metric; what was never measured has none."""
    start = workload.submitted_at or utc_now() - timedelta(hours=1)
    end = max(workload.finished_at or utc_now(), start + timedelta(minutes=1))
    page = await client.workload_metrics(workload.workload_id, METRICS, start, end, SAMPLES)
    lines: dict[datetime, dict[str, Cell]] = {}
    for measured in page.rows:
        for sample in measured.values:
            if sample.timestamp is not None and sample.value is not None:
                lines.setdefault(sample.timestamp, {})[_column(measured)] = sample.value
    rows: list[Row] = [{"at": _time(at), **lines[at]} for at in sorted(lines, reverse=True)]
    missing = sorted(set(METRICS) - {measured.type for measured in page.rows if measured.values})
    note = f"Not measured: {', '.join(name.lower() for name in missing)}." if missing else None
    return _table(WORKLOAD_DETAILS["metrics"], rows, page, note=note)


def _column(measured: Measurement) -> str:
    labels = " ".join(f"{name}={value}" for name, value in measured.labels.items())
    return f"{(measured.type or 'unknown').lower()}{f' {labels}' if labels else ''}"


def _table(
    title: str, rows: Iterable[Row], source: Page[W] | Rows[W] | None = None, *, note: str | None = None
) -> Details:
    listed = list(rows)
    columns = tuple(dict.fromkeys(name for row in listed for name in row))
    if len(listed) > MAX_ROWS or not _is_whole(source):
        note = " ".join(part for part in (note, "There is more than what is shown.") if part)
    return Details(title=title, columns=columns, rows=tuple(listed[:MAX_ROWS]), note=note)


def _is_whole(source: Page[W] | Rows[W] | None) -> bool:
    match source:
        case Rows():
            return source.is_complete
        case Page():
            return source.is_whole and source.next is None
        case None:
            return True


def _newest(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: str(row.get("at") or ""), reverse=True)


def _event(event: Event) -> Row:
    about = event.involvedObject
    return {
        "at": _time(event.createdAt),
        "type": event.type,
        "reason": event.reason,
        "text": _short(event.message),
        "about": " ".join(part for part in (about.kind, about.name) if part) or None,
        "source": event.source,
    }


def _record_key(record: Record) -> str:
    spec = record.spec
    return f"{record.meta.creationTimestamp} {record.meta.type} {spec.phaseUpdate.phase} {spec.event.message}"


def _record(record: Record) -> Row:
    update, event = record.spec.phaseUpdate, record.spec.event
    is_update = update.phase is not None
    return {
        "at": _time(record.meta.creationTimestamp),
        "kind": record.meta.type,
        "what": update.phase if is_update else event.reason or event.type,
        "text": _short(update.phaseMessage if is_update else event.message),
    }


def _pod(pod: Pod, rank: int | None) -> dict[str, Cell]:
    return {
        "rank": rank,
        "name": pod.name,
        "is": pod.k8sPhase,
        "node": pod.nodeName,
        "pool": pod.currentNodePool,
        "ip": pod.ip,
        "gpus": pod.allocatedResources.gpu,
        "image": ", ".join(one.image for one in pod.containers if one.image) or None,
        "made": _time(pod.createdAt),
        "ended": _time(pod.completedAt),
    }


def _quotas(owner: Project) -> Sequence[Row]:
    """One line for each node pool in which there is a quota; ``limit`` is empty where there is none."""
    usage = {status.nodePoolName: status for status in owner.status.nodePoolQuotaStatuses}
    lines: list[Row] = []
    for quota in owner.resources:
        status = usage.get(quota.nodePool.name)
        lines.append(
            {
                "name": owner.name,
                "id": owner.id,
                "node_pool": quota.nodePool.name,
                "deserved": quota.gpu.deserved,
                "limit": quota.gpu.limit,
                "allocated": status.allocated.gpu if status else None,
                "not_preemptible": status.allocatedNonPreemptible.gpu if status else None,
                "requested": status.requested.gpu if status else None,
                "is": owner.status.phase,
            }
        )
    total = owner.status.quotaStatus
    whole = {"name": owner.name, "id": owner.id, "deserved": owner.totalResources.gpuQuota}
    return lines or [{**whole, "allocated": total.allocated.gpu, "requested": total.requested.gpu}]


def _pool(pool: NodePool) -> Row:
    return {
        "name": pool.name,
        "nodes": len(pool.status.nodes),
        "is": pool.phase,
        "text": _short(pool.phaseMessage),
        "default": "yes" if pool.isDefault else None,
    }


def _node(node: Node) -> Row:
    return {
        "name": node.name,
        "is": node.status,
        "node_pool": node.nodePool,
        "gpu": node.gpuInfo.gpuType,
        "gpus": node.gpuInfo.gpuCount,
    }


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"


def _time(at: datetime | None) -> str | None:
    return at.isoformat(timespec="seconds") if at is not None else None

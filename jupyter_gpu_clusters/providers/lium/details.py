"""Lium's own tables about a cluster. Source: contract, sections 4 and 6."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from datetime import timedelta
from typing import Any

from ...core.errors import GpuClustersError
from ...core.models import Cluster, Details, Node, utc_now
from .client import Client

CLUSTER_DETAILS: Mapping[str, str] = {
    "events": "What happened to its nodes",
    "logs": "The last lines of its containers",
    "records": "What removed nodes were and cost",
    "quote": "What its nodes cost, item by item, for a day",
    "statement": "What was billed in the last 30 days",
    "balance": "The account's balance",
    "backups": "Backups of its nodes",
}
_MOST_ROWS = 1000
_TAIL = 50
_DAY_H = 24
_DAYS = 30
Row = Mapping[str, str | int | float | None]


async def show(client: Client, cluster: Cluster, kind: str) -> Details:
    """One table; a node that cannot be read is a note and hides no other."""
    if kind == "balance":
        user = await client.me()
        rows: list[Row] = [{"balance": _plain(user.balance), "currency": "USD"}]
        return Details(title="Balance", columns=("balance", "currency"), rows=tuple(rows))
    if kind == "statement":
        return await _statement(client, cluster)
    rows, notes = [], []
    for node in cluster.nodes:
        try:
            rows += await _of_node(client, node, kind)
        except GpuClustersError as exc:
            notes.append(f"Node {node.index}: {exc.message}")
    if kind == "events":
        rows.sort(key=lambda row: str(row.get("at") or ""), reverse=True)
    columns = tuple(dict.fromkeys(["node", *(key for row in rows for key in row)]))
    note = " ".join(notes) or None
    return Details(title=CLUSTER_DETAILS[kind], columns=columns, rows=tuple(rows[:_MOST_ROWS]), note=note)


async def _of_node(client: Client, node: Node, kind: str) -> list[Row]:
    match kind:
        case "events":
            return [_event(node, event) for event in await client.events(node.node_id)]
        case "logs":
            return await _logs(client, node)
        case "records":
            return [{"node": node.index, **_flat(await client.record(node.node_id))}]
        case "quote":
            return await _quote(client, node)
    backups = await client.list_backups(node.node_id)
    return [{"node": node.index, "id": one.id, "name": one.name, "status": one.status} for one in backups]


def _event(node: Node, event: Any) -> Row:
    what = " ".join(word for word in (event.event_type, event.sub_event_type) if word)
    change = f"{event.from_status or '?'} -> {event.to_status}" if event.to_status else None
    told = event.error or event.detail or event.reason
    at = event.created_at.isoformat(timespec="seconds") if event.created_at else None
    return {"node": node.index, "at": at, "event": what, "change": change, "detail": told}


async def _logs(client: Client, node: Node) -> list[Row]:
    rows: list[Row] = []
    async with aclosing(client.logs(node.node_id, tail=_TAIL)) as lines:
        async for line in lines:
            rows.append({"node": node.index, "line": line})
            if len(rows) >= _TAIL:
                break
    return rows


async def _quote(client: Client, node: Node) -> list[Row]:
    host = (await client.get_pod(node.node_id)).host_id
    if host is None:
        return []
    quote = await client.quote(host, hours=_DAY_H, gpu_count=node.gpus or None)
    lines = quote.get("lines")
    rows = (
        [{"node": node.index, **_flat(line)} for line in lines if isinstance(line, dict)]
        if isinstance(lines, list)
        else []
    )
    return [*rows, {"node": node.index, "item": "total", "amount_usd": _plain(quote.get("total_usd"))}]


async def _statement(client: Client, cluster: Cluster) -> Details:
    today = utc_now().date()
    found = await client.statement((today - timedelta(days=_DAYS)).isoformat(), today.isoformat())
    ours = {node.node_id: node.index for node in cluster.nodes}
    pods = found.get("pods")
    rows: list[Row] = [
        {"node": ours.get(str(pod.get("pod_id"))), **_flat(pod)}
        for pod in (pods if isinstance(pods, list) else ())
        if isinstance(pod, dict) and str(pod.get("pod_id")) in ours
    ]
    columns = tuple(dict.fromkeys(["node", *(key for row in rows for key in row)]))
    return Details(title=CLUSTER_DETAILS["statement"], columns=columns, rows=tuple(rows[:_MOST_ROWS]), note="USD.")


def _flat(row: Mapping[str, Any]) -> dict[str, str | int | float | None]:
    """What fits into a table; lists and objects are left out."""
    return {key: _plain(value) for key, value in row.items() if not isinstance(value, list | dict)}


def _plain(value: Any) -> str | int | float | None:
    return value if value is None or isinstance(value, str | int) else str(value)

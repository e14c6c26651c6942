"""``GET state``: everything last known, in one answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from ..core.errors import NotFoundError
from ..core.models import Cluster, Order, State, Workload, utc_now
from .handler import GpuClustersHandler
from .spent import Amounts

_SHOWN_OF_ORDERS = {
    *("order_id", "verb", "account", "name", "remote_name", "state", "note", "created_at"),
    *("target_id", "price_per_hour", "on_sight"),
}
_AGAIN = "Look at the list again: it may have ended meanwhile."


class StateHandler(GpuClustersHandler):
    """The last known state; asking for it counts as looking."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answer from the journal, without touching a provider."""
        bus = self.parts.bus
        service = await self.service()
        self.parts.watcher.look(service)
        # Read before the snapshot: an event between the two makes the page ask once more, never once too few.
        seq = bus.seq
        state = await service.state()
        spent = await self.parts.spent.amounts(service)
        # Thousands of workloads take a while to write, so not on the loop.
        self.answer_text(await asyncio.to_thread(_write, state, spent, bus.stream, seq))


def _write(state: State, spent: Amounts, stream: str, seq: int) -> str:
    body = {
        "stream": stream,
        "seq": seq,
        "now": utc_now().isoformat(),
        "accounts": [view.model_dump(mode="json") for view in state.accounts],
        "clusters": [
            {**named_body(cluster), "spent": spent.get((cluster.account, cluster.cluster_id), [])}
            for cluster in state.clusters
        ],
        "workloads": [named_body(workload) for workload in state.workloads],
        "orders": [order_body(order) for order in state.orders if order.state.is_open],
        "notices": list(state.notices),
    }
    return json.dumps(body)


def named_body(thing: Cluster | Workload) -> dict[str, Any]:
    """A cluster or workload as JSON-ready data, with its full name."""
    return {**thing.model_dump(mode="json"), "full_name": thing.full_name}


def order_body(order: Order) -> dict[str, Any]:
    """What a page is told of an order."""
    return order.model_dump(mode="json", include=_SHOWN_OF_ORDERS)


def cluster_in(state: State, account: str, cluster_id: str) -> Cluster:
    """The cluster of that id.

    Raises
    ------
    NotFoundError : it is not known.
    """
    for cluster in state.clusters:
        if (cluster.account, cluster.cluster_id) == (account, cluster_id):
            return cluster
    raise NotFoundError(f"Account {account!r} has no cluster with the id {cluster_id!r}.", hint=_AGAIN)


def workload_in(state: State, account: str, cluster_id: str, workload_id: str) -> Workload:
    """The workload of that id.

    Raises
    ------
    NotFoundError : it is not known.
    """
    for workload in state.workloads:
        if (workload.account, workload.cluster_id, workload.workload_id) == (account, cluster_id, workload_id):
            return workload
    raise NotFoundError(
        f"Cluster {cluster_id!r} of account {account!r} has no workload with the id {workload_id!r}.", hint=_AGAIN
    )

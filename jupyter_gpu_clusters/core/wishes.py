"""What a look finds out besides phases: late and moved things, stragglers of what was deleted, ends that have come.

Nothing is sent from here. What is to go gets a wish to delete, and whoever holds the lease carries it out.
"""

from __future__ import annotations

from datetime import timedelta

from anyio import to_thread

from .journal import Journal
from .models import Cluster, ClusterPhase, Listing, Order, Verb, Workload
from .orders import Orders
from .plans import plan_delete

_GOING = (ClusterPhase.DELETING, ClusterPhase.DELETED)


async def see_to_late(
    journal: Journal, orders: Orders, identity: str, clusters: Listing[Cluster], workloads: Listing[Workload]
) -> None:
    """What carries the mark of an order that the user had closed is that order's after all; a notice says so."""
    closed = [one for one in await to_thread.run_sync(journal.late_orders, identity) if one.mark in one.remote_name]
    things: tuple[Cluster | Workload, ...] = (*clusters.items, *workloads.items)
    for thing in things if closed else ():
        order = next((one for one in closed if one.mark in thing.name), None)
        if order is not None:
            late = order.model_copy(update={"is_late": True})
            await orders.adopt(late, thing, f"It appeared after the order had been closed ({order.note}).")


async def see_to_moved(
    journal: Journal, orders: Orders, identity: str, clusters: Listing[Cluster], workloads: Listing[Workload]
) -> None:
    """Open orders sent under another key or project whose marks show under this one are settled by that."""
    things: tuple[Cluster | Workload, ...] = (*clusters.items, *workloads.items)
    for order in await to_thread.run_sync(journal.open_orders):
        if order.identity_key == identity or order.verb not in (Verb.CREATE, Verb.SUBMIT):
            continue
        found = [one for one in things if order.mark in order.remote_name and order.mark in one.name]
        if len(found) == 1 and found[0].provider == order.provider:
            await orders.settle(order, found[0])
            if order.on_sight and isinstance(found[0], Cluster):
                await orders.place(plan_delete(found[0], identity))


async def see_to_stragglers(journal: Journal, orders: Orders, identity: str, clusters: Listing[Cluster]) -> None:
    """What shows again, or only now, within a day after it was deleted is to be deleted again."""
    deleted = {order.target_id: order for order in await to_thread.run_sync(journal.fulfilled_deletes, identity)}
    if not deleted:
        return
    alive = [one for one in clusters.items if not one.is_free and one.phase not in _GOING]
    for cluster, made_by in await to_thread.run_sync(journal.orders_of, identity, alive):
        ids = (cluster.cluster_id, *(made_by.remote_ids if made_by is not None else ()))
        wish = next((deleted[one] for one in ids if one in deleted), None)
        if wish is not None and not _is_newer(made_by, wish):
            await orders.place(plan_delete(cluster, identity))


def _is_newer(made_by: Order | None, wish: Order) -> bool:
    return made_by is not None and made_by.created_at > wish.created_at


async def see_to_ends(journal: Journal, orders: Orders, identity: str) -> None:
    """Clusters that are to go on sight, or whose time is over, are to be deleted.

    Whoever recorded what an order made may have died before it could note the wish or the time.
    """
    timers = await to_thread.run_sync(journal.timers)
    for order in await to_thread.run_sync(journal.owed, identity):
        for cluster_id in order.remote_ids:
            cluster = await to_thread.run_sync(journal.cluster, identity, cluster_id)
            if cluster is None or cluster.phase is ClusterPhase.DELETED:
                continue
            if order.on_sight:
                await orders.place(plan_delete(cluster, identity))
            elif order.max_hours is not None and (identity, cluster_id) not in timers:
                ends_at = order.created_at + timedelta(hours=order.max_hours)
                await to_thread.run_sync(journal.set_timer, identity, cluster_id, ends_at)
    for cluster in await to_thread.run_sync(journal.overdue, identity):
        await orders.place(plan_delete(cluster, identity))

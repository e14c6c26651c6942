"""What nobody here ordered, and orders with nothing behind them. Pure."""

from __future__ import annotations

from .models import Cluster, Order, OrderState, State, Verb
from .reports import Orphan, Orphans


def orphans_of(state: State) -> Orphans:
    """The report, the dearest first; things that are known to be free are left out."""
    found = [_of_cluster(one) for one in state.clusters if _is_orphan(one)]
    found += [_of_order(one) for one in state.orders if one.state is OrderState.NOT_SEEN and one.verb is Verb.CREATE]
    not_seen = [f"{view.account}: {what}" for view in state.accounts for what in view.not_seen]
    not_seen += [f"{view.account}: {view.error.message}" for view in state.accounts if view.error is not None]
    return Orphans(items=tuple(sorted(found, key=_dearest_first)), not_seen=tuple(not_seen))


def _is_orphan(cluster: Cluster) -> bool:
    return not cluster.is_free and (not cluster.created_here or cluster.vanished_at is not None)


def _of_cluster(cluster: Cluster) -> Orphan:
    has_vanished = cluster.vanished_at is not None
    next_step = f"%cluster_delete {cluster.cluster_id}"
    if has_vanished:
        is_ours = cluster.created_here
        next_step = f'%cluster_recover {cluster.cluster_id} --close "..."' if is_ours else "is forgotten after a day"
    return Orphan(
        account=cluster.account,
        name=cluster.name,
        ref=cluster.cluster_id,
        why="vanished without a delete from here" if has_vanished else "not created here",
        next_step=next_step,
        since=cluster.vanished_at or cluster.created_at,
        price_per_hour=cluster.price_per_hour,
    )


def _of_order(order: Order) -> Orphan:
    return Orphan(
        account=order.account,
        name=order.name,
        ref=order.order_id,
        why="ordered, and nothing of it is listed",
        next_step=f"%cluster_recover {order.order_id} --delete",
        since=order.created_at,
        price_per_hour=order.price_per_hour,
    )


def _dearest_first(orphan: Orphan) -> tuple[bool, str, float]:
    price = orphan.price_per_hour
    return price is not None, price.currency if price else "", -float(price.amount) if price else 0.0

"""When faults cease, everybody lives and there is evidence, all becomes certain: "unknown" is no answer then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jupyter_gpu_clusters.core.models import Billing, ClusterPhase, Order, OrderState, State, Verb

from .evidence import DAY_S

if TYPE_CHECKING:
    from .world import World

_REQUESTS_END_S = 300.0
_BETWEEN_S = 10.0
_ROUNDS = 4
_ROUND_S = 310.0
"""Longer than a kernel waits for a sender on another host, and than the longest pause between two deletes."""


def settle(world: World) -> None:
    """Look a few times; whatever is still uncertain or wrong then is a violation."""
    began = world.loop.time()
    world.cloud.heal()
    for process in world.kernels.values():
        process.fuse = None
        process.go_on()
    world.advance(_REQUESTS_END_S)
    problems: list[str] = []
    for _ in range(_ROUNDS):
        for kernel in world.kernels:
            world.recover(kernel, _BETWEEN_S)
        problems = list(uncertain(world, began))
        if not problems:
            return
        world.advance(_ROUND_S)
    for problem in problems:
        world.violate(problem)
    world.report()


def uncertain(world: World, began: float) -> Iterator[str]:
    """What is not as it must be, journal by journal."""
    for journal in world.observers:
        state, orders = world.state_of(journal), world.checks.orders(journal)
        yield from (f"{journal}: {text}" for order in orders for text in _unresolved(world, order, began))
        yield from (f"{journal}: {text}" for text in _unlike_books(world, state))
        yield from (f"{journal}: {text}" for text in _still_claimed(world, journal))


def _unresolved(world: World, order: Order, began: float) -> Iterator[str]:
    if order.verb is Verb.DELETE:
        yield from _unfulfilled(world, order, began)
        return
    for rented in world.cloud.made_by(order.order_id):
        if rented.ended_at is not None or not (order.mark in rented.name or order.remote_ids):
            continue
        if order.order_id in world.unwanted and order.on_sight:
            yield f"{rented.cluster_id} was to be deleted on sight and bills"
        if order.state is OrderState.DONE and world.checks.is_over_time(rented, for_all=True):
            yield f"{rented.cluster_id} is over its time and bills"
        if order.state is not OrderState.DONE or order.remote_ids != (rented.cluster_id,):
            yield f"order {order.order_id} made {rented.cluster_id}, and is {order.state} ({order.note})"


def _unfulfilled(world: World, order: Order, began: float) -> Iterator[str]:
    target = world.cloud.books.get(order.target_id or "")
    if target is None or order.order_id in world.closed_by_user or order.state is OrderState.REFUSED:
        return
    if began - world.checks.fulfilled_at.get(order.order_id, began) > DAY_S:
        return
    if target.ended_at is None:
        yield f"{target.cluster_id} was to be deleted and bills; the wish is {order.state} ({order.note})"
    elif order.state.is_open:
        yield f"{target.cluster_id} is gone, and the wish to delete it is {order.state} ({order.note})"


def _unlike_books(world: World, state: State) -> Iterator[str]:
    shown = {cluster.cluster_id: cluster for cluster in state.clusters}
    for rented in world.cloud.billing():
        cluster = shown.pop(rented.cluster_id, None)
        if cluster is None:
            yield f"{rented.cluster_id} bills and is not shown"
        elif cluster.phase is not ClusterPhase.RUNNING or cluster.billing is not Billing.YES:
            yield f"{rented.cluster_id} runs, and is shown as {cluster.phase}, billing {cluster.billing}"
    for cluster in shown.values():
        if cluster.phase is not ClusterPhase.UNKNOWN or cluster.billing is not Billing.UNKNOWN:
            yield f"{cluster.cluster_id} is gone, and is shown as {cluster.phase}, billing {cluster.billing}"


def _still_claimed(world: World, journal: str) -> Iterator[str]:
    shown = {cluster.cluster_id for cluster in world.state_of(journal).clusters}
    for order in world.observers[journal].claims.all():
        if not order.state.is_open and not shown.intersection((*order.remote_ids, order.target_id)):
            yield f"the name {order.name!r} is held by order {order.order_id}, which is over ({order.state})"

"""Deliberately broken cores, to show that the simulation finds what it is there to find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from jupyter_gpu_clusters.core import look, rows
from jupyter_gpu_clusters.core.claims import Claims
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Cluster, Order, OrderState, Plan, Verb
from jupyter_gpu_clusters.core.orders import Orders
from jupyter_gpu_clusters.core.provider import Provider, Search

from .process import CURRENT
from .provider import SimProvider, SimSpec

_claim, _resolve, _search = Claims.claim, Orders.resolve, Orders.search


@contextmanager
def resend_by_another_process() -> Iterator[None]:
    """A process that does not find what another one had ordered sends the order again."""

    async def resolve(self: Orders, provider: Provider, order: Order) -> Order:
        now = await _resolve(self, provider, order)
        process = CURRENT.get()
        is_anothers = process is not None and order.sender != process.sender
        if not (is_anothers and now.state is OrderState.NOT_SEEN and order.verb is Verb.CREATE):
            return now
        assert isinstance(provider, SimProvider)
        plan: Plan = await provider.plan_cluster(order.name, SimSpec(**order.shown), order.spec_digest)
        return await self.adopt(now, await provider.create_cluster(plan, order))

    with patch.object(Orders, "resolve", resolve):
        yield


@contextmanager
def adoption_by_name_alone() -> Iterator[None]:
    """The only cluster of that name is taken for the order's."""

    async def search(self: Orders, provider: Provider, order: Order) -> Search:
        shown = await _search(self, provider, order)
        if not shown.found and len(shown.candidates) == 1:
            return Search(found=shown.candidates)
        return shown

    with patch.object(Orders, "search", search):
        yield


@contextmanager
def gone_after_one_empty_listing() -> Iterator[None]:
    """What one complete listing lacks is deleted."""

    async def see_to_vanished(
        provider: Provider, journal: Journal, orders: Orders, identity: str, cluster: Cluster
    ) -> None:
        await look.forget(journal, orders, identity, cluster, "It is not listed.")

    with (
        patch.object(rows, "GONE_AFTER_MISSES", 1),
        patch.object(rows, "GONE_AFTER", timedelta()),
        patch.object(look, "_see_to_vanished", see_to_vanished),
    ):
        yield


@contextmanager
def absence_closes_an_order() -> Iterator[None]:
    """An order that is not listed never happened."""

    async def search(self: Orders, provider: Provider, order: Order) -> Search:
        shown = await _search(self, provider, order)
        is_empty = not shown.found and not shown.candidates
        return Search(never_happened=True) if is_empty else shown

    with patch.object(Orders, "search", search):
        yield


@contextmanager
def names_are_not_claimed() -> Iterator[None]:
    """Two kernels may order under one name at the same time."""

    def claim(self: Claims, order: Order) -> Order:
        _claim(self, order)
        return order

    with patch.object(Claims, "claim", claim):
        yield


@contextmanager
def everything_stays_unknown() -> Iterator[None]:
    """Nobody ever finds out what became of an order."""

    async def resolve(self: Orders, provider: Provider, order: Order) -> Order:
        return order

    with patch.object(Orders, "resolve", resolve):
        yield


@contextmanager
def wishes_are_forgotten() -> Iterator[None]:
    """A delete that was not confirmed is never sent again."""
    with patch.object(Orders, "is_retry_due", lambda *_: False):
        yield


MUTATIONS: tuple[Any, ...] = (
    resend_by_another_process,
    adoption_by_name_alone,
    gone_after_one_empty_listing,
    absence_closes_an_order,
    names_are_not_claimed,
    everything_stays_unknown,
    wishes_are_forgotten,
)

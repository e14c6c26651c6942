"""Faults put into the product on purpose, to show that the matrix can fail; called in the kernels that resolve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from unittest import mock

from jupyter_gpu_clusters.core import look, rows
from jupyter_gpu_clusters.core.claims import Claims
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Cluster, Order
from jupyter_gpu_clusters.core.names import base_name
from jupyter_gpu_clusters.core.orders import Orders
from jupyter_gpu_clusters.core.provider import Provider, Search
from jupyter_gpu_clusters.providers.e2e import provider as e2e
from jupyter_gpu_clusters.providers.e2e import wire


def _resend() -> None:
    """An open order is no obstacle: whoever runs the cell again sends it again."""
    claim = Claims.claim

    def claiming(self: Claims, order: Order) -> Order:
        holder = self.holder(order)
        if holder is not None and holder.state.is_open:
            self.release(holder)
        return claim(self, order)

    mock.patch.object(Claims, "claim", claiming).start()


def _adopt_by_name() -> None:
    """Whatever has the name is what the order made."""

    def is_made_by(order: Order, row: wire.Cluster, location: str) -> bool:
        return base_name((row.name or "")[: len(order.remote_name)]) == order.name

    vars(e2e)["_is_made_by"] = is_made_by


def _close_when_absent() -> None:
    """What a look does not show never happened."""
    search = Orders.search

    async def searching(self: Orders, provider: Provider, order: Order) -> Search:
        found = await search(self, provider, order)
        return found if found.found else Search(never_happened=True, reason="It is not listed.")

    mock.patch.object(Orders, "search", searching).start()


def _call_everything_unknown() -> None:
    """No look ever tells anything."""

    async def searching(self: Orders, provider: Provider, order: Order) -> Search:
        return Search(reason="Who knows.")

    mock.patch.object(Orders, "search", searching).start()


def _gone_after_one_listing() -> None:
    """What one listing lacks is deleted, without asking for it by its id."""

    async def forgetting(provider: Provider, journal: Journal, orders: Orders, identity: str, cluster: Cluster) -> None:
        await look.forget(journal, orders, identity, cluster, "It is not listed.")

    vars(rows)["GONE_AFTER_MISSES"] = 1
    vars(look)["_see_to_vanished"] = forgetting


MUTATIONS: Mapping[str, Callable[[], None]] = {
    "resent by another process": _resend,
    "adopted by its name alone": _adopt_by_name,
    "closed when it is not listed": _close_when_absent,
    "everything is unknown": _call_everything_unknown,
    "gone after one empty listing": _gone_after_one_listing,
}


def mutate(name: str) -> None:
    """Break this process's copy of the product."""
    MUTATIONS[name]()

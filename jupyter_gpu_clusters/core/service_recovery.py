"""The verbs about what is not certain: look again, adopt, delete on sight, close, and the report of orphans.

Looking sends nothing but wishes to delete that the user had before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from anyio import to_thread

from .errors import ConflictError, GpuClustersError, NotFoundError, NotSupportedError
from .look import acquaint, failure_of, forget, look
from .models import Cluster, Order, OrderState, State, Verb, utc_now
from .orphans import orphans_of
from .provider import NamesMembers, Provider
from .reports import Kind, Orphans, Recovered
from .service_base import ServiceBase
from .spend import Spend, spend_of
from .state import read_state

_OF_ANOTHER = "It was sent under another key, project or location, and with the present one it cannot be looked for."


class RecoveryVerbs(ServiceBase):
    """What became of things."""

    async def refresh(self, names: Sequence[str] = (), *, fulfils: bool = False) -> State:
        """Look at the providers of these accounts (all by default) now, then tell what is known.

        Parameters
        ----------
        fulfils : wishes to delete that are not confirmed yet are sent again.
        """
        providers, _ = self._accounts.usable(names)
        await asyncio.gather(*(self._look(provider, fulfils) for provider in providers.values()))
        return await self.state()

    async def _look(self, provider: Provider, fulfils: bool) -> None:
        try:
            await look(provider, self._journal, self._orders, fulfils=fulfils)
        except GpuClustersError as exc:
            identity = (await provider.identity()).key
            await to_thread.run_sync(self._journal.record_failure, identity, failure_of(exc))

    async def state(self) -> State:
        """What is known, from the journal; never touches a provider."""
        return await read_state(self._journal, self._accounts)

    async def recover(self) -> list[Recovered]:
        """Look for everything that is not certain, and tell what is known now: orders first, the oldest first."""
        await to_thread.run_sync(self._journal.restore_orders)
        before = await to_thread.run_sync(self._journal.open_orders)
        state = await self.refresh(fulfils=True)
        providers, _ = self._accounts.usable()
        by_identity = {(await provider.identity()).key: provider for provider in providers.values()}
        found = [await self._recovered(order, by_identity.get(order.identity_key), state) for order in before]
        hidden = [_hidden(order) for order in await self._out_of_sight(state)]
        return [*found, *hidden, *(await to_thread.run_sync(self._vanished, state))]

    async def _out_of_sight(self, state: State) -> list[Order]:
        """Creates that were answered under keys, projects or locations that no account has now, and do not show."""
        providers, _ = self._accounts.usable()
        identities = {(await provider.identity()).key for provider in providers.values()}
        shown = {cluster.cluster_id for cluster in state.clusters}
        orders = await to_thread.run_sync(self._journal.held_orders)
        return [
            one
            for one in orders
            if one.verb is Verb.CREATE
            and not one.state.is_open
            and one.identity_key not in identities
            and shown.isdisjoint(one.remote_ids)
        ]

    def _vanished(self, state: State) -> list[Recovered]:
        pairs = [
            (one, self._journal.order(one.order_id or "")) for one in state.clusters if one.vanished_at is not None
        ]
        return [_report_of(cluster, order) for cluster, order in pairs if order is not None]

    async def _recovered(self, order: Order, provider: Provider | None, state: State) -> Recovered:
        now = await to_thread.run_sync(self._journal.order, order.order_id) or order
        report = Recovered(
            kind=_kind_of(now),
            account=now.account,
            name=now.name,
            since=now.created_at,
            note=now.note or ("Its sender is still at work." if now.state.is_open else f"Settled: {now.state}."),
            order=now,
            cluster=next((c for c in state.clusters if c.cluster_id in (*now.remote_ids, now.target_id)), None),
            price_per_hour=now.price_per_hour,
        )
        if not now.state.is_open:
            return report
        if provider is None:
            return report.model_copy(update={"note": f"{_OF_ANOTHER} {now.note or ''}".strip()})
        return report.model_copy(update={"candidates": await self._candidates(provider, now)})

    async def _candidates(self, provider: Provider, order: Order) -> tuple[Cluster, ...]:
        if order.verb is not Verb.CREATE or order.note is None:
            return ()
        try:
            search = await self._orders.search(provider, order)
        except GpuClustersError:
            return ()
        return (*search.found, *search.candidates)

    async def open_order(self, ref: str) -> Order:
        """The open order of that id (its beginning will do), or the one create of that name that is open or hidden.

        Raises
        ------
        NotFoundError : there is none, or several.
        """
        orders = await to_thread.run_sync(self._journal.open_orders)
        orders += await self._out_of_sight(await self.state())
        found = [one for one in orders if one.order_id.startswith(ref)]
        found = found or [one for one in orders if one.verb is Verb.CREATE and ref in _names(one)]
        if len(found) == 1:
            return found[0]
        problem = "no open order" if not found else "several open orders"
        raise NotFoundError(f"There is {problem} {ref!r}.", hint="`%cluster_recover` lists the open ones.")

    async def close_order(self, order_id: str, statement: str) -> Order:
        """The user states that nothing exists of an open order; the statement is recorded.

        What carries its mark is looked for during 30 more days.

        Raises
        ------
        NotFoundError : no open order has that id.
        """
        return await self._orders.close(await self.open_order(order_id), f"Closed by the user: {statement}")

    async def close_vanished(self, cluster: Cluster, statement: str) -> None:
        """The user states that a cluster that vanished is gone; its name is free again.

        Raises
        ------
        ConflictError : it has not vanished.
        """
        if cluster.vanished_at is None:
            raise ConflictError(
                f"{cluster.full_name} is still listed, so it cannot be closed.", hint="Delete it with %cluster_delete."
            )
        identity = (await self._accounts.provider(cluster.account).identity()).key
        await forget(self._journal, self._orders, identity, cluster, f"Closed by the user: {statement}")

    async def delete_on_sight(self, order_id: str) -> Order:
        """What an open order made is to be deleted as soon as it shows; whoever sees it first does so.

        Raises
        ------
        NotFoundError : no open order has that id.
        NotSupportedError : it is not about a new cluster.
        """
        order = await self.open_order(order_id)
        if order.verb is not Verb.CREATE or not order.state.is_open:
            raise NotSupportedError(
                f"Order {order.order_id} ({order.verb} {order.state}) is no open create, so nothing of it can be "
                "deleted on sight.",
                hint="Close it with a statement once you know what became of it.",
            )
        return await self._orders.wish_gone(order)

    async def adopt(self, order_id: str, remote_id: str) -> Cluster:
        """The user states that a listed cluster is what an open create made.

        Raises
        ------
        NotFoundError : no open create has that id, or the account lists no such cluster.
        ConflictError : another order made that cluster, or it was there before the order.
        """
        order = await self.open_order(order_id)
        provider = self._accounts.provider(order.account)
        is_here = (await provider.identity()).key == order.identity_key
        if not is_here or not order.state.is_open or order.verb is not Verb.CREATE:
            raise NotFoundError(
                f"Order {order.order_id} cannot be given a cluster.",
                hint="It is no create, or was sent under another key, project or location.",
            )
        await acquaint(provider, self._journal)
        listing = await provider.list_clusters()
        cluster = next((one for one in listing.items if one.cluster_id == remote_id), None)
        if cluster is None:
            listed = ", ".join(one.cluster_id for one in listing.items) or "none"
            raise NotFoundError(f"{order.account} lists no cluster {remote_id!r}.", hint=f"It lists: {listed}.")
        owner = await to_thread.run_sync(self._journal.order_of, order.identity_key, cluster)
        if owner is not None or remote_id in order.baseline:
            why = f"order {owner.order_id} made it" if owner is not None else "it was there before the order"
            raise ConflictError(f"{remote_id} is not what order {order.order_id} made: {why}.", hint="Adopt another.")
        if isinstance(provider, NamesMembers) and not cluster.member_ids:
            members = tuple(node.node_id for node in cluster.nodes)
            cluster = cluster.model_copy(update={"member_ids": members})
        await self._orders.adopt(order, cluster, f"Adopted by the user: {remote_id}.")
        return await to_thread.run_sync(self._journal.known_cluster, order.identity_key, cluster)

    async def see_to_debts(self) -> bool:
        """Whether an order, a delete or an end time needs somebody to look; called by who stays (the Jupyter server).

        Its end times count as kept while this process can read the account.
        """
        await to_thread.run_sync(self._journal.restore_orders)
        timers = await to_thread.run_sync(self._journal.timers)
        providers, _ = self._accounts.usable()
        for provider in providers.values():
            identity = (await provider.identity()).key
            seen = await to_thread.run_sync(self._journal.look, identity)
            if seen.observed_at is not None and seen.failure is None and any(key[0] == identity for key in timers):
                await to_thread.run_sync(self._journal.keep, identity)
        return bool(timers) or bool(await to_thread.run_sync(self._journal.open_orders))

    async def costs(
        self, names: Sequence[str] = (), *, since: datetime | None = None, with_free: bool = False
    ) -> Spend:
        """What these accounts (all by default) cost since then, as far as the journal knows.

        Raises
        ------
        SettingsError : there is no account of a name.
        """
        for name in names:
            self._accounts.account(name)
        providers, _ = self._accounts.usable()
        identities = {(await provider.identity()).key for provider in providers.values()}
        spans, commitments, orders = await to_thread.run_sync(self._journal.costs)
        return spend_of(
            spans,
            commitments,
            utc_now(),
            accounts=names,
            since=since,
            with_free=with_free,
            orders=orders,
            identities=identities,
        )

    async def orphans(self) -> Orphans:
        """What the accounts have that no order here made, and orders with nothing behind them, after looking."""
        return orphans_of(await self.refresh())


def _names(order: Order) -> tuple[str, str]:
    return order.name, f"{order.account}/{order.name}"


def _kind_of(order: Order) -> Kind:
    if not order.state.is_open:
        return "settled"
    if order.verb is Verb.DELETE:
        return "deleting"
    return "not seen" if order.state is OrderState.NOT_SEEN else "open"


def _hidden(order: Order) -> Recovered:
    return Recovered(
        kind="out of sight",
        account=order.account,
        name=order.name,
        since=order.created_at,
        note=f"{_OF_ANOTHER} It made {', '.join(order.remote_ids)}, which may bill.",
        order=order,
        price_per_hour=order.price_per_hour,
    )


def _report_of(cluster: Cluster, order: Order) -> Recovered:
    return Recovered(
        kind="vanished",
        account=cluster.account,
        name=cluster.name,
        since=cluster.vanished_at or order.created_at,
        note=cluster.reason or "",
        order=order,
        cluster=cluster,
        price_per_hour=cluster.price_per_hour,
    )

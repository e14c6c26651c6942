"""The verbs that every face calls. All async parts run on one event loop.

Building a plan never spends. `Service.create`, `scale` and `submit` take only plans, check the consent and go
through `orders`, so dry run, consent, journal and safe retry are one path for every provider and every face.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from anyio import to_thread
from pydantic import BaseModel

from . import consent as consents
from .accounts import Accounts
from .attach import Placement, place_or_attach
from .consent import Consent
from .errors import (
    ConflictError,
    GpuClustersError,
    NotFoundError,
    OutcomeUnknownError,
    Problem,
    SettingsError,
    SpecError,
)
from .journal import Journal
from .look import failure_of, forget, look, send_delete
from .models import (
    AccountStatus,
    CancelReport,
    Cluster,
    ClusterPhase,
    Created,
    Deleted,
    LogChunk,
    Lookup,
    OfferListing,
    Order,
    Plan,
    Recovered,
    State,
    Submitted,
    Verb,
    Workload,
)
from .names import match_clusters, match_workloads, only_one
from .orders import Orders
from .paths import data_dir
from .plans import digest_of, plan_delete
from .provider import CreatesClusters, Launcher, ListsOffers, Provider, RunsWorkloads, ScalesClusters
from .state import read_state
from .watching import Watching


class Service:
    """One per process and event loop. Opening it does no I/O beyond reading the accounts file."""

    def __init__(self, journal: Journal, accounts: Accounts) -> None:
        self._journal = journal
        self._accounts = accounts
        self._orders = Orders(journal)
        self._watching = Watching(journal, self._orders, accounts)

    @classmethod
    def open(cls) -> Service:
        """The service of this user: journal and accounts in Jupyter's own folders.

        Raises
        ------
        SettingsError : the accounts file has mistakes.
        """
        return cls(Journal(data_dir()), Accounts())

    async def aclose(self) -> None:
        """Stop watching, let running writes record their answers (bounded), close everything."""
        await self._watching.aclose()
        await self._orders.aclose()
        await self._accounts.aclose()
        await to_thread.run_sync(self._journal.close)

    # Accounts and what they offer

    def account_names(self) -> tuple[str, ...]:
        """All accounts; ``local`` is always there."""
        return self._accounts.names()

    def provider_class(self, account: str) -> type[Provider]:
        """The provider class of an account (imported at first use).

        Raises
        ------
        SettingsError : no such account; the nearest name is offered.
        """
        return self._accounts.provider_class(account)

    def spec_model(self, account: str) -> type[BaseModel]:
        """The model of what can be asked for in a new cluster.

        Raises
        ------
        NotSupportedError : the provider rents nothing; the message says why.
        """
        return self._accounts.able(account, CreatesClusters, "create").spec_model

    def workload_model(self, account: str) -> type[BaseModel]:
        """The model of what can be asked for in a workload; raises like `spec_model`."""
        return self._accounts.able(account, RunsWorkloads, "workloads").workload_model

    async def check_accounts(self, names: Sequence[str] = ()) -> list[AccountStatus]:
        """Whether these accounts (all by default) work, and where each secret comes from."""
        return [await self._accounts.provider(name).check_account() for name in names or self.account_names()]

    async def offers(self, names: Sequence[str] = ()) -> list[OfferListing]:
        """What can be rented now, account by account; a failing account does not hide the others."""
        return [await self._offers_of(name) for name in names or self.account_names()]

    async def _offers_of(self, name: str) -> OfferListing:
        kind = self.provider_class(name)
        try:
            listing = await self._accounts.able(name, ListsOffers, "offers").list_offers()
        except GpuClustersError as exc:
            return OfferListing(account=name, provider=kind.name, error=failure_of(exc))
        return OfferListing(account=name, provider=kind.name, offers=listing.items)

    # Knowing

    async def refresh(self, names: Sequence[str] = ()) -> State:
        """Look at the providers of these accounts (all by default) now, then tell what is known."""
        for name in names or self.account_names():
            provider = self._accounts.provider(name)
            try:
                await look(provider, self._journal, self._orders)
            except GpuClustersError as exc:
                identity = (await provider.identity()).key
                await to_thread.run_sync(self._journal.record_failure, identity, failure_of(exc))
        return await self.state()

    async def state(self) -> State:
        """What is known, from the journal; never touches a provider."""
        return await read_state(self._journal, self._accounts)

    def note_attention(self) -> None:
        """Somebody is looking now: watchers of this process poll at the steady pace for the next minute."""
        self._watching.note_attention()

    def watch(self) -> AsyncGenerator[State, None]:
        """The state now and at every change; the watchers of all accounts run while it is iterated."""
        return self._watching.states()

    def watch_cluster(self, cluster: Cluster) -> AsyncGenerator[Cluster, None]:
        """The cluster now and at every change; ends when it is deleted."""
        return self._watching.cluster(cluster)

    def watch_workload(self, workload: Workload) -> AsyncGenerator[Workload, None]:
        """The workload now and at every change; ends after its final phase."""
        return self._watching.workload(workload)

    async def find_cluster(self, ref: str) -> Cluster:
        """The cluster called `ref` (``demo``, ``local/demo`` or an id); looks again when it is not known.

        Raises
        ------
        NotFoundError : there is none; the nearest name is offered.
        NameTakenError : several; their full names are given.
        """
        state = await self.state()
        if not match_clusters(state, ref):
            state = await self.refresh()
        return only_one(match_clusters(state, ref), ref, "cluster", [c.full_name for c in state.clusters])

    async def find_workload(self, ref: str) -> Workload:
        """The workload called `ref`; of several runs of one name a live one, else the newest. Raises like above."""
        state = await self.state()
        if not match_workloads(state, ref):
            state = await self.refresh()
        found = only_one(match_workloads(state, ref), ref, "workload", [w.full_name for w in state.workloads])
        if found.phase.is_final:
            return found
        return await self._fresh(found)

    async def _fresh(self, workload: Workload) -> Workload:
        launcher, identity = await self._launcher_of(workload)
        answer = await launcher.get_workload(workload.workload_id)
        if answer.item is None:
            return workload
        await to_thread.run_sync(self._journal.put_workload, identity, answer.item)
        return answer.item

    # Clusters

    async def plan_create(self, account: str, name: str | None, spec: BaseModel) -> Plan:
        """What creating that cluster would do.

        Raises
        ------
        SpecError : with every problem found.
        """
        provider = self._accounts.able(account, CreatesClusters, "create")
        if not name:
            raise SpecError("The cluster has no name.", problems=[Problem("name", "is needed: --name NAME")])
        return await provider.plan_cluster(name, spec, await self._digest(spec))

    async def create(self, plan: Plan, *, consent: Consent | None = None, new: bool = False) -> Created:
        """Create the planned cluster, or attach to the one that is there by that name from the same spec.

        Parameters
        ----------
        new : an existing cluster of that name is an error instead.

        Raises
        ------
        ConsentError : it costs and nobody agreed.
        NameTakenError : the name is live with another spec (the difference is given), or `new`.
        OutcomeUnknownError : it may exist; ``%cluster_recover`` finds out.
        """
        consents.require(plan, consent)
        provider = self._accounts.able(plan.account, CreatesClusters, "create")
        await self._same_identity(provider, plan)

        async def find(order: Order) -> Lookup[Cluster]:
            for cluster_id in order.remote_ids:
                await self._refuse_if_deleting(order.identity_key, cluster_id, plan.name)
            return await self._look_up_cluster(provider, order)

        placement: Placement[Cluster] = await place_or_attach(self._orders, provider, plan, find, is_new=new)
        if placement.existing is not None:
            note = f"{plan.name!r} is there already, from the same spec: attached, nothing was ordered."
            return Created(cluster=placement.existing, attached=True, note=note)
        cluster = await self._orders.send(placement.order, partial(provider.create_cluster, plan, placement.order))
        return Created(cluster=cluster)

    async def _look_up_cluster(self, provider: Provider, order: Order) -> Lookup[Cluster]:
        cluster_id = order.remote_ids[0] if order.remote_ids else ""
        answer = await provider.get_cluster(cluster_id)
        known = await to_thread.run_sync(self._journal.cluster, order.identity_key, cluster_id)
        if answer.answer == "absent" and known is not None and known.phase is not ClusterPhase.DELETED:
            await forget(self._journal, self._orders, order.identity_key, known, "It vanished.")
        return answer if answer.answer != "cannot_tell" else answer.model_copy(update={"item": known})

    async def plan_scale(self, cluster: Cluster, nodes: int) -> Plan:
        """What changing the cluster to `nodes` nodes in all would do."""
        provider = self._accounts.able(cluster.account, ScalesClusters, "scale")
        return await provider.plan_scale(cluster, nodes, f"nodes={nodes}")

    async def scale(self, plan: Plan, *, consent: Consent | None = None) -> Cluster:
        """Carry out a planned change of size; raises like `create`."""
        consents.require(plan, consent)
        provider = self._accounts.able(plan.account, ScalesClusters, "scale")
        identity = await self._same_identity(provider, plan)
        await self._refuse_if_deleting(identity, plan.target_id or "", plan.name)
        order, is_mine = await self._orders.place(plan)
        if not is_mine:
            raise OutcomeUnknownError(
                f"{plan.name!r} is being scaled already (order {order.order_id}).",
                hint="Wait for it, or run %cluster_recover.",
                provider=plan.provider,
            )
        return await self._orders.send(order, partial(provider.scale_cluster, plan, order))

    async def delete(self, cluster: Cluster) -> Deleted:
        """End the cluster, what runs on it, and its cost. The wish is recorded first and never lapses."""
        provider = self._accounts.able(cluster.account, CreatesClusters, "delete")
        identity = (await provider.identity()).key
        order, _ = await self._orders.place(plan_delete(cluster, identity))
        answer = await self._orders.send(
            order, partial(send_delete, provider, self._journal, self._orders, cluster, order)
        )
        if answer.answer == "absent":
            return Deleted(cluster=cluster.model_copy(update={"phase": ClusterPhase.DELETED}), is_gone=True)
        return Deleted(cluster=answer.item or cluster, is_gone=False, note=answer.reason)

    async def _refuse_if_deleting(self, identity: str, cluster_id: str, name: str) -> None:
        """A wish to delete never lapses, so nothing may be built on what it is about."""
        for order in await to_thread.run_sync(self._journal.open_orders, identity):
            if order.verb is Verb.DELETE and order.target_id == cluster_id:
                raise ConflictError(
                    f"The cluster of {name!r} is being deleted.",
                    hint="Wait until %cluster_list no longer shows it, or use another.",
                    provider=order.provider,
                )

    # Workloads

    async def plan_submit(self, cluster: Cluster, name: str | None, spec: BaseModel) -> Plan:
        """What submitting that workload would do. Without a name it gets one and always runs."""
        if cluster.phase is ClusterPhase.CREATING:
            raise SettingsError(
                f"{cluster.name!r} is still being created.", hint=f"Wait for it: %cluster_wait {cluster.name}"
            )
        launcher = self._accounts.able(cluster.account, RunsWorkloads, "workloads").launcher(cluster)
        return await launcher.plan_workload(name or f"run-{os.urandom(3).hex()}", spec, await self._digest(spec))

    async def submit(self, plan: Plan, *, consent: Consent | None = None) -> Submitted:
        """Start the planned workload; a live one of that name and spec is attached, a finished one runs again.

        Raises
        ------
        ConsentError, NameTakenError, OutcomeUnknownError : as for `create`.
        """
        consents.require(plan, consent)
        provider = self._accounts.able(plan.account, RunsWorkloads, "workloads")
        identity = await self._same_identity(provider, plan)
        cluster = await to_thread.run_sync(self._journal.cluster, identity, plan.target_id or "")
        if cluster is None or cluster.phase is ClusterPhase.DELETED:
            raise NotFoundError(f"The cluster of {plan.name!r} is gone.", hint="%cluster_list shows what there is.")
        await self._refuse_if_deleting(identity, cluster.cluster_id, plan.name)
        launcher = provider.launcher(cluster)

        async def find(order: Order) -> Lookup[Workload]:
            answer = await launcher.get_workload(order.remote_ids[0] if order.remote_ids else "")
            is_over = answer.item is not None and answer.item.phase.is_final
            return answer.model_copy(update={"answer": "absent"}) if is_over else answer

        placement: Placement[Workload] = await place_or_attach(self._orders, provider, plan, find)
        if placement.existing is not None:
            note = f"{plan.name!r} is running already, from the same spec: attached, nothing was started."
            return Submitted(workload=placement.existing, attached=True, note=note)
        request = partial(launcher.submit_workload, plan, placement.order)
        return Submitted(workload=await self._orders.send(placement.order, request))

    async def cancel(self, workload: Workload) -> CancelReport:
        """End every process of the workload on every node; calm when it has ended already."""
        launcher, identity = await self._launcher_of(workload)
        report = await launcher.cancel_workload(workload.workload_id)
        await to_thread.run_sync(self._journal.put_workload, identity, report.workload)
        return report

    async def stream_logs(
        self,
        workload: Workload,
        *,
        ranks: Sequence[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        tail_lines: int | None = None,
        follow: bool = False,
    ) -> AsyncGenerator[LogChunk, None]:
        """Output of the ranks; parameters as in `Launcher.stream_logs`."""
        launcher, _ = await self._launcher_of(workload)
        chunks = launcher.stream_logs(
            workload.workload_id, ranks=ranks, offsets=offsets, tail_lines=tail_lines, follow=follow
        )
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    async def _launcher_of(self, workload: Workload) -> tuple[Launcher, str]:
        provider = self._accounts.able(workload.account, RunsWorkloads, "workloads")
        identity = (await provider.identity()).key
        cluster = await to_thread.run_sync(self._journal.cluster, identity, workload.cluster_id)
        if cluster is None:
            raise NotFoundError(
                f"The cluster {workload.cluster_name!r} of {workload.name!r} is not known under this account.",
                hint="%cluster_list shows what there is.",
            )
        return provider.launcher(cluster), identity

    # Open orders

    async def recover(self) -> list[Recovered]:
        """Check every open order by reading only, and tell what is known."""
        await to_thread.run_sync(self._journal.restore_orders)
        before = await to_thread.run_sync(self._journal.open_orders)
        await self.refresh()
        return [await self._recovered(order) for order in before]

    async def _recovered(self, order: Order) -> Recovered:
        now = await to_thread.run_sync(self._journal.order, order.order_id) or order
        if now.state.is_open:
            return Recovered(order=now, note=now.note or "Its sender is still at work.")
        return Recovered(order=now, note=now.note or f"Settled: {now.state}.")

    async def close_order(self, order_id: str, statement: str) -> Order:
        """The user states that nothing exists of an open order; the statement is recorded.

        Raises
        ------
        NotFoundError : no open order has that id.
        """
        order = await to_thread.run_sync(self._journal.order, order_id)
        if order is None or not order.state.is_open:
            raise NotFoundError(f"There is no open order {order_id!r}.", hint="%cluster_recover lists them.")
        return await self._orders.close(order, f"Closed by the user: {statement}")

    async def _digest(self, spec: BaseModel) -> str:
        return digest_of(spec, await to_thread.run_sync(self._journal.salt))

    async def _same_identity(self, provider: Provider, plan: Plan) -> str:
        identity = (await provider.identity()).key
        if identity != plan.identity_key:
            raise SettingsError(
                f"The account {plan.account!r} speaks to another service or project than when {plan.verb} "
                f"{plan.name!r} was planned; nothing was sent.",
                hint="Plan it again.",
            )
        return identity

"""The verbs that change clusters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial

from anyio import to_thread
from pydantic import BaseModel

from . import consent as consents
from .attach import Placement, check_same, place_or_attach
from .consent import Consent
from .ends import KEPT_BY_US, ending_after
from .errors import (
    NameTakenError,
    OutcomeUnknownError,
    Problem,
    SettingsError,
    SpecError,
)
from .look import acquaint, forget, send_delete
from .models import Cluster, ClusterPhase, Created, Deleted, Lookup, Order, Plan, State, utc_now
from .names import base_name, match_clusters
from .nearest import did_you_mean
from .plans import plan_delete
from .provider import Action, ActsOnClusters, CreatesClusters, Provider, ScalesClusters
from .service_base import ServiceBase, out_of_sight
from .state import read_state


class ClusterVerbs(ServiceBase):
    """Create, scale, act on, delete."""

    async def plan_create(
        self, account: str, name: str | None, spec: BaseModel, *, max_hours: float | None = None
    ) -> Plan:
        """What creating that cluster would do.

        Parameters
        ----------
        max_hours : after so many hours it is to be deleted: by the service where it can do that itself, else by
            whoever of this user's kernels and Jupyter server runs then.

        Raises
        ------
        SpecError : with every problem found.
        """
        provider = self._accounts.able(account, CreatesClusters, "create")
        if not name:
            raise SpecError("The cluster has no name.", problems=[Problem("name", "is needed: --name NAME")])
        if max_hours is not None and provider.ends_field is not None:
            spec = ending_after(spec, provider.ends_field, max_hours)
        plan = await self._planned(name, provider.plan_cluster(name, spec, await self._digest(spec)))
        if max_hours is None or provider.ends_field is not None:
            return plan
        return plan.model_copy(update={"max_hours": max_hours, "warnings": (*plan.warnings, KEPT_BY_US)})

    async def plan_extend(self, cluster: Cluster, hours: float) -> Plan | None:
        """What telling the service to end the cluster `hours` from now would send; ``None`` where we keep the end.

        Raises
        ------
        NotSupportedError : the account deletes nothing.
        """
        provider = self._accounts.able(cluster.account, CreatesClusters, "delete")
        if provider.ends_action is None:
            return None
        spec = self.action_model(cluster.account, provider.ends_action)(hours=hours)
        return await self.plan_action(cluster, provider.ends_action, spec)

    async def keep_end(self, cluster: Cluster, hours: float) -> Cluster:
        """The cluster is to be deleted by us `hours` from now, whatever was said before.

        Raises
        ------
        ConflictError : it is being deleted already.
        """
        identity = (await self._accounts.provider(cluster.account).identity()).key
        await self._refuse_if_deleting(identity, cluster.cluster_id, cluster.name)
        ends_at = utc_now() + timedelta(hours=hours)
        await to_thread.run_sync(self._journal.set_timer, identity, cluster.cluster_id, ends_at)
        clusters = (await read_state(self._journal, self._accounts)).clusters
        key = (cluster.account, cluster.cluster_id)
        return next((one for one in clusters if (one.account, one.cluster_id) == key), cluster)

    async def create(self, plan: Plan, *, consent: Consent | None = None, new: bool = False) -> Created:
        """Create the planned cluster, or attach to the one that is there by that name from the same spec.

        Parameters
        ----------
        new : an existing cluster of that name is an error instead; one made from another journal is no obstacle.

        Raises
        ------
        ConsentError : it costs and nobody agreed.
        LimitError : it would exceed a limit that the user has set.
        NameTakenError : the name is live with another spec (the difference is given), or `new`.
        OutcomeUnknownError : it may exist; ``%cluster_recover`` finds out.
        """
        consents.require(plan, consent)
        provider = self._accounts.able(plan.account, CreatesClusters, "create")
        await self._same_identity(provider, plan)
        if (before := await self._ordered_before(provider, plan, new)) is not None:
            return before
        if not plan.is_free and not new and await self._orders.holder(plan) is None:
            await self._refuse_if_made_elsewhere(provider, plan)

        async def find(order: Order) -> Lookup[Cluster]:
            for cluster_id in order.remote_ids:
                await self._refuse_if_deleting(order.identity_key, cluster_id, plan.name)
            return await self._look_up_cluster(provider, order)

        placement: Placement[Cluster] = await place_or_attach(self._orders, provider, plan, find, is_new=new)
        if placement.existing is not None:
            note = f"{plan.name!r} is there already, from the same spec: attached, nothing was ordered."
            return Created(cluster=placement.existing, attached=True, note=note)
        return Created(cluster=await self._sent(plan, placement.order, provider.create_cluster))

    async def _sent(self, plan: Plan, order: Order, request: Callable[[Plan, Order], Awaitable[Cluster]]) -> Cluster:
        """Send a placed order within the user's limits; the cluster under the name that was asked for."""
        return await self._known(
            order, await self._orders.send(order, partial(self._within_limits, plan, order, request))
        )

    async def _look_up_cluster(self, provider: Provider, order: Order) -> Lookup[Cluster]:
        cluster_id = order.remote_ids[0] if order.remote_ids else ""
        await acquaint(provider, self._journal)
        answer = await provider.get_cluster(cluster_id)
        known = await to_thread.run_sync(self._journal.cluster, order.identity_key, cluster_id)
        if answer.answer == "absent" and known is not None and known.phase is not ClusterPhase.DELETED:
            if not known.is_free:
                raise _vanished(known)
            await forget(self._journal, self._orders, order.identity_key, known, "It vanished.")
        if answer.answer == "cannot_tell":
            return answer.model_copy(update={"item": known})
        if answer.item is None:
            return answer
        return answer.model_copy(update={"item": await self._known(order, answer.item)})

    async def _ordered_before(self, provider: Provider, plan: Plan, is_new: bool) -> Created | None:
        """What was ordered by that name under another key, project or location, where the present one shows it.

        Raises
        ------
        NameTakenError : it is from another spec, or `is_new`.
        OutcomeUnknownError : it does not show.
        """
        order = await self._order_elsewhere(plan)
        if order is None:
            return None
        await self._look_unless_fresh(provider, plan.identity_key)
        clusters = await to_thread.run_sync(self._journal.clusters, [plan.identity_key])
        cluster = next((one for one in clusters if one.order_id == order.order_id), None)
        if cluster is None:
            raise out_of_sight(order)
        check_same(plan, order, is_new)
        note = f"{plan.name!r} is there already, ordered under another key or project: attached, nothing was ordered."
        return Created(cluster=cluster, attached=True, note=note)

    async def _refuse_if_made_elsewhere(self, provider: Provider, plan: Plan) -> None:
        """Best effort: what another machine or a colleague made under that name is no accident to repeat.

        Raises
        ------
        NameTakenError : it is listed.
        """
        await self._look_unless_fresh(provider, plan.identity_key)
        for cluster in await to_thread.run_sync(self._journal.clusters, [plan.identity_key]):
            if not cluster.created_here and base_name(cluster.name) == plan.name:
                raise NameTakenError(
                    f"{plan.account} has a cluster {cluster.name!r} already that was not created from here "
                    f"(id {cluster.cluster_id}); nothing was ordered.",
                    hint="Use that one, choose another --name, or pass --new to rent one more.",
                )

    async def _known(self, order: Order, cluster: Cluster) -> Cluster:
        return await to_thread.run_sync(self._journal.known_cluster, order.identity_key, cluster)

    async def plan_scale(self, cluster: Cluster, nodes: int) -> Plan:
        """What changing the cluster to `nodes` nodes in all would do."""
        provider = self._accounts.able(cluster.account, ScalesClusters, "scale")
        return await self._marked(await provider.plan_scale(cluster, nodes, f"nodes={nodes}"))

    async def scale(self, plan: Plan, *, consent: Consent | None = None) -> Cluster:
        """Carry out a planned change of size; raises like `create`."""
        provider = self._accounts.able(plan.account, ScalesClusters, "scale")
        order = await self._consented(provider, plan, consent)
        return await self._sent(plan, order, provider.scale_cluster)

    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel) -> Plan:
        """What one of the provider's own actions on the cluster would send.

        Raises
        ------
        SpecError : with every problem found.
        """
        provider = self._accounts.able(cluster.account, ActsOnClusters, "actions")
        self.action_model(cluster.account, action)
        return await self._marked(await provider.plan_action(cluster, action, spec, await self._digest(spec)))

    def action_model(self, account: str, action: str) -> type[BaseModel]:
        """The model of what an action needs.

        Raises
        ------
        NotSupportedError : the provider has no actions.
        SettingsError : it has none of that name; the nearest is offered.
        """
        actions = self.actions(account)
        if action in actions:
            return actions[action].model
        raise SettingsError(
            f"{account} has no action {action!r}.{did_you_mean(action, actions)}",
            hint=f"It has: {', '.join(actions)}.",
        )

    def actions(self, account: str) -> Mapping[str, Action]:
        """What can be done to the account's clusters besides scaling and deleting; raises `NotSupportedError`."""
        return self._accounts.able(account, ActsOnClusters, "actions").actions

    async def act(self, plan: Plan, *, consent: Consent | None = None) -> Cluster:
        """Carry out a planned action; raises like `create`."""
        provider = self._accounts.able(plan.account, ActsOnClusters, "actions")
        order = await self._consented(provider, plan, consent)
        return await self._sent(plan, order, provider.act)

    async def _consented(self, provider: Provider, plan: Plan, consent: Consent | None) -> Order:
        consents.require(plan, consent)
        identity = await self._same_identity(provider, plan)
        await self._refuse_if_deleting(identity, plan.target_id or "", plan.name)
        return await self._placed_alone(provider, plan)

    async def find_deleted(self, ref: str) -> Cluster | None:
        """The cluster of that name or id that is proven gone, the latest one of several."""
        providers, _ = self._accounts.usable()
        identities = [(await provider.identity()).key for provider in providers.values()]
        gone = await to_thread.run_sync(self._journal.deleted_clusters, identities)
        return next(iter(match_clusters(State(clusters=tuple(gone)), ref)), None)

    async def delete(self, cluster: Cluster) -> Deleted:
        """End the cluster, what runs on it, and its cost. The wish is recorded first and never lapses."""
        return await self._orders.see_through(self._delete(cluster))

    async def _delete(self, cluster: Cluster) -> Deleted:
        provider = self._accounts.able(cluster.account, CreatesClusters, "delete")
        identity = (await provider.identity()).key
        order, _ = await self._orders.place(plan_delete(cluster, identity))
        answer = await self._orders.send(
            order, partial(send_delete, provider, self._journal, self._orders, cluster, order)
        )
        if answer.answer == "absent":
            return Deleted(cluster=cluster.model_copy(update={"phase": ClusterPhase.DELETED}), is_gone=True)
        return Deleted(cluster=answer.item or cluster, is_gone=False, note=answer.reason)


def _vanished(cluster: Cluster) -> OutcomeUnknownError:
    return OutcomeUnknownError(
        f"The cluster {cluster.name!r} vanished without a delete from here; whether it still bills is not known.",
        hint="Nothing was sent. Look at the provider's console, then close it with "
        f'`%cluster_recover {cluster.name} --close "..."`, or choose another --name.',
        provider=cluster.provider,
    )

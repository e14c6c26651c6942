"""The verbs that change clusters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from anyio import to_thread
from pydantic import BaseModel

from . import consent as consents
from .attach import Placement, place_or_attach
from .consent import Consent
from .errors import Problem, SettingsError, SpecError
from .look import forget, send_delete
from .models import Cluster, ClusterPhase, Created, Deleted, Lookup, Order, Plan
from .nearest import did_you_mean
from .plans import plan_delete
from .provider import Action, ActsOnClusters, CreatesClusters, Provider, ScalesClusters
from .service_base import ServiceBase


class ClusterVerbs(ServiceBase):
    """Create, scale, act on, delete."""

    async def plan_create(self, account: str, name: str | None, spec: BaseModel) -> Plan:
        """What creating that cluster would do.

        Raises
        ------
        SpecError : with every problem found.
        """
        provider = self._accounts.able(account, CreatesClusters, "create")
        if not name:
            raise SpecError("The cluster has no name.", problems=[Problem("name", "is needed: --name NAME")])
        return await self._planned(name, provider.plan_cluster(name, spec, await self._digest(spec)))

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
        if answer.answer == "cannot_tell":
            return answer.model_copy(update={"item": known})
        if answer.item is None:
            return answer
        return answer.model_copy(update={"item": await self._known(order, answer.item)})

    async def _known(self, order: Order, cluster: Cluster) -> Cluster:
        return await to_thread.run_sync(self._journal.known_cluster, order.identity_key, cluster)

    async def plan_scale(self, cluster: Cluster, nodes: int) -> Plan:
        """What changing the cluster to `nodes` nodes in all would do."""
        provider = self._accounts.able(cluster.account, ScalesClusters, "scale")
        return self._marked(await provider.plan_scale(cluster, nodes, f"nodes={nodes}"))

    async def scale(self, plan: Plan, *, consent: Consent | None = None) -> Cluster:
        """Carry out a planned change of size; raises like `create`."""
        provider = self._accounts.able(plan.account, ScalesClusters, "scale")
        order = await self._consented(provider, plan, consent)
        return await self._known(order, await self._orders.send(order, partial(provider.scale_cluster, plan, order)))

    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel) -> Plan:
        """What one of the provider's own actions on the cluster would send.

        Raises
        ------
        SpecError : with every problem found.
        """
        provider = self._accounts.able(cluster.account, ActsOnClusters, "actions")
        self.action_model(cluster.account, action)
        return self._marked(await provider.plan_action(cluster, action, spec, await self._digest(spec)))

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
        return await self._known(order, await self._orders.send(order, partial(provider.act, plan, order)))

    async def _consented(self, provider: Provider, plan: Plan, consent: Consent | None) -> Order:
        consents.require(plan, consent)
        identity = await self._same_identity(provider, plan)
        await self._refuse_if_deleting(identity, plan.target_id or "", plan.name)
        return await self._placed_alone(provider, plan)

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

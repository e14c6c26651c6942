"""What changes a cluster that is there: more nodes, and E2E's own actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel

from ...core.errors import ConflictError, GpuClustersError, Problem, SpecError
from ...core.findings import Findings
from ...core.http import Body
from ...core.models import Cluster, ClusterPhase, Order, Plan, Verb
from ...core.provider import Action, ActsOnClusters, ScalesClusters, Search
from . import wire
from .access import Connection
from .actions import ACTIONS, Wish, body_of, confirm_of, took_effect
from .convert import phase_of, price_of, split_id
from .lists import Lists
from .looking import Looking

BILLING_NOTE = (
    "Billed as if from creation until it is deleted, which is how E2E's nearest sibling does it; there is no pause."
)


@dataclass(frozen=True)
class _Change:
    """A PUT on a cluster as it was planned."""

    location: str
    number: str
    body: Mapping[str, Any]
    before: Cluster


class Changing(Looking, ScalesClusters, ActsOnClusters):
    """The changing half of the adapter."""

    actions: ClassVar[Mapping[str, Action]] = ACTIONS

    async def plan_scale(self, cluster: Cluster, nodes: int, digest: str) -> Plan:
        """The call adds nodes, so the difference is taken from a fresh look; raises `SpecError`."""
        connection = await self._access.connect()
        location, number = split_id(cluster.cluster_id)
        row = await connection.client.get_cluster(location, number)
        before = row.no_of_nodes
        if before is None:
            raise ConflictError("E2E does not tell how many nodes the cluster has, so it cannot be scaled safely.")
        if nodes <= before:
            text = f"it has {before} nodes, and E2E can only add some."
            raise SpecError(
                f"{cluster.name!r} cannot have {nodes} nodes.", problems=[Problem("nodes", text)], provider=self.name
            )
        added = nodes - before
        price, notes = await self._price_of_more(connection, row, location)
        body = {"action": "scale_cluster", "additional_nodes": added}
        plan = await self._change(cluster, body, digest, Verb.SCALE, {"nodes": nodes, "nodes_before": before})
        return plan.model_copy(
            update={
                "nodes": added,
                "gpus": added * (row.sku_details.specs.gpu or 0),
                "is_free": False,
                "price_per_hour": price_of(price, added) if price is not None else None,
                "warnings": (*_not_running(row), *notes, BILLING_NOTE),
            }
        )

    async def _price_of_more(
        self, connection: Connection, row: wire.Cluster, location: str
    ) -> tuple[wire.Price | None, list[str]]:
        """The hourly price of a node more: its own, or for a committed cluster that of its node type."""
        own = row.sku_details.plan
        if own.days == 0:
            return own, []
        findings = Findings()
        plans = await Lists(connection.client, connection.options, location, findings).plans()
        rows = [one for sku in plans or () if sku.sku_id == row.sku_details.specs.sku_id for one in sku.plans]
        hourly = [one for one in rows if one.fits(0, location)]
        note = "Nodes added to a committed cluster are hourly, as far as is known."
        return (hourly[0] if len(hourly) == 1 else None), [*findings.warnings, note]

    async def scale_cluster(self, plan: Plan, order: Order) -> Cluster:
        """Send it once, unless the cluster has changed since it was planned."""
        change: _Change = plan.request
        connection = await self._access.connect()
        now = (await connection.client.get_cluster(change.location, change.number)).no_of_nodes
        if now != plan.shown["nodes_before"]:
            raise ConflictError(
                f"{plan.name!r} has {now} nodes now, not {plan.shown['nodes_before']}; nothing was sent.",
                hint="Plan it again.",
                provider=self.name,
                is_definite=True,
            )
        return await self._send(change, connection)

    async def find_scaled(self, order: Order) -> Search:
        """The number of nodes tells."""
        answer = await self.get_cluster(order.target_id or "")
        if answer.item is not None and answer.item.node_count == order.shown.get("nodes"):
            return Search(found=(answer.item,))
        return Search(reason=answer.reason or "It does not have that many nodes (yet).")

    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel, digest: str) -> Plan:
        """Look up what the action names, and freeze its body; raises `SpecError`."""
        connection = await self._access.connect()
        location, number = split_id(cluster.cluster_id)
        now = await connection.client.get_cluster(location, number)
        findings = Findings()
        wish = Wish(Lists(connection.client, connection.options, location, findings), findings, now)
        body = await body_of(action, wish, spec)
        findings.refuse(f"{action} cannot be done like this.", self.name)
        present = [key.label or key.pk for key in now.ssh_keys or ()]
        keys = {"ssh_keys_now": present} if action == "update_ssh_keys" else {}
        plan = await self._change(cluster, body, digest, Verb.ACT, keys)
        changes = {"confirm": confirm_of(action, spec), "warnings": (*_not_running(now), *findings.warnings)}
        return plan.model_copy(update=changes)

    async def act(self, plan: Plan, order: Order) -> Cluster:
        """Send it once."""
        return await self._send(plan.request, await self._access.connect())

    async def find_acted(self, order: Order) -> Search:
        """Keys and image can be read; a restart, an address and a group cannot."""
        location, number = split_id(order.target_id or "")
        connection = await self._access.connect()
        row = await connection.client.get_cluster(location, number)
        if took_effect(order.action, order.shown, row):
            return Search(found=(self._cluster(row, location, connection),))
        return Search(reason=f"Nothing that E2E shows tells whether {order.action} was done.")

    async def _change(
        self, cluster: Cluster, body: Mapping[str, Any], digest: str, verb: Verb, more: Mapping[str, Any]
    ) -> Plan:
        location, number = split_id(cluster.cluster_id)
        return Plan(
            verb=verb,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=cluster.name,
            spec_digest=digest,
            request=_Change(location, number, dict(body), cluster),
            shown={**body, **more},
            target_id=cluster.cluster_id,
            action=str(body["action"]) if verb is Verb.ACT else None,
            is_free=True,
        )

    async def _send(self, change: _Change, connection: Connection) -> Cluster:
        """What comes back is a cluster, an address, a text or nothing; then the cluster is read."""
        try:
            data = await connection.client.act(change.location, change.number, Body.from_json(change.body))
        except GpuClustersError as exc:
            exc.ids = ()
            raise
        row = wire.Cluster.model_validate(data) if isinstance(data, dict) and "no_of_nodes" in data else None
        if row is None or str(row.id) != change.number:
            try:
                row = await connection.client.get_cluster(change.location, change.number)
            except GpuClustersError:
                return change.before
        now = self._shown(row, change.location, connection)
        return now.model_copy(update={"name": change.before.name, "order_id": change.before.order_id})


def _not_running(row: wire.Cluster) -> tuple[str, ...]:
    """Actions are documented for running clusters only; what E2E answers otherwise is not known."""
    if phase_of(row.status) is ClusterPhase.RUNNING:
        return ()
    return (f"E2E does this to running clusters; this one is {row.status or 'in no state that is told'}.",)

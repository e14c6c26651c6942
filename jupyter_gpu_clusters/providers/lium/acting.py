"""Lium's own actions on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from pydantic import BaseModel

from ...core.errors import GpuClustersError
from ...core.findings import Findings, named
from ...core.lenient import time_in
from ...core.models import Cluster, Order, Plan, Verb
from ...core.nearest import did_you_mean
from ...core.provider import Action, ActsOnClusters, Search
from .actions import ACTIONS, Deed, carry_out, confirm_of, end_of, targets
from .client import Client
from .looking import Looking
from .resolve import newest_first
from .spec import ScheduleRemoval, SwitchTemplate


class Acting(Looking, ActsOnClusters):
    """The acting part of the adapter."""

    actions: ClassVar[Mapping[str, Action]] = ACTIONS

    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel, digest: str) -> Plan:
        """Which nodes it is for and with what; raises `SpecError`."""
        client = (await self._access.connect()).client
        findings = Findings()
        pods = targets(cluster, spec, findings)
        values = spec.model_dump(exclude_none=True, exclude={"node"})
        if isinstance(spec, ScheduleRemoval):
            values = {"at": end_of(spec, findings)}
        if isinstance(spec, SwitchTemplate):
            values = {"template_id": await _template_id(spec, client, findings)}
        findings.refuse(f"{action} cannot be done like this.", self.name)
        told = {key: value.isoformat() if key == "at" else value for key, value in values.items()}
        return Plan(
            verb=Verb.ACT,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=cluster.name,
            spec_digest=digest,
            request=Deed(cluster.cluster_id, action, pods, values, cluster),
            shown={"action": action, "nodes": [index for index, _ in pods], **told},
            target_id=cluster.cluster_id,
            action=action,
            is_free=True,
            confirm=confirm_of(action),
            warnings=tuple(findings.warnings),
        )

    async def act(self, plan: Plan, order: Order) -> Cluster:
        """Do it on every node; then the cluster as it is."""
        deed: Deed = plan.request
        client = (await self._access.connect()).client
        await carry_out(client, deed)
        try:
            found = await self._look_up(deed.cluster_id, deed.before.member_ids)
        except GpuClustersError:
            return deed.before
        names = {"name": deed.before.name, "order_id": deed.before.order_id, "created_here": deed.before.created_here}
        return (found.item or deed.before).model_copy(update=names)

    async def find_acted(self, order: Order) -> Search:
        """An end time can be read back, of every member; the rest cannot."""
        if order.action not in ("schedule_removal", "cancel_removal"):
            return Search(reason=f"Nothing that Lium shows tells whether {order.action} was done.")
        pods = await (await self._access.connect()).client.list_pods()
        target = order.target_id or ""
        members = self._groups(pods).get(target, [])
        wanted = time_in(order.shown.get("at"))
        is_whole = {pod.id for pod in members}.issuperset(self._ids(target))
        if members and is_whole and all(_same(pod.removal_scheduled_at, wanted) for pod in members):
            return Search(found=(self._cluster(target, members),))
        return Search(reason="Its end time does not show that yet.")


def _same(shown: datetime | None, wanted: datetime | None) -> bool:
    if shown is None or wanted is None:
        return shown is wanted
    return abs(shown - wanted) < timedelta(seconds=2)


async def _template_id(spec: SwitchTemplate, client: Client, findings: Findings) -> str | None:
    if spec.template is None:
        if spec.template_id is None:
            findings.wrong("template", "is needed: a template's name, or template_id.")
        return spec.template_id
    templates = newest_first(await client.list_templates())
    found = next((one.id for one in templates if spec.template in (one.id, one.name)), None)
    if found is None:
        names = [one.name or one.id or "" for one in templates]
        findings.wrong("template", f"there is no {spec.template!r}.{did_you_mean(spec.template, names)}{named(names)}")
    elif spec.template_id is not None and found != spec.template_id:
        findings.wrong("template", f"{spec.template!r} is {found} and template_id is another; leave one out.")
    return found

"""The promise of ``core/provider.py`` for Lium."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from pydantic import BaseModel

from ...core.choices import Choice, LookUp
from ...core.errors import GpuClustersError, Problem, ProviderError
from ...core.findings import Findings
from ...core.http import LostAnswerError
from ...core.lenient import amount_in
from ...core.models import (
    Cluster,
    Details,
    Listing,
    Money,
    Node,
    Order,
    Plan,
    Verb,
    Workload,
)
from ...core.names import longest_name
from ...core.provider import (
    Asked,
    CreatesClusters,
    KeepsSshKeys,
    LooksUp,
    Search,
    ShowsDetails,
)
from . import details, renting
from .acting import Acting
from .actions import MAKES_ANEW
from .choices import LOOK_UPS, Choices, key_choice
from .client import Client
from .convert import CURRENCY, cluster_id_of, groups_of, pod_of, spend_of
from .finding import find
from .removing import Removing
from .resolve import Rent, resolve, shown
from .running import Running, identity_of
from .spec import LiumSpec
from .wire import Pod

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?")
_LONGEST_NAME = 63
_BILLING_NOTE = "Billed per second, as if from the moment the rent is accepted, until it is deleted."
_BACKUPS = "Backups are on unless `enable_backups: false`, as far as is known; they are billed by size on top."
_NO_END = "NO END TIME: it is billed until it is deleted. `termination_hours` gives it one."


class LiumProvider(Acting, Removing, Running, CreatesClusters, LooksUp, KeepsSshKeys, ShowsDetails):
    """Lium as one account sees it."""

    name: ClassVar[str] = "lium"
    title: ClassVar[str] = "Lium"
    reasons: ClassVar[Mapping[str, str]] = {
        "scale": "Lium rents nodes of one fabric all or nothing; rent another cluster.",
        "suspend": "A process on a bare node keeps its GPUs; cancel the workload and submit it again.",
    }
    asks: ClassVar[Sequence[Asked]] = (Asked(name="api_key", label="API key"),)
    poll_transition_s: ClassVar[float] = 5.0
    poll_steady_s: ClassVar[float] = 15.0
    spec_model: ClassVar[type[BaseModel]] = LiumSpec
    ends_field: ClassVar[str | None] = "termination_hours"
    ends_action: ClassVar[str | None] = "schedule_removal"
    look_ups: ClassVar[Mapping[str, LookUp]] = LOOK_UPS
    cluster_details: ClassVar[Mapping[str, str]] = details.CLUSTER_DETAILS

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """Choose the nodes, look up what the spec names, find the price; raises `SpecError`.

        What exists now is remembered, to tell the new from the old; where that cannot be read there is no plan.
        """
        assert isinstance(spec, LiumSpec)
        connection = await self._access.connect()
        findings = Findings(problems=_name_problems(name, spec.exact_name))
        pods = await connection.client.list_pods()
        if not pods.is_whole:
            raise ProviderError(
                "The list of pods could not be read as a whole, so nothing is rented.", provider=self.name
            )
        rent = await resolve(spec, connection.client, findings)
        await _check_balance(connection.client, rent, pods, findings)
        findings.refuse("The cluster cannot be rented like this.", self.name)
        ended = [] if spec.termination_hours is not None else [_NO_END]
        kept = [] if spec.enable_backups is False else [_BACKUPS]
        request = {"executor_uuids": rent.executor_ids, **shown(rent.fields)}
        return Plan(
            verb=Verb.CREATE,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=name,
            spec_digest=digest,
            request=(rent, spec.customer_ref or connection.options.customer_ref),
            shown=request,
            marks_name=not spec.exact_name,
            baseline=tuple(dict.fromkeys([*groups_of(pods), *(pod.id for pod in pods if pod.id is not None)])),
            nodes=len(rent.executor_ids),
            gpus=rent.gpus,
            price_per_hour=rent.price,
            warnings=(*findings.warnings, *ended, *kept, _BILLING_NOTE),
        )

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        """Rent it, find its members, and see that each has the end time that was asked for.

        Raises
        ------
        LostAnswerError : rented, but not listed: it exists and is billed, and must not be ordered again.
        """
        rent, customer_ref = plan.request
        assert isinstance(rent, Rent)
        connection = await self._access.connect()
        try:
            ids = await renting.send(connection, rent, order, customer_ref)
        except GpuClustersError as exc:
            exc.ids = tuple(one for one in exc.ids if one not in order.baseline)
            raise
        listed = await renting.members(connection.client, rent, ids, order.baseline)
        everybody = tuple(dict.fromkeys([*ids, *(pod.id for pod in listed if pod.id is not None)]))
        unended: list[str] = []
        if hours := rent.fields.get("termination_hours"):
            listed, unended = await renting.see_to_ends(connection.client, everybody, listed, hours)
        if not listed:
            raise LostAnswerError(
                f"Lium has rented {len(ids)} pods ({', '.join(ids)}) but does not list them yet; they are billed.",
                provider=self.name,
                ids=ids,
            )
        cluster = self._cluster(cluster_id_of(listed[0]), listed, everybody)
        return _made(cluster, plan, order, unended)

    async def find_created(self, order: Order) -> Search:
        """By what an answer named; else by mark and the very set of hosts among what is new since."""
        pods = await (await self._access.connect()).client.list_pods()
        groups = self._groups(pods)
        seen = find(order, groups, self._members)
        if seen.cluster_id is not None:
            return Search(found=(self._adopted(order, seen.cluster_id, groups[seen.cluster_id], seen.members),))
        candidates = [
            self._cluster(one, groups[one]).model_copy(update={"reason": why}) for one, why in seen.candidates.items()
        ]
        reason = seen.reason or (None if pods.is_whole else "The list of pods could not be read as a whole.")
        return Search(candidates=tuple(candidates), reason=reason)

    def _adopted(self, order: Order, cluster_id: str, pods: Sequence[Pod], named: Sequence[str]) -> Cluster:
        members = [*named, *(pod.id for pod in pods if pod.id is not None)]
        ours = {"name": order.name, "order_id": order.order_id, "created_here": True}
        return self._cluster(cluster_id, pods, members).model_copy(update=ours)

    async def act(self, plan: Plan, order: Order) -> Cluster:
        """Do it on every node; then the cluster as it is."""
        cluster = await super().act(plan, order)
        if plan.action in MAKES_ANEW:
            await self.forget_host_keys([identity_of(pod_id) for _, pod_id in plan.request.pods])
        return cluster

    # Choices, keys, tables

    async def list_choices(self, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        """What may be chosen for a field."""
        return await Choices((await self._access.connect()).client, given).look_up(look_up)

    async def list_ssh_keys(self) -> Listing[Choice]:
        """The public keys that Lium keeps."""
        keys = await (await self._access.connect()).client.list_ssh_keys()
        return Listing[Choice](items=tuple(key_choice(key) for key in keys), is_complete=keys.is_whole)

    async def add_ssh_key(self, label: str, public_key: str) -> Choice:
        """One more public key."""
        added = await (await self._access.connect()).client.add_ssh_key(label, public_key)
        return key_choice(added.model_copy(update={"name": added.name or label}))

    async def show_details(self, thing: Cluster | Workload, kind: str) -> Details:
        """One of Lium's own tables."""
        assert isinstance(thing, Cluster)
        if not thing.nodes and (pod_id := pod_of(thing.cluster_id)):
            thing = thing.model_copy(update={"nodes": (Node(index=0, node_id=pod_id),)})
        return await details.show((await self._access.connect()).client, thing, kind)


async def _check_balance(client: Client, rent: Rent, pods: Sequence[Pod], findings: Findings) -> None:
    """A rent needs more than 15 minutes of it and of everything that runs (contract, section 6)."""
    user = await findings.unless_silent("balance", client.me)
    if user is None or user.balance is None or rent.price is None:
        return
    spend = rent.price.amount + spend_of(pods)
    needed = spend / 4
    if rent.is_single:
        with suppress(GpuClustersError):
            gpus = rent.fields.get("gpu_count")
            quote = await client.quote(rent.executor_ids[0], hours=1, gpu_count=gpus)
            needed = amount_in(quote.get("rent_balance_required_usd")) or needed
    have, least = (Money(amount=amount, currency=CURRENCY) for amount in (user.balance, needed))
    if user.balance <= needed:
        text = f"Lium will refuse it: the balance is {have}, and more than {least} is needed (15 min)."
    else:
        text = (
            f"The balance is {have} (more than {least} is needed): {user.balance / spend:.1f} h of this and the rest."
        )
    findings.warnings.append(text)


def _made(cluster: Cluster, plan: Plan, order: Order, unended: Sequence[str]) -> Cluster:
    reasons = [cluster.reason] if cluster.reason else []
    if cluster.node_count != plan.nodes:
        reasons.append(f"It has {cluster.node_count} nodes; {plan.nodes} were ordered.")
    if unended:
        reasons.append(f"NO END TIME as asked on {', '.join(unended)}: it could not be set, or does not show.")
    old, new = plan.price_per_hour, cluster.price_per_hour
    if old is not None and new is not None and new.amount > old.amount:
        reasons.append(f"It costs {new} per hour; {old} was planned.")
    changes: dict[str, Any] = {"name": order.name, "order_id": order.order_id, "created_here": True}
    changes |= {"reason": " ".join(reasons) or None, "price_per_hour": new or old}
    return cluster.model_copy(update=changes)


def _name_problems(name: str, is_exact: bool) -> list[Problem]:
    """Own rule, since the contract knows none; the mark is counted."""
    longest = _LONGEST_NAME if is_exact else longest_name(_LONGEST_NAME)
    if _NAME.fullmatch(name) and len(name) <= longest:
        return []
    text = f"must be 1 to {longest} letters, digits, hyphens and underscores, with a letter or digit at both ends."
    return [Problem("name", text)]

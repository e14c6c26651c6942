"""The promise of ``core/provider.py`` for Lium."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from pydantic import BaseModel

from ...core.choices import Choice, LookUp
from ...core.errors import ConflictError, GpuClustersError, NotFoundError, Problem, ProviderError
from ...core.findings import Findings
from ...core.http import LostAnswerError
from ...core.models import (
    AccountStatus,
    Cluster,
    ClusterPhase,
    Details,
    Listing,
    Lookup,
    Money,
    Node,
    Offer,
    Order,
    Plan,
    Verb,
    Workload,
    utc_now,
)
from ...core.names import longest_name
from ...core.provider import (
    Action,
    ActsOnClusters,
    Asked,
    CreatesClusters,
    KeepsSshKeys,
    ListsOffers,
    LooksUp,
    RemoteIdentity,
    Search,
    ShowsDetails,
)
from ...core.settings import Account
from . import details, renting
from .access import Access
from .actions import ACTIONS, Deed, carry_out, confirm_of, end_of, targets
from .choices import LOOK_UPS, Choices, key_choice
from .client import Client
from .convert import CURRENCY, cluster_id_of, cluster_of, fabric_offer, groups_of, host_offer, pod_of
from .resolve import Rent, resolve, shown
from .spec import LiumSpec, ScheduleRemoval, SwitchTemplate
from .wire import Pod

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?")
_LONGEST_NAME = 63
_SECOND_LOOK_S = 1.0
_BILLING_NOTE = "Billed per second, as if from the moment the rent is accepted, until it is deleted."
_NO_END = "NO END TIME: it is billed until it is deleted. `termination_hours` gives it one."


class LiumProvider(ListsOffers, CreatesClusters, ActsOnClusters, LooksUp, KeepsSshKeys, ShowsDetails):
    """Lium as one account sees it."""

    name: ClassVar[str] = "lium"
    title: ClassVar[str] = "Lium"
    reasons: ClassVar[Mapping[str, str]] = {
        "scale": "Lium rents nodes of one fabric all or nothing; rent another cluster.",
        "workloads": "Lium gives bare nodes and no API for jobs; log in to them.",
        "suspend": "Lium gives bare nodes and no API for jobs; log in to them.",
    }
    asks: ClassVar[Sequence[Asked]] = (Asked(name="api_key", label="API key"),)
    poll_transition_s: ClassVar[float] = 5.0
    poll_steady_s: ClassVar[float] = 15.0
    spec_model: ClassVar[type[BaseModel]] = LiumSpec
    actions: ClassVar[Mapping[str, Action]] = ACTIONS
    look_ups: ClassVar[Mapping[str, LookUp]] = LOOK_UPS
    cluster_details: ClassVar[Mapping[str, str]] = details.CLUSTER_DETAILS

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._access = Access(account)
        self._members: dict[str, tuple[str, ...]] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._access.aclose()

    # The account

    async def identity(self) -> RemoteIdentity:
        """Origin and key."""
        return await self._access.identity()

    async def check_account(self) -> AccountStatus:
        """Whether pods can be listed; the balance, and for how long it lasts, where the key may read it."""
        try:
            client = (await self._access.connect()).client
            pods = await client.list_pods()
        except GpuClustersError as exc:
            return self._status(False, " ".join(exc.lines()), None)
        balance: Money | None = None
        told = f"{len(groups_of(pods))} clusters"
        with suppress(GpuClustersError):
            amount = (await client.me()).balance
            balance = None if amount is None else Money(amount=amount, currency=CURRENCY)
        spend = sum(pod.price for pod in pods if pod.price is not None)
        if balance is not None and spend > 0:
            told += f", {spend} {CURRENCY} per hour: the balance lasts {max(balance.amount, 0 * spend) / spend:.1f} h"
        return self._status(True, told, balance)

    def _status(self, is_usable: bool, detail: str, balance: Money | None) -> AccountStatus:
        return AccountStatus(
            account=self.account.name,
            provider=self.name,
            is_usable=is_usable,
            detail=detail,
            credential=self.account.credential,
            balance=balance,
        )

    # Looking

    async def list_offers(self) -> Listing[Offer]:
        """Fabrics with free nodes, then single hosts."""
        began = utc_now()
        client = (await self._access.connect()).client
        fabrics, hosts = await asyncio.gather(client.list_fabrics(), client.list_executors())
        name = self.account.name
        found = [*(fabric_offer(one, name) for one in fabrics), *(host_offer(one, name) for one in hosts)]
        offers = tuple(offer for offer in found if offer is not None)
        return Listing[Offer](items=offers, observed_at=began, is_complete=fabrics.is_whole and hosts.is_whole)

    async def list_clusters(self) -> Listing[Cluster]:
        """Everything the key sees, grouped by cluster; one list call."""
        began = utc_now()
        client = (await self._access.connect()).client
        pods = await client.list_pods()
        groups = groups_of(pods)
        clusters = [self._cluster(cluster_id, members) for cluster_id, members in groups.items()]
        return Listing[Cluster](items=tuple(clusters), observed_at=began, is_complete=pods.is_whole)

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        """One cluster out of the list, the only route that shows one; absent where a whole list lacks all members."""
        began = utc_now()
        client = (await self._access.connect()).client
        pods = await client.list_pods()
        members = groups_of(pods).get(cluster_id, [])
        if members:
            return Lookup[Cluster](answer="found", item=self._cluster(cluster_id, members), observed_at=began)
        if not pods.is_whole:
            reason = "The list of pods could not be read as a whole."
            return Lookup[Cluster](answer="cannot_tell", reason=reason, observed_at=began)
        return Lookup[Cluster](answer="absent", observed_at=began)

    def _cluster(self, cluster_id: str, pods: Sequence[Pod]) -> Cluster:
        return cluster_of(cluster_id, pods, self.account.name, self._members.get(cluster_id, ()))

    # Renting and deleting

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
            warnings=(*findings.warnings, *ended, _BILLING_NOTE),
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
        ids = await renting.send(connection, rent, order, customer_ref)
        listed = await renting.members(connection.client, ids)
        unended: list[str] = []
        if hours := rent.fields.get("termination_hours"):
            unended = await renting.schedule_missing_ends(connection.client, ids, listed, hours)
            listed = await _fresh(connection.client, listed)
        if not listed:
            raise LostAnswerError(
                f"Lium has rented {len(ids)} pods ({', '.join(ids)}) but does not list them yet; they are billed.",
                provider=self.name,
                ids=ids,
            )
        cluster_id = cluster_id_of(listed[0])
        self._members[cluster_id] = ids
        return self._made(self._cluster(cluster_id, listed), plan, order, unended)

    def _made(self, cluster: Cluster, plan: Plan, order: Order, unended: Sequence[str]) -> Cluster:
        reasons = [cluster.reason] if cluster.reason else []
        if unended:
            reasons.append(f"NO END TIME on {', '.join(unended)}: it could not be set there.")
        old, new = plan.price_per_hour, cluster.price_per_hour
        if old is not None and new is not None and new.amount > old.amount:
            reasons.append(f"It costs {new} per hour; {old} was planned.")
        changes: dict[str, Any] = {"name": order.name, "order_id": order.order_id, "created_here": True}
        changes |= {"reason": " ".join(reasons) or None, "price_per_hour": new or old}
        return cluster.model_copy(update=changes)

    async def find_created(self, order: Order) -> Search:
        """By the pods that an answer named; else by mark and the very set of hosts among what is new since."""
        client = (await self._access.connect()).client
        pods = await client.list_pods()
        ours = [pod for pod in pods if pod.id in order.remote_ids]
        if ours:
            return Search(found=(self._adopted(order, cluster_id_of(ours[0]), pods),))
        if order.mark not in order.remote_name:
            return Search(reason="It was ordered under an exact name; without a mark nothing is adopted.")
        new = [pod for pod in pods if pod.pod_name == order.remote_name and pod.id not in order.baseline]
        groups = {one: found for one, found in groups_of(new).items() if one not in order.baseline}
        wanted = set(order.shown.get("executor_uuids") or ())
        whole = [one for one, found in groups.items() if {pod.host_id for pod in found} == wanted]
        if len(whole) == 1 and len(groups) == 1:
            return Search(found=(self._adopted(order, whole[0], pods),))
        if groups:
            seen = ", ".join(f"{one} ({len(found)} of {len(wanted)} nodes)" for one, found in groups.items())
            return Search(reason=f"Something of its name shows, but not all of it: {seen}. It may be billed.")
        return Search(reason=None if pods.is_whole else "The list of pods could not be read as a whole.")

    def _adopted(self, order: Order, cluster_id: str, pods: Sequence[Pod]) -> Cluster:
        members = groups_of(pods)[cluster_id]
        changes = {"name": order.name, "order_id": order.order_id, "created_here": True}
        return self._cluster(cluster_id, members).model_copy(update=changes)

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        """End every member. Gone is what two whole lists no longer show."""
        client = (await self._access.connect()).client
        told = await self._send_deletes(client, cluster)
        for _ in range(2):
            left = await self._left(client, cluster)
            if left is None or left:
                return self._unconfirmed(cluster, left, told)
            await asyncio.sleep(_SECOND_LOOK_S)
        self._members.pop(cluster.cluster_id, None)
        return Lookup[Cluster](answer="absent")

    async def _send_deletes(self, client: Client, cluster: Cluster) -> list[str]:
        """What members answered that were not removed.

        A 404 of the cluster's route may mean that there is no such route; a 409 that a member is still being created.
        """
        pod_id = pod_of(cluster.cluster_id)
        if pod_id is None:
            try:
                answer = await client.delete_cluster(cluster.cluster_id)
            except NotFoundError:
                pass
            except ConflictError as exc:
                return [f"{exc.message} It is tried again."]
            else:
                failed = [row for row in answer.pods if row.success is False]
                told = [f"node {row.cluster_node_index}: {row.message or 'not removed'}" for row in failed]
                return told if answer.pods else ["The answer names no members."]
        failures = []
        known = [node.node_id for node in cluster.nodes] or ([pod_id] if pod_id else [])
        for one in dict.fromkeys([*known, *self._members.get(cluster.cluster_id, ())]):
            try:
                await client.delete_pod(one)
            except NotFoundError:
                continue
            except ProviderError as exc:
                failures.append(f"{one}: {exc.message}")
        return failures

    async def _left(self, client: Client, cluster: Cluster) -> list[Pod] | None:
        """Members that are still listed; ``None`` where the list is not whole."""
        pods = await client.list_pods()
        ids = {node.node_id for node in cluster.nodes} | set(self._members.get(cluster.cluster_id, ()))
        left = [pod for pod in pods if pod.id in ids or cluster_id_of(pod) == cluster.cluster_id]
        return left if pods.is_whole or left else None

    def _unconfirmed(self, cluster: Cluster, left: Sequence[Pod] | None, told: Sequence[str]) -> Lookup[Cluster]:
        if left is None:
            reason = "The list of pods could not be read as a whole, so that it is gone is not proven."
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason=reason)
        words = ", ".join(sorted({pod.status or "?" for pod in left}))
        reason = " ".join([f"{len(left)} nodes are still listed ({words}).", *told])
        names = {"name": cluster.name, "order_id": cluster.order_id, "created_here": cluster.created_here}
        item = self._cluster(cluster.cluster_id, left).model_copy(update={**names, "phase": ClusterPhase.DELETING})
        return Lookup[Cluster](answer="cannot_tell", item=item, reason=reason)

    # Actions

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
            found = await self.get_cluster(deed.cluster_id)
        except GpuClustersError:
            return deed.before
        names = {"name": deed.before.name, "order_id": deed.before.order_id, "created_here": deed.before.created_here}
        return (found.item or deed.before).model_copy(update=names)

    async def find_acted(self, order: Order) -> Search:
        """An end time can be read back; the rest cannot."""
        found = await self.get_cluster(order.target_id or "")
        wants_end = order.action == "schedule_removal"
        if found.item is not None and order.action in ("schedule_removal", "cancel_removal"):
            if (found.item.ends_at is not None) == wants_end:
                return Search(found=(found.item,))
            return Search(reason="Its end time does not show that yet.")
        return Search(reason=f"Nothing that Lium shows tells whether {order.action} was done.")

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
    spend = rent.price.amount + sum(pod.price for pod in pods if pod.price is not None)
    needed = rent.price.times(1).model_copy(update={"amount": spend / 4})
    if user.balance <= needed.amount:
        findings.warnings.append(
            f"Lium will refuse it: the balance is {user.balance} {CURRENCY}, and more than {needed} is needed (15 min)."
        )


async def _fresh(client: Client, listed: list[Pod]) -> list[Pod]:
    """The members with the end times they have now; as they were where that cannot be read."""
    try:
        pods = await client.list_pods()
    except GpuClustersError:
        return listed
    ids = {pod.id for pod in listed}
    return [pod for pod in pods if pod.id in ids] or listed


async def _template_id(spec: SwitchTemplate, client: Client, findings: Findings) -> str | None:
    if spec.template is None:
        if spec.template_id is None:
            findings.wrong("template", "is needed: a template's name, or template_id.")
        return spec.template_id
    templates = await client.list_templates()
    found = next((one.id for one in templates if spec.template in (one.id, one.name)), None)
    if found is None:
        findings.wrong("template", f"there is no {spec.template!r}.")
    return found


def _name_problems(name: str, is_exact: bool) -> list[Problem]:
    """Own rule, since the contract knows none; the mark is counted."""
    longest = _LONGEST_NAME if is_exact else longest_name(_LONGEST_NAME)
    if _NAME.fullmatch(name) and len(name) <= longest:
        return []
    text = f"must be 1 to {longest} letters, digits, hyphens and underscores, with a letter or digit at both ends."
    return [Problem("name", text)]

"""The promise of ``core/provider.py`` for E2E Networks TIR."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, SecretStr

from ...core.choices import Choice, LookUp
from ...core.errors import (
    ConflictError,
    GpuClustersError,
    NotFoundError,
    Problem,
    SpecError,
)
from ...core.findings import Findings
from ...core.http import Body
from ...core.models import (
    AccountStatus,
    Cluster,
    ClusterPhase,
    Listing,
    Lookup,
    Offer,
    Order,
    Plan,
    Verb,
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
    ScalesClusters,
    Search,
)
from ...core.settings import Account
from . import wire
from .access import Access, Connection
from .actions import ACTIONS, Wish, body_of, confirm_of, took_effect
from .choices import LOOK_UPS, Choices, key_choice
from .convert import cluster_id_of, cluster_of, commitment_of, offers_of, price_of, split_id
from .options import LOCATIONS
from .resolve import Lists, Resolved, resolve
from .spec import E2ESpec

_NAME = re.compile(r"[a-z][a-z0-9-]{1,48}[a-z0-9]")
_LONGEST_NAME = 50
_SECOND_LOOK_S = 1.0
_LOGINS_A_ROUND = 5
_BILLING_NOTE = (
    "Billed as if from creation until it is deleted, which is how E2E's nearest sibling does it; there is no pause."
)
_TERM_NOTE = (
    "The whole term is paid at once, deleting early gives no refund as far as is known, and what follows is open."
)


@dataclass(frozen=True)
class _Change:
    """A PUT on a cluster as it was planned."""

    location: str
    number: str
    body: Mapping[str, Any]
    before: Cluster


class E2EProvider(ListsOffers, CreatesClusters, ScalesClusters, ActsOnClusters, LooksUp, KeepsSshKeys):
    """E2E Networks TIR as one account sees it."""

    name: ClassVar[str] = "e2e"
    title: ClassVar[str] = "E2E Networks TIR"
    reasons: ClassVar[Mapping[str, str]] = {
        "workloads": "E2E has no API for jobs; log in to the cluster and use Slurm.",
        "suspend": "E2E has no API for jobs; log in to the cluster and use Slurm.",
        "details": "E2E publishes no API for nodes, metrics, logs or events of a training cluster.",
    }
    asks: ClassVar[Sequence[Asked]] = (
        Asked(name="project_id", label="Project id (a number)", is_secret=False),
        Asked(name="location", label="Location of new clusters", is_secret=False, is_required=False, default="Delhi"),
        Asked(name="api_key", label="API key"),
        Asked(name="auth_token", label="Auth token"),
    )
    poll_transition_s: ClassVar[float] = 5.0
    poll_steady_s: ClassVar[float] = 20.0
    spec_model: ClassVar[type[BaseModel]] = E2ESpec
    actions: ClassVar[Mapping[str, Action]] = ACTIONS
    look_ups: ClassVar[Mapping[str, LookUp]] = LOOK_UPS

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._access = Access(account)
        self._logins: dict[str, str] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._access.aclose()

    # The account

    async def identity(self) -> RemoteIdentity:
        """Origin, project and credential."""
        return await self._access.identity()

    async def check_account(self) -> AccountStatus:
        """Whether clusters of the account's own location can be listed with both halves of the credential."""
        try:
            connection = await self._access.connect()
            clusters = await connection.client.list_clusters(connection.options.location)
        except GpuClustersError as exc:
            return self._status(False, " ".join(exc.lines()))
        where = f"project {connection.client.project_id}, {len(clusters)} clusters in {connection.options.location}"
        return self._status(True, where)

    def _status(self, is_usable: bool, detail: str) -> AccountStatus:
        return AccountStatus(
            account=self.account.name,
            provider=self.name,
            is_usable=is_usable,
            detail=detail,
            credential=self.account.credential,
        )

    # Looking

    async def list_offers(self) -> Listing[Offer]:
        """Every price of every node type in all locations."""
        began = utc_now()
        connection = await self._access.connect()
        client, variant = connection.client, connection.options.variant
        places = connection.options.locations
        pages, failed = await _each(places, lambda place: client.list_plans(place, variant))
        offers = [one for place, page in pages.items() for one in offers_of(page, place, self.account.name)]
        is_whole = not failed and all(page.is_whole for page in pages.values())
        return Listing[Offer](items=tuple(offers), observed_at=began, is_complete=is_whole, not_seen=failed)

    async def list_clusters(self) -> Listing[Cluster]:
        """The project's clusters in all of the account's locations, whoever created them."""
        began = utc_now()
        connection = await self._access.connect()
        pages, failed = await _each(connection.options.locations, connection.client.list_clusters)
        clusters = [self._cluster(row, place, connection) for place, page in pages.items() for row in page if row.id]
        is_whole = not failed and all(page.is_whole for page in pages.values())
        clusters = await self._with_logins(clusters)
        return Listing[Cluster](items=tuple(clusters), observed_at=began, is_complete=is_whole, not_seen=failed)

    async def _with_logins(self, clusters: Sequence[Cluster]) -> list[Cluster]:
        """The list has no addresses, so a few running clusters a round are read once for theirs."""
        there = {cluster.cluster_id for cluster in clusters}
        self._logins = {known: login for known, login in self._logins.items() if known in there}
        running = [one.cluster_id for one in clusters if one.phase is ClusterPhase.RUNNING]
        for cluster_id in [one for one in running if one not in self._logins][:_LOGINS_A_ROUND]:
            with suppress(GpuClustersError):
                await self.get_cluster(cluster_id)
        logins = self._logins
        return [one.model_copy(update={"login_address": logins.get(one.cluster_id)}) for one in clusters]

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        """One cluster in full; absent only where its own route and a whole listing both lack it."""
        began = utc_now()
        location, number = split_id(cluster_id)
        if location not in LOCATIONS:
            return Lookup[Cluster](answer="absent", observed_at=began)
        connection = await self._access.connect()
        try:
            row = await connection.client.get_cluster(location, number)
        except NotFoundError as exc:
            is_listed = await self._is_listed(connection, location, number)
            if is_listed is False:
                return Lookup[Cluster](answer="absent", observed_at=began)
            return Lookup[Cluster](answer="cannot_tell", reason=exc.message, observed_at=began)
        if row.id is None:
            reason = "The answer names no cluster."
            return Lookup[Cluster](answer="cannot_tell", reason=reason, observed_at=began)
        found = self._cluster(row, location, connection)
        if found.login_address is not None:
            self._logins[cluster_id] = found.login_address
        return Lookup[Cluster](answer="found", item=found, observed_at=began)

    async def _is_listed(self, connection: Connection, location: str, number: str) -> bool | None:
        """Whether a whole listing has it; ``None`` where the listing is not whole."""
        page = await connection.client.list_clusters(location)
        if any(str(row.id) == number for row in page):
            return True
        return False if page.is_whole else None

    def _cluster(self, row: wire.Cluster, location: str, connection: Connection) -> Cluster:
        return cluster_of(row, location, self.account.name, connection.options)

    # Creating and deleting

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """Look up what the spec names, check all of it, and find the price; raises `SpecError`."""
        assert isinstance(spec, E2ESpec)
        connection = await self._access.connect()
        findings = Findings(problems=_name_problems(name, spec.exact_name))
        request = await resolve(spec, connection.client, connection.options, findings)
        findings.refuse("The cluster cannot be made like this.", self.name)
        price = request.price or wire.Price()
        gpus = request.nodes * ((request.sku.gpu if request.sku else None) or 0)
        term = [_TERM_NOTE] if request.price is not None and price.is_committed else []
        return Plan(
            verb=Verb.CREATE,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=name,
            spec_digest=digest,
            request=request,
            shown=_shown({"location": request.location, **request.fields}),
            marks_name=not spec.exact_name,
            nodes=request.nodes,
            gpus=gpus,
            price_per_hour=price_of(price, request.nodes) if request.price else None,
            commitment=commitment_of(price, request.nodes) if request.price else None,
            warnings=(*findings.warnings, *term, _BILLING_NOTE),
        )

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        """Send it once. E2E has no key that would make a second one safe."""
        request: Resolved = plan.request
        connection = await self._access.connect()
        body = Body.from_json({"name": order.remote_name, **request.fields})
        try:
            row = await connection.client.create_cluster(request.location, body)
        except GpuClustersError as exc:
            exc.ids = tuple(cluster_id_of(request.location, number) for number in exc.ids)
            raise
        made = self._cluster(row, request.location, connection)
        changes: dict[str, Any] = {"name": order.name, "order_id": order.order_id, "created_here": True}
        changes |= {"node_count": made.node_count or plan.nodes, "reason": _price_rose(made, plan) or made.reason}
        if made.price_per_hour is None and plan.commitment is None:
            changes["price_per_hour"] = plan.price_per_hour
        return made.model_copy(update=changes)

    async def find_created(self, order: Order) -> Search:
        """Looked for by its mark, over all pages of its location."""
        connection = await self._access.connect()
        location = str(order.shown.get("location") or connection.options.location)
        page = await connection.client.list_clusters(location)
        is_marked = order.mark in order.remote_name
        rows = [row for row in page if row.id is not None and row.name == order.remote_name]
        known = [row for row in page if row.id is not None and cluster_id_of(location, row.id) in order.remote_ids]
        if found := known or (rows if is_marked else []):
            clusters = [self._cluster(row, location, connection) for row in found]
            ours = {"name": order.name, "order_id": order.order_id, "created_here": True}
            return Search(found=tuple(one.model_copy(update=ours) for one in clusters))
        if rows:
            ids = ", ".join(str(row.id) for row in rows)
            return Search(reason=f"There is a cluster of that name (id {ids}); without a mark it may be another's.")
        return Search(reason=None if page.is_whole else f"The list of {location} could not be read as a whole.")

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        """End it. Gone is what two whole listings and its own route no longer show."""
        location, number = split_id(cluster.cluster_id)
        connection = await self._access.connect()
        try:
            await connection.client.delete_cluster(location, number)
        except NotFoundError:
            pass
        except ConflictError:
            if not await self._is_going(cluster.cluster_id):
                raise
        for _ in range(2):
            answer = await self.get_cluster(cluster.cluster_id)
            if answer.answer != "absent":
                return self._unconfirmed(answer, cluster)
            await asyncio.sleep(_SECOND_LOOK_S)
        return answer

    async def _is_going(self, cluster_id: str) -> bool:
        """Whether a delete was refused because it is being deleted already."""
        now = await self.get_cluster(cluster_id)
        return now.answer == "absent" or (now.item is not None and now.item.phase is ClusterPhase.DELETING)

    @staticmethod
    def _unconfirmed(answer: Lookup[Cluster], cluster: Cluster) -> Lookup[Cluster]:
        word = answer.item.provider_state if answer.item else None
        reason = answer.reason or f"E2E accepted the deletion and shows it as {word or 'there'}."
        item = (answer.item or cluster).model_copy(update={"name": cluster.name, "order_id": cluster.order_id})
        return Lookup[Cluster](answer="cannot_tell", item=item, reason=reason, observed_at=answer.observed_at)

    # Changing

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
                "warnings": (*notes, _BILLING_NOTE),
            }
        )

    async def _price_of_more(
        self, connection: Connection, row: wire.Cluster, location: str
    ) -> tuple[wire.Price | None, list[str]]:
        """The hourly price of a node more: its own, or for a committed cluster that of its node type."""
        own = row.sku_details.plan
        if not own.is_committed:
            return own, []
        findings = Findings()
        plans = await Lists(connection.client, connection.options, location, findings).plans()
        rows = [one for sku in plans or () if sku.sku_id == row.sku_details.specs.sku_id for one in sku.plans]
        hourly = [one for one in rows if not one.is_committed and one.is_active is not False]
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
        keys = {"ssh_keys_now": [key.label or key.pk for key in now.ssh_keys]} if action == "update_ssh_keys" else {}
        plan = await self._change(cluster, body, digest, Verb.ACT, keys)
        changes = {"confirm": confirm_of(action, spec), "warnings": tuple(findings.warnings)}
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
        data = await connection.client.act(change.location, change.number, Body.from_json(change.body))
        row = wire.Cluster.model_validate(data) if isinstance(data, dict) and "no_of_nodes" in data else None
        if row is None or str(row.id) != change.number:
            try:
                row = await connection.client.get_cluster(change.location, change.number)
            except GpuClustersError:
                return change.before
        now = self._cluster(row, change.location, connection)
        return now.model_copy(update={"name": change.before.name, "order_id": change.before.order_id})

    # Choices and keys

    async def list_choices(self, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        """What may be chosen for a field; raises `SettingsError` for a location that is none."""
        connection = await self._access.connect()
        return await Choices(connection.client, connection.options, given).look_up(look_up)

    async def list_ssh_keys(self) -> Listing[Choice]:
        """The public keys in the account's own location."""
        connection = await self._access.connect()
        keys = await connection.client.list_ssh_keys(connection.options.location)
        choices = tuple(key_choice(key, False) for key in keys if key.pk is not None)
        return Listing[Choice](items=choices, is_complete=keys.is_whole)

    async def add_ssh_key(self, label: str, public_key: str) -> Choice:
        """One more public key in the account's own location."""
        connection = await self._access.connect()
        added = await connection.client.add_ssh_key(connection.options.location, label, public_key)
        return key_choice(added.model_copy(update={"label": added.label or label}), False)


async def _each(places: Sequence[str], read: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What each place answers, and the places that could not be read; raises where none could."""
    answers = await asyncio.gather(*(read(place) for place in places), return_exceptions=True)
    found = {place: one for place, one in zip(places, answers, strict=True) if not isinstance(one, BaseException)}
    errors = [one for one in answers if isinstance(one, BaseException)]
    unexpected = next((one for one in errors if not isinstance(one, GpuClustersError)), None)
    if unexpected is not None:
        raise unexpected
    if errors and not found:
        raise errors[0]
    return found, tuple(f"location {place}" for place in places if place not in found)


def _name_problems(name: str, is_exact: bool) -> list[Problem]:
    """Own rule, inferred to be safe (contract, section 2.1); the mark is counted."""
    longest = _LONGEST_NAME if is_exact else longest_name(_LONGEST_NAME)
    if _NAME.fullmatch(name) and len(name) <= longest:
        return []
    text = (
        f"must be 3 to {longest} lower-case letters, digits and hyphens, beginning with a letter, no hyphen at the end."
    )
    return [Problem("name", text)]


def _price_rose(made: Cluster, plan: Plan) -> str | None:
    old, new = plan.price_per_hour, made.price_per_hour
    if old is None or new is None or new.currency != old.currency or new.amount <= old.amount:
        return None
    return f"It costs {new} per hour; {old} was planned."


def _shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: "***" if isinstance(value, SecretStr) else value for key, value in fields.items()}

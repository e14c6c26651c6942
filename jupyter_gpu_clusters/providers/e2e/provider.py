"""The promise of ``core/provider.py`` for E2E Networks TIR."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, SecretStr

from ...core.choices import Choice, LookUp
from ...core.errors import (
    ConflictError,
    GpuClustersError,
    NotFoundError,
    Problem,
)
from ...core.findings import Findings
from ...core.http import Body
from ...core.models import (
    Cluster,
    ClusterPhase,
    Listing,
    Lookup,
    Order,
    Plan,
    Verb,
)
from ...core.names import longest_name
from ...core.provider import (
    Asked,
    CreatesClusters,
    KeepsSshKeys,
    LooksUp,
    Search,
)
from . import wire
from .changing import BILLING_NOTE
from .choices import LOOK_UPS, Choices, key_choice
from .convert import cluster_id_of, commitment_of, price_of, split_id
from .reaching import Reaching
from .resolve import Resolved, resolve
from .spec import E2ESpec

_PUNCTUATION = re.compile(r"[^a-z0-9]")
_NAME = re.compile(r"[a-z][a-z0-9-]{1,48}[a-z0-9]")
_LONGEST_NAME = 50
_SECOND_LOOK_S = 1.0
_TERM_NOTE = (
    "The whole term is paid at once, deleting early gives no refund as far as is known, and what follows is open."
)


class E2EProvider(Reaching, CreatesClusters, LooksUp, KeepsSshKeys):
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
    look_ups: ClassVar[Mapping[str, LookUp]] = LOOK_UPS

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        """Look up what the spec names, check all of it, and find the price; raises `SpecError`."""
        assert isinstance(spec, E2ESpec)
        connection = await self._access.connect()
        findings = Findings(problems=_name_problems(name, spec.exact_name))
        request = await resolve(spec, connection.client, connection.options, findings)
        findings.refuse("The cluster cannot be made like this.", self.name)
        price, sku = request.node_type.price or wire.Price(), request.node_type.sku
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
            gpus=request.nodes * ((sku.gpu if sku else None) or 0),
            price_per_hour=price_of(price, request.nodes),
            commitment=commitment_of(price, request.nodes),
            warnings=(*findings.warnings, *([_TERM_NOTE] if price.days else []), BILLING_NOTE),
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
        changes |= {"node_count": made.node_count or plan.nodes, "reason": _surprise(row, plan) or made.reason}
        if made.price_per_hour is None and not row.sku_details.plan.days:
            changes["price_per_hour"] = plan.price_per_hour
        return made.model_copy(update=changes)

    async def find_created(self, order: Order) -> Search:
        """Looked for by its mark, over all pages of its location."""
        connection = await self._access.connect()
        location = str(order.shown.get("location") or connection.options.location)
        page = await connection.client.list_clusters(location)
        found = [row for row in page if _is_made_by(order, row, location)]
        if found:
            clusters = [self._cluster(row, location, connection) for row in found]
            ours = {"name": order.name, "order_id": order.order_id, "created_here": True}
            return Search(found=tuple(one.model_copy(update=ours) for one in clusters))
        alike = tuple(self._cluster(row, location, connection) for row in page if _is_alike(order, row))
        reason = None if page.is_whole else f"The list of {location} could not be read as a whole."
        return Search(candidates=alike, reason=reason)

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
        first = await self._after_delete(cluster)
        if first.answer != "absent":
            return first
        await asyncio.sleep(_SECOND_LOOK_S)
        return await self._after_delete(cluster)

    async def _after_delete(self, cluster: Cluster) -> Lookup[Cluster]:
        """Whether it is gone; a look that fails says nothing, and the deletion was sent all the same."""
        try:
            answer = await self.get_cluster(cluster.cluster_id)
        except GpuClustersError as exc:
            text = f"The deletion was sent; whether it is gone cannot be seen now: {exc.message}"
            answer = Lookup[Cluster](answer="cannot_tell", reason=text)
        return answer if answer.answer == "absent" else self._unconfirmed(answer, cluster)

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


def _is_made_by(order: Order, row: wire.Cluster, location: str) -> bool:
    """Whether it has the order's mark, also where E2E changed the rest of the name, or an id that was told."""
    if row.id is not None and cluster_id_of(location, row.id) in order.remote_ids:
        return True
    return order.mark in order.remote_name and order.mark in (row.name or "")


def _is_alike(order: Order, row: wire.Cluster) -> bool:
    """Whether it may be the order's although no mark tells: E2E may shorten a name or write it in another way."""
    wanted, told = (_PUNCTUATION.sub("", text.casefold()) for text in (order.remote_name, row.name or ""))
    return told.startswith(_PUNCTUATION.sub("", order.name.casefold())) and wanted.startswith(told)


def _name_problems(name: str, is_exact: bool) -> list[Problem]:
    """Own rule, inferred to be safe (contract, section 2.1); the mark is counted."""
    longest = _LONGEST_NAME if is_exact else longest_name(_LONGEST_NAME)
    if _NAME.fullmatch(name) and len(name) <= longest:
        return []
    text = (
        f"must be 3 to {longest} lower-case letters, digits and hyphens, beginning with a letter, no hyphen at the end."
    )
    return [Problem("name", text)]


def _surprise(row: wire.Cluster, plan: Plan) -> str | None:
    """Where the answer to a create differs from what was agreed to."""
    price, nodes = row.sku_details.plan, row.no_of_nodes or plan.nodes
    if nodes != plan.nodes:
        return f"E2E made {nodes} nodes; {plan.nodes} were ordered."
    if price.days and plan.commitment is None:
        return f"E2E sold a committed term of {price.days} days, which was not planned."
    told = (price_of(price, nodes), plan.price_per_hour, "per hour")
    if price.days:
        told = (commitment_of(price, nodes), plan.commitment, "for the term")
    new, old, unit = told
    if new is None or old is None or new.currency != old.currency or new.amount <= old.amount:
        return None
    return f"It costs {new} {unit}; {old} was planned."


def _shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: "***" if isinstance(value, SecretStr) else value for key, value in fields.items()}

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
from .changing import BILLING_NOTE, Changing
from .choices import LOOK_UPS, Choices, key_choice
from .convert import cluster_id_of, commitment_of, price_of, split_id
from .resolve import Resolved, resolve
from .spec import E2ESpec

_NAME = re.compile(r"[a-z][a-z0-9-]{1,48}[a-z0-9]")
_LONGEST_NAME = 50
_SECOND_LOOK_S = 1.0
_TERM_NOTE = (
    "The whole term is paid at once, deleting early gives no refund as far as is known, and what follows is open."
)


class E2EProvider(Changing, CreatesClusters, LooksUp, KeepsSshKeys):
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
            warnings=(*findings.warnings, *term, BILLING_NOTE),
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

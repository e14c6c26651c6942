"""A paid provider from outside the package, found by its entry point. Its far side is a folder of files.

``SLOWCLOUD_BOOKS`` names the folder: one JSON file per cluster, and ``phase`` with the phase that clusters
are in (``creating`` when there is none). A file ``fault`` with the word ``before`` or ``after`` makes the next create
lose its answer before or after it did its work. A file ``key`` holds the only secret that works; without one none is
needed. ``keys.json`` has the public SSH keys, ``acts`` a line for each action that was carried out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from jupyter_gpu_clusters.core.choices import Choice, LookUp, looked_up
from jupyter_gpu_clusters.core.errors import Problem, SettingsError, SpecError, TransportError
from jupyter_gpu_clusters.core.models import (
    AccountStatus,
    Billing,
    Cluster,
    ClusterPhase,
    Details,
    Listing,
    Lookup,
    Money,
    Offer,
    Order,
    Plan,
    Verb,
    Workload,
)
from jupyter_gpu_clusters.core.provider import (
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


class SlowSpec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    nodes: int = Field(1, ge=1, le=8, title="Nodes", description="How many nodes.")
    payment: Literal["hourly", "unknown", "committed"] = Field("hourly", title="Payment", description="How it is paid.")
    token: SecretStr | None = Field(None, title="Token", description="Something secret.")
    zone: str | None = Field(None, title="Zone", description="Where.", json_schema_extra=looked_up("zones"))
    image: str | None = Field(
        None, title="Image", description="Image.", json_schema_extra=looked_up("images", ["zone"])
    )


class PaintSpec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    colour: Literal["red", "green"] = Field(title="Colour", description="What it is painted with.")
    coats: int = Field(1, ge=1, le=3, title="Coats", description="How often.")


class NothingSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SlowCloud(ListsOffers, CreatesClusters, ActsOnClusters, LooksUp, KeepsSshKeys, ShowsDetails):
    name: ClassVar[str] = "slowcloud"
    title: ClassVar[str] = "Slow cloud"
    poll_transition_s: ClassVar[float] = 0.1
    poll_steady_s: ClassVar[float] = 0.2
    spec_model: ClassVar[type[BaseModel]] = SlowSpec
    asks: ClassVar[Sequence[Asked]] = (
        Asked(name="zone", label="Zone", is_secret=False, is_required=False, default="north"),
        Asked(name="api_key", label="API key"),
    )
    actions: ClassVar[Mapping[str, Action]] = {
        "reboot_all": Action(
            title="Reboot", description="Every node starts again.", model=NothingSpec, is_restart=True
        ),
        "paint": Action(title="Paint", description="Changes the colour.", model=PaintSpec),
    }
    look_ups: ClassVar[Mapping[str, LookUp]] = {
        "zones": LookUp(title="Zones"),
        "images": LookUp(title="Images", depends_on=("zone",), needs=("zone",)),
    }
    cluster_details: ClassVar[Mapping[str, str]] = {"acts": "What was done to it"}

    @property
    def books(self) -> Path:
        return Path(os.environ["SLOWCLOUD_BOOKS"])

    async def identity(self) -> RemoteIdentity:
        zone = str(self.account.options.get("zone", ""))
        return RemoteIdentity(provider=self.name, origin=self.books.as_uri(), scope=zone)

    async def check_account(self) -> AccountStatus:
        status = AccountStatus(
            account=self.account.name,
            provider=self.name,
            is_usable=True,
            detail="fine",
            credential=self.account.credential,
        )
        file = self.books / "key"
        if unknown := set(self.account.options) - {"zone"}:
            return status.model_copy(update={"is_usable": False, "detail": f"Not known here: {', '.join(unknown)}."})
        try:
            secret = self.account.secret((await self.identity()).origin)
        except SettingsError as exc:
            return status.model_copy(update={"is_usable": False, "detail": exc.message})
        given = secret.get_secret_value() if secret is not None else ""
        if file.exists() and given != file.read_text():
            return status.model_copy(update={"is_usable": False, "detail": "The key is wrong."})
        return status

    async def list_offers(self) -> Listing[Offer]:
        prices: list[tuple[str, int | None]] = [("big", 90), ("mystery", None), ("small", 6)]
        return Listing[Offer](
            items=tuple(
                Offer(
                    account=self.account.name,
                    provider=self.name,
                    offer_id=title,
                    title=title,
                    gpu_type="H100 SXM",
                    gpus_per_node=8,
                    nodes_available=2,
                    price_per_node_hour=None if amount is None else Money(amount=Decimal(amount), currency="USD"),
                )
                for title, amount in prices
            )
        )

    async def list_clusters(self) -> Listing[Cluster]:
        found = [Cluster.model_validate_json(file.read_text()) for file in self._files()]
        return Listing[Cluster](items=tuple(self._now(cluster) for cluster in found))

    def _files(self) -> list[Path]:
        return [file for file in sorted(self.books.glob("*.json")) if file.name != "keys.json"]

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        found = [c for c in (await self.list_clusters()).items if c.cluster_id == cluster_id]
        return Lookup[Cluster](answer="found" if found else "absent", item=found[0] if found else None)

    async def plan_cluster(self, name: str, spec: BaseModel, digest: str) -> Plan:
        assert isinstance(spec, SlowSpec)
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?", name):
            text = "must be 1 to 42 lower-case letters, digits and hyphens."
            raise SpecError("The cluster cannot be made.", problems=[Problem("name", text)])
        price = Money(amount=Decimal(6 * spec.nodes), currency="USD")
        return Plan(
            verb=Verb.CREATE,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=name,
            spec_digest=digest,
            request=spec,
            shown=spec.model_dump(mode="json"),
            nodes=spec.nodes,
            gpus=8 * spec.nodes,
            price_per_hour=None if spec.payment == "unknown" else price,
            commitment=price.times(720) if spec.payment == "committed" else None,
            warnings=("The cloud is slow.",),
        )

    async def create_cluster(self, plan: Plan, order: Order) -> Cluster:
        cluster = Cluster(
            provider=self.name,
            account=self.account.name,
            cluster_id=f"id-{order.name}",
            name=order.name,
            phase=ClusterPhase.CREATING,
            node_count=plan.nodes,
            price_per_hour=plan.price_per_hour,
            billing=Billing.YES,
            order_id=order.order_id,
        )
        fault = self.books / "fault"
        when = fault.read_text() if fault.exists() else ""
        fault.unlink(missing_ok=True)
        if when != "before":
            (self.books / f"{order.name}.json").write_text(cluster.model_dump_json())
        if when:
            raise TransportError("The connection was cut.", provider=self.name)
        return self._now(cluster)

    async def find_created(self, order: Order) -> Search:
        return Search(found=tuple(c for c in (await self.list_clusters()).items if c.order_id == order.order_id))

    async def delete_cluster(self, cluster: Cluster, order: Order) -> Lookup[Cluster]:
        if (self.books / "stuck").exists():
            return Lookup[Cluster](answer="cannot_tell", item=cluster, reason="It is being taken down.")
        (self.books / f"{cluster.name}.json").unlink(missing_ok=True)
        return Lookup[Cluster](answer="absent")

    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel, digest: str) -> Plan:
        return Plan(
            verb=Verb.ACT,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=cluster.name,
            spec_digest=digest,
            request=spec,
            shown=spec.model_dump(mode="json"),
            target_id=cluster.cluster_id,
            action=action,
            is_free=True,
            confirm="What runs on it ends." if action == "reboot_all" else None,
        )

    async def act(self, plan: Plan, order: Order) -> Cluster:
        with (self.books / "acts").open("a") as acts:
            acts.write(f"{order.order_id} {plan.action} {json.dumps(plan.shown)}\n")
        found = await self.get_cluster(plan.target_id or "")
        assert found.item is not None
        return found.item

    async def find_acted(self, order: Order) -> Search:
        file = self.books / "acts"
        if file.exists() and order.order_id in file.read_text():
            found = await self.get_cluster(order.target_id or "")
            return Search(found=(found.item,) if found.item else ())
        return Search(reason="It is not in the books.")

    async def list_choices(self, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        if look_up == "zones":
            return Listing[Choice](items=(Choice(value="north", label="North"), Choice(value="south", label="South")))
        zone = given.get("zone")
        if not isinstance(zone, str):
            raise SettingsError("Images differ by zone; choose `zone` first.")
        items = (Choice(value=f"{zone}-1", label="Plain", detail={"size_gb": 4}),)
        return Listing[Choice](items=items, is_complete=zone != "south", not_seen=("the archive",))

    async def list_ssh_keys(self) -> Listing[Choice]:
        file = self.books / "keys.json"
        keys: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
        found = (Choice(value=label, label=label, detail={"public_key": key}) for label, key in keys.items())
        return Listing[Choice](items=tuple(found))

    async def add_ssh_key(self, label: str, public_key: str) -> Choice:
        keys = {str(c.value): str(c.detail["public_key"]) for c in (await self.list_ssh_keys()).items}
        (self.books / "keys.json").write_text(json.dumps({**keys, label: public_key}))
        return Choice(value=label, label=label)

    async def show_details(self, thing: Cluster | Workload, kind: str) -> Details:
        file = self.books / "acts"
        lines = file.read_text().splitlines() if file.exists() else []
        rows = tuple({"order": line.split()[0], "action": line.split()[1]} for line in lines)
        return Details(title="What was done", columns=("action", "order"), rows=rows, note="Oldest first.")

    def _now(self, cluster: Cluster) -> Cluster:
        file = self.books / "phase"
        phase = ClusterPhase(file.read_text() if file.exists() else ClusterPhase.CREATING)
        return cluster.model_copy(update={"phase": phase})

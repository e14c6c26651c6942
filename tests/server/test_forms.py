"""Forms, choices, actions and details, with the provider ``rich`` of this file, and with `local`, which has few."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field

from jupyter_gpu_clusters.core import registry
from jupyter_gpu_clusters.core.choices import Choice, LookUp, looked_up
from jupyter_gpu_clusters.core.errors import SettingsError, TransportError
from jupyter_gpu_clusters.core.models import (
    AccountStatus,
    Cluster,
    ClusterPhase,
    Details,
    Listing,
    Lookup,
    Order,
    Plan,
    Verb,
    Workload,
)
from jupyter_gpu_clusters.core.provider import (
    Action,
    ActsOnClusters,
    LooksUp,
    RemoteIdentity,
    Search,
    ShowsDetails,
)

from .helpers import Client, by_name, eventually
from .notebook import Notebook


class RestartSpec(BaseModel):
    hard: bool = Field(False, description="At once.")
    image: str | None = Field(None, json_schema_extra=looked_up("images", ["hard"]))


ACTED: list[tuple[str, object]] = []


class Rich(LooksUp, ActsOnClusters, ShowsDetails):
    """A far side that always has one cluster."""

    name: ClassVar[str] = "rich"
    title: ClassVar[str] = "Rich cloud"
    look_ups: ClassVar[Mapping[str, LookUp]] = {"images": LookUp(title="Images", depends_on=("hard",))}
    actions: ClassVar[Mapping[str, Action]] = {
        "restart": Action(title="Restart", description="Everything starts anew.", model=RestartSpec, is_restart=True)
    }
    cluster_details: ClassVar[Mapping[str, str]] = {"events": "Events"}

    async def identity(self) -> RemoteIdentity:
        return RemoteIdentity(provider=self.name, origin="http://localhost")

    async def check_account(self) -> AccountStatus:
        return AccountStatus(account=self.account.name, provider=self.name, is_usable=True, detail="fine")

    async def list_clusters(self) -> Listing[Cluster]:
        return Listing[Cluster](items=(self._cluster,))

    async def get_cluster(self, cluster_id: str) -> Lookup[Cluster]:
        return Lookup[Cluster](answer="found", item=self._cluster)

    @property
    def _cluster(self) -> Cluster:
        phase = ClusterPhase.RUNNING
        return Cluster(provider="rich", account=self.account.name, cluster_id="c/1", name="one", phase=phase)

    async def list_choices(self, look_up: str, given: Mapping[str, Any]) -> Listing[Choice]:
        if given.get("hard") == "fault":
            raise TransportError("No answer.", provider=self.name)
        if given.get("hard") == "missing":
            raise SettingsError("Fill in hard first.")
        choice = Choice(value=7, label=f"image for {given.get('hard')}", detail={"size": 3}, why_not="It is old.")
        return Listing[Choice](items=(choice,), is_complete=False, not_seen=("project x",))

    async def plan_action(self, cluster: Cluster, action: str, spec: BaseModel, digest: str) -> Plan:
        return Plan(
            verb=Verb.ACT,
            provider=self.name,
            account=self.account.name,
            identity_key=(await self.identity()).key,
            name=cluster.name,
            spec_digest=digest,
            request=spec,
            shown={},
            target_id=cluster.cluster_id,
            action=action,
            is_free=True,
            confirm="All jobs end.",
        )

    async def act(self, plan: Plan, order: Order) -> Cluster:
        ACTED.append((plan.action or "", plan.request))
        return self._cluster

    async def find_acted(self, order: Order) -> Search:
        return Search()

    async def show_details(self, thing: Cluster | Workload, kind: str) -> Details:
        return Details(title="Events", columns=("at", "what"), rows=({"at": "now", "what": "made"},), note="All.")


@pytest.fixture
def rich(jp_environ: None, jp_config_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account `rich` of that provider."""
    accounts = jp_config_dir / "jupyter_gpu_clusters" / "accounts.toml"
    accounts.parent.mkdir(parents=True)
    accounts.write_text('[accounts.rich]\nprovider = "rich"\n')
    known = {**registry._known(), "rich": f"{__name__}:Rich"}
    monkeypatch.setattr(registry, "_known", lambda: known)
    ACTED.clear()


async def _look(client: Client) -> None:
    async def is_seen() -> bool:
        return by_name((await client.get("state")).body["clusters"], "one") is not None

    await eventually(is_seen)


async def test_the_form_of_an_account_has_the_schema_of_its_spec(client: Client) -> None:
    body = (await client.get("accounts", "local", "form")).body
    assert (body["account"], body["title"], body["look_ups"]) == ("local", "This machine", {})
    assert body["schema"]["properties"]["nodes"]["maximum"] == 64


async def test_the_form_of_a_cluster_has_the_schema_of_a_workload(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create()
    body = (await client.get("clusters", "local", cluster.cluster_id, "form")).body
    assert {"command", "script", "env"} <= body["schema"]["properties"].keys()


async def test_an_account_that_rents_nothing_says_why(client: Client, rich: None) -> None:
    answer = await client.get("accounts", "rich", "form")
    assert (answer.status, answer.body["code"]) == (400, "not_supported")


async def test_choices_are_looked_up_with_what_is_filled_in(client: Client, rich: None) -> None:
    wanted = {"look_up": "images", "given": {"hard": "yes"}}
    answer = await client.post("accounts", "rich", "choices", body=json.dumps(wanted).encode())
    choice = {"value": 7, "label": "image for yes", "detail": {"size": 3}, "why_not": "It is old."}
    assert answer.body == {"choices": [choice], "is_complete": False, "not_seen": ["project x"]}


@pytest.mark.parametrize(
    ("wanted", "status", "word"),
    [
        ({"look_up": "image"}, 400, "images"),
        ({"look_up": "images", "given": {"hard": "missing"}}, 400, "Fill in hard first."),
        ({"look_up": "images", "given": {"hard": "fault"}}, 502, "No answer."),
        ({"given": {}}, 400, "not understood"),
        ({"look_up": "images", "given": []}, 400, "not understood"),
    ],
)
async def test_a_failing_look_up_says_why(
    client: Client, rich: None, wanted: dict[str, Any], status: int, word: str
) -> None:
    answer = await client.post("accounts", "rich", "choices", body=json.dumps(wanted).encode())
    assert answer.status == status
    assert word in answer.body["message"]


async def test_an_account_without_look_ups_says_so(client: Client) -> None:
    answer = await client.post("accounts", "local", "choices", body=b'{"look_up": "images"}')
    assert (answer.status, answer.body["code"]) == (400, "not_supported")


async def test_actions_come_with_their_schemas_and_act_once(client: Client, rich: None) -> None:
    await _look(client)
    body = (await client.get("clusters", "rich", "c/1", "actions")).body
    (action,) = body["actions"]
    assert (action["name"], action["title"]) == ("restart", "Restart")
    assert action["schema"]["properties"]["image"]["choices"] == "images"
    assert body["look_ups"]["images"]["depends_on"] == ["hard"]
    wish = {"verb": "act", "account": "rich", "cluster_id": "c/1", "action": "restart", "spec": {"hard": True}}
    plan = (await client.post("plans", body=json.dumps(wish).encode())).body
    assert (plan["ask"], plan["agreement"]) == ("confirm", "I agree. All jobs end.")
    refused = await client.post("plans", plan["plan_id"], "send", body=b"{}")
    assert (refused.status, ACTED) == (409, [])
    sent = await client.post("plans", plan["plan_id"], "send", body=b'{"agreed": true}')
    assert sent.body["cluster"]["name"] == "one"
    assert [("restart", RestartSpec(hard=True))] == ACTED


async def test_an_unknown_action_is_refused(client: Client, rich: None) -> None:
    await _look(client)
    wish = {"verb": "act", "account": "rich", "cluster_id": "c/1", "action": "restrat"}
    answer = await client.post("plans", body=json.dumps(wish).encode())
    assert answer.status == 400
    assert "restart" in answer.body["message"]


async def test_a_provider_without_actions_or_details_has_none(client: Client, notebook: Notebook) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(), "pass"))
    cluster = ("clusters", "local", workload.cluster_id)
    assert (await client.get(*cluster, "actions")).body == {"actions": [], "look_ups": {}}
    assert (await client.get(*cluster, "details")).body == {"kinds": {}}
    thing = ("workloads", "local", workload.cluster_id, workload.workload_id)
    assert (await client.get(*thing, "details")).body == {"kinds": {}}
    assert (await client.get(*thing, "details", "events")).status == 400


async def test_details_are_the_providers_tables(client: Client, rich: None) -> None:
    await _look(client)
    assert (await client.get("clusters", "rich", "c/1", "details")).body == {"kinds": {"events": "Events"}}
    table = (await client.get("clusters", "rich", "c/1", "details", "events")).body
    assert table == {
        "title": "Events",
        "columns": ["at", "what"],
        "rows": [{"at": "now", "what": "made"}],
        "note": "All.",
    }
    unknown = await client.get("clusters", "rich", "c/1", "details", "event")
    assert (unknown.status, "events" in unknown.body["message"]) == (400, True)


@pytest.mark.parametrize("verb", ["suspend", "resume"])
async def test_what_cannot_rest_says_why(client: Client, notebook: Notebook, verb: str) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(), "pass"))
    path = ("workloads", "local", workload.cluster_id, workload.workload_id, verb)
    answer = await client.post(*path)
    assert (answer.status, answer.body["code"]) == (400, "not_supported")
    assert (await client.post(*path, body=b'{"now": true}')).status == 400


@pytest.mark.parametrize("last", ["form", "actions", "details"])
async def test_an_unknown_cluster_is_a_404(client: Client, last: str) -> None:
    answer = await client.get("clusters", "local", "a/b é", last)
    assert (answer.status, answer.body["code"]) == (404, "not_found")

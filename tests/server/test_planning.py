"""``POST plans`` shows and never spends; ``POST plans/{plan_id}/send`` spends once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import AsyncHTTPClient

from jupyter_gpu_clusters.core import registry
from jupyter_gpu_clusters.server import GpuClustersApp
from tests.magics.conftest import SLOWCLOUD

from .helpers import Answer, Client, by_name, eventually
from .notebook import Notebook

SECRET = "hunter2%+&"


@pytest.fixture
def books(jp_environ: None, jp_config_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The books of a paid provider that is slow, with an account `slow`."""
    folder = tmp_path / "books"
    folder.mkdir()
    accounts = jp_config_dir / "jupyter_gpu_clusters" / "accounts.toml"
    accounts.parent.mkdir(parents=True)
    accounts.write_text('[accounts.slow]\nprovider = "slowcloud"\n')
    monkeypatch.setenv("SLOWCLOUD_BOOKS", str(folder))
    monkeypatch.syspath_prepend(str(SLOWCLOUD))
    registry._known.cache_clear()
    yield folder
    registry._known.cache_clear()


def _made(books: Path) -> list[str]:
    return sorted(file.stem for file in books.glob("*.json"))


async def _plan(client: Client, **wish: Any) -> Answer:
    return await client.post("plans", body=json.dumps(wish).encode())


async def _paid(client: Client, name: str = "big", **spec: Any) -> dict[str, Any]:
    answer = await _plan(client, verb="create", account="slow", name=name, spec=spec)
    assert answer.status == 200, answer.body
    return answer.body


async def _send(client: Client, plan: dict[str, Any], **said: Any) -> Answer:
    return await client.post("plans", plan["plan_id"], "send", body=json.dumps(said).encode())


async def test_what_a_cluster_has_cost_is_told_with_it(
    client: Client, books: Path, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_gpu_clusters.server.spent._FRESH_S", 0.0)
    await notebook.create("free")
    await _send(client, await _paid(client, nodes=2), agreed=True)

    async def billed() -> dict[str, Any] | None:
        clusters = {one["name"]: one for one in (await client.get("state")).body["clusters"]}
        big = clusters.get("big")
        return clusters if big and big["spent"] and float(big["spent"][0]["amount_high"]) > 0 else None

    clusters = await eventually(billed)
    (spent,) = clusters["big"]["spent"]
    assert spent["currency"] == "USD"
    assert 0 <= float(spent["amount"]) <= float(spent["amount_high"]) < 12
    assert clusters["free"]["spent"] == []


async def test_a_plan_says_what_it_does_and_costs_and_spends_nothing(client: Client, books: Path) -> None:
    body = await _paid(client, nodes=2)
    assert body["ask"] == "price"
    assert body["plan"]["nodes"] == 2
    assert body["plan"]["price_per_hour"] == {"amount": "12", "currency": "USD"}
    assert body["plan"]["warnings"] == ["The cloud is slow."]
    assert body["agreement"] == "I agree to pay 12.00 USD per hour until it is deleted"
    assert body["valid_for_s"] == 120
    assert not {"request", "identity_key", "spec_digest", "baseline"} & body["plan"].keys()
    assert _made(books) == []


async def test_a_free_plan_is_sent_without_a_word(client: Client) -> None:
    plan = (await _plan(client, verb="create", account="local", name="free", spec={"nodes": 2})).body
    assert (plan["ask"], plan["agreement"]) == ("nothing", None)
    answer = await _send(client, plan)
    assert answer.status == 200
    assert answer.body["cluster"]["full_name"] == "local/free"
    assert answer.body["attached"] is False
    cluster = answer.body["cluster"]
    assert (await client.delete("clusters", "local", cluster["cluster_id"])).status == 200


async def test_a_paid_plan_needs_a_yes_and_is_sent_once(client: Client, books: Path) -> None:
    plan = await _paid(client)
    refused = await _send(client, plan, agreed=False)
    assert (refused.status, refused.body["code"]) == (409, "consent")
    assert "6.00 USD" in refused.body["message"]
    assert _made(books) == []
    sent = await _send(client, plan, agreed=True)
    assert (sent.status, sent.body["cluster"]["name"]) == (200, "big")
    again = await _send(client, plan, agreed=True)
    assert (again.status, again.body["code"]) == (409, "plan_used")
    assert _made(books) == ["big"]


async def test_two_at_once_order_one(client: Client, books: Path) -> None:
    plan = await _paid(client)
    answers = await asyncio.gather(*(_send(client, plan, agreed=True) for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409, 409]
    assert _made(books) == ["big"]


@pytest.mark.parametrize("payment", ["unknown", "committed"])
async def test_an_unknown_price_and_a_term_need_the_name(client: Client, books: Path, payment: str) -> None:
    plan = await _paid(client, payment=payment)
    assert plan["ask"] == {"unknown": "unknown_price", "committed": "commitment"}[payment]
    for said in ({"agreed": True}, {"agreed": True, "words": "bug"}, {"words": "big"}):
        refused = await _send(client, plan, **said)
        assert (refused.status, refused.body["code"]) == (409, "consent")
    assert _made(books) == []
    assert (await _send(client, plan, agreed=True, words="big")).status == 200
    assert _made(books) == ["big"]


async def test_an_unknown_plan_is_expired(client: Client) -> None:
    answer = await client.post("plans", "x/ é%", "send", body=b'{"agreed": true}')
    assert (answer.status, answer.body["code"]) == (409, "plan_expired")
    assert answer.body["hint"]


async def test_a_closed_connection_does_not_stop_the_sending(
    client: Client, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = await _paid(client)
    import slowcloud  # type: ignore[import-not-found]

    create = slowcloud.SlowCloud.create_cluster
    is_sending, may_go_on = asyncio.Event(), asyncio.Event()

    async def slow(self: Any, *args: Any) -> Any:
        is_sending.set()
        await may_go_on.wait()
        return await create(self, *args)

    monkeypatch.setattr(slowcloud.SlowCloud, "create_cluster", slow)
    leaver = Client(AsyncHTTPClient(force_instance=True), client.base_url, client.headers)
    request = asyncio.create_task(_send(_absolute(client, leaver), plan, agreed=True))
    await is_sending.wait()
    leaver.http.close()
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    may_go_on.set()

    async def made() -> bool:
        state = (await client.get("state")).body
        return by_name(state["clusters"], "big") is not None and state["orders"] == []

    await eventually(made)
    assert _made(books) == ["big"]
    assert (await _send(client, plan, agreed=True)).body["code"] == "plan_used"


def _absolute(client: Client, other: Client) -> Client:
    """The same with the whole URL, since `other` has a connection of its own."""
    return Client(other.http, client.http.get_url(client.base_url), other.headers)


async def test_a_lost_answer_is_said_and_the_plan_is_used(client: Client, books: Path) -> None:
    plan = await _paid(client)
    (books / "fault").write_text("after")
    answer = await _send(client, plan, agreed=True)
    assert (answer.status, answer.body["code"]) == (502, "outcome_unknown")
    assert (await _send(client, plan, agreed=True)).body["code"] == "plan_used"
    assert _made(books) == ["big"]


async def test_every_problem_of_name_and_spec_is_told_at_once(client: Client, books: Path) -> None:
    answer = await _plan(client, verb="create", account="slow", spec={"nodes": 9, "colour": "red"})
    assert (answer.status, answer.body["code"]) == (400, "spec")
    assert [problem["field"] for problem in answer.body["fields"]] == ["name", "nodes", "colour"]


async def test_a_secret_is_refused_and_never_repeated(client: Client, books: Path) -> None:
    answer = await _plan(client, verb="create", account="slow", name="x", spec={"token": SECRET})
    assert answer.status == 400
    (problem,) = answer.body["fields"]
    assert problem["field"] == "token"
    assert "by reference in a notebook" in problem["text"]
    assert SECRET not in json.dumps(answer.body)


@pytest.mark.parametrize(
    ("wish", "fields"),
    [
        ({}, ["verb"]),
        ({"verb": "delete"}, ["verb"]),
        ({"verb": "create"}, ["account"]),
        ({"verb": "create", "account": "local", "spec": []}, ["spec"]),
        ({"verb": "scale", "account": "local", "cluster_id": "x", "nodes": "3"}, ["nodes"]),
        ({"verb": "submit", "account": "local", "cluster_id": "x", "extra": 1}, ["extra"]),
    ],
)
async def test_a_rubbish_wish_is_refused(client: Client, wish: dict[str, Any], fields: list[str]) -> None:
    answer = await _plan(client, **wish)
    assert (answer.status, answer.body["code"]) == (400, "spec")
    assert [problem["field"] for problem in answer.body["fields"]] == fields


async def test_an_unknown_account_and_cluster_are_named(client: Client) -> None:
    answer = await _plan(client, verb="create", account="lokal", name="x")
    assert answer.status == 400
    assert "local" in answer.body["message"]
    answer = await _plan(client, verb="submit", account="local", cluster_id="c/1")
    assert (answer.status, answer.body["code"]) == (404, "not_found")


async def test_a_workload_is_planned_and_sent(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create(nodes=2)
    where = {"account": "local", "cluster_id": cluster.cluster_id}
    plan = (await _plan(client, verb="submit", **where, spec={"command": ["true"]})).body
    assert plan["plan"]["processes"] == 2
    sent = (await _send(client, plan)).body
    assert sent["workload"]["full_name"] == f"local/demo/{plan['plan']['name']}"

    async def succeeded() -> bool:
        shown = by_name((await client.get("state")).body["workloads"], plan["plan"]["name"])
        return shown is not None and shown["phase"] == "succeeded"

    await eventually(succeeded)


async def test_a_cluster_is_scaled(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create()
    where = {"account": "local", "cluster_id": cluster.cluster_id}
    plan = (await _plan(client, verb="scale", **where, nodes=3)).body
    assert (await _send(client, plan)).body["cluster"]["node_count"] == 3


async def test_the_same_name_attaches_or_is_refused(client: Client, notebook: Notebook) -> None:
    await notebook.create("demo", nodes=1)
    same = (await _plan(client, verb="create", account="local", name="demo", spec={"nodes": 1})).body
    sent = await _send(client, same)
    assert sent.body["attached"] is True
    assert sent.body["note"]
    other = (await _plan(client, verb="create", account="local", name="demo", spec={"nodes": 2})).body
    assert (await _send(client, other)).body["code"] == "name_taken"


async def test_old_plans_do_not_pile_up(client: Client, extension: GpuClustersApp) -> None:
    for _ in range(3):
        await _plan(client, verb="create", account="local", name="x")
    assert extension._parts is not None
    assert len(extension._parts.plans) == 3


async def test_the_cell_does_the_same_and_has_no_value_that_may_be_secret(client: Client, notebook: Notebook) -> None:
    create = (await _plan(client, verb="create", account="local", name="x", spec={"nodes": 2})).body
    assert create["cell"] == "%%cluster_create local --name x\nnodes: 2\n"
    cluster = await notebook.create()
    where = {"account": "local", "cluster_id": cluster.cluster_id}
    spec = {"script": f"echo {SECRET}", "env": {"KEY": SECRET}, "nodes": 1}
    cell = (await _plan(client, verb="submit", **where, name="y", spec=spec)).body["cell"]
    assert cell.startswith("%%workload_submit local/demo --name y\n")
    assert "KEY: $KEY" in cell
    assert "script: $script" in cell
    assert SECRET not in cell
    scale = (await _plan(client, verb="scale", **where, nodes=3)).body
    assert scale["cell"] == "%cluster_scale local/demo --nodes 3\n"

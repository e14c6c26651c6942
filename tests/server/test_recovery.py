"""What is not certain, by page: looked for again, adopted, deleted on sight, closed; and what nobody here ordered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jupyter_gpu_clusters.core import registry, rows
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, Money
from jupyter_gpu_clusters.core.provider import Search
from tests.magics.conftest import SLOWCLOUD, slow_account

from .helpers import Answer, Client, by_name, eventually

DOLLARS = {"amount": "6", "currency": "USD"}


@pytest.fixture
def books(jp_environ: None, jp_config_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The books of the paid provider `slow`; what its listing lacks is gone at once."""
    for name, value in slow_account(jp_config_dir, tmp_path / "books").items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(SLOWCLOUD))
    monkeypatch.setattr(rows, "GONE_AFTER", timedelta())
    registry._known.cache_clear()
    yield tmp_path / "books"
    registry._known.cache_clear()


async def _post(client: Client, *segments: str, **body: Any) -> Answer:
    return await client.post(*segments, body=json.dumps(body).encode())


async def _create(client: Client, name: str = "big", **more: Any) -> Answer:
    plan = await _post(client, "plans", verb="create", account="slow", name=name, spec={}, **more)
    assert plan.status == 200, plan.body
    return await _post(client, "plans", plan.body["plan_id"], "send", agreed=True)


async def _lost(client: Client, books: Path) -> str:
    """A create that lost its answer before it did anything; the id of its order."""
    (books / "fault").write_text("before")
    assert (await _create(client)).body["code"] == "outcome_unknown"
    (order,) = (await client.get("state")).body["orders"]
    return str(order["order_id"])


async def _orders(client: Client) -> list[dict[str, Any]]:
    orders: list[dict[str, Any]] = (await client.get("state")).body["orders"]
    return orders


def _foreign(name: str = "other") -> Cluster:
    return Cluster(
        provider="slowcloud",
        account="slow",
        cluster_id=f"id-{name}",
        name=name,
        phase=ClusterPhase.RUNNING,
        node_count=1,
        price_per_hour=Money.model_validate(DOLLARS),
    )


def _write(books: Path, cluster: Cluster) -> Cluster:
    (books / f"{cluster.name}.json").write_text(cluster.model_dump_json())
    return cluster


async def test_looking_again_tells_what_is_known_of_an_open_order(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    answer = await client.get("recover")
    assert answer.status == 200
    (one,) = answer.body["recovered"]
    assert (one["kind"], one["account"], one["name"]) == ("not seen", "slow", "big")
    assert (one["order"]["order_id"], one["order"]["state"]) == (order_id, "not_seen")
    assert (one["price_per_hour"], one["cluster"], one["candidates"]) == (DOLLARS, None, [])
    assert one["note"]
    assert not {"identity_key", "idempotency_key", "spec_digest", "shown", "baseline"} & one["order"].keys()


async def test_looking_again_finds_what_was_made(client: Client, books: Path) -> None:
    (books / "fault").write_text("after")
    assert (await _create(client)).status == 502
    await client.get("recover")
    assert await _orders(client) == []
    assert by_name((await client.get("state")).body["clusters"], "big")


async def test_what_may_be_the_orders_is_told_with_its_facts(
    client: Client, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _lost(client, books)
    import slowcloud  # type: ignore[import-not-found]

    async def find(self: Any, order: Any) -> Search:
        return Search(reason="No mark.", candidates=(_foreign(),))

    monkeypatch.setattr(slowcloud.SlowCloud, "find_created", find)
    (one,) = (await client.get("recover")).body["recovered"]
    (candidate,) = one["candidates"]
    assert (candidate["cluster_id"], candidate["full_name"], candidate["phase"]) == (
        "id-other",
        "slow/other",
        "running",
    )


async def test_the_state_tells_price_and_wish_of_an_order(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    (order,) = await _orders(client)
    assert (order["price_per_hour"], order["on_sight"], order["target_id"]) == (DOLLARS, False, None)
    assert (await client.post("orders", order_id, "delete")).status == 200
    (order,) = await _orders(client)
    assert order["on_sight"] is True


async def test_closing_records_the_statement_and_frees_the_name(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    answer = await _post(client, "orders", order_id, "close", statement="  The console shows nothing.\n")
    assert (answer.status, answer.body["order"]["state"]) == (200, "closed")
    assert answer.body["order"]["note"] == "Closed by the user: The console shows nothing."
    assert await _orders(client) == []
    assert (await _create(client)).status == 200


async def test_closing_twice_at_once_and_afterwards_is_calm(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    answers = await asyncio.gather(
        *(_post(client, "orders", order_id, "close", statement="Not there.") for _ in range(4))
    )
    assert {answer.status for answer in answers} <= {200, 404}
    assert 200 in {answer.status for answer in answers}
    again = await _post(client, "orders", order_id, "close", statement="Not there.")
    assert (again.status, again.body["code"]) == (404, "not_found")
    assert again.body["hint"]
    assert await _orders(client) == []


@pytest.mark.parametrize("body", [b"", b'{"statement": ""}', b'{"statement": " \\n"}', b'{"statement": 1}', b"["])
async def test_without_a_statement_nothing_is_closed(client: Client, books: Path, body: bytes) -> None:
    order_id = await _lost(client, books)
    answer = await client.post("orders", order_id, "close", body=body)
    assert (answer.status, answer.body["code"]) == (400, "spec")
    assert answer.body["fields"]
    assert len(await _orders(client)) == 1


@pytest.mark.parametrize("verb", ["close", "delete", "adopt"])
async def test_a_page_means_one_order_by_its_whole_id(client: Client, books: Path, verb: str) -> None:
    order_id = await _lost(client, books)
    body = {"close": {"statement": "x"}, "delete": {}, "adopt": {"cluster_id": "id-other"}}[verb]
    for other in (order_id[:5], "big", "slow/big", "%2F é"):
        answer = await _post(client, "orders", other, verb, **body)
        assert (answer.status, answer.body["code"]) == (404, "not_found")
    (order,) = await _orders(client)
    assert (order["state"], order["on_sight"]) in [("open", False), ("not_seen", False)]


async def test_what_shows_after_it_was_wished_away_is_deleted(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    for _ in range(2):
        answer = await client.post("orders", order_id, "delete")
        assert (answer.status, answer.body["order"]["on_sight"]) == (200, True)
    _write(books, _foreign("big").model_copy(update={"order_id": order_id}))

    async def is_gone() -> bool:
        await client.get("recover")
        return not (books / "big.json").exists() and await _orders(client) == []

    await eventually(is_gone)


async def test_a_listed_cluster_is_adopted_once(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    unknown = await _post(client, "orders", order_id, "adopt", cluster_id="id-other")
    assert (unknown.status, unknown.body["code"]) == (404, "not_found")
    _write(books, _foreign())
    adopted = await _post(client, "orders", order_id, "adopt", cluster_id="id-other")
    assert adopted.status == 200
    assert (adopted.body["cluster"]["order_id"], adopted.body["cluster"]["full_name"]) == (order_id, "slow/big")
    assert (await _post(client, "orders", order_id, "adopt", cluster_id="id-other")).status == 404
    assert await _orders(client) == []


async def test_what_another_order_made_is_not_adopted(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    assert (await _create(client, "mine")).status == 200
    refused = await _post(client, "orders", order_id, "adopt", cluster_id="id-mine")
    assert (refused.status, refused.body["code"]) == (409, "conflict")


async def test_a_vanished_cluster_is_closed_with_a_statement(client: Client, books: Path) -> None:
    assert (await _create(client)).status == 200
    early = await _post(client, "clusters", "slow", "id-big", "close", statement="Gone.")
    assert (early.status, early.body["code"]) == (409, "conflict")
    (books / "big.json").unlink()

    async def vanished() -> dict[str, Any] | None:
        found = [one for one in (await client.get("recover")).body["recovered"] if one["kind"] == "vanished"]
        return found[0] if found else None

    one = await eventually(vanished)
    assert one["cluster"]["vanished_at"]
    assert one["cluster"]["phase"] == "unknown"
    assert (await client.post("clusters", "slow", "id-big", "close")).status == 400
    closed = await _post(client, "clusters", "slow", "id-big", "close", statement="The bill says so.")
    assert closed.status == 200
    assert (await client.get("state")).body["clusters"] == []
    assert (await _post(client, "clusters", "slow", "id-big", "close", statement="Again.")).status == 404


async def test_what_was_not_ordered_here_is_reported_the_dearest_first(client: Client, books: Path) -> None:
    order_id = await _lost(client, books)
    _write(books, _foreign())
    dear = _foreign("dear").model_copy(update={"price_per_hour": Money.model_validate(DOLLARS | {"amount": "90"})})
    _write(books, dear)
    report = (await client.get("orphans")).body
    assert [one["ref"] for one in report["items"]] == ["id-dear", "id-other", order_id]
    assert [one["price_per_hour"]["amount"] for one in report["items"]] == ["90", "6", "6"]
    assert all(one["why"] and one["next_step"] for one in report["items"])
    assert report["not_seen"] == []


async def test_a_cluster_with_an_end_says_so_in_plan_state_and_cell(client: Client, books: Path) -> None:
    wish = {"verb": "create", "account": "slow", "name": "big", "spec": {"nodes": 2}, "max_hours": 1.5}
    plan = (await _post(client, "plans", **wish)).body
    assert plan["plan"]["max_hours"] == 1.5
    assert plan["cell"] == "%%cluster_create slow --name big --max-hours 1.5\nnodes: 2\n"
    assert (await _post(client, "plans", plan["plan_id"], "send", agreed=True)).status == 200

    async def ends() -> bool:
        cluster = by_name((await client.get("state")).body["clusters"], "big")
        return cluster is not None and cluster["ends_at"] is not None

    await eventually(ends)
    bare = (await _post(client, "plans", **{**wish, "name": "other", "spec": {}, "max_hours": 24})).body
    assert bare["cell"] == "%cluster_create slow --name other --max-hours 24\n"


@pytest.mark.parametrize("hours", [0, -1, 8761, "soon"])
async def test_an_impossible_end_is_refused_at_its_field(client: Client, books: Path, hours: object) -> None:
    answer = await _post(client, "plans", verb="create", account="slow", name="x", spec={}, max_hours=hours)
    assert (answer.status, answer.body["code"]) == (400, "spec")
    assert [problem["field"] for problem in answer.body["fields"]] == ["max_hours"]

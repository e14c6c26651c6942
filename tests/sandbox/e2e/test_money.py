"""What clusters cost: by the hour, by the term, and what an account must have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.e2e.caller import CLUSTERS, DELHI, Caller

HOUR_S, DAY_S = 3600.0, 86400.0
H100, TERM = 1992.0, round(1992.0 * 0.9 * 24 * 30, 2)
"""Of one node in Delhi: an hour, and 30 days."""


def row_of(sandbox: CheckedSandbox, number: int) -> dict[str, Any]:
    bill = sandbox.books()["services"]["e2e"]["bill"]
    assert bill["currency"] == "INR"
    assert bill["total"] == pytest.approx(sum(row["amount"] for row in bill["rows"]))
    return next(row for row in bill["rows"] if row["id"] == str(number))


def amount(sandbox: CheckedSandbox, number: int) -> float:
    return float(row_of(sandbox, number)["amount"])


def test_hours_are_billed_from_creation_until_deletion(sandbox: CheckedSandbox, tir: Caller) -> None:
    number = tir.create()["id"]
    sandbox.advance(HOUR_S)
    assert amount(sandbox, number) == pytest.approx(2 * H100)
    tir.data("DELETE", f"{CLUSTERS}{number}/")
    sandbox.advance(10 * DAY_S)
    assert amount(sandbox, number) == pytest.approx(2 * H100)
    assert row_of(sandbox, number)["is_billing"] is False


def test_hours_may_be_billed_from_running(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.choose({"e2e.billing_start": "running"})
    number = tir.create()["id"]
    sandbox.advance(240)
    assert amount(sandbox, number) == 0
    sandbox.advance(HOUR_S)
    assert amount(sandbox, number) == pytest.approx(2 * H100)


def test_added_nodes_are_billed_from_their_order(sandbox: CheckedSandbox, tir: Caller) -> None:
    path = tir.running()
    number = int(path.split("/")[-2])
    tir.act(path, "scale_cluster", additional_nodes=1)
    before = amount(sandbox, number)
    sandbox.advance(HOUR_S)
    assert amount(sandbox, number) - before == pytest.approx(3 * H100)


def test_whole_term_is_billed_at_creation_and_kept(sandbox: CheckedSandbox, tir: Caller) -> None:
    number = tir.create(no_of_nodes=1, sku_item_price_id=8722)["id"]
    assert amount(sandbox, number) == TERM
    sandbox.advance(DAY_S)
    tir.data("DELETE", f"{CLUSTERS}{number}/")
    sandbox.advance(DAY_S)
    row = row_of(sandbox, number)
    assert (row["amount"], row["is_billing"], row["committed_days"]) == (TERM, True, 30)
    sandbox.advance(28 * DAY_S)
    assert row_of(sandbox, number)["is_billing"] is False


def test_unused_part_of_a_term_may_be_refunded(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.choose({"e2e.committed_deleted": "refunded"})
    number = tir.create(no_of_nodes=1, sku_item_price_id=8722)["id"]
    sandbox.advance(3 * DAY_S)
    assert amount(sandbox, number) == TERM
    tir.data("DELETE", f"{CLUSTERS}{number}/")
    row = row_of(sandbox, number)
    assert (row["amount"], row["is_billing"]) == (pytest.approx(TERM / 10), False)


@pytest.mark.parametrize(("choice", "after_a_day"), [("hourly", TERM + 24 * H100), ("renewed", 2 * TERM)])
def test_end_of_a_term_is_a_choice(sandbox: CheckedSandbox, tir: Caller, choice: str, after_a_day: float) -> None:
    sandbox.choose({"e2e.commitment_end": choice})
    number = tir.create(no_of_nodes=1, sku_item_price_id=8722)["id"]
    sandbox.advance(30 * DAY_S)
    assert amount(sandbox, number) == pytest.approx(TERM)
    sandbox.advance(DAY_S)
    assert amount(sandbox, number) == pytest.approx(after_a_day)
    tir.data("DELETE", f"{CLUSTERS}{number}/")
    sandbox.advance(DAY_S)
    assert amount(sandbox, number) == pytest.approx(after_a_day)


def test_nodes_added_to_a_committed_cluster_are_hourly(sandbox: CheckedSandbox, tir: Caller) -> None:
    path = tir.running(no_of_nodes=1, sku_item_price_id=8722)
    tir.act(path, "scale_cluster", additional_nodes=2)
    sandbox.advance(HOUR_S)
    assert amount(sandbox, int(path.split("/")[-2])) == pytest.approx(TERM + 2 * H100)


def test_a_day_of_hourly_nodes_must_be_affordable(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.setup("e2e", credit=2 * 24 * H100 - 0.01)
    answer = tir.ask("POST", CLUSTERS, json=DELHI)
    assert answer.status_code == 412
    assert answer.json()["message"] == "Insufficient credits: 95616.00 INR needed, 95615.99 INR left"
    sandbox.setup("e2e", credit=2 * 24 * H100)
    path = tir.running()
    sandbox.setup("e2e", credit=24 * H100)
    answer = tir.ask("PUT", path, json={"action": "scale_cluster", "additional_nodes": 1})
    assert answer.status_code == 412
    assert "47808.00 INR needed" in answer.json()["message"]


def test_whole_term_must_be_affordable(sandbox: CheckedSandbox, tir: Caller) -> None:
    body = {**DELHI, "no_of_nodes": 1, "sku_item_price_id": 8722}
    sandbox.setup("e2e", credit=TERM - 1)
    assert tir.ask("POST", CLUSTERS, json=body).status_code == 412
    sandbox.setup("e2e", credit=TERM)
    assert tir.ask("POST", CLUSTERS, json=body).status_code == 201
    assert tir.ask("POST", CLUSTERS, json=body).status_code == 412, "the first one took it all"


def test_volumes_and_addresses_cost_too(sandbox: CheckedSandbox, tir: Caller) -> None:
    sfs = tir.data("POST", "/distributed_jobs/sfs/", json={"name": "a", "disk_size": 100})["id"]
    ip = tir.data("POST", "/reserved_ips/")["id"]
    sandbox.advance(10 * HOUR_S)
    assert amount(sandbox, sfs) == pytest.approx(100 * 0.012 * 10)
    assert amount(sandbox, ip) == pytest.approx(3.5)


def test_vanished_cluster_is_billed_no_longer(sandbox: CheckedSandbox, tir: Caller) -> None:
    number = tir.create()["id"]
    sandbox.advance(HOUR_S)
    sandbox.setup("e2e", vanish=number)
    sandbox.advance(HOUR_S)
    assert amount(sandbox, number) == pytest.approx(2 * H100)

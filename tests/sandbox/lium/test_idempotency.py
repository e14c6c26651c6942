"""Idempotency keys of rents, in every state that the contract names."""

from __future__ import annotations

import httpx
import pytest

from .renter import PUBLIC_KEY, Renter

HOUR = 3600.0


def test_same_key_and_bytes_replay_the_answer(renter: Renter) -> None:
    body = renter.body()
    first, again = renter.order(body, "k"), renter.order(body, "k")
    assert again.content == first.content
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(renter.pods()) == 2


def test_refusals_are_replayed_too(renter: Renter) -> None:
    body = renter.body(gpu_count=4)
    first, again = renter.order(body, "k"), renter.order(body, "k")
    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    node = renter.body()["executor_uuids"][0]
    renter.sandbox.setup("lium", take=[node])
    taken = {**body, "executor_uuids": [node, renter.nodes()[0]["id"]]}
    assert renter.order(taken, "k2").status_code == 400
    renter.sandbox.setup("lium", release=[node])
    assert renter.order(taken, "k2").status_code == 400, "the stored refusal, although the node is free now"


def test_same_key_with_another_body(renter: Renter) -> None:
    renter.order(renter.body(), "k")
    answer = renter.order(renter.body(pod_name="other"), "k")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency_key_reused")


def test_a_day_later_the_key_buys_again(renter: Renter) -> None:
    body = renter.body()
    renter.order(body, "k")
    renter.api.delete(f"/pods/{renter.pods()[0]['id']}")
    renter.api.delete(f"/pods/{renter.pods()[1]['id']}")
    renter.sandbox.advance(24 * HOUR - 1)
    assert renter.order(body, "k").headers["Idempotent-Replayed"] == "true"
    renter.sandbox.advance(1)
    answer = renter.order(body, "k")
    assert "Idempotent-Replayed" not in answer.headers
    assert len(renter.pods()) == 2


def test_lost_answer_can_be_had_again(renter: Renter) -> None:
    renter.sandbox.fault(action="create", kind="drop_after")
    body = renter.body()
    with pytest.raises(httpx.RemoteProtocolError):
        renter.order(body, "k")
    answer = renter.order(body, "k")
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert answer.json()["pod_ids"] == [pod["id"] for pod in renter.pods()]


def test_answer_that_was_never_stored_is_unknown_for_ever(renter: Renter) -> None:
    renter.sandbox.fault(action="create", kind="status_after", status=500)
    body = renter.body()
    assert renter.order(body, "k").status_code == 500
    renter.sandbox.advance(299)
    assert renter.order(body, "k").json()["error"]["code"] == "idempotency_in_progress"
    renter.sandbox.advance(1)
    assert renter.order(body, "k").json()["error"]["code"] == "idempotency_outcome_unknown"
    renter.sandbox.advance(30 * 24 * HOUR)
    renter.sandbox.setup("lium", balance=1000)
    answer = renter.order(body, "k")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "idempotency_outcome_unknown")
    assert len(renter.pods()) == 2


def test_repeat_while_the_first_is_under_way(renter: Renter) -> None:
    renter.sandbox.fault(action="create", kind="commit_late", seconds=40, status=504)
    body = renter.body()
    assert renter.order(body, "k").status_code == 504
    assert renter.order(body, "k").json()["error"]["code"] == "idempotency_in_progress"
    assert renter.pods() == []
    renter.sandbox.advance(40)
    assert renter.order(body, "k").headers["Idempotent-Replayed"] == "true"
    assert len(renter.pods()) == 2


def test_request_that_never_arrived_leaves_the_key_free(renter: Renter) -> None:
    renter.sandbox.fault(action="create", kind="drop_before")
    body = renter.body()
    with pytest.raises(httpx.RemoteProtocolError):
        renter.order(body, "k")
    assert renter.pods() == []
    assert "Idempotent-Replayed" not in renter.order(body, "k").headers


def test_keys_belong_to_one_account(renter: Renter) -> None:
    made = renter.sandbox.setup("lium", account="Bob", key={"name": "bobs"})["key"]
    bob = Renter(renter.sandbox, made["secret"])
    renter.order(renter.body(), "k")
    answer = bob.order(bob.body(), "k")
    assert answer.json()["success"] is True
    assert (len(renter.pods()), len(bob.pods())) == (2, 2)


def test_two_keys_of_one_account_share_rows(renter: Renter) -> None:
    made = renter.sandbox.setup("lium", key={"name": "second"})["key"]
    body = renter.body()
    renter.order(body, "k")
    assert Renter(renter.sandbox, made["secret"]).order(body, "k").headers["Idempotent-Replayed"] == "true"


def test_balance_is_checked_before_the_key(renter: Renter) -> None:
    body = renter.body()
    renter.order(body, "k")
    renter.sandbox.setup("lium", balance=0.5)
    answer = renter.order(body, "k")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "insufficient_balance")


@pytest.mark.parametrize(
    ("choice", "advertised", "pods"), [("advertised", True, 2), ("silent", False, 2), ("absent", False, 4)]
)
def test_open_point_idempotency(renter: Renter, choice: str, advertised: bool, pods: int) -> None:
    renter.sandbox.choose({"lium.idempotency": choice})
    assert ("rent_idempotency" in renter.api.get("/version").json()["features"]) is advertised
    ids = [node["id"] for node in renter.nodes()]
    body = renter.body()
    renter.order(body, "k")
    again = body if choice != "absent" else {**body, "executor_uuids": ids[2:]}
    renter.order(again, "k")
    assert len(renter.pods()) == pods


def test_failed_dry_run_under_a_key_blocks_the_key(renter: Renter) -> None:
    wish = {"pod_name": "a", "user_public_key": [PUBLIC_KEY], "gpu_type": "none such", "dry_run": True}
    for code in ("no_matching_node", "idempotency_in_progress"):
        answer = renter.api.post("/executors/rent-by-spec", json=wish, headers={"Idempotency-Key": "k"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, code)
    renter.sandbox.advance(48 * HOUR)
    answer = renter.api.post("/executors/rent-by-spec", json=wish, headers={"Idempotency-Key": "k"})
    assert answer.json()["error"]["code"] == "idempotency_outcome_unknown"


def test_empty_key_is_refused(renter: Renter) -> None:
    body = renter.body()
    with renter.sandbox.contract.bad_requests():
        assert renter.order(body, "").status_code == 422


def test_books_tell_orders_from_repeats(renter: Renter) -> None:
    body = renter.body()
    renter.order(body, "k")
    renter.order(body, "k")
    first, again = renter.books()["entries"]
    assert (len(first["made"]), first["note"]["idempotency_key"]) == (2, "k")
    assert (again["made"], again["note"]["repeats_seq"]) == ([], first["seq"])
    assert first["body_sha256"] == again["body_sha256"]

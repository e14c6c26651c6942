"""POST /executors/cluster/rent: all or nothing, every refusal, the pods that come of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import MakeSandbox

from .renter import Renter


def test_offers_show_free_nodes_of_every_fabric(renter: Renter) -> None:
    infiniband, roce, full = renter.api.get("/executors/infiniband-clusters").json()
    assert (infiniband["fabric_type"], infiniband["node_count"], len(infiniband["nodes"])) == ("infiniband", 4, 4)
    assert (roce["fabric_type"], roce["fabric_measured"]) == ("roce", False)
    assert (full["node_count"], full["nodes"]) == (2, [])
    assert "fabric_type" not in full
    renter.rent(count=3)
    assert len(renter.nodes()) == 1


def test_members_share_name_and_cluster_in_the_order_asked(renter: Renter) -> None:
    body = renter.body(3)
    body["executor_uuids"].reverse()
    answer = renter.order(body)
    assert answer.status_code == 200
    assert answer.json().keys() == {"success", "pod_ids"}
    pods = renter.pods()
    assert [pod["id"] for pod in pods] == answer.json()["pod_ids"]
    assert [pod["executor_id"] for pod in pods] == body["executor_uuids"]
    assert [pod["cluster_overlay_ip"] for pod in pods] == ["10.42.0.1", "10.42.0.2", "10.42.0.3"]
    assert {pod["pod_name"] for pod in pods} == {"run"}
    assert len({pod["cluster_id"] for pod in pods}) == 1
    assert {pod["gpu_count"] for pod in pods} == {"8"}


def test_every_field_of_the_contract_is_taken(renter: Renter) -> None:
    answer = renter.order(
        renter.body(
            template_id=None,
            gpu_count=8,
            volume_id=None,
            backup_log_id=None,
            restore_path=None,
            skip_add_agent_ssh_key=True,
            termination_hours=720,
            initial_port_count=4,
            enable_jupyter=True,
            enable_volume_encryption=True,
            enable_backups=False,
            dockerfile_content=None,
            ncu_profiling=True,
        ),
        "key-1",
        **{"X-Customer-Ref": "team-7"},
    )
    assert answer.json()["success"] is True
    renter.sandbox.advance(60)
    pod = renter.pods()[0]
    assert pod["termination_hours"] == 720
    assert pod["jupyter_installation_status"] == "SUCCESS"
    assert pod["volume_encryption_status"] == "ENCRYPTED"
    assert len(pod["ports_mapping"]) == 5
    assert {alive["customer_ref"] for alive in renter.books()["alive"]} == {"team-7"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pod_name": None}, "pod_name"),
        ({"pod_name": ""}, "pod_name"),
        ({"executor_uuids": ["one"]}, "executor_uuids"),
        ({"executor_uuids": ["one", "one"]}, ""),
        ({"executor_uuids": "one,two"}, "executor_uuids"),
        ({"user_public_key": []}, "user_public_key"),
        ({"user_public_key": "ssh-ed25519 AAAA"}, "user_public_key"),
        ({"template_id": "newest"}, "template_id"),
        ({"termination_hours": 0}, "termination_hours"),
        ({"termination_hours": 721}, "termination_hours"),
        ({"termination_hours": "6"}, "termination_hours"),
        ({"initial_port_count": -1}, "initial_port_count"),
        ({"enable_backups": None}, "enable_backups"),
        ({"ncu_profiling": None}, "ncu_profiling"),
        ({"enable_backups": "yes"}, "enable_backups"),
        ({"gpu_count": 0}, "gpu_count"),
        ({"gpus": 8}, "gpus"),
    ],
    ids=str,
)
def test_bad_body_is_refused_and_named(renter: Renter, change: dict[str, Any], field: str) -> None:
    body = {**renter.body(), **change}
    with renter.sandbox.contract.bad_requests():
        answer = renter.order({name: value for name, value in body.items() if value is not None or name in change})
    assert answer.status_code == 422
    assert [row["field"].partition(".")[0] for row in answer.json()["validation_errors"]] == [field]
    assert renter.books()["alive"] == []


def test_all_problems_come_at_once(renter: Renter) -> None:
    with renter.sandbox.contract.bad_requests():
        answer = renter.order({"termination_hours": 0})
    fields = {row["field"] for row in answer.json()["validation_errors"]}
    assert fields == {"pod_name", "executor_uuids", "user_public_key", "termination_hours"}


def test_restore_needs_both_halves(renter: Renter) -> None:
    answer = renter.order(renter.body(restore_path="/root/old"))
    assert (answer.status_code, "go together" in answer.text) == (422, True)


def test_body_that_is_no_json(renter: Renter) -> None:
    with renter.sandbox.contract.bad_requests():
        headers = {"Content-Type": "application/json"}
        answer = renter.api.post("/executors/cluster/rent", content=b'{"pod_name":', headers=headers)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"gpu_count": 4}, "whole nodes"),
        ({"dockerfile_content": "FROM scratch"}, "cluster image"),
        ({"volume_id": "some"}, "volume"),
    ],
    ids=str,
)
def test_refusal_in_band_rents_nothing(renter: Renter, change: dict[str, Any], text: str) -> None:
    answer = renter.order(renter.body(**change))
    assert (answer.status_code, answer.json()["success"]) == (200, False)
    assert text in answer.json()["message"]
    assert renter.books()["alive"] == []


def test_wrong_image_is_refused(renter: Renter) -> None:
    templates = renter.api.get("/templates").json()
    other = next(row["id"] for row in templates if row["docker_image"] != "daturaai/lium-cluster")
    answer = renter.order(renter.body(template_id=other))
    assert (answer.status_code, answer.json()["success"]) == (200, False)


def test_newest_cluster_image_without_a_template(renter: Renter) -> None:
    renter.rent()
    assert renter.pods()[0]["template"]["docker_image_tag"] == "0.0.7"


def test_mixed_fabrics_are_refused(renter: Renter) -> None:
    body = renter.body()
    body["executor_uuids"] = [renter.nodes(0)[0]["id"], renter.nodes(1)[0]["id"]]
    answer = renter.order(body)
    assert (answer.status_code, answer.json()["success"]) == (200, False)
    assert "one fabric" in answer.json()["message"]


def test_one_taken_node_refuses_the_whole_order(renter: Renter) -> None:
    body = renter.body(3)
    renter.sandbox.setup("lium", take=[body["executor_uuids"][2]])
    answer = renter.order(body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "node_unavailable")
    assert renter.pods() == []


def test_node_with_a_pending_rent_is_not_available(renter: Renter) -> None:
    body = renter.body()
    renter.order(body)
    assert renter.order({**body, "pod_name": "second"}).json()["error"]["code"] == "node_unavailable"


def test_broken_pod_blocks_its_node_and_is_named(renter: Renter) -> None:
    body = renter.body()
    first = renter.order(body).json()["pod_ids"][0]
    renter.sandbox.setup("lium", fate={"pod": first, "status": "BROKEN", "after_s": 0})
    answer = renter.order({**body, "pod_name": "again"})
    assert answer.status_code == 400
    assert first in answer.json()["message"]


@pytest.mark.parametrize(
    ("setup", "status", "code"),
    [
        ({"balance": 1.0}, 403, "insufficient_balance"),
        ({"verified": False}, 403, "account_not_verified"),
        ({"paused": True}, 409, "rentals_paused"),
    ],
    ids=str,
)
def test_account_and_market_refusals(renter: Renter, setup: dict[str, Any], status: int, code: str) -> None:
    renter.sandbox.setup("lium", **setup)
    answer = renter.order(renter.body())
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert renter.books()["alive"] == []


def test_balance_refusal_counts_what_already_runs_and_says_the_amounts(renter: Renter) -> None:
    renter.rent()
    renter.sandbox.setup("lium", balance=10.0)
    text = renter.order({**renter.body(), "pod_name": "second"}).json()["message"]
    assert "requires at least $16.92 (15 minutes of runtime)" in text
    assert "Your balance is $10.00" in text


def test_budget_of_the_key_refuses_with_its_numbers(renter: Renter) -> None:
    made = renter.sandbox.setup("lium", key={"name": "small", "budget_usd": 1.0, "window": "daily"})["key"]
    small = Renter(renter.sandbox, made["secret"])
    small.rent_running()
    renter.sandbox.advance(600)
    answer = small.order({**renter.body(), "pod_name": "more"})
    assert answer.status_code == 402
    details = answer.json()["message"]
    assert (details["window"], details["budget_usd"], details["api_key_id"]) == ("daily", 1.0, made["id"])
    assert details["spent_usd"] > 1.0
    assert {pod["status"] for pod in small.pods()} == {"DELETING"}, "the billing run removes the pods of the key"


def test_more_ports_than_the_node_has(renter: Renter) -> None:
    answer = renter.order(renter.body(initial_port_count=21))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_ports")
    assert renter.pods() == []


@pytest.mark.parametrize("name", ["http://10.0.0.1/x", "a/../../b", "x" * 66_000], ids=["url", "dots", "long"])
def test_edge_firewall_is_html_and_no_permission_problem(renter: Renter, name: str) -> None:
    answer = renter.order(renter.body(pod_name=name))
    assert (answer.status_code, answer.headers["Content-Type"]) == (403, "text/html")


def test_pods_become_ready_and_then_reachable(renter: Renter) -> None:
    renter.sandbox.choose({"lium.start_seconds": "20"})
    renter.rent()
    first = renter.pods()[0]
    assert (first["status"], first["phase"], first["ssh_connect_cmd"]) == ("PENDING", "queued", None)
    renter.sandbox.advance(19)
    assert (renter.pods()[0]["phase"], renter.pods()[0]["estimated_ready_seconds"]) == ("configuring ssh", 1)
    renter.sandbox.advance(1)
    assert (renter.pods()[0]["status"], renter.pods()[0]["ssh_connect_cmd"]) == ("RUNNING", None)
    renter.sandbox.advance(2)
    up = renter.pods()[0]
    host, port = up["ssh_connect_cmd"].removeprefix("ssh root@").split(" -p ")
    assert host.startswith("203.0.113.")
    assert up["ports_mapping"]["22"] == int(port)


def test_real_ssh_servers_are_handed_out_in_turn(make_sandbox: MakeSandbox) -> None:
    renter = Renter(make_sandbox(choices={"nodes.addresses": "ada@127.0.0.1:2201, 127.0.0.1:2202"}))
    renter.rent_running(3)
    assert [pod["ssh_connect_cmd"] for pod in renter.pods()] == [
        "ssh ada@127.0.0.1 -p 2201",
        "ssh root@127.0.0.1 -p 2202",
        "ssh ada@127.0.0.1 -p 2201",
    ]


@pytest.mark.parametrize("status", ["CREATION_FAILED", "FAILED", "BROKEN"])
def test_one_member_fails_and_the_others_go_on_billing(renter: Renter, status: str) -> None:
    renter.sandbox.setup("lium", fate={"index": 1, "status": status, "after_s": 5})
    pods = renter.rent_running()
    assert [pod["status"] for pod in renter.pods()] == ["RUNNING", status]
    billing = {alive["id"]: alive["billing"] for alive in renter.books()["alive"]}
    assert billing == {pods[0]: True, pods[1]: False}
    renter.sandbox.advance(300)
    left = [pod["id"] for pod in renter.pods()]
    assert left == (pods[:1] if status == "CREATION_FAILED" else pods), (
        "only the row of a failed creation goes by itself"
    )


@pytest.mark.parametrize(
    ("key", "value", "names"),
    [("lium.pod_name", "lower", {"my-run"}), ("lium.pod_name", "kept", {"My-Run"})],
)
def test_open_point_names(renter: Renter, key: str, value: str, names: set[str]) -> None:
    renter.sandbox.choose({key: value})
    renter.rent(pod_name="My-Run")
    assert {pod["pod_name"] for pod in renter.pods()} == names


def test_open_point_suffixed_name_is_the_same_for_all_members(renter: Renter) -> None:
    renter.sandbox.choose({"lium.pod_name": "suffixed"})
    renter.rent()
    (name,) = {pod["pod_name"] for pod in renter.pods()}
    assert name.startswith("run-")
    assert len(name) == len("run-12345")


def test_open_point_unique_names(renter: Renter) -> None:
    renter.sandbox.choose({"lium.names": "unique"})
    renter.rent()
    assert renter.order(renter.body()).json()["error"]["code"] == "name_in_use"


def test_open_point_end_time_ignored(renter: Renter) -> None:
    renter.sandbox.choose({"lium.termination_hours": "ignored"})
    renter.rent(termination_hours=6)
    assert [(pod["termination_hours"], pod["removal_scheduled_at"]) for pod in renter.pods()] == [(None, None)] * 2


def test_end_time_in_the_body_is_honoured(renter: Renter) -> None:
    renter.rent(termination_hours=6)
    assert renter.pods()[0]["removal_scheduled_at"] == "2026-11-30T06:53:20"
    renter.sandbox.advance(6 * 3600 - 1)
    assert {pod["status"] for pod in renter.pods()} == {"RUNNING"}
    renter.sandbox.advance(1)
    assert {pod["status"] for pod in renter.pods()} == {"DELETING"}
    renter.sandbox.advance(10)
    assert renter.pods() == []
    record = renter.api.get(f"/pods/{renter.books()['entries'][0]['made'][0]}/record").json()
    assert (record["close_reason"], record["billed_seconds"]) == ("scheduled_termination", 6 * 3600)


def test_open_point_ranks_and_order_of_listings(renter: Renter) -> None:
    renter.sandbox.choose({"lium.rank_order": "shuffled", "lium.listing_order": "newest"})
    asked = renter.body(4)["executor_uuids"]
    renter.rent(4)
    pods = renter.pods()
    assert [pod["cluster_node_index"] for pod in pods] == [3, 2, 1, 0]
    assert [pod["executor_id"] for pod in reversed(pods)] != asked


def test_open_point_cluster_id_in_the_answer(renter: Renter) -> None:
    renter.sandbox.choose({"lium.cluster_answer": "with_cluster_id"})
    answer = renter.order(renter.body()).json()
    assert answer["cluster_id"] == renter.pods()[0]["cluster_id"]


@pytest.mark.parametrize(
    ("style", "text"),
    [("naive", "2026-11-30T00:53:20"), ("z", "2026-11-30T00:53:20Z"), ("offset", "2026-11-30T00:53:20+00:00")],
)
def test_open_point_timestamps(renter: Renter, style: str, text: str) -> None:
    renter.sandbox.choose({"lium.timestamps": style})
    renter.rent()
    assert renter.pods()[0]["created_at"] == text

"""The nine actions: what each needs, does, and answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.e2e.caller import CLUSTERS, Caller


@pytest.fixture
def path(tir: Caller) -> str:
    return tir.running()


def alive(sandbox: CheckedSandbox) -> dict[str, Any]:
    rows: list[dict[str, Any]] = sandbox.books()["services"]["e2e"]["alive"]
    return next(row for row in rows if row["kind"] == "cluster")


def free_ip(tir: Caller) -> int:
    rows = tir.data("GET", "/reserved_ips/")["reserved_ips"]
    return next(int(row["id"]) for row in rows if row["status"] == "Available")


def test_ssh_keys_are_replaced(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    cluster = tir.act(path, "update_ssh_keys", ssh_key_ids=[7302])
    assert [key["pk"] for key in cluster["ssh_keys"]] == [7302]
    assert (cluster["status"], alive(sandbox)["ssh_key_ids"]) == ("Running", [7302])
    assert cluster["clone_data"]["ssh_key_ids"] == [7301], "the echo of the order stays"


def test_image_is_changed(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    cluster = tir.act(path, "update_image", image_version_id=58)
    assert (cluster["image_version"]["id"], cluster["status"]) == (58, "Updating")
    sandbox.advance(90)
    assert tir.data("GET", path)["status"] == "Running"


@pytest.mark.parametrize("action", ["restart_workers", "restart_cluster"])
def test_restarts_take_a_while(sandbox: CheckedSandbox, tir: Caller, path: str, action: str) -> None:
    assert tir.act(path, action)["status"] == "Restarting"
    assert tir.ask("PUT", path, json={"action": action}).status_code == 412
    sandbox.advance(90)
    assert tir.act(path, action)["no_of_nodes"] == 2


def test_scaling_adds_nodes(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    cluster = tir.act(path, "scale_cluster", additional_nodes=3)
    assert (cluster["status"], cluster["no_of_nodes"], cluster["total_gpu"]) == ("Scaling", 5, 16)
    assert cluster["sku_details"]["specs"]["no_of_nodes"] == 5
    assert cluster["clone_data"]["no_of_nodes"] == 2
    sandbox.advance(90)
    cluster = tir.data("GET", path)
    assert (cluster["status"], cluster["total_gpu"]) == ("Running", 40)
    assert alive(sandbox)["nodes"] == 5


def test_scaling_needs_free_nodes(tir: Caller, path: str) -> None:
    answer = tir.ask("PUT", path, json={"action": "scale_cluster", "additional_nodes": 15})
    assert (answer.status_code, answer.json()["message"]) == (
        412,
        "Only 14 nodes of SX.8xH100-224.1800GB are available, 15 were asked for",
    )


def test_work_may_go_on_without_a_word(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    sandbox.choose({"e2e.action_words": "silent"})
    cluster = tir.act(path, "scale_cluster", additional_nodes=1)
    assert (cluster["status"], cluster["no_of_nodes"], cluster["total_gpu"]) == ("Running", 3, 16)
    sandbox.advance(90)
    assert tir.data("GET", path)["total_gpu"] == 24


def test_reserved_ip_is_attached_and_detached(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    number = free_ip(tir)
    row = tir.act(path, "attach_ip", reserved_ip_id=number)
    assert (row["id"], row["status"], row["service_id"]) == (number, "Unavailable", int(path.split("/")[-2]))
    assert tir.data("GET", path)["reserve_ip"] == [{"id": number, "ip_address": row["ip_address"]}]
    again = tir.ask("PUT", path, json={"action": "attach_ip", "reserved_ip_id": number})
    assert list(again.json()["errors"]) == ["reserved_ip_id"]
    assert tir.act(path, "detach_ip", reserved_ip_id=number, ip_type="reserved") == {}
    assert free_ip(tir) == number
    assert tir.data("GET", path)["reserve_ip"] == []


def test_reserved_ip_is_free_after_the_cluster_and_still_paid(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    number = free_ip(tir)
    tir.act(path, "attach_ip", reserved_ip_id=number)
    tir.data("DELETE", path)
    assert free_ip(tir) == number
    rows = sandbox.books()["services"]["e2e"]["alive"]
    assert str(number) in {row["id"] for row in rows if row["kind"] == "reserved_ip"}


def test_security_groups_are_added_and_removed(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    other = tir.data("GET", "/security_groups/")[1]["id"]
    assert isinstance(tir.act(path, "add_security_group", security_groups_ids=[other, 5501]), str)
    assert alive(sandbox)["security_group_ids"] == [5501, other]
    assert tir.ask("DELETE", f"/security_groups/{other}/rules/").status_code == 412, "it is in use"
    assert isinstance(tir.act(path, "remove_security_group", security_group_id=5501), str)
    assert alive(sandbox)["security_group_ids"] == [other]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "action"),
        ({"action": "stop"}, "action"),
        ({"action": None}, "action"),
        ({"action": ["scale_cluster"]}, "action"),
        ({"action": "restart_cluster", "force": True}, "force"),
        ({"action": "scale_cluster"}, "additional_nodes"),
        ({"action": "scale_cluster", "additional_nodes": 0}, "additional_nodes"),
        ({"action": "scale_cluster", "additional_nodes": -1}, "additional_nodes"),
        ({"action": "scale_cluster", "additional_nodes": "2"}, "additional_nodes"),
        ({"action": "scale_cluster", "no_of_nodes": 2, "additional_nodes": 1}, "no_of_nodes"),
        ({"action": "update_ssh_keys"}, "ssh_key_ids"),
        ({"action": "update_ssh_keys", "ssh_key_ids": 7301}, "ssh_key_ids"),
        ({"action": "update_image", "image_version_id": "58"}, "image_version_id"),
        ({"action": "attach_ip", "ip": "198.51.100.1"}, "reserved_ip_id"),
        ({"action": "detach_ip", "reserved_ip_id": 9012}, "ip_type"),
        ({"action": "add_security_group", "security_group_id": 5501}, "security_groups_ids"),
        ({"action": "add_security_group", "security_groups_ids": 5501}, "security_groups_ids"),
        ({"action": "remove_security_group", "security_groups_ids": [5501]}, "security_group_id"),
    ],
    ids=str,
)
def test_bodies_that_break_the_contract_are_refused(tir: Caller, path: str, body: dict[str, Any], field: str) -> None:
    answer = tir.bad("PUT", path, json=body)
    assert answer.status_code == 400
    assert field in answer.json()["errors"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "update_ssh_keys", "ssh_key_ids": [7304]}, "ssh_key_ids"),
        ({"action": "update_ssh_keys", "ssh_key_ids": []}, "ssh_key_ids"),
        ({"action": "update_image", "image_version_id": 67}, "image_version_id"),
        ({"action": "attach_ip", "reserved_ip_id": 1}, "reserved_ip_id"),
        ({"action": "detach_ip", "reserved_ip_id": 9012, "ip_type": "reserved"}, "reserved_ip_id"),
        ({"action": "detach_ip", "reserved_ip_id": 9012, "ip_type": "floating"}, "ip_type"),
        ({"action": "add_security_group", "security_groups_ids": [1]}, "security_groups_ids"),
        ({"action": "remove_security_group", "security_group_id": 5502}, "security_group_id"),
    ],
    ids=str,
)
def test_ids_must_be_known_here(tir: Caller, path: str, body: dict[str, Any], field: str) -> None:
    answer = tir.ask("PUT", path, json=body)
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == [field]


@pytest.mark.parametrize(
    ("choice", "status", "body"),
    [
        (
            "412",
            412,
            {
                "code": 412,
                "data": {},
                "errors": {"detail": ["The cluster is Creating; this needs a running one"]},
                "message": "The cluster is Creating; this needs a running one",
            },
        ),
        (
            "400",
            400,
            {
                "code": 400,
                "errors": {"action": ["The cluster is Creating; this needs a running one"]},
                "message": "Invalid request",
            },
        ),
        (
            "200",
            200,
            {
                "code": 412,
                "data": {},
                "errors": {"detail": ["The cluster is Creating; this needs a running one"]},
                "message": "The cluster is Creating; this needs a running one",
            },
        ),
    ],
)
def test_actions_need_a_running_cluster(
    sandbox: CheckedSandbox, tir: Caller, choice: str, status: int, body: dict[str, Any]
) -> None:
    sandbox.choose({"e2e.not_running": choice})
    path = f"{CLUSTERS}{tir.create()['id']}/"
    answer = tir.ask("PUT", path, json={"action": "scale_cluster", "additional_nodes": 1})
    assert (answer.status_code, answer.json()) == (status, body)
    assert tir.data("GET", path)["no_of_nodes"] == 2


def test_actions_are_in_the_books(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    tir.act(path, "scale_cluster", additional_nodes=1)
    entry = sandbox.books()["services"]["e2e"]["entries"][-1]
    assert (entry["action"], entry["status"]) == ("change", 200)
    assert entry["note"] == {"cluster": path.split("/")[-2], "action": "scale_cluster", "additional_nodes": 1}


def test_lost_answer_to_scaling_leaves_the_nodes(sandbox: CheckedSandbox, tir: Caller, path: str) -> None:
    sandbox.fault(action="change", kind="status_after", status=500)
    assert tir.ask("PUT", path, json={"action": "scale_cluster", "additional_nodes": 1}).status_code == 500
    assert tir.data("GET", path)["no_of_nodes"] == 3

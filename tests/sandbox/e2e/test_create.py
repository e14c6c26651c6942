"""A create is refused for everything that the contract does not allow, and answers as the contract says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.e2e.caller import CLUSTERS, DELHI, Caller

CHENNAI = {
    **DELHI,
    "image_version_id": 67,
    "ssh_key_ids": [7304],
    "sku_id": 462,
    "sku_item_price_id": 8821,
}


def books(sandbox: CheckedSandbox) -> list[dict[str, Any]]:
    entries = sandbox.books()["services"]["e2e"]["entries"]
    return [entry for entry in entries if entry["action"] == "create"]


def test_new_cluster_is_creating_with_nothing_up(sandbox: CheckedSandbox, tir: Caller) -> None:
    answer = tir.ask("POST", CLUSTERS, json=DELHI)
    assert answer.status_code == 201
    body = answer.json()
    assert (body["code"], body["errors"], body["message"]) == (201, {}, "Cluster created successfully")
    cluster = body["data"]
    assert (cluster["status"], cluster["no_of_nodes"], cluster["ssh_public_ip"]) == ("Creating", 2, "")
    assert (cluster["total_gpu"], cluster["total_cpu"], cluster["total_memory"]) == (0, 0, "0 GB")
    assert (cluster["available_gpu"], cluster["available_cpu"], cluster["available_memory"]) == (0, 0, "0 GB")
    assert (cluster["worker_nodes"], cluster["reserve_ip"], cluster["private_cloud_id"]) == ([], [], None)
    assert cluster["created_at"] == "2026-11-30T00:53:20Z"
    assert [key["pk"] for key in cluster["ssh_keys"]] == [7301]
    assert "timestamp" not in cluster["ssh_keys"][0]
    plan = cluster["sku_details"]["plan"]
    assert (plan["sku_type"], plan["committed_days"], plan["location"]) == ("hourly", 0, "Delhi")
    assert cluster["sku_details"]["specs"]["no_of_nodes"] == 2
    assert cluster["clone_data"] == {
        **DELHI,
        "script_added": False,
        "lifecycle_script": "",
        "sfs_mount_list": [],
        "pfs_mount_list": [],
        "dataset_mount_list": [],
        "project_id": 31007,
    }


def test_every_field_of_the_body_comes_back(tir: Caller) -> None:
    volumes = {path: tir.data("GET", path)[0] for path in ("/distributed_jobs/sfs/", "/pfs/", "/datasets/")}
    names = ("sfs_mount_list", "pfs_mount_list", "dataset_mount_list")
    mounts = {
        name: [{"id": row["id"], "name": row["name"], "mount_path": f"/mnt/{name}"}]
        for name, row in zip(names, volumes.values(), strict=True)
    }
    script = "#!/bin/bash\nset -eu\n"
    cluster = tir.create(ssh_key_ids=[7301, 7302], script_added=True, lifecycle_script=script, **mounts)
    clone = cluster["clone_data"]
    assert {name: clone[name] for name in names} == mounts
    assert (clone["script_added"], clone["lifecycle_script"]) == (True, script)
    assert [key["pk"] for key in cluster["ssh_keys"]] == [7301, 7302]


@pytest.mark.parametrize("field", list(DELHI))
def test_required_fields_are_required(tir: Caller, field: str) -> None:
    with tir.sandbox.contract.bad_requests():
        assert list(tir.refused({name: value for name, value in DELHI.items() if name != field})) == [field]


@pytest.mark.parametrize(
    "wrong",
    [
        {"sku_id": "412"},
        {"sku_id": 412.5},
        {"sku_id": True},
        {"sku_id": None},
        {"no_of_nodes": 0},
        {"no_of_nodes": -1},
        {"no_of_nodes": "2"},
        {"ssh_key_ids": 7301},
        {"ssh_key_ids": ["7301"]},
        {"ssh_key_ids": None},
        {"security_group_id": [5501]},
        {"name": ""},
        {"name": 7},
        {"script_added": "yes"},
        {"script_added": None},
        {"lifecycle_script": None},
        {"sfs_mount_list": None},
        {"sfs_mount_list": [{"id": 641, "name": "shared-scratch"}]},
        {"sfs_mount_list": [{"id": "641", "name": "shared-scratch", "mount_path": "/mnt/a"}]},
        {"pfs_mount_list": [{"id": None}]},
        {"committed_instance_policy": "auto_renew"},
        {"tags": []},
        {"location": "Delhi"},
    ],
    ids=str,
)
def test_wrong_types_and_unknown_keys_are_refused(tir: Caller, wrong: dict[str, Any]) -> None:
    with tir.sandbox.contract.bad_requests():
        assert list(tir.refused({**DELHI, **wrong})) == list(wrong)


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ({"ssh_key_ids": []}, ["ssh_key_ids"]),
        ({"ssh_key_ids": [7301, 9]}, ["ssh_key_ids"]),
        ({"image_version_id": 7}, ["image_version_id"]),
        ({"security_group_id": 1}, ["security_group_id"]),
        ({"sku_id": 1}, ["sku_item_price_id", "sku_id"]),
        ({"sku_item_price_id": 1}, ["sku_item_price_id"]),
        ({"sku_item_price_id": 8711}, ["sku_item_price_id"]),
        ({"sku_item_price_id": 8724}, ["sku_item_price_id"]),
        ({"script_added": True}, ["script_added"]),
        ({"lifecycle_script": "#!/bin/sh\n"}, ["script_added"]),
        ({"name": "Ocean"}, ["name"]),
        ({"name": "a" * 51}, ["name"]),
        ({"sfs_mount_list": [{"id": 641, "name": "x", "mount_path": "/mnt/a"}]}, ["sfs_mount_list"]),
        ({"sfs_mount_list": [{"id": 641, "name": "shared-scratch", "mount_path": "a"}]}, ["sfs_mount_list"]),
        ({"sfs_mount_list": [{"id": 1, "name": "x", "mount_path": "/mnt/a"}]}, ["sfs_mount_list"]),
        ({"sfs_mount_list": [{"id": 641, "name": "shared-scratch", "mount_path": "/a"}] * 2}, ["sfs_mount_list"]),
        ({"pfs_mount_list": [{}]}, ["pfs_mount_list"]),
        ({"dataset_mount_list": [{"id": 331, "name": "tiles"}]}, ["dataset_mount_list"]),
    ],
    ids=str,
)
def test_what_is_not_there_or_does_not_agree_is_refused(
    sandbox: CheckedSandbox, tir: Caller, wrong: dict[str, Any], fields: list[str]
) -> None:
    assert list(tir.refused({**DELHI, **wrong})) == fields
    assert sandbox.books()["services"]["e2e"]["bill"]["total"] == 0
    assert books(sandbox)[0]["made"] == []


def test_all_wrong_fields_are_named_at_once(tir: Caller) -> None:
    with tir.sandbox.contract.bad_requests():
        assert set(tir.refused({"name": 1, "extra": 2})) == {*DELHI, "extra"}
    assert set(tir.refused({**DELHI, "sku_item_price_id": 1, "ssh_key_ids": [1], "name": "X"})) == {
        "sku_item_price_id",
        "ssh_key_ids",
        "name",
    }


@pytest.mark.parametrize("field", ["image_version_id", "ssh_key_ids", "security_group_id", "sku_id"])
def test_ids_of_one_location_fail_in_the_other(tir: Caller, field: str) -> None:
    group = tir.data("GET", "/security_groups/", location="Chennai")[0]["id"]
    good = {**CHENNAI, "security_group_id": group}
    assert tir.ask("POST", CLUSTERS, json=good, location="Chennai").status_code == 201
    answer = tir.ask("POST", CLUSTERS, json={**good, field: DELHI[field]}, location="Chennai")
    assert answer.status_code == 400
    assert field in answer.json()["errors"]


def test_security_group_of_another_project_is_unknown(tir: Caller) -> None:
    group = tir.data("GET", "/security_groups/", project_id=31008)[0]["id"]
    assert list(tir.refused({**DELHI, "security_group_id": group})) == ["security_group_id"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"text"'])
def test_what_is_no_object_is_refused(tir: Caller, content: bytes) -> None:
    answer = tir.bad("POST", CLUSTERS, content=content, content_type="application/json")
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == ["non_field_errors"]


def test_body_must_be_declared_as_json(tir: Caller) -> None:
    answer = tir.bad("POST", CLUSTERS, content=b"name=x", content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 415
    assert list(answer.json()) == ["detail"]


@pytest.mark.parametrize(
    ("rule", "name", "allowed"),
    [
        ("safe", "training-cluster-010125103045", True),
        ("safe", "my_cluster", False),
        ("free", "Mein Cluster ü/'", True),
        ("console", "training-cluster-010125103045", True),
        ("console", "ocean-twin-01", False),
    ],
)
def test_name_rule_is_a_choice(sandbox: CheckedSandbox, tir: Caller, rule: str, name: str, allowed: bool) -> None:
    sandbox.choose({"e2e.name_rule": rule})
    assert tir.ask("POST", CLUSTERS, json={**DELHI, "name": name}).status_code == (201 if allowed else 400)


@pytest.mark.parametrize(("rule", "status"), [("free", 201), ("400", 400), ("409", 409)])
def test_second_use_of_a_name_is_a_choice(sandbox: CheckedSandbox, tir: Caller, rule: str, status: int) -> None:
    sandbox.choose({"e2e.names": rule, "e2e.teardown_seconds": "0"})
    first = tir.create()
    assert tir.ask("POST", CLUSTERS, json=DELHI).status_code == status
    assert tir.ask("POST", CLUSTERS, json=DELHI, project_id=31008).status_code == 400, "another project's group"
    tir.data("DELETE", f"{CLUSTERS}{first['id']}/")
    assert tir.ask("POST", CLUSTERS, json=DELHI).status_code == 201, "the name is free again"


@pytest.mark.parametrize(
    ("choice", "name"),
    [("kept", "ocean-twin-01-m8f2k1-order7"), ("cut", "ocean-twin-01-m8f2k1-ord")],
)
def test_service_may_change_names(sandbox: CheckedSandbox, tir: Caller, choice: str, name: str) -> None:
    sandbox.choose({"e2e.name_kept": choice})
    cluster = tir.create(name="ocean-twin-01-m8f2k1-order7")
    assert cluster["name"] == name
    assert cluster["clone_data"]["name"] == "ocean-twin-01-m8f2k1-order7"


def test_suffixed_name_begins_as_it_was_sent(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.choose({"e2e.name_kept": "suffixed"})
    name = tir.create()["name"]
    assert name.startswith("ocean-twin-01-")
    assert len(name) == len("ocean-twin-01-") + 4


def test_open_points_about_the_body_are_choices(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.choose({"e2e.script_added": "free", "e2e.mounts": "loose"})
    cluster = tir.create(script_added=True, pfs_mount_list=[{}], dataset_mount_list=[{"mount_path": "/data"}])
    assert cluster["clone_data"]["pfs_mount_list"] == [{}]
    assert cluster["clone_data"]["dataset_mount_list"] == [{"mount_path": "/data"}]
    with sandbox.contract.bad_requests():
        assert list(tir.refused({**DELHI, "pfs_mount_list": [{"size": 1}]})) == ["pfs_mount_list"]


def test_quota_and_stock_are_refused_with_their_amounts(sandbox: CheckedSandbox, tir: Caller) -> None:
    answer = tir.ask("POST", CLUSTERS, json={**DELHI, "no_of_nodes": 17})
    assert answer.status_code == 412
    assert answer.json()["message"] == "Only 16 nodes of SX.8xH100-224.1800GB are available, 17 were asked for"
    sandbox.choose({"e2e.max_clusters": "1"})
    tir.create()
    answer = tir.ask("POST", CLUSTERS, json=DELHI)
    assert answer.status_code == 429
    assert answer.json() == {
        "status_code": 429,
        "errors": "Quota exceeded: this project may hold 1 clusters here and holds 1",
    }
    assert "Retry-After" not in answer.headers


def test_vendor_example_can_be_ordered(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.choose({"e2e.mounts": "loose"})
    where = {"project_id": 31007, "location": "Delhi"}
    sandbox.setup("e2e", sku={"location": "Delhi", "id": 1, "price_id": 1, "unit_price": 12.5})
    sandbox.setup("e2e", image={"location": "Delhi", "id": 1}, ssh_key={"location": "Delhi", "pk": 1})
    sandbox.setup("e2e", security_group={**where, "id": 1}, sfs={**where, "name": "example", "id": 1})
    mount = {"id": 1, "name": "example", "mount_path": "/mnt/example"}
    cluster = tir.create(
        name="example",
        image_version_id=1,
        ssh_key_ids=[1],
        security_group_id=1,
        script_added=True,
        lifecycle_script="example",
        sfs_mount_list=[mount],
        pfs_mount_list=[{}],
        dataset_mount_list=[{}],
        sku_id=1,
        no_of_nodes=1,
        sku_item_price_id=1,
    )
    assert cluster["sku_details"]["plan"]["unit_price"] == 12.5


def test_order_is_in_the_books(sandbox: CheckedSandbox, tir: Caller) -> None:
    made = str(tir.create()["id"])
    (entry,) = books(sandbox)
    assert (entry["made"], entry["status"], entry["key"], entry["worked"]) == ([made], 201, "e2e-key", True)
    assert len(entry["body_sha256"]) == 64
    assert entry["note"]["name"] == "ocean-twin-01"
    assert entry["note"]["location"] == "Delhi"
    alive = [row for row in sandbox.books()["services"]["e2e"]["alive"] if row["kind"] == "cluster"]
    assert [(row["id"], row["status"], row["nodes"]) for row in alive] == [(made, "Creating", 2)]


def test_late_commit_makes_a_cluster_that_no_answer_named(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.fault(action="create", kind="commit_late", status=504, seconds=90)
    assert tir.ask("POST", CLUSTERS, json=DELHI).status_code == 504
    assert tir.data("GET", CLUSTERS) == []
    sandbox.advance(90)
    (row,) = tir.data("GET", CLUSTERS)
    assert (row["name"], row["created_at"]) == ("ocean-twin-01", "2026-11-30T00:54:50Z")

"""What a form can offer, per location."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.e2e.caller import CLUSTERS, DELHI, Caller

PLANS = f"{CLUSTERS}plans/"
IMAGES = "/distributed_jobs_v2/deployment_images/{}/"
NO_PROJECT = ("project_id",)
RULE = {"rule_type": "inbound", "protocol": "TCP", "protocol_type": "CustomTCP", "network_type": "any", "ports": [22]}


def test_plans_have_texts_for_numbers_and_prices_of_their_location(tir: Caller) -> None:
    for location in ("Delhi", "Chennai"):
        rows = tir.data("GET", PLANS, variant="e2e", location=location)
        assert {type(row[name]) for row in rows for name in ("cpu", "gpu", "memory", "gpu_memory")} == {str}
        prices = [price for row in rows for price in row["plans"]]
        assert {price["location"] for price in prices} == {location}
        assert {(price["sku_type"], price["committed_days"]) for price in prices} == {
            ("hourly", 0),
            ("committed", 30),
            ("committed", 90),
            ("committed", 365),
        }


def test_no_id_is_known_in_both_locations(tir: Caller) -> None:
    def ids(location: str) -> set[int]:
        plans = tir.data("GET", PLANS, variant="e2e", location=location)
        images = tir.data("GET", IMAGES.format("Slurm"), job_type="Slurm", location=location)
        keys = tir.data("GET", "/ssh_keys/", leave_out=NO_PROJECT, location=location)
        versions = [row for image in images for row in image["versions"]]
        return {
            *(row["sku_id"] for row in plans),
            *(price["sku_item_price_id"] for row in plans for price in row["plans"]),
            *(row.get("id", row.get("image_version_id")) for row in versions),
            *(key["pk"] for key in keys),
        }

    assert not ids("Delhi") & ids("Chennai")


def test_inventory_follows_what_is_taken(sandbox: CheckedSandbox, tir: Caller) -> None:
    def is_available() -> bool:
        rows = tir.data("GET", PLANS, variant="e2e")
        return next(bool(row["is_inventory_available"]) for row in rows if row["sku_id"] == 412)

    sandbox.setup("e2e", stock={"sku_id": 412, "nodes": 2})
    assert is_available()
    path = f"{CLUSTERS}{tir.create()['id']}/"
    assert not is_available()
    tir.data("DELETE", path)
    sandbox.advance(60)
    assert is_available()


def test_price_of_a_new_order_follows_the_list(sandbox: CheckedSandbox, tir: Caller) -> None:
    old = f"{CLUSTERS}{tir.create()['id']}/"
    sandbox.setup("e2e", price={"sku_item_price_id": 8721, "unit_price": 2500.5})
    assert tir.create(name="new")["sku_details"]["plan"]["unit_price"] == 2500.5
    assert tir.data("GET", old)["sku_details"]["plan"]["unit_price"] == 1992.0


def test_image_versions_come_under_either_key(tir: Caller) -> None:
    (image,) = tir.data("GET", IMAGES.format("Slurm"), job_type="Slurm")
    assert (image["slug_name"], image["framework"]) == ("ubuntu-slurm", "Slurm")
    assert [set(version) & {"id", "image_version_id"} for version in image["versions"]] == [
        {"id"},
        {"image_version_id"},
    ]
    assert image["id"] not in (57, 58)
    (nemo,) = tir.data("GET", IMAGES.format("NeMo"), job_type="NeMo")
    assert tir.create(image_version_id=nemo["versions"][0]["id"])["image_version"]["name"] == "NeMo"


def test_job_type_is_the_framework(tir: Caller) -> None:
    answer = tir.ask("GET", IMAGES.format("Slurm"), job_type="NeMo")
    assert list(answer.json()["errors"]) == ["job_type"]


@pytest.mark.parametrize(
    ("path", "field"),
    [(PLANS, "variant"), (IMAGES.format("Slurm"), "job_type"), ("/gpu_service/sku/", "service")],
)
def test_filters_are_required(tir: Caller, path: str, field: str) -> None:
    answer = tir.bad("GET", path)
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == [field]


@pytest.mark.parametrize(
    ("path", "query", "nothing"),
    [
        (PLANS, {"variant": "other"}, []),
        (IMAGES.format("Other"), {"job_type": "Other"}, []),
        ("/gpu_service/sku/", {"service": "other"}, {"CPU": [], "GPU": []}),
    ],
)
def test_unknown_filters_are_a_choice(
    sandbox: CheckedSandbox, tir: Caller, path: str, query: dict[str, Any], nothing: object
) -> None:
    assert tir.data("GET", path, **query) == nothing
    sandbox.choose({"e2e.unknown_filter": "400"})
    assert list(tir.ask("GET", path, **query).json()["errors"]) == list(query)


def test_generic_skus_are_split_by_series(tir: Caller) -> None:
    found = tir.data("GET", "/gpu_service/sku/", service="notebook")
    assert [len(found[series]) for series in ("CPU", "GPU")] == [1, 2]
    assert {row["category"] for rows in found.values() for row in rows} == {"notebook"}


def test_ssh_keys_are_added_listed_and_removed(tir: Caller) -> None:
    ask: dict[str, Any] = {"leave_out": NO_PROJECT}
    body = {"label": "new", "ssh_key": "ssh-ed25519 AAAAC3NzaMADEUP a@b"}
    key = tir.data("POST", "/ssh_keys/", json=body, **ask)
    assert key == {"pk": key["pk"], **body}
    rows = {row["pk"]: row for row in tir.data("GET", "/ssh_keys/", **ask)}
    assert rows[key["pk"]] == {**key, "timestamp": "30-Nov-2026"}
    assert tir.create(ssh_key_ids=[key["pk"]])["ssh_keys"] == [key]
    assert tir.ask("DELETE", f"/ssh_keys/{key['pk']}/", **ask, location="Chennai").status_code == 404
    assert tir.data("DELETE", f"/ssh_keys/{key['pk']}/", **ask) == {}
    assert tir.ask("DELETE", f"/ssh_keys/{key['pk']}/", **ask).status_code == 404
    assert key["pk"] not in {row["pk"] for row in tir.data("GET", "/ssh_keys/", **ask)}


def test_ssh_keys_take_no_project(tir: Caller) -> None:
    answer = tir.bad("GET", "/ssh_keys/")
    assert list(answer.json()["errors"]) == ["project_id"]


@pytest.mark.parametrize("wrong", [{"label": ""}, {"ssh_key": ""}, {"ssh_key": None}, {"label": 7}, {"pk": 1}], ids=str)
def test_wrong_ssh_keys_are_refused(tir: Caller, wrong: dict[str, Any]) -> None:
    body = {"label": "new", "ssh_key": "ssh-ed25519 AAAAC3NzaMADEUP a@b", **wrong}
    answer = tir.bad("POST", "/ssh_keys/", json=body, leave_out=NO_PROJECT)
    assert list(answer.json()["errors"]) == list(wrong)


def test_text_that_is_no_key_is_refused(tir: Caller) -> None:
    answer = tir.ask("POST", "/ssh_keys/", json={"label": "new", "ssh_key": "hello"}, leave_out=NO_PROJECT)
    assert list(answer.json()["errors"]) == ["ssh_key"]


def test_sync_brings_keys_over_once(tir: Caller) -> None:
    def labels() -> list[str]:
        return [row["label"] for row in tir.data("GET", "/ssh_keys/", leave_out=NO_PROJECT)]

    before = labels()
    for _ in range(2):
        assert tir.data("GET", "/ssh_keys/sync/", leave_out=NO_PROJECT) == {}
        assert labels() == [*before, "myaccount-key"]


def test_security_group_from_making_to_deletion(sandbox: CheckedSandbox, tir: Caller) -> None:
    manual = {**RULE, "network_type": "manual", "cidr_ip": "198.51.100.0", "cidr_subnet": 24}
    made = tir.data("POST", "/security_groups/", json={"name": "campus", "description": "x", "rules": [RULE, manual]})
    path = f"/security_groups/{made['id']}/"
    assert tir.data("GET", path) == made
    assert made in tir.data("GET", "/security_groups/")
    sandbox.choose({"e2e.group_detail": "rules"})
    assert tir.data("GET", path) == made["rules"]
    kept = {**RULE, "ports": [2222], "id": made["rules"][0]["id"], "isNew": False}
    changed = tir.data("PUT", f"{path}rules/", json=[kept, {**RULE, "isNew": True}])
    assert [rule["ports"] for rule in changed["rules"]] == [[2222], [22]]
    assert changed["rules"][0]["id"] == made["rules"][0]["id"]
    assert changed["rules"][1]["id"] not in {rule["id"] for rule in made["rules"]}
    assert isinstance(tir.data("DELETE", f"{path}rules/"), str)
    for method, where in (("GET", path), ("DELETE", f"{path}rules/")):
        assert tir.ask(method, where).status_code == 404
    assert tir.ask("PUT", f"{path}rules/", json=[RULE]).status_code == 404


def test_status_of_a_new_security_group_is_a_choice(sandbox: CheckedSandbox, tir: Caller) -> None:
    body = {"name": "a", "rules": []}
    assert tir.ask("POST", "/security_groups/", json=body).status_code == 200
    sandbox.choose({"e2e.created_code": "201"})
    assert tir.ask("POST", "/security_groups/", json=body).json()["code"] == 201


def test_group_is_not_deleted_at_its_own_path(tir: Caller) -> None:
    assert tir.bad("DELETE", "/security_groups/5501/").status_code == 405


@pytest.mark.parametrize(
    "wrong",
    [
        {"rule_type": "in"},
        {"ports": 22},
        {"ports": None},
        {"port_range": "22"},
        {"protocol": 6},
    ],
    ids=str,
)
def test_wrong_rules_are_refused(tir: Caller, wrong: dict[str, Any]) -> None:
    answer = tir.bad("POST", "/security_groups/", json={"name": "a", "rules": [{**RULE, **wrong}]})
    assert answer.status_code == 400
    assert next(iter(wrong)) in answer.json()["errors"]["rules"][0]


def test_rules_that_do_not_agree_are_refused(tir: Caller) -> None:
    for rule in ({**RULE, "network_type": "manual"}, {**RULE, "protocol": "ICMP"}):
        answer = tir.ask("POST", "/security_groups/", json={"name": "a", "rules": [rule]})
        assert list(answer.json()["errors"]) == ["rules"]
    answer = tir.ask("PUT", "/security_groups/5501/rules/", json=[{**RULE, "id": 1}])
    assert answer.json()["errors"] == {"0": ["id: No rule of this group has this id."]}
    answer = tir.bad("PUT", "/security_groups/5501/rules/", json={"rules": [RULE]})
    assert answer.status_code == 400


def test_sfs_are_listed_and_made(sandbox: CheckedSandbox, tir: Caller) -> None:
    made = tir.data("POST", "/distributed_jobs/sfs/", json={"name": "new-one", "disk_size": 200})
    assert (made["disk_size"], made["size_in_gb"], made["location"]) == ("200GB", "200", "Delhi")
    page = tir.ask("GET", "/distributed_jobs/sfs/", per_page=1, page_no=2).json()
    assert (page["data"], page["total_count"], page["total_page_number"]) == ([made], 2, 2)
    assert str(made["id"]) in {row["id"] for row in sandbox.books()["services"]["e2e"]["alive"]}
    mount = {"id": made["id"], "name": "new-one", "mount_path": "/mnt/shared"}
    assert tir.create(sfs_mount_list=[mount])["clone_data"]["sfs_mount_list"] == [mount]


@pytest.mark.parametrize("wrong", [{"disk_size": "200"}, {"name": ""}, {"disk_size": None}, {"size": 1}], ids=str)
def test_wrong_sfs_are_refused(tir: Caller, wrong: dict[str, Any]) -> None:
    answer = tir.bad("POST", "/distributed_jobs/sfs/", json={"name": "a", "disk_size": 100, **wrong})
    assert list(answer.json()["errors"]) == list(wrong)


def test_pfs_and_datasets_are_listed(sandbox: CheckedSandbox, tir: Caller) -> None:
    (pfs,) = tir.data("GET", "/pfs/")
    assert (pfs["disk_size"], pfs["disk_size_in_gb"], pfs["disk_size_in_tb"]) == (4000, "4000", "4")
    assert [row["name"] for row in tir.data("GET", "/datasets/")] == ["tiles", "corpus"]
    chosen = tir.ask("GET", "/datasets/", storage_type="managed", is_advanced_search="true", encrypted="false").json()
    assert ([row["name"] for row in chosen["data"]], chosen["total_count"]) == (["tiles"], 1)
    where = {"project_id": 31007, "location": "Delhi"}
    sandbox.setup("e2e", pfs={**where, "name": "second"}, dataset={**where, "name": "third"})
    assert [len(tir.data("GET", path)) for path in ("/pfs/", "/datasets/")] == [2, 3]


def test_reserved_ips_are_wrapped_and_made(sandbox: CheckedSandbox, tir: Caller) -> None:
    every = tir.data("GET", "/reserved_ips/", leave_out=("location",))["reserved_ips"]
    here = tir.data("GET", "/reserved_ips/")["reserved_ips"]
    assert [len(every), len(here)] == [4, 2]
    assert [row["status"] for row in here] == ["Available", "Unavailable"]
    assert {row["myaccount_project_id"] for row in every} == {40110}
    made = tir.data("POST", "/reserved_ips/")
    assert made in tir.data("GET", "/reserved_ips/")["reserved_ips"]
    sandbox.choose({"e2e.free_ip_word": "Reserved"})
    assert tir.data("GET", "/reserved_ips/")["reserved_ips"][0]["status"] == "Reserved"
    assert tir.bad("POST", "/reserved_ips/", leave_out=("location",)).status_code == 400


def test_calls_without_a_body_take_none(tir: Caller) -> None:
    assert tir.bad("POST", "/reserved_ips/", json={}).status_code == 400
    assert tir.bad("DELETE", f"{CLUSTERS}{tir.create()['id']}/", json={"force": True}).status_code == 400
    assert len(tir.data("GET", CLUSTERS)) == 1


def test_old_projects_answer_only_when_chosen(sandbox: CheckedSandbox, tir: Caller) -> None:
    ask: dict[str, Any] = {"leave_out": ("project_id", "location")}
    with sandbox.contract.bad_requests():
        answer = tir.ask("GET", "/teams/12/projects/", **ask)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    sandbox.choose({"e2e.old_paths": "answer"})
    assert [row["project_id"] for row in tir.data("GET", "/teams/12/projects/", **ask)] == [31007, 31008]


def test_selections_make_an_order(tir: Caller) -> None:
    """What the look-ups of one location offer is what a create in it takes."""
    for location in ("Delhi", "Chennai"):
        at = {"location": location}
        plan = tir.data("GET", PLANS, variant="e2e", **at)[0]
        version = tir.data("GET", IMAGES.format("Slurm"), job_type="Slurm", **at)[0]["versions"][1]
        body = {
            **DELHI,
            "image_version_id": version["image_version_id"],
            "ssh_key_ids": [tir.data("GET", "/ssh_keys/", leave_out=NO_PROJECT, **at)[0]["pk"]],
            "security_group_id": tir.data("GET", "/security_groups/", **at)[0]["id"],
            "sku_id": plan["sku_id"],
            "sku_item_price_id": plan["plans"][0]["sku_item_price_id"],
        }
        cluster = tir.data("POST", CLUSTERS, json=body, **at)
        assert cluster["sku_details"]["plan"] == plan["plans"][0]

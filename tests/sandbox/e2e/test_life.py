"""A cluster from Creating to gone, as the list and the detail call show it."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.sandbox import Sandbox
from jupyter_gpu_clusters.sandbox.e2e import E2E
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.sandbox.e2e.caller import CLUSTERS, DELHI, Caller


def books(sandbox: CheckedSandbox) -> dict[str, Any]:
    page: dict[str, Any] = sandbox.books()["services"]["e2e"]
    return page


def test_running_cluster_has_totals_and_an_address(sandbox: CheckedSandbox, tir: Caller) -> None:
    path = f"{CLUSTERS}{tir.create()['id']}/"
    sandbox.advance(239)
    assert (tir.data("GET", path)["status"], tir.data("GET", path)["ssh_public_ip"]) == ("Creating", "")
    sandbox.advance(1)
    cluster = tir.data("GET", path)
    assert (cluster["status"], cluster["total_gpu"], cluster["total_cpu"]) == ("Running", 16, 448)
    assert (cluster["total_memory"], cluster["available_memory"]) == ("3600 GB", "3564 GB")
    assert (cluster["available_gpu"], cluster["available_cpu"]) == (16, 446)
    assert cluster["ssh_public_ip"].startswith("203.0.113.")
    assert cluster["has_floating_ip"] is True


def test_list_and_detail_differ_as_in_the_contract(sandbox: CheckedSandbox, tir: Caller) -> None:
    path = tir.running()
    (row,), cluster = tir.data("GET", CLUSTERS), tir.data("GET", path)
    assert (row["no_of_gpu"], row["no_of_cpu"], row["node_memory"]) == ("16", "448", "3600GB")
    assert (row["available_gpu"], row["available_cpu"], row["available_memory"]) == (16, 446, "3564GB")
    assert set(cluster) - set(row) == {
        "total_gpu",
        "total_cpu",
        "total_memory",
        "worker_nodes",
        "local_storage_per_node",
        "image_pull_policy",
        "ssh_keys",
        "ssh_public_ip",
        "has_floating_ip",
        "reserve_ip",
        "clone_data",
    }
    shared = set(row) & set(cluster) - {"available_memory"}
    assert {name: row[name] for name in shared} == {name: cluster[name] for name in shared}


def test_address_may_come_later_than_running(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.choose({"e2e.ip_seconds": "30"})
    path = tir.running()
    assert tir.data("GET", path)["ssh_public_ip"] == ""
    sandbox.advance(30)
    assert tir.data("GET", path)["ssh_public_ip"] != ""


def test_addresses_can_be_real(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.choose({"nodes.addresses": "root@127.0.0.2:22,127.0.0.3:2222"})
    paths = [tir.running(no_of_nodes=1) for _ in range(3)]
    assert [tir.data("GET", path)["ssh_public_ip"] for path in paths] == ["127.0.0.2", "127.0.0.3", "127.0.0.2"]


@pytest.mark.parametrize("word", ["Failed", "Error", "CreateFailed", "Reconfiguring", "Creating"])
def test_cluster_may_never_run(sandbox: CheckedSandbox, tir: Caller, word: str) -> None:
    sandbox.setup("e2e", fate=word)
    path = tir.running()
    sandbox.advance(100_000)
    cluster = tir.data("GET", path)
    assert (cluster["status"], cluster["total_gpu"], cluster["ssh_public_ip"]) == (word, 0, "")
    assert tir.data("DELETE", path)


def test_status_can_be_set_to_any_word(sandbox: CheckedSandbox, tir: Caller) -> None:
    path = tir.running()
    number = path.split("/")[-2]
    for word in ("Suspended", "Terminated", "whatever it is"):
        sandbox.setup("e2e", status={"cluster": number, "word": word})
        assert tir.data("GET", path)["status"] == word
        assert tir.data("GET", CLUSTERS)[0]["status"] == word
    sandbox.setup("e2e", status={"cluster": number, "word": "Running"})
    assert tir.act(path, "restart_cluster")["status"] == "Restarting"


def test_teardown_takes_time_and_then_the_cluster_is_gone(sandbox: CheckedSandbox, tir: Caller) -> None:
    path = tir.running()
    answer = tir.ask("DELETE", path).json()
    assert answer == {"code": 200, "data": "Cluster deletion started", "errors": {}, "message": "Success"}
    sandbox.advance(59)
    assert tir.data("GET", path)["status"] == "Deleting"
    assert [row["status"] for row in tir.data("GET", CLUSTERS)] == ["Deleting"]
    sandbox.advance(1)
    assert tir.data("GET", CLUSTERS) == []
    for method in ("GET", "DELETE"):
        answer = tir.ask(method, path)
        assert answer.status_code == 404
        assert answer.json() == {"code": 404, "data": {}, "errors": "No cluster with this id here", "message": "Failed"}
    assert tir.ask("PUT", path, json={"action": "restart_cluster"}).status_code == 404
    page = books(sandbox)
    assert [row for row in page["alive"] if row["kind"] == "cluster"] == []
    assert [(entry["action"], entry["status"], len(entry["ended"])) for entry in page["entries"]] == [
        ("create", 201, 0),
        ("delete", 200, 1),
        ("delete", 404, 0),
        ("change", 404, 0),
    ]


@pytest.mark.parametrize("again", [200, 404, 412])
def test_second_delete_during_teardown_is_a_choice(sandbox: CheckedSandbox, tir: Caller, again: int) -> None:
    sandbox.choose({"e2e.delete_again": str(again), "e2e.deleting_word": "Terminating"})
    path = tir.running()
    tir.data("DELETE", path)
    assert tir.data("GET", path)["status"] == "Terminating"
    assert tir.ask("DELETE", path).status_code == again
    sandbox.advance(60)
    assert tir.ask("GET", path).status_code == 404, "the second one did not put off the end"


def test_delete_while_creating_is_a_choice(sandbox: CheckedSandbox, tir: Caller) -> None:
    first, second = (f"{CLUSTERS}{tir.create()['id']}/" for _ in range(2))
    assert tir.data("DELETE", first)
    sandbox.choose({"e2e.delete_while_creating": "412"})
    assert tir.ask("DELETE", second).status_code == 412
    sandbox.advance(240)
    assert tir.data("DELETE", second)
    sandbox.advance(60)
    assert tir.data("GET", CLUSTERS) == []


def test_cluster_may_vanish_by_itself(sandbox: CheckedSandbox, tir: Caller) -> None:
    path = tir.running()
    sandbox.setup("e2e", vanish=path.split("/")[-2])
    assert tir.ask("GET", path).status_code == 404
    assert tir.data("GET", CLUSTERS) == []


@pytest.mark.parametrize("wrong", [{"project_id": 31008}, {"location": "Chennai"}])
def test_cluster_is_known_only_in_its_place(tir: Caller, wrong: dict[str, Any]) -> None:
    path = f"{CLUSTERS}{tir.create()['id']}/"
    assert tir.data("GET", CLUSTERS, **wrong) == []
    for method, body in (("GET", None), ("PUT", {"action": "restart_cluster"}), ("DELETE", None)):
        assert tir.ask(method, path, json=body, **wrong).status_code == 404
    assert tir.data("GET", path)["status"] == "Creating"


@pytest.mark.parametrize("number", ["0", "999999999", "abc", "-1", "%2E%2E", "9" * 40])
def test_odd_ids_are_not_found(tir: Caller, number: str) -> None:
    assert tir.bad("GET", f"{CLUSTERS}{number}/").status_code == 404


def test_pages_have_totals(sandbox: CheckedSandbox, tir: Caller) -> None:
    made = [tir.create(name=f"run-{n}", no_of_nodes=1)["id"] for n in range(5)]
    pages = [tir.ask("GET", CLUSTERS, page_no=page, per_page=2).json() for page in (1, 2, 3, 4)]
    assert [[row["id"] for row in page["data"]] for page in pages] == [made[4:2:-1], made[2:0:-1], made[:1], []]
    assert {(page["total_page_number"], page["total_count"]) for page in pages} == {(3, 5)}
    sandbox.choose({"e2e.list_order": "oldest", "e2e.per_page": "3", "e2e.past_last_page": "404"})
    assert [row["id"] for row in tir.data("GET", CLUSTERS)] == made[:3]
    assert tir.ask("GET", CLUSTERS, page_no=3).status_code == 404


def test_empty_list_has_one_page(tir: Caller) -> None:
    answer = tir.ask("GET", CLUSTERS).json()
    assert answer == {
        "code": 200,
        "data": [],
        "errors": {},
        "message": "Success",
        "total_page_number": 1,
        "total_count": 0,
    }


@pytest.mark.parametrize("wrong", [{"page_no": "0"}, {"per_page": "x"}, {"per_page": "-1"}, {"page": "1"}])
def test_wrong_pages_are_refused(tir: Caller, wrong: dict[str, str]) -> None:
    answer = tir.bad("GET", CLUSTERS, **wrong)
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == list(wrong)


def test_rows_drift_between_pages(sandbox: CheckedSandbox, tir: Caller) -> None:
    made = [tir.create(name=f"run-{n}", no_of_nodes=1)["id"] for n in range(4)]
    first = [row["id"] for row in tir.data("GET", CLUSTERS, page_no=1, per_page=2)]
    tir.create(name="new", no_of_nodes=1)
    second = [row["id"] for row in tir.data("GET", CLUSTERS, page_no=2, per_page=2)]
    assert (first, second) == ([made[3], made[2]], [made[2], made[1]])


def test_listing_faults_know_clusters_by_id(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.fault(action="list", kind="hide_rows", seconds=30, times=None)
    tir.create()
    assert tir.data("GET", CLUSTERS) == []
    sandbox.advance(30)
    assert len(tir.data("GET", CLUSTERS)) == 1


def test_foreign_cluster_is_listed_and_in_no_book_entry(sandbox: CheckedSandbox, tir: Caller) -> None:
    number = sandbox.setup("e2e", cluster={"project_id": 31007, "location": "Delhi", "body": DELHI})["cluster"]
    assert [str(row["id"]) for row in tir.data("GET", CLUSTERS)] == [number]
    page = books(sandbox)
    assert page["entries"] == []
    assert [row["key"] for row in page["alive"] if row["kind"] == "cluster"] == ["somebody else"]


def test_unknown_routes_and_methods(tir: Caller) -> None:
    answer = tir.bad("GET", "/distributed_jobs_v2/nodes/")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    answer = tir.bad("PATCH", CLUSTERS)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    assert answer.json() == {"detail": 'Method "PATCH" not allowed.'}


def test_same_seed_same_keys(sandbox: CheckedSandbox, tir: Caller) -> None:
    def keys(seed: int) -> list[str]:
        with Sandbox(services=[E2E], seed=seed, speed=0).serve() as other:
            one = Caller(sandbox, url=other.url)
            return [key["ssh_key"] for key in one.data("GET", "/ssh_keys/", leave_out=("project_id",))]

    assert keys(0) == keys(0)
    assert keys(0) != keys(1)


@pytest.mark.parametrize("seed", range(12))
def test_life_under_whatever_the_contract_leaves_open(make_sandbox: MakeSandbox, seed: int) -> None:
    sandbox = make_sandbox(services=[E2E], seed=seed, choices={"*": "random"})
    tir = Caller(sandbox)
    made = tir.create(name="training-cluster-010125103045")
    path = f"{CLUSTERS}{made['id']}/"
    assert [row["name"] for row in tir.data("GET", CLUSTERS)] == [made["name"]]
    tir.ask("PUT", path, json={"action": "restart_cluster"})
    sandbox.advance(240)
    assert tir.act(path, "scale_cluster", additional_nodes=1)["no_of_nodes"] == 3
    sandbox.advance(90)
    assert tir.data("GET", path)["total_gpu"] == 24
    assert tir.data("DELETE", path)
    sandbox.advance(60)
    assert tir.data("GET", CLUSTERS) == []
    assert tir.ask("GET", path).status_code == 404

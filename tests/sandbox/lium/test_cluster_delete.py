"""DELETE /clusters/{id}: rows for every member, and what stands in the way."""

from __future__ import annotations

from .renter import Renter


def cluster(renter: Renter, count: int = 2) -> tuple[str, list[str]]:
    pods = renter.rent_running(count)
    return renter.pods()[0]["cluster_id"], pods


def test_all_members_go_and_the_bill_ends_at_once(renter: Renter) -> None:
    name, pods = cluster(renter, 3)
    answer = renter.api.delete(f"/clusters/{name}").json()
    assert (answer["success"], answer["cluster_id"]) == (True, name)
    rows = [(row["pod_id"], row["cluster_node_index"], row["success"]) for row in answer["pods"]]
    assert rows == [(pod, rank, True) for rank, pod in enumerate(pods)]
    total = renter.books()["bill"]["total"]
    renter.sandbox.advance(9)
    assert {pod["status"] for pod in renter.pods()} == {"DELETING"}
    renter.sandbox.advance(1)
    assert renter.pods() == []
    assert renter.books()["bill"]["total"] == total
    assert renter.api.delete(f"/clusters/{name}").status_code == 404
    assert len(renter.nodes()) == 4


def test_partial_failure_is_200_with_rows(renter: Renter) -> None:
    name, pods = cluster(renter)
    renter.sandbox.setup("lium", undeletable={pods[1]: 1})
    answer = renter.api.delete(f"/clusters/{name}")
    assert (answer.status_code, answer.json()["success"]) == (200, False)
    assert [row["success"] for row in answer.json()["pods"]] == [True, False]
    assert [alive["billing"] for alive in renter.books()["alive"]] == [False, True]
    assert [row["message"] for row in renter.api.delete(f"/clusters/{name}").json()["pods"]] == [
        "deletion is running",
        "deletion has begun",
    ]


def test_member_under_creation_stops_the_deletion(renter: Renter) -> None:
    pods = renter.rent()
    name = renter.pods()[0]["cluster_id"]
    answer = renter.api.delete(f"/clusters/{name}")
    assert answer.status_code == 409
    assert (answer.json()["message"]["cluster_id"], answer.json()["message"]["pending_pods"]) == (name, pods)
    assert {pod["status"] for pod in renter.pods()} == {"PENDING"}
    renter.sandbox.advance(60)
    assert renter.api.delete(f"/clusters/{name}").status_code == 200


def test_unknown_cluster(renter: Renter) -> None:
    answer = renter.api.delete("/clusters/no%2Fsuch%20one")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_foreign_cluster_is_forbidden(renter: Renter) -> None:
    name, _ = cluster(renter)
    made = renter.sandbox.setup("lium", account="Bob", key={"name": "bobs"})["key"]
    assert Renter(renter.sandbox, made["secret"]).api.delete(f"/clusters/{name}").status_code == 403
    assert {pod["status"] for pod in renter.pods()} == {"RUNNING"}


def test_pods_of_another_key_need_manage(renter: Renter) -> None:
    name, _ = cluster(renter)
    made = renter.sandbox.setup("lium", key={"name": "renter", "scopes": ["read", "rent"]})["key"]
    answer = Renter(renter.sandbox, made["secret"]).api.delete(f"/clusters/{name}")
    assert (answer.status_code, "'manage' scope" in answer.json()["detail"]) == (403, True)


def test_dead_members_are_removed_with_the_rest(renter: Renter) -> None:
    name, pods = cluster(renter)
    renter.sandbox.setup("lium", fate={"pod": pods[0], "status": "BROKEN"})
    assert renter.api.delete(f"/clusters/{name}").json()["success"] is True
    renter.sandbox.advance(10)
    assert renter.pods() == []


def test_books_name_what_ended(renter: Renter) -> None:
    name, pods = cluster(renter)
    renter.api.delete(f"/clusters/{name}")
    entry = renter.books()["entries"][-1]
    assert (entry["action"], entry["ended"], entry["key"]) == ("delete", pods, "Ada/notebook")

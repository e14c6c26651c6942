"""Lists: pages, filters, search, order, counting."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.runai.caller import PENDING_S, ROBOTS, RUNNING_S, VISION, WORKLOADS, Caller


def names(runai: Caller, **params: Any) -> list[str]:
    return [row["name"] for row in runai.get(WORKLOADS, **params)["workloads"]]


@pytest.fixture
def three(runai: Caller) -> Caller:
    """alpha (MPI, vision, running), beta (PyTorch, robots, a minute later), gamma (PyTorch, vision, still unknown)."""
    runai.submit(name="alpha", spec={"distributedFramework": "MPI", "priorityClass": "high"})
    runai.sandbox.advance(60)
    runai.submit(name="beta", project=ROBOTS)
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    runai.submit(name="gamma", spec={"priorityClass": "very-high"})
    return runai


def test_pages_of_50_until_next_is_absent(runai: Caller) -> None:
    made = runai.sandbox.setup("runai", foreign={"count": 120})["foreign"]
    seen: list[str] = []
    offset: int | None = 0
    sizes = []
    while offset is not None:
        body = runai.get(WORKLOADS, offset=offset)
        sizes.append(len(body["workloads"]))
        seen += [row["id"] for row in body["workloads"]]
        offset = body.get("next")
    assert sizes == [50, 50, 20]
    assert seen == made
    whole = runai.get(WORKLOADS, limit=500)
    assert (len(whole["workloads"]), "next" in whole) == (120, False)
    assert runai.get(WORKLOADS, offset=1000)["workloads"] == []
    assert "next" not in runai.get(WORKLOADS, offset=70, limit=50)
    assert runai.get(f"{WORKLOADS}/count") == {"count": 120}


def test_newest_first_by_choice(three: Caller) -> None:
    assert names(three) == ["alpha", "beta", "gamma"]
    three.sandbox.choose({"runai.list_order": "newest"})
    assert names(three) == ["gamma", "beta", "alpha"]


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ("name==beta", ["beta"]),
        ("name!=beta", ["alpha", "gamma"]),
        ("name=@am", ["gamma"]),
        ("name!@a", []),
        ("name=^al", ["alpha"]),
        ("name=$ma", ["gamma"]),
        (f"projectId=={VISION}", ["alpha", "gamma"]),
        (f"name==gamma,projectId=={VISION}", ["gamma"]),
        (f"name==gamma,projectId=={ROBOTS}", []),
        ("projectName==robots", ["beta"]),
        ("phase==Running", ["alpha", "beta"]),
        ("distributedFramework==MPI", ["alpha"]),
        ("distributedFramework==PyTorch", []),
        ("distributedFramework==Pytorch", ["beta", "gamma"]),
        ("priority>=125", ["alpha", "gamma"]),
        ("priority<=40", ["beta"]),
        ("createdAt>=2026-11-30T00:54:00Z", ["beta", "gamma"]),
        ("createdAt<=2026-11-30T01:53:20+01:00", ["alpha"]),
        ("nodepool==default", ["alpha", "beta"]),
        ("allocatedGPU==0", ["alpha", "beta", "gamma"]),
        ("deletedAt!=x", ["alpha", "beta", "gamma"]),
        ("completedAt>=2026-11-30T00:54:00Z", []),
        ("type==Distributed", ["alpha", "beta", "gamma"]),
    ],
)
def test_filters(three: Caller, terms: str, found: list[str]) -> None:
    assert names(three, filterBy=terms) == found
    assert three.get(f"{WORKLOADS}/count", filterBy=terms)["count"] == len(found)


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ({"sortBy": "priority"}, ["beta", "alpha", "gamma"]),
        ({"sortBy": "name", "sortOrder": "desc"}, ["gamma", "beta", "alpha"]),
        ({"sortBy": "createdAt", "sortOrder": "asc"}, ["alpha", "beta", "gamma"]),
        ({"sortBy": "completedAt", "sortOrder": "desc"}, ["alpha", "beta", "gamma"]),
    ],
    ids=str,
)
def test_order(three: Caller, order: dict[str, str], found: list[str]) -> None:
    assert names(three, **order) == found


def test_search_is_a_part_of_a_word_in_any_case(three: Caller) -> None:
    assert names(three, search="ALPH") == ["alpha"]
    assert names(three, search="robot") == ["beta"]
    assert names(three, search="%") == []


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0},
        {"limit": 501},
        {"limit": "many"},
        {"offset": -1},
        {"offset": "1.5"},
        {"sortOrder": "up"},
        {"sortBy": "colour"},
        {"filterBy": "colour==red"},
        {"filterBy": "name"},
        {"filterBy": "name=beta"},
        {"filterBy": "name=="},
        {"filterBy": "name==a,"},
        {"deleted": "yes"},
    ],
    ids=str,
)
def test_wrong_parameters(runai: Caller, params: dict[str, Any]) -> None:
    answer = runai.bad("GET", WORKLOADS, params=params)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_row_and_typed_body_have_other_names_for_the_same(runai: Caller) -> None:
    made = runai.running(masterSpecSameAsWorker=True, spec={"compute": {"gpuDevicesRequest": 2}, "command": "torchrun"})
    (row,) = runai.get(WORKLOADS)["workloads"]
    assert row["id"] == made["workloadId"]
    assert (row["phase"], row["runningPods"], row["requestedPods"]["number"]) == ("Running", 2, 2)
    assert (row["type"], row["distributedFramework"], row["command"]) == ("Distributed", "Pytorch", "torchrun")
    assert (row["projectName"], row["namespace"]) == ("vision", "runai-vision")
    assert (row["workloadRequestedResources"]["gpu"]["request"], row["allocatedResources"]["gpu"]) == (4, 4)
    assert row["currentNodePools"] == ["default"]
    assert "workloadId" not in row
    assert "id" not in runai.get(f"/api/v1/workloads/distributed/{row['id']}")


def test_generic_read_may_be_forbidden(runai: Caller) -> None:
    workload = runai.submit()["workloadId"]
    runai.sandbox.choose({"runai.generic_read": "403"})
    assert runai.http.get(f"{WORKLOADS}/{workload}").status_code == 403
    assert runai.phase(workload) == "Unknown"
    assert len(runai.get(WORKLOADS)["workloads"]) == 1


def test_projects_beyond_the_first_page(runai: Caller) -> None:
    runai.sandbox.setup("runai", projects=60)
    first = runai.get("/api/v1/org-unit/projects")
    assert (len(first["projects"]), first["next"]) == (50, 50)
    rest = runai.get("/api/v1/org-unit/projects", offset=50)
    assert (len(rest["projects"]), "next" in rest) == (14, False)
    (last,) = runai.get("/api/v1/org-unit/projects", filterBy="name==extra-059")["projects"]
    assert last["resources"][0]["gpu"]["deserved"] == 0

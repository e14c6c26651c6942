"""What the books say, error bodies in every shape, and faults in front of this service."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import httpx
import pytest

from jupyter_gpu_clusters.sandbox.runai import Runai
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.sandbox.runai.caller import DISTRIBUTED, WORKLOADS, Caller


def books(sandbox: CheckedSandbox) -> dict[str, Any]:
    found: dict[str, Any] = sandbox.books()["services"]["runai"]
    return found


def test_submit_is_booked_with_its_digest_and_what_it_made(runai: Caller) -> None:
    content = json.dumps(runai.body(name="ddp", useGivenNameAsPrefix=True)).encode()
    made = runai.http.post(DISTRIBUTED, content=content, headers={"Content-Type": "application/json"}).json()
    (entry,) = books(runai.sandbox)["entries"]
    assert (entry["action"], entry["key"], entry["status"]) == ("submit", "svc-jupyter", 202)
    assert entry["body_sha256"] == hashlib.sha256(content).hexdigest()
    assert entry["made"] == [made["workloadId"]]
    assert entry["note"] == {"name": made["name"], "requestedName": "ddp", "project": "4500012"}


def test_refused_submit_made_nothing(runai: Caller) -> None:
    runai.refusal(runai.body(name="Bad"))
    (entry,) = books(runai.sandbox)["entries"]
    assert (entry["status"], entry["made"]) == (400, [])
    assert books(runai.sandbox)["alive"] == []


def test_actions_are_booked(runai: Caller) -> None:
    workload = runai.running()["workloadId"]
    for action in ("suspend", "delete"):
        runai.act(workload, action)
    rows = [(e["action"], e["path"].rpartition("/")[2], e["ended"]) for e in books(runai.sandbox)["entries"][1:]]
    assert rows == [("change", "suspend", []), ("delete", workload, [workload])]


def test_gpu_hours(runai: Caller) -> None:
    runai.running(spec={"numWorkers": 2, "compute": {"gpuDevicesRequest": 8}})
    runai.sandbox.advance(3600)
    bill = books(runai.sandbox)["bill"]
    assert bill["gpu_hours"] == pytest.approx(16 * 615 / 3600)
    assert (bill["currency"], bill["total"]) == (None, 0)


def test_variables_and_account(sandbox: CheckedSandbox) -> None:
    known = sandbox.variables()
    assert known["RUNAI_URL"] == f"{sandbox.url}/runai"
    options, secret = sandbox.services["runai"].account(sandbox.url)
    assert (options["client_id"], secret) == (known["RUNAI_CLIENT_ID"], known["RUNAI_CLIENT_SECRET"])


@pytest.mark.parametrize(
    ("shape", "status", "keys"),
    [
        ("error", 500, {"code", "message"}),
        ("bare", 503, {"code", "message"}),
        ("compliance", 400, {"code", "message", "complianceIssues"}),
        ("oauth", 401, {"error", "error_description"}),
        ("html", 502, None),
        ("empty", 504, None),
    ],
)
def test_every_shape_on_demand(runai: Caller, shape: str, status: int, keys: set[str] | None) -> None:
    runai.sandbox.fault(service="runai", action="submit", kind="status", status=status, shape=shape, text="no")
    answer = runai.http.post(DISTRIBUTED, json=runai.body())
    assert answer.status_code == status
    if keys is None:
        assert not answer.headers.get("content-type", "").startswith("application/json")
    else:
        assert set(answer.json()) == keys
    assert books(runai.sandbox)["alive"] == []
    assert set(runai.sandbox.shapes("runai")) == {"error", "bare", "compliance", "oauth", "html", "empty"}


@pytest.mark.parametrize("kind", ["drop_after", "status_after", "truncated", "html", "cut_body", "empty"])
def test_lost_answer_leaves_one_workload_to_be_found_by_name(runai: Caller, kind: str) -> None:
    runai.sandbox.fault(service="runai", action="submit", kind=kind)
    body = runai.body(name="marked")
    try:
        runai.http.post(DISTRIBUTED, json=body)
    except httpx.RemoteProtocolError:
        assert kind in ("drop_after", "cut_body")
    rows = runai.get(WORKLOADS, filterBy=f"name==marked,projectId=={body['projectId']}")["workloads"]
    assert [row["id"] for row in rows] == books(runai.sandbox)["entries"][0]["made"]
    assert runai.http.post(DISTRIBUTED, json=body).status_code == 409


def test_late_commit(runai: Caller) -> None:
    runai.sandbox.fault(service="runai", action="submit", kind="commit_late", status=504, shape="html", seconds=60)
    assert runai.http.post(DISTRIBUTED, json=runai.body(name="late")).status_code == 504
    assert runai.get(WORKLOADS, filterBy="name==late")["workloads"] == []
    runai.sandbox.advance(90)
    (row,) = runai.get(WORKLOADS, filterBy="name==late")["workloads"]
    assert row["phase"] == "Running", "it began when it was due, not when somebody looked"


def test_listing_faults(runai: Caller) -> None:
    first, second, third = (runai.submit()["workloadId"] for _ in range(3))
    runai.sandbox.fault(service="runai", action="list", kind="hide_rows", ids=[first])
    assert [row["id"] for row in runai.get(WORKLOADS)["workloads"]] == [second, third]
    runai.sandbox.fault(service="runai", action="list", kind="empty_list")
    assert runai.get(WORKLOADS)["workloads"] == []
    runai.sandbox.fault(service="runai", action="list", kind="page_drift", times=None)
    seen = [row["id"] for offset in (0, 2) for row in runai.get(WORKLOADS, offset=offset, limit=2)["workloads"]]
    assert seen == [first, second]


def test_every_open_point_can_be_drawn_by_chance(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(services=[Runai], seed=7)
    drawn = sandbox.choose({"*": "random"})
    known = {choice.key: choice for choice in Runai.choices}
    assert all(drawn[key]["value"] in choice.values for key, choice in known.items() if choice.values)


@pytest.mark.parametrize("value", ["-1", "soon", "inf", "nan"])
def test_times_are_numbers(sandbox: CheckedSandbox, value: str) -> None:
    with pytest.raises(ValueError, match=r"runai\.run_seconds"):
        sandbox.choose({"runai.run_seconds": value})


@pytest.mark.parametrize(
    "path", ["/api/v1/apps", "/api/v1/user-applications", "/api/v1/org-unit/priorities", "/nothing"]
)
def test_paths_that_are_not_there(runai: Caller, path: str) -> None:
    answer = runai.bad("GET", path)
    assert (answer.status_code, answer.json()["code"]) == (404, 404)


def test_wrong_method_is_405(runai: Caller) -> None:
    answer = runai.bad("PUT", WORKLOADS)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET")

"""Phases on the sandbox clock, and everything that changes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.runai.caller import (
    COMPLETED_S,
    DISTRIBUTED,
    PENDING_S,
    ROBOTS,
    RUNNING_S,
    SPEECH,
    VISION,
    WORKLOADS,
    Caller,
)

NOWHERE = "11111111-2222-4333-8444-555555555555"


def books(sandbox: CheckedSandbox) -> dict[str, Any]:
    found: dict[str, Any] = sandbox.books()["services"]["runai"]
    return found


def phases(runai: Caller, workload: str) -> list[str]:
    records = runai.get(f"{WORKLOADS}/{workload}/history")["records"]
    return [record["spec"]["phaseUpdate"]["phase"] for record in records if record["meta"]["type"] == "PhaseUpdate"]


def test_usual_path(runai: Caller) -> None:
    workload = runai.gpu_job(2)
    seen = []
    for seconds in (0, 2, 3, RUNNING_S, COMPLETED_S):
        runai.sandbox.advance(seconds)
        seen.append(runai.phase(workload))
    assert seen == ["Unknown", "Creating", "Initializing", "Running", "Completed"]
    assert phases(runai, workload) == ["Unknown", "Creating", "Pending", "Initializing", "Running", "Completed"]


def test_phases_do_not_depend_on_who_looks(runai: Caller) -> None:
    first, second = runai.gpu_job(1), runai.gpu_job(1)
    runai.sandbox.advance(3000)
    path = ["Unknown", "Creating", "Pending", "Initializing", "Running", "Completed"]
    assert phases(runai, first) == phases(runai, second) == path
    row = runai.detail(first)
    assert row["completedAt"] == "2026-11-30T01:03:40Z"
    assert (row["totalPendingTimeSeconds"], row["totalRunningTimeSeconds"]) == (0, 600)


def test_right_after_create_by_choice(runai: Caller) -> None:
    runai.sandbox.choose({"runai.after_create": "not-found"})
    workload = runai.submit()["workloadId"]
    assert runai.http.get(f"{DISTRIBUTED}/{workload}").status_code == 404
    assert runai.get(WORKLOADS)["workloads"] == []
    runai.sandbox.advance(2)
    assert runai.phase(workload) == "Creating"
    runai.sandbox.choose({"runai.after_create": "creating"})
    assert runai.phase(runai.submit()["workloadId"]) == "Creating"


def test_failure_by_choice_and_by_setup(runai: Caller) -> None:
    runai.sandbox.choose({"runai.outcome": "Failed", "runai.run_seconds": "30"})
    workload = runai.running()["workloadId"]
    runai.sandbox.advance(30)
    row = runai.detail(workload)
    assert (row["phase"], row["phaseMessage"]) == ("Failed", "a pod ended with exit code 1")
    other = runai.running()["workloadId"]
    runai.sandbox.setup("runai", finish={"id": other, "outcome": "Completed"})
    assert runai.phase(other) == "Completed"


def test_planned_run(runai: Caller) -> None:
    workload = runai.submit()["workloadId"]
    runai.sandbox.setup("runai", run={"id": workload, "seconds": 7, "outcome": "Failed"})
    runai.sandbox.advance(PENDING_S + RUNNING_S + 6)
    assert runai.phase(workload) == "Running"
    runai.sandbox.advance(1)
    assert runai.phase(workload) == "Failed"


def test_suspend_and_resume(runai: Caller) -> None:
    workload = runai.running(masterSpecSameAsWorker=True)["workloadId"]
    runai.act(workload, "suspend")
    assert runai.phase(workload) == "Stopping"
    assert runai.bad("POST", f"{DISTRIBUTED}/{workload}/resume").status_code == 400
    runai.sandbox.advance(5)
    body = runai.get(f"{DISTRIBUTED}/{workload}")
    assert (body["desiredPhase"], body["actualPhase"]) == ("Stopped", "Stopped")
    assert runai.get(f"{WORKLOADS}/{workload}/pods")["pods"] == []
    assert books(runai.sandbox)["alive"][0]["pods"] == 0
    runai.act(workload, "suspend")
    runai.sandbox.advance(100_000)
    runai.log_in()
    assert runai.phase(workload) == "Stopped", "it rests until somebody resumes it"
    runai.act(workload, "resume")
    assert runai.phase(workload) == "Resuming"
    runai.sandbox.advance(2 + RUNNING_S)
    assert runai.phase(workload) == "Running"
    assert len(runai.get(f"{WORKLOADS}/{workload}/pods")["pods"]) == 2
    runai.act(workload, "resume")
    assert runai.phase(workload) == "Running"
    assert phases(runai, workload)[-5:] == ["Stopped", "Resuming", "Pending", "Initializing", "Running"]


@pytest.mark.parametrize("action", ["suspend", "resume"])
def test_what_has_ended_cannot_be_changed(runai: Caller, action: str) -> None:
    workload = runai.running()["workloadId"]
    runai.sandbox.advance(COMPLETED_S)
    answer = runai.http.post(f"{DISTRIBUTED}/{workload}/{action}")
    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert "Completed" in answer.json()["message"]


def test_delete_and_its_traces_for_14_days(runai: Caller) -> None:
    workload = runai.running()["workloadId"]
    runai.act(workload, "delete")
    body = runai.get(f"{DISTRIBUTED}/{workload}")
    assert (body["desiredPhase"], body["actualPhase"], body["deletedAt"]) == ("Deleted", "Deleting", None)
    runai.act(workload, "delete")
    runai.sandbox.advance(10)
    assert runai.get(f"{DISTRIBUTED}/{workload}")["deletedAt"] == "2026-11-30T00:53:50Z"
    assert runai.http.delete(f"{DISTRIBUTED}/{workload}").status_code == 404
    assert runai.get(WORKLOADS)["workloads"] == []
    assert [row["id"] for row in runai.get(WORKLOADS, deleted="true")["workloads"]] == [workload]
    assert runai.get(f"{WORKLOADS}/count", deleted="true") == {"count": 1}
    runai.sandbox.choose({"runai.deleted_read": "404"})
    assert runai.http.get(f"{DISTRIBUTED}/{workload}").status_code == 404
    runai.sandbox.choose({"runai.deleted_read": "deletedAt"})
    runai.sandbox.advance(14 * 86_400)
    runai.log_in()
    assert runai.get(WORKLOADS, deleted="true")["workloads"] == []
    assert runai.http.get(f"{DISTRIBUTED}/{workload}").status_code == 404


@pytest.mark.parametrize("seconds", [0.0, 1.0, 4.0, 6.0, 25.0, 700.0])
def test_delete_at_every_moment(runai: Caller, seconds: float) -> None:
    workload = runai.gpu_job(4)
    runai.sandbox.advance(seconds)
    runai.act(workload, "delete")
    assert runai.phase(workload) == "Deleting"
    runai.sandbox.advance(10)
    assert runai.get(WORKLOADS)["workloads"] == []
    assert books(runai.sandbox)["alive"] == []
    other = runai.running(spec={"numWorkers": 4, "compute": {"gpuDevicesRequest": 8}})
    assert runai.phase(other["workloadId"]) == "Running", "its GPUs are free again"


@pytest.mark.parametrize("seconds", [0.0, 1.0, 4.0, 6.0, 25.0])
def test_suspend_at_every_moment(runai: Caller, seconds: float) -> None:
    workload = runai.gpu_job(4)
    runai.sandbox.advance(seconds)
    runai.act(workload, "suspend")
    runai.sandbox.advance(1000)
    assert runai.phase(workload) == "Stopped"
    assert runai.get("/api/v1/org-unit/projects/4500012")["status"]["quotaStatus"]["allocated"]["gpu"] == 0


def test_ended_work_is_deleted_when_its_time_is_up(runai: Caller) -> None:
    soon = runai.submit(spec={"autoDeletionTimeAfterCompletionSeconds": 60})["workloadId"]
    at_once = runai.submit(spec={"autoDeletionTimeAfterCompletionSeconds": 0})["workloadId"]
    usual = runai.submit()["workloadId"]
    runai.sandbox.advance(PENDING_S + RUNNING_S + COMPLETED_S)
    assert [runai.phase(w) for w in (soon, at_once, usual)] == ["Completed", "Deleting", "Completed"]
    runai.sandbox.advance(60)
    assert runai.get(f"{DISTRIBUTED}/{soon}")["desiredPhase"] == "Deleted"
    runai.sandbox.advance(10)
    assert [row["id"] for row in runai.get(WORKLOADS)["workloads"]] == [usual]
    runai.sandbox.advance(30 * 86_400)
    runai.log_in()
    assert runai.get(WORKLOADS)["workloads"] == []


@pytest.mark.parametrize("path", ["", "/suspend", "/resume"])
def test_unknown_and_malformed_ids(runai: Caller, path: str) -> None:
    method = "POST" if path else "DELETE"
    for workload in (NOWHERE, "no-uuid"):
        answer = runai.bad(method, f"{DISTRIBUTED}/{workload}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, 404)
        assert runai.bad("GET", f"{DISTRIBUTED}/{workload}").status_code == 404


@pytest.mark.parametrize("action", ["suspend", "resume"])
def test_actions_are_posts_only(runai: Caller, action: str) -> None:
    workload = runai.running()["workloadId"]
    answer = runai.bad("GET", f"{DISTRIBUTED}/{workload}/{action}")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert runai.phase(workload) == "Running"


def test_older_servers_accept_with_an_empty_body(runai: Caller) -> None:
    runai.sandbox.choose({"runai.accepted_body": "empty"})
    answer = runai.http.delete(f"{DISTRIBUTED}/{runai.submit()['workloadId']}")
    assert (answer.status_code, answer.content) == (202, b"")


def test_batch_says_for_each_id_what_became_of_it(runai: Caller) -> None:
    first, second, ended = (runai.running()["workloadId"] for _ in range(3))
    runai.sandbox.setup("runai", finish={"id": ended})
    foreign = runai.sandbox.setup("runai", foreign={"count": 1})["foreign"][0]

    def batch(action: str, *ids: str) -> dict[str, Any]:
        body: dict[str, Any] = runai.http.post(f"{WORKLOADS}/batch", json={"ids": ids, "action": action}).json()
        return body

    done = batch("suspend", first, ended, NOWHERE)
    assert done["succeeded"] == [first]
    assert {row["id"]: row["code"] for row in done["failed"]} == {ended: 400, NOWHERE: 404}
    runai.sandbox.advance(5)
    assert batch("resume", first)["succeeded"] == [first]
    assert batch("delete", first, second, foreign)["succeeded"] == [first, second, foreign]
    assert runai.phase(second) == "Deleting"
    assert books(runai.sandbox)["entries"][-1]["ended"] == [first, second, foreign]


@pytest.mark.parametrize(
    "body",
    [{}, {"ids": [], "action": "delete"}, {"ids": ["x"], "action": "delete"}, {"ids": [NOWHERE], "action": "stop"}],
    ids=str,
)
def test_malformed_batches(runai: Caller, body: dict[str, Any]) -> None:
    assert runai.bad("POST", f"{WORKLOADS}/batch", json=body).status_code == 400


def test_typed_routes_know_distributed_work_only(runai: Caller) -> None:
    foreign = runai.sandbox.setup("runai", foreign={"count": 2})["foreign"]
    assert [row["type"] for row in runai.get(WORKLOADS)["workloads"]] == ["Training", "Workspace"]
    for workload in foreign:
        assert runai.http.get(f"{DISTRIBUTED}/{workload}").status_code == 404
        assert runai.http.delete(f"{DISTRIBUTED}/{workload}").status_code == 404
        assert runai.detail(workload)["submittedBy"] == "ada@example.org"


def test_all_pods_start_or_none(runai: Caller) -> None:
    big = runai.gpu_job(3, project=ROBOTS, spec={"nodePools": ["default"]})
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    assert runai.phase(big) == "Running"
    late = runai.gpu_job(2, project=ROBOTS, spec={"nodePools": ["default"]})
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    row = runai.detail(late)
    assert (row["phase"], row["runningPods"], row["pendingSchedulingMessages"]) == ("Pending", 0, None)
    assert "not enough free GPUs" in row["phaseMessage"]
    assert {pod["nodeName"] for pod in runai.get(f"{WORKLOADS}/{late}/pods")["pods"]} == {None}
    runai.act(big, "delete")
    runai.sandbox.advance(10 + RUNNING_S)
    assert runai.phase(late) == "Running"


def test_master_counts_in_the_gang(runai: Caller) -> None:
    spec = {"numWorkers": 4, "compute": {"gpuDevicesRequest": 8}, "nodePools": ["default"]}
    workload = runai.submit(spec=spec, masterSpecSameAsWorker=True)["workloadId"]
    runai.sandbox.advance(1000)
    row = runai.detail(workload)
    assert (row["phase"], row["requestedPods"]["number"]) == ("Pending", 5)
    assert row["workloadRequestedResources"]["gpu"]["request"] == 40
    small = {**spec, "numWorkers": 4}
    other = runai.submit(spec=small, masterSpec={"image": "x"})["workloadId"]
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    assert runai.phase(other) == "Running", "a master without GPUs needs no node of its own"


def test_preemptible_work_goes_over_quota_up_to_the_limit(runai: Caller) -> None:
    spec = {"nodePools": ["h100"]}
    first, second = runai.gpu_job(3, spec=spec), runai.gpu_job(1, spec=spec)
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    assert runai.phase(first) == "Running"
    row = runai.detail(second)
    assert (row["phase"], row["phaseReason"]) == ("Pending", "OverLimit")
    (message,) = row["pendingSchedulingMessages"]
    assert (message["nodePool"], message["phaseReason"], message["orgType"]) == ("h100", "OverLimit", "PROJECT")
    assert "limit of 24" in message["userMessage"]
    status = runai.get(f"/api/v1/org-unit/projects/{VISION}")["status"]
    pool = next(row for row in status["nodePoolQuotaStatuses"] if row["nodePoolName"] == "h100")
    assert (pool["allocated"]["gpu"], pool["allocatedNonPreemptible"]["gpu"]) == (24, 0)
    assert pool["requested"]["gpu"] == 32
    runai.sandbox.setup("runai", quota={"project": VISION, "pool": "h100", "deserved": 8})
    assert runai.phase(second) == "Initializing", "no limit any more"


def test_non_preemptible_work_must_fit_in_quota(runai: Caller) -> None:
    spec = {"nodePools": ["h100"], "priorityClass": "high"}
    inside, outside = runai.gpu_job(1, spec=spec), runai.gpu_job(1, spec=spec)
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    row = runai.detail(outside)
    assert (row["phase"], row["phaseReason"]) == ("Pending", "NonPreemptibleOverQuota")
    (message,) = row["pendingSchedulingMessages"]
    assert message["phaseReason"] == "NonPreemptibleOverQuota"
    runai.sandbox.advance(COMPLETED_S)
    row = runai.detail(outside)
    assert (row["phase"], row["phaseReason"]) == ("Initializing", None)
    assert runai.phase(inside) == "Completed"


def test_next_pool_in_order_is_tried(runai: Caller) -> None:
    workload = runai.gpu_job(
        1, project=SPEECH, gpus=4, spec={"nodePools": ["h100", "default"], "nodeType": "fast-disk"}
    )
    runai.sandbox.advance(PENDING_S)
    row = runai.detail(workload)
    assert row["currentNodePools"] == ["h100"]
    runai.sandbox.setup("runai", quota={"project": SPEECH, "pool": "h100", "deserved": 0, "limit": 0})
    other = runai.gpu_job(1, project=SPEECH, gpus=4, spec={"nodePools": ["h100", "default"], "nodeType": "fast-disk"})
    runai.sandbox.advance(PENDING_S)
    row = runai.detail(other)
    assert (row["currentNodePools"], row["pendingSchedulingMessages"]) == (["default"], None)
    assert {pod["nodeName"] for pod in runai.get(f"{WORKLOADS}/{other}/pods")["pods"]} <= {"a100-1", "a100-3"}


@pytest.mark.parametrize(
    ("compute", "gpus"),
    [
        ({"gpuDevicesRequest": 1, "gpuRequestType": "portion", "gpuPortionRequest": 0.25}, 0.25),
        ({"gpuDevicesRequest": 1, "gpuRequestType": "memory", "gpuMemoryRequest": "40G"}, 0.5),
        ({"gpuDevicesRequest": 2}, 2),
        ({}, 0),
    ],
    ids=str,
)
def test_allocated_gpus(runai: Caller, compute: dict[str, Any], gpus: float) -> None:
    workload = runai.running(spec={"numWorkers": 2, "compute": compute})["workloadId"]
    assert runai.detail(workload)["allocatedResources"]["gpu"] == pytest.approx(2 * gpus)
    pods = runai.get(f"{WORKLOADS}/{workload}/pods")["pods"]
    assert [pod["allocatedResources"]["gpu"] for pod in pods] == [pytest.approx(gpus)] * 2
    (alive,) = books(runai.sandbox)["alive"]
    assert (alive["pods"], alive["gpus"]) == (2, pytest.approx(2 * gpus))


def test_higher_priority_takes_gpus_by_choice(runai: Caller) -> None:
    runai.sandbox.choose({"runai.preemption": "priority"})
    low = runai.gpu_job(4, spec={"nodePools": ["default"], "priorityClass": "low"})
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    old_pods = {pod["id"] for pod in runai.get(f"{WORKLOADS}/{low}/pods")["pods"]}
    high = runai.gpu_job(2, spec={"nodePools": ["default"], "priorityClass": "high"})
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    assert (runai.phase(high), runai.phase(low)) == ("Running", "Pending")
    pods = runai.get(f"{WORKLOADS}/{low}/pods")["pods"]
    assert not old_pods & {pod["id"] for pod in pods}, "it waits with new pods"
    assert {pod["id"] for pod in runai.get(f"{WORKLOADS}/{low}/pods", deleted="true")["pods"]} == old_pods
    reasons = [told["reason"] for told in runai.get(f"{WORKLOADS}/{low}/events")["events"]]
    assert "Preempted" in reasons
    runai.sandbox.advance(COMPLETED_S + RUNNING_S)
    assert runai.phase(low) == "Running"


def test_same_priority_takes_nothing(runai: Caller) -> None:
    runai.sandbox.choose({"runai.preemption": "priority"})
    first = runai.gpu_job(4, spec={"nodePools": ["default"]})
    second = runai.gpu_job(4, spec={"nodePools": ["default"]})
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    assert (runai.phase(first), runai.phase(second)) == ("Running", "Pending")


def test_project_takes_its_quota_back_by_choice(runai: Caller) -> None:
    runai.sandbox.choose({"runai.preemption": "priority"})
    greedy = runai.gpu_job(4, spec={"nodePools": ["default"], "priorityClass": "medium"})
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    owner = runai.gpu_job(1, project=ROBOTS, spec={"nodePools": ["default"], "priorityClass": "very-low"})
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    assert (runai.phase(owner), runai.phase(greedy)) == ("Running", "Pending")


def test_preempted_work_may_ask_to_end(runai: Caller) -> None:
    goes_on = runai.running()["workloadId"]
    ends = runai.running(spec={"terminateAfterPreemption": True})["workloadId"]
    runai.sandbox.setup("runai", preempt=goes_on)
    runai.sandbox.setup("runai", preempt=ends)
    assert (runai.phase(goes_on), runai.phase(ends)) == ("Initializing", "Failed")
    assert phases(runai, goes_on)[-3:] == ["Running", "Pending", "Initializing"]
    with pytest.raises(ValueError, match="holds no nodes"):
        runai.sandbox.setup("runai", preempt=ends)


def test_lost_node_degrades_and_comes_back(runai: Caller) -> None:
    workload = runai.running(spec={"numWorkers": 2, "compute": {"gpuDevicesRequest": 8}})["workloadId"]
    node = runai.get(f"{WORKLOADS}/{workload}/pods")["pods"][0]["nodeName"]
    assert runai.sandbox.setup("runai", node={"name": node, "status": "NotReady"})["node"] == [workload]
    row = runai.detail(workload)
    assert (row["phase"], row["runningPods"], row["phaseMessage"]) == ("Degraded", 1, f"node {node} is NotReady")
    listed = {row["name"]: row["status"] for row in runai.get("/api/v1/nodes")["nodes"]}
    assert listed[node] == "NotReady"
    runai.sandbox.setup("runai", node={"name": node, "status": "Ready"})
    assert runai.phase(workload) == "Running"
    runai.sandbox.advance(COMPLETED_S)
    assert runai.phase(workload) == "Completed"


@pytest.mark.parametrize("phase", ["Updating", "Terminating", "Degraded", "Resuming"])
def test_any_phase_of_the_contract_can_be_shown(runai: Caller, phase: str) -> None:
    workload = runai.running()["workloadId"]
    runai.sandbox.setup("runai", phase={"id": workload, "phase": phase})
    assert runai.phase(workload) == runai.detail(workload)["phase"] == phase
    runai.sandbox.advance(COMPLETED_S)
    assert runai.phase(workload) == "Completed"


def test_taken_node_port_fails_the_second(runai: Caller) -> None:
    port = {"container": 80, "serviceType": "NodePort", "external": 30080}
    first = runai.running(spec={"ports": [port]})["workloadId"]
    second = runai.submit(spec={"ports": [port]})["workloadId"]
    runai.sandbox.advance(PENDING_S + 2)
    assert (runai.phase(first), runai.phase(second)) == ("Running", "Failed")
    assert "30080" in runai.detail(second)["phaseMessage"]


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ({"weather": 1}, "weather"),
        ({"preempt": NOWHERE}, NOWHERE),
        ({"node": {"name": "n-1", "status": "Ready"}}, "n-1"),
        ({"finish": {"id": NOWHERE}}, NOWHERE),
        ({"quota": {"project": VISION, "pool": "tpu", "deserved": 1}}, "tpu"),
        ({"credential": {"client_id": "a", "role": "king"}}, "king"),
    ],
    ids=str,
)
def test_impossible_setups_are_explained(sandbox: CheckedSandbox, what: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        sandbox.setup("runai", **what)

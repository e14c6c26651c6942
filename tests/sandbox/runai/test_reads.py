"""Pods, events, history and measurements."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.runai.caller import COMPLETED_S, PENDING_S, RUNNING_S, WORKLOADS, Caller

WINDOW = {"start": "2026-11-30T00:53:20Z", "end": "2026-11-30T00:54:20Z"}


def pods(runai: Caller, workload: str, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = runai.get(f"{WORKLOADS}/{workload}/pods", **params)["pods"]
    return found


def test_pods_are_the_master_and_the_workers(runai: Caller) -> None:
    spec = {"numWorkers": 2, "compute": {"gpuDevicesRequest": 8}}
    workload = runai.running(name="ddp", masterSpecSameAsWorker=True, spec=spec)["workloadId"]
    rows = pods(runai, workload)
    assert [row["name"] for row in rows] == ["ddp-master-0", "ddp-worker-0", "ddp-worker-1"]
    assert len({row["nodeName"] for row in rows}) == 3
    assert {row["k8sPhase"] for row in rows} == {"Running"}
    assert all(row["ip"] and row["containers"][0]["startedAt"] == "2026-11-30T00:53:40Z" for row in rows)


def test_mpi_master_is_a_launcher(runai: Caller) -> None:
    spec = {"distributedFramework": "MPI", "numWorkers": 2}
    workload = runai.running(name="mpi", spec=spec, masterSpec={"image": "launcher:1"})["workloadId"]
    launcher, worker, _ = pods(runai, workload)
    assert (launcher["name"], launcher["containers"][0]["image"]) == ("mpi-launcher-0", "launcher:1")
    assert worker["containers"][0]["image"] != "launcher:1"


def test_pods_through_their_life(runai: Caller) -> None:
    workload = runai.submit()["workloadId"]
    assert pods(runai, workload) == [], "no pod group yet"
    seen = []
    for seconds in (PENDING_S, RUNNING_S, COMPLETED_S):
        runai.sandbox.advance(seconds)
        (pod,) = pods(runai, workload)
        seen.append((pod["k8sPhase"], pod["ip"] is not None, pod["completedAt"] is not None))
    assert seen == [("ContainerCreating", False, False), ("Running", True, False), ("Succeeded", False, True)]
    runai.act(workload, "delete")
    runai.sandbox.advance(10)
    assert pods(runai, workload) == []
    assert len(pods(runai, workload, deleted="true")) == 1


@pytest.mark.parametrize(("policy", "left"), [("All", 0), ("None", 1), ("Running", 1)])
def test_clean_pod_policy(runai: Caller, policy: str, left: int) -> None:
    workload = runai.running(spec={"cleanPodPolicy": policy})["workloadId"]
    runai.sandbox.advance(COMPLETED_S)
    assert len(pods(runai, workload)) == left


def test_pods_across_workloads(runai: Caller) -> None:
    first = runai.submit(spec={"numWorkers": 3})["workloadId"]
    second = runai.submit(spec={"numWorkers": 2})["workloadId"]
    runai.sandbox.advance(PENDING_S + RUNNING_S)
    path = f"{WORKLOADS}/pods"
    assert len(runai.get(path)["pods"]) == 5
    assert "workloadName" not in runai.get(path)["pods"][0]
    assert runai.get(path, verbosity="full")["pods"][0]["workloadName"] == "work-1"
    body = runai.get(path, filterBy=f"workloadId=={second}", sortBy="createdAt", sortOrder="desc", limit=1)
    assert (len(body["pods"]), body["next"]) == (1, 1)
    assert {row["workloadId"] for row in runai.get(path, search="work-1-")["pods"]} == {first}
    assert len(pods(runai, first, limit=2)) == 2
    assert runai.bad("GET", path, params={"verbosity": "loud"}).status_code == 400


def test_events_newest_first(runai: Caller) -> None:
    workload = runai.running()["workloadId"]
    path = f"{WORKLOADS}/{workload}/events"
    reasons = [row["reason"] for row in runai.get(path)["events"]]
    assert reasons == ["Running", "Scheduled", "PodGroupCreated"]
    assert [row["reason"] for row in runai.get(path, sortOrder="asc")["events"]] == reasons[::-1]
    page = runai.get(path, limit=2)
    assert (len(page["events"]), page["next"]) == (2, 2)
    assert page["events"][0]["involvedObject"]["uid"] == workload


def test_history_joins_phases_and_events(runai: Caller) -> None:
    workload = runai.running()["workloadId"]
    records = runai.get(f"{WORKLOADS}/{workload}/history", limit=500)["records"]
    times = [record["meta"]["creationTimestamp"] for record in records]
    assert times == sorted(times)
    assert {record["meta"]["type"] for record in records} == {"Event", "PhaseUpdate"}
    assert "next" in runai.get(f"{WORKLOADS}/{workload}/history", limit=1)


def test_measurements_follow_the_phases(runai: Caller) -> None:
    workload = runai.running(spec={"compute": {"gpuDevicesRequest": 4, "cpuCoreRequest": 8}})["workloadId"]
    runai.sandbox.advance(60)
    params = {**WINDOW, "metricType": "GPU_UTILIZATION,RUNNING_POD_COUNT,CPU_REQUEST_CORES", "numberOfSamples": 7}
    used, running, cores = runai.get(f"{WORKLOADS}/{workload}/metrics", **params)["measurements"]
    assert [sample["value"] for sample in running["values"]] == ["0", "0", "1", "1", "1", "1", "1"]
    assert [float(sample["value"]) > 0 for sample in used["values"]] == [False, False, True, True, True, True, True]
    assert {sample["value"] for sample in cores["values"]} == {"8"}
    assert used["values"][0]["timestamp"] == "2026-11-30T00:53:20Z"
    default = runai.get(f"{WORKLOADS}/{workload}/metrics", **WINDOW, metricType="POD_COUNT")
    assert len(default["measurements"][0]["values"]) == 20


def test_unreadable_measurements_are_left_out_with_207(runai: Caller) -> None:
    workload = runai.running(spec={"compute": {"gpuDevicesRequest": 1}})["workloadId"]
    params = {**WINDOW, "metricType": "GPU_UTILIZATION,NVLINK_BANDWIDTH_TOTAL"}
    answer = runai.http.get(f"{WORKLOADS}/{workload}/metrics", params=params)
    assert (answer.status_code, [row["type"] for row in answer.json()["measurements"]]) == (207, ["GPU_UTILIZATION"])


def test_measurements_of_a_pod_by_gpu(runai: Caller) -> None:
    workload = runai.running(spec={"compute": {"gpuDevicesRequest": 3}})["workloadId"]
    (pod,) = pods(runai, workload)
    path = f"{WORKLOADS}/{workload}/pods/{pod['id']}/metrics"
    rows = runai.get(path, **WINDOW, metricType="GPU_UTILIZATION_PER_GPU")["measurements"]
    assert [row["labels"] for row in rows] == [{"gpu": "0"}, {"gpu": "1"}, {"gpu": "2"}]
    wrong = f"{WORKLOADS}/{workload}/pods/{workload}/metrics"
    assert runai.http.get(wrong, params={**WINDOW, "metricType": "GPU_UTILIZATION"}).status_code == 404


def test_measurements_as_csv(runai: Caller) -> None:
    workload = runai.running()["workloadId"]
    params = {**WINDOW, "metricType": "POD_COUNT", "numberOfSamples": "2"}
    answer = runai.http.get(f"{WORKLOADS}/{workload}/metrics", params=params, headers={"Accept": "text/csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text.splitlines()[0] == "type,timestamp,value"


@pytest.mark.parametrize(
    "change",
    [
        {"metricType": None},
        {"metricType": "SPEED"},
        {"start": None},
        {"end": "yesterday"},
        {"end": "2026-11-30T00:54:20"},
        {"end": "2026-11-29T00:00:00Z"},
        {"numberOfSamples": 1001},
        {"numberOfSamples": -1},
    ],
    ids=str,
)
def test_wrong_measurement_parameters(runai: Caller, change: dict[str, Any]) -> None:
    workload = runai.submit()["workloadId"]
    params = {**WINDOW, "metricType": "POD_COUNT", **change}
    params = {name: value for name, value in params.items() if value is not None}
    assert runai.bad("GET", f"{WORKLOADS}/{workload}/metrics", params=params).status_code == 400


@pytest.mark.parametrize("path", ["", "/pods", "/events", "/history"])
def test_unknown_workload(runai: Caller, path: str) -> None:
    answer = runai.http.get(f"{WORKLOADS}/11111111-2222-4333-8444-555555555555{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, 404)

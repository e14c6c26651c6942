"""The cluster API: status, log stream over a real WebSocket, download."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.sandbox.runai.caller import COMPLETED_S, Caller


def path(name: str, framework: str = "pytorch", kind: str = "training", project: str = "vision") -> str:
    return f"/cluster-api/api/v1/{project}/workloads/{kind}/{framework}/{name}/logs"


@contextmanager
def stream(runai: Caller, where: str, *, authorized: bool = True) -> Iterator[ClientConnection]:
    url = runai.sandbox.variables()["RUNAI_URL"].replace("http://", "ws://") + where
    headers = {"Authorization": runai.http.headers["Authorization"]} if authorized else {}
    with connect(url, additional_headers=headers, proxy=None, open_timeout=10, close_timeout=2) as socket:
        yield socket


def rest(socket: ClientConnection) -> list[str | bytes]:
    """Everything until the other side ends."""
    messages: list[str | bytes] = []
    while True:
        try:
            messages.append(socket.recv(timeout=10))
        except ConnectionClosed:
            return messages


def test_status(runai: Caller) -> None:
    answer = runai.http.get("/cluster-api/status")
    assert (answer.status_code, answer.text) == (200, "OK")
    assert runai.http.get("/cluster-api/status", headers={"Authorization": ""}).status_code == 401


def test_stream_follows_until_the_end(runai: Caller) -> None:
    made = runai.running(name="train")
    runai.sandbox.advance(5)
    with stream(runai, path("train")) as socket:
        first = [socket.recv(timeout=10), socket.recv(timeout=10)]
        assert first == ["[train-worker-0] step 0 loss 4.0000\n", b"[train-worker-0] step 1 loss 2.0000\n"]
        runai.sandbox.advance(5)
        assert socket.recv(timeout=10) == "[train-worker-0] step 2 loss 1.3333\n"
        runai.sandbox.setup("runai", finish={"id": made["workloadId"]})
        assert rest(socket) == []
        assert socket.close_code == 1000


def test_lines_of_one_pod_and_the_last_ones_only(runai: Caller) -> None:
    runai.running(name="train", spec={"numWorkers": 3})
    runai.sandbox.advance(50)
    with stream(runai, path("train") + "?pod=train-worker-1&tailLines=2&follow=false") as socket:
        lines = [str(line if isinstance(line, str) else line.decode()) for line in rest(socket)]
    assert [line.split(" loss")[0] for line in lines] == ["[train-worker-1] step 9", "[train-worker-1] step 10"]


def test_log_can_be_given(runai: Caller) -> None:
    made = runai.running(name="train")
    runai.sandbox.setup("runai", log={"id": made["workloadId"], "lines": ["one", "zwei ä", ""]})
    assert runai.http.get(path("train") + "/download").text == "one\nzwei ä\n\n"
    with stream(runai, path("train") + "?follow=false") as socket:
        assert rest(socket) == ["one\n", "zwei ä\n".encode(), "\n"]


@pytest.mark.parametrize(
    ("framework", "segment"),
    [("PyTorch", "pytorch"), ("MPI", "mpi"), ("TF", "tensorflow"), ("XGBoost", "xgboost"), ("JAX", "jax")],
)
def test_framework_is_part_of_the_path(runai: Caller, framework: str, segment: str) -> None:
    runai.running(name="train", spec={"distributedFramework": framework})
    assert runai.http.get(path("train", segment) + "/download").status_code == 200
    assert runai.http.get(path("train", "runai") + "/download").status_code == 404


def test_type_in_the_path_by_choice(runai: Caller) -> None:
    runai.running(name="train")
    runai.sandbox.choose({"runai.log_type": "distributed"})
    assert runai.http.get(path("train") + "/download").status_code == 404
    assert runai.http.get(path("train", kind="distributed") + "/download").status_code == 200


@pytest.mark.parametrize(
    "where", [path("other"), path("train", project="4500012"), path("train") + "?pod=train-worker-9"]
)
def test_stream_of_what_is_not_there_is_refused_before_it_opens(runai: Caller, where: str) -> None:
    runai.running(name="train")
    with pytest.raises(InvalidStatus) as refused, stream(runai, where):
        pass
    assert refused.value.response.status_code == 404
    assert b'"code": 404' in refused.value.response.body


def test_stream_needs_a_token(runai: Caller) -> None:
    runai.running(name="train")
    with pytest.raises(InvalidStatus) as refused, stream(runai, path("train"), authorized=False):
        pass
    assert refused.value.response.status_code == 401


def test_logs_are_served_only_while_it_runs(runai: Caller) -> None:
    made = runai.submit(name="train")
    assert runai.http.get(path("train") + "/download").status_code == 404
    runai.sandbox.advance(20)
    assert runai.http.get(path("train") + "/download").text == "[train-worker-0] step 0 loss 4.0000\n"
    runai.sandbox.advance(COMPLETED_S)
    assert runai.phase(made["workloadId"]) == "Completed"
    answer = runai.http.get(path("train") + "/download")
    assert (answer.status_code, answer.json()["message"]) == (404, "workload train is not running")
    with pytest.raises(InvalidStatus), stream(runai, path("train")):
        pass


def test_stream_without_an_upgrade_says_so(runai: Caller) -> None:
    runai.running(name="train")
    answer = runai.http.get(path("train"))
    assert (answer.status_code, answer.headers["Upgrade"]) == (426, "websocket")


def test_reader_who_leaves_disturbs_nobody(runai: Caller) -> None:
    runai.running(name="train")
    with stream(runai, path("train")) as socket:
        assert socket.recv(timeout=10)
    assert runai.http.get(path("train") + "/download").status_code == 200

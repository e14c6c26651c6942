"""What counts as a change, and how it is told."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from jsonschema.exceptions import ValidationError
from jupyter_events.logger import EventLogger

from jupyter_gpu_clusters.core.models import (
    AccountView,
    Cluster,
    ClusterPhase,
    Failure,
    Order,
    OrderState,
    State,
    Verb,
    Workload,
    WorkloadPhase,
)
from jupyter_gpu_clusters.server.events import MAX_EVENTS_AT_ONCE, SCHEMA_ID, Bus, Change, changes

CLUSTER = Cluster(provider="local", account="local", cluster_id="c1", name="demo", phase=ClusterPhase.RUNNING)
WORKLOAD = Workload(
    provider="local",
    account="local",
    cluster_id="c1",
    cluster_name="demo",
    workload_id="w1",
    name="train",
    phase=WorkloadPhase.RUNNING,
)
ACCOUNT = AccountView(account="local", provider="local", title="This machine")
ORDER = Order(
    order_id="o1",
    verb=Verb.CREATE,
    provider="local",
    account="local",
    identity_key="local|here||",
    name="demo",
    remote_name="demo",
    mark="m",
    idempotency_key="k",
    spec_digest="d",
    shown={},
)


def test_the_same_state_is_no_change() -> None:
    state = State(accounts=(ACCOUNT,), clusters=(CLUSTER,), workloads=(WORKLOAD,), orders=(ORDER,), seq=1)
    assert changes(state, state.model_copy(update={"seq": 2})) == []


def test_everything_new_is_named() -> None:
    state = State(accounts=(ACCOUNT,), clusters=(CLUSTER,), workloads=(WORKLOAD,), orders=(ORDER,))
    assert changes(State(), state) == [
        Change("account", "local", None),
        Change("cluster", "c1", "running"),
        Change("workload", "w1", "running"),
        Change("order", "o1", "open"),
    ]


def test_a_new_phase_is_told_with_the_phase_after() -> None:
    after = CLUSTER.model_copy(update={"phase": ClusterPhase.DELETING})
    assert changes(State(clusters=(CLUSTER,)), State(clusters=(after,))) == [Change("cluster", "c1", "deleting")]


def test_a_change_within_a_phase_is_a_change() -> None:
    after = WORKLOAD.model_copy(update={"reason": "rank 3 exited with 3"})
    assert changes(State(workloads=(WORKLOAD,)), State(workloads=(after,))) == [Change("workload", "w1", "running")]


def test_what_is_no_longer_listed_is_told_without_a_phase() -> None:
    before = State(clusters=(CLUSTER,), orders=(ORDER,))
    assert changes(before, State()) == [Change("cluster", "c1", None), Change("order", "o1", None)]


def test_an_order_that_became_not_seen_is_a_change() -> None:
    after = ORDER.model_copy(update={"state": OrderState.NOT_SEEN})
    assert changes(State(orders=(ORDER,)), State(orders=(after,))) == [Change("order", "o1", "not_seen")]


def test_the_same_id_in_two_accounts_is_two_things() -> None:
    other = CLUSTER.model_copy(update={"account": "other", "phase": ClusterPhase.FAILED})
    assert changes(State(clusters=(CLUSTER,)), State(clusters=(CLUSTER, other))) == [Change("cluster", "c1", "failed")]


@pytest.mark.parametrize("update", [{"age_s": 3.0}, {"observed_at": datetime(2026, 1, 1, tzinfo=UTC)}])
def test_another_look_with_the_same_result_is_no_change(update: dict[str, Any]) -> None:
    assert changes(State(accounts=(ACCOUNT,)), State(accounts=(ACCOUNT.model_copy(update=update),))) == []


def test_a_failed_look_is_a_change() -> None:
    after = ACCOUNT.model_copy(update={"error": Failure(message="no answer"), "age_s": 9.0})
    assert changes(State(accounts=(ACCOUNT,)), State(accounts=(after,))) == [Change("account", "local", None)]


def test_a_growing_log_alone_is_no_change() -> None:
    after = WORKLOAD.model_copy(update={"log_bytes": 4096})
    assert changes(State(workloads=(WORKLOAD,)), State(workloads=(after,))) == []


class _Recorder:
    """A real event logger that writes its events to memory."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self.logger = EventLogger(handlers=[logging.StreamHandler(self._text)])
        self.bus = Bus(self.logger)

    def events(self) -> list[dict[str, Any]]:
        lines = self._text.getvalue().splitlines()
        return [{k: v for k, v in json.loads(line).items() if not k.startswith("__")} for line in lines]


def test_events_are_numbered_without_a_gap_and_fit_the_schema() -> None:
    recorder = _Recorder()
    recorder.bus.heartbeat()
    recorder.bus.tell([Change("cluster", "c1", "running"), Change("account", "local", None)])
    recorder.bus.tell([])
    recorder.bus.heartbeat()
    stream = recorder.bus.stream
    nothing = {"kind": None, "id": None, "phase": None}
    assert recorder.events() == [
        {"stream": stream, "seq": 1, "topic": "heartbeat", **nothing},
        {"stream": stream, "seq": 2, "topic": "changed", "kind": "cluster", "id": "c1", "phase": "running"},
        {"stream": stream, "seq": 3, "topic": "changed", "kind": "account", "id": "local", "phase": None},
        {"stream": stream, "seq": 4, "topic": "heartbeat", **nothing},
    ]
    assert recorder.bus.seq == 4


@pytest.mark.parametrize("number", [MAX_EVENTS_AT_ONCE, MAX_EVENTS_AT_ONCE + 1])
def test_a_flood_of_changes_is_one_event(number: int) -> None:
    recorder = _Recorder()
    recorder.bus.tell([Change("workload", f"w{index}", "running") for index in range(number)])
    events = recorder.events()
    assert len(events) == (number if number <= MAX_EVENTS_AT_ONCE else 1)
    assert {event["topic"] for event in events} == {"changed"}


def test_each_server_process_has_a_stream_of_its_own() -> None:
    assert _Recorder().bus.stream != _Recorder().bus.stream


def test_the_schema_lets_nothing_else_through() -> None:
    recorder = _Recorder()
    recorder.bus.heartbeat()
    event = {**recorder.events()[0], "command": ["train.py"]}
    with pytest.raises(ValidationError):
        recorder.logger.emit(schema_id=SCHEMA_ID, data=event)

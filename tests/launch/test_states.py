"""Many nodes' words become one workload's: no guess, and the node that is missing is named."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.models import Workload, WorkloadPhase
from jupyter_gpu_clusters.launch.states import NodeLook, Place, merge_workload, parse_entry

PLACE = Place("local", "here", "c1", "demo")
ABOUT = {"name": "train", "command": ["python", "train.py"], "nodes": 2, "procs_per_node": 1}


def entry(node: int, phase: str, *, is_alive: bool = True, left_over: tuple[str, ...] = (), **state: Any) -> NodeLook:
    rank = {"rank": node, "pid": 100 + node, "exit_code": None, **state.pop("rank", {})}
    whole = {"about": ABOUT, "node_index": node, "phase": phase, "ranks": [rank], **state}
    raw = {"id": "w1", "state": whole, "is_alive": is_alive, "left_over": left_over, "log_bytes": 10}
    return NodeLook(parse_entry(raw))


def merge(*looks: NodeLook) -> Workload:
    return merge_workload(PLACE, "w1", dict(enumerate(looks)))


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (("running", "running"), WorkloadPhase.RUNNING),
        (("pending", "running"), WorkloadPhase.PENDING),
        (("running", "pending"), WorkloadPhase.PENDING),
        (("stopping", "running"), WorkloadPhase.STOPPING),
        (("running", "failed"), WorkloadPhase.STOPPING),
        (("succeeded", "running"), WorkloadPhase.SUCCEEDED),
        (("cancelled", "stopping"), WorkloadPhase.CANCELLED),
    ],
    ids=str,
)
def test_phase_of_the_whole(phases: tuple[str, str], expected: WorkloadPhase) -> None:
    workload = merge(*(entry(node, phase) for node, phase in enumerate(phases)))
    assert workload.phase is expected
    assert workload.provider_state is None


def test_everything_else_of_a_workload() -> None:
    workload = merge(
        entry(
            0,
            "failed",
            reason="rank 1 on node 1 exited with code 3",
            first_failed_rank=1,
            exit_code=3,
            exit_codes=[-15, 3],
        ),
        entry(1, "failed", rank={"exit_code": 3}),
    )
    assert (workload.full_name, workload.workload_id) == ("here/demo/train", "w1")
    assert (workload.command, workload.nodes, workload.procs_per_node) == (("python", "train.py"), 2, 1)
    assert (workload.exit_code, workload.first_failed_rank, workload.log_bytes) == (3, 1, 20)
    assert [(rank.pid, rank.exit_code) for rank in workload.ranks] == [(100, -15), (101, 3)]


@pytest.mark.parametrize(
    ("look", "reason"),
    [
        (NodeLook(problem="No route to host"), "node 1 could not be asked: No route to host"),
        (NodeLook(), "node 1 knows nothing of this workload"),
        (NodeLook(parse_entry({"id": "w1", "problem": "no slot is valid"})), "node 1: no slot is valid"),
        (NodeLook(parse_entry({"id": "w1", "is_alive": True})), "node 1 has claimed it and written no state yet"),
        (
            NodeLook(parse_entry({"id": "w1", "state": {"about": ABOUT, "node_index": "x", "phase": "running"}})),
            "node 1: its state is malformed (state.node_index: Input should be a valid integer, "
            "unable to parse string as an integer)",
        ),
    ],
    ids=["unreachable", "absent", "unreadable", "no state", "malformed"],
)
def test_a_node_that_is_not_known_makes_it_unknown_and_is_named(look: NodeLook, reason: str) -> None:
    workload = merge(entry(0, "running"), look)
    assert (workload.phase, workload.reason) == (WorkloadPhase.UNKNOWN, reason)
    assert workload.ranks[1].phase is WorkloadPhase.UNKNOWN


def test_a_node_that_left_the_cluster_is_named() -> None:
    assert merge(entry(0, "running")).reason == "node 1 is not in the cluster any more"


def test_a_word_of_another_release_is_shown_and_is_no_end() -> None:
    workload = merge(entry(0, "running"), entry(1, "hibernating"))
    assert (workload.phase, workload.provider_state) == (WorkloadPhase.UNKNOWN, "hibernating")


def test_the_last_word_of_node_0_is_enough() -> None:
    workload = merge(entry(0, "succeeded", exit_code=0, exit_codes=[0, 0]), NodeLook(problem="No route to host"))
    assert (workload.phase, workload.exit_code) == (WorkloadPhase.SUCCEEDED, 0)
    assert [rank.exit_code for rank in workload.ranks] == [0, 0]


def test_a_start_under_way_is_pending_although_a_node_has_not_heard_of_it_yet() -> None:
    assert merge(entry(0, "pending"), NodeLook()).phase is WorkloadPhase.PENDING
    assert merge(entry(0, "pending", is_alive=False), NodeLook()).phase is WorkloadPhase.UNKNOWN
    assert merge(entry(0, "pending"), NodeLook(problem="timeout")).phase is WorkloadPhase.UNKNOWN


def test_a_refusal_on_one_node_is_the_whole_workloads() -> None:
    refused = entry(1, "failed", never_started=True, reason="node 1: disk full")
    workload = merge(NodeLook(), refused)
    assert (workload.phase, workload.reason, workload.ranks) == (WorkloadPhase.FAILED, "node 1: disk full", ())


def test_a_gone_supervisor_is_a_failure_when_all_others_have_ended() -> None:
    gone = entry(0, "running", is_alive=False)
    assert merge(gone, entry(1, "running")).phase is WorkloadPhase.STOPPING
    workload = merge(gone, entry(1, "failed"))
    assert workload.phase is WorkloadPhase.FAILED
    assert workload.reason == "the supervisor on node 0 is gone (killed or machine restarted)"
    assert workload.ranks[0].phase is WorkloadPhase.FAILED
    assert merge(gone, NodeLook(problem="timeout")).phase is WorkloadPhase.UNKNOWN


def test_a_start_that_was_cut_off_before_any_state_is_a_failure_and_not_a_riddle_for_ever() -> None:
    cut = NodeLook(parse_entry({"id": "w1"}))
    workload = merge(cut, cut)
    assert workload.phase is WorkloadPhase.FAILED
    assert workload.reason == "the supervisor on node 0, 1 is gone (killed or machine restarted)"
    assert merge(entry(0, "pending"), cut).phase is WorkloadPhase.STOPPING
    assert merge(entry(0, "failed", reason="no answer in time from node 1"), cut).phase is WorkloadPhase.FAILED


def test_what_still_runs_without_a_supervisor_is_named() -> None:
    workload = merge(
        entry(0, "failed", reason="node 1 was lost"), entry(1, "running", is_alive=False, left_over=("h:7 sleep",))
    )
    assert workload.reason == "node 1 was lost; still running: h:7 sleep (cancel the workload to end them)"


def test_ranks_say_how_they_ended() -> None:
    def rank(**report: Any) -> tuple[WorkloadPhase, str | None]:
        state = merge(entry(0, "running", rank=report), entry(1, "running")).ranks[0]
        return state.phase, state.reason

    assert rank() == (WorkloadPhase.RUNNING, None)
    assert rank(pid=None) == (WorkloadPhase.PENDING, None)
    assert rank(exit_code=0) == (WorkloadPhase.SUCCEEDED, None)
    assert rank(exit_code=3) == (WorkloadPhase.FAILED, "exited with code 3")
    assert rank(exit_code=-9) == (WorkloadPhase.FAILED, "was killed by SIGKILL")
    assert rank(exit_code=-64) == (WorkloadPhase.FAILED, "was killed by SIGRTMAX")
    ended = rank(exit_code=-15, was_ended=True)
    assert ended == (WorkloadPhase.CANCELLED, "was killed by SIGTERM when the workload was ended")
    assert rank(exit_code=0, lost_bytes=5)[1] == "5 bytes of its output were lost (disk full)"

"""What is seen of workloads after they were submitted, and what ends, rests and resumes them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import AuthError, NotFoundError, ProviderError
from jupyter_gpu_clusters.core.http import LostAnswerError
from jupyter_gpu_clusters.core.models import Workload, WorkloadPhase
from jupyter_gpu_clusters.providers.runai import access, convert
from jupyter_gpu_clusters.sandbox.runai import Runai
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox

from .conftest import TRAIN, Runner, order_of

pytestmark = pytest.mark.anyio
NOBODY = "123e4567-e89b-12d3-a456-426614174000"


async def seen(runai: Runner, workload: Workload) -> Workload:
    """The workload as one read shows it."""
    found = await (await runai.launcher()).get_workload(workload.workload_id)
    assert found.item is not None, found.reason
    return found.item


async def listed(runai: Runner) -> dict[str, Workload]:
    found = await runai.provider.list_workloads([await runai.cluster()])
    assert found.is_complete
    return {workload.workload_id: workload for workload in found.items}


async def test_from_unknown_to_completed(runai: Runner) -> None:
    workload, _ = await runai.submit()
    words = []
    for seconds in (0, 3, 3, 15, 600):
        runai.sandbox.advance(seconds)
        now = await seen(runai, workload)
        words.append((now.provider_state, now.phase.value))
    assert words[0] == ("Unknown", "pending")
    assert words[-1] == ("Completed", "succeeded")
    assert ("Running", "running") in words
    done = await seen(runai, workload)
    assert (done.exit_code, done.nodes, len(done.ranks)) == (0, 2, 2)
    assert (await listed(runai))[workload.workload_id].phase is WorkloadPhase.SUCCEEDED


@pytest.mark.parametrize(
    ("word", "phase"),
    [
        ("Creating", "pending"), ("Pending", "pending"), ("Initializing", "pending"), ("Resuming", "pending"),
        ("Running", "running"), ("Degraded", "running"), ("Updating", "running"), ("RUNNING", "running"),
        ("Stopping", "stopping"), ("Deleting", "stopping"), ("Terminating", "stopping"), ("Stopped", "stopped"),
        ("Failed", "failed"), ("Completed", "succeeded"), ("Migrating", "unknown"), ("Unknown", "unknown"),
        (None, "unknown"), (["Running", "Odd"], "unknown"), (7, "unknown"), ({"a": 1}, "unknown"),
    ],
)  # fmt: skip
async def test_phase_words(runai: Runner, word: Any, phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = await runai.running()
    monkeypatch.setattr(convert, "YOUNG", convert.YOUNG * 0)
    monkeypatch.setattr(access, "GRACE_S", 0.0)
    ops = [{"op": "set", "path": "/workloads/*/phase", "value": word}]
    runai.sandbox.fault(service="runai", action="list", kind="mutate", ops=ops)
    found = (await listed(runai))[workload.workload_id]
    assert found.phase.value == phase
    if isinstance(word, str):
        assert found.provider_state == word
    if isinstance(word, list):
        assert found.provider_state == "Running, Odd"


async def test_the_typed_read_says_the_same_as_the_list(runai: Runner) -> None:
    workload = await runai.running()
    one, other = await seen(runai, workload), (await listed(runai))[workload.workload_id]
    changes = {"name": "x", "finished_at": None}
    assert one.model_copy(update=changes) == other.model_copy(update=changes)
    assert one.command == ("python", "train.py")


async def test_generic_read_that_is_refused_is_not_needed(runai: Runner) -> None:
    runai.sandbox.choose({"runai.generic_read": "403"})
    workload, _ = await runai.submit()
    runai.sandbox.advance(3)
    assert (await seen(runai, workload)).phase is WorkloadPhase.PENDING


async def test_why_it_waits_is_said(runai: Runner) -> None:
    spec = {**TRAIN, "nodes": 4, "spec": {"nodePools": ["h100"], "priorityClass": "high"}}
    workload, _ = await runai.submit(spec)
    runai.sandbox.advance(30)
    for now in (await seen(runai, workload), (await listed(runai))[workload.workload_id]):
        assert now.phase is WorkloadPhase.PENDING
        assert now.reason is not None
        assert "quota" in now.reason or "limit" in now.reason


async def test_missing_right_after_its_making_is_no_proof(runai: Runner) -> None:
    runai.sandbox.choose({"runai.after_create": "not-found"})
    workload, _ = await runai.submit()
    found = await (await runai.launcher()).get_workload(workload.workload_id)
    assert (found.answer, found.item) == ("cannot_tell", None)
    runai.sandbox.advance(10)
    assert (await seen(runai, workload)).phase is WorkloadPhase.PENDING


async def test_absent_only_after_a_while_and_with_complete_lists(
    runai: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = await runai.launcher()
    assert (await launcher.get_workload(NOBODY)).answer == "cannot_tell"
    monkeypatch.setattr(access, "GRACE_S", 0.0)
    assert (await launcher.get_workload(NOBODY)).answer == "absent"
    runai.sandbox.fault(service="runai", action="list", kind="status", status=503, times=None)
    with pytest.raises(ProviderError):
        await launcher.get_workload(NOBODY)
    assert (await launcher.get_workload("")).answer == "cannot_tell"


@pytest.mark.parametrize("deleted_read", ["deletedAt", "404"])
async def test_what_was_deleted_is_cancelled(runai: Runner, deleted_read: str) -> None:
    runai.sandbox.choose({"runai.deleted_read": deleted_read})
    workload = await runai.running()
    assert (await listed(runai))[workload.workload_id].phase is WorkloadPhase.RUNNING
    report = await (await runai.launcher()).cancel_workload(workload.workload_id)
    assert (report.workload.phase, report.left_over) == (WorkloadPhase.STOPPING, ())
    runai.sandbox.advance(60)
    assert runai.alive() == []
    assert (await seen(runai, workload)).phase is WorkloadPhase.CANCELLED
    assert (await listed(runai))[workload.workload_id].phase is WorkloadPhase.CANCELLED
    assert [row["path"].rpartition("/")[2] for row in runai.sent("DELETE")] == [workload.workload_id]


async def test_a_new_process_sees_what_was_cancelled_lately_and_not_what_had_ended(runai: Runner) -> None:
    cancelled, _ = await runai.submit(name="first")
    ended, _ = await runai.submit({**TRAIN, "spec": {"autoDeletionTimeAfterCompletionSeconds": 5}}, name="second")
    await (await runai.launcher()).cancel_workload(cancelled.workload_id)
    runai.sandbox.advance(700)
    runai.sandbox.advance(60)
    other = Runner(runai.sandbox)
    found = await listed(other)
    assert {found[cancelled.workload_id].phase} == {WorkloadPhase.CANCELLED}
    assert ended.workload_id not in found
    await other.provider.aclose()


async def test_cancel_of_what_has_ended_sends_nothing(runai: Runner) -> None:
    workload = await runai.running()
    runai.sandbox.advance(700)
    report = await (await runai.launcher()).cancel_workload(workload.workload_id)
    assert report.workload.phase is WorkloadPhase.SUCCEEDED
    assert runai.sent("DELETE") == []


@pytest.mark.parametrize(("kind", "happens"), [("drop_after", True), ("status_after", True), ("drop_before", False)])
async def test_cancel_whose_answer_is_lost_is_looked_after(runai: Runner, kind: str, happens: bool) -> None:
    workload = await runai.running()
    runai.sandbox.fault(service="runai", action="delete", kind=kind)
    launcher = await runai.launcher()
    if happens:
        assert (await launcher.cancel_workload(workload.workload_id)).workload.phase is WorkloadPhase.STOPPING
    else:
        with pytest.raises(LostAnswerError):
            await launcher.cancel_workload(workload.workload_id)
    assert len(runai.sent("DELETE")) == 1


async def test_cancel_of_nothing_is_an_error(runai: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError):
        await (await runai.launcher()).cancel_workload(NOBODY)
    monkeypatch.setattr(access, "GRACE_S", 0.0)
    with pytest.raises(NotFoundError):
        await (await runai.launcher()).cancel_workload(NOBODY)


@pytest.mark.parametrize("body", ["json", "empty"])
async def test_suspend_and_resume_are_posts_and_calm(runai: Runner, body: str) -> None:
    runai.sandbox.choose({"runai.accepted_body": body})
    workload = await runai.running()
    order = order_of(await runai.plan(TRAIN))
    first = await runai.provider.suspend_workload(workload, order)
    again = await runai.provider.suspend_workload(workload, order)
    assert {first.phase, again.phase} == {WorkloadPhase.STOPPING}
    runai.sandbox.advance(10)
    assert (await seen(runai, workload)).phase is WorkloadPhase.STOPPED
    assert [row["gpus"] for row in runai.books()["alive"]] == [0.0]
    back = await runai.provider.resume_workload(workload, order)
    assert back.phase is WorkloadPhase.PENDING
    await runai.provider.resume_workload(workload, order)
    runai.sandbox.advance(60)
    assert (await seen(runai, workload)).phase is WorkloadPhase.RUNNING
    assert [row["method"] for row in runai.sandbox.requests() if row["path"].endswith(("/suspend", "/resume"))] == [
        "POST", "POST",
    ]  # fmt: skip


async def test_resume_while_it_still_stops_is_refused(runai: Runner) -> None:
    workload = await runai.running()
    order = order_of(await runai.plan(TRAIN))
    await runai.provider.suspend_workload(workload, order)
    with pytest.raises(ProviderError, match="still stopping") as caught:
        await runai.provider.resume_workload(workload, order)
    assert caught.value.is_definite


# Finding again


@pytest.mark.parametrize("kind", ["drop_after", "status_after", "truncated", "html", "cut_body", "empty"])
async def test_lost_answer_leaves_one_workload_that_is_found_by_its_mark(runai: Runner, kind: str) -> None:
    plan, launcher = await runai.plan(TRAIN), await runai.launcher()
    runai.sandbox.fault(service="runai", action="submit", kind=kind)
    with pytest.raises(LostAnswerError) as caught:
        await launcher.submit_workload(plan, order_of(plan))
    assert not caught.value.is_definite
    found = await launcher.find_submitted(order_of(plan))
    assert [w.workload_id for w in found.workloads] == runai.alive()
    assert (found.workloads[0].name, found.never_happened) == ("train", False)
    assert len(runai.bodies()) == 1
    if kind == "truncated":
        assert list(caught.value.ids) == runai.alive()


async def test_nothing_found_is_no_proof(runai: Runner) -> None:
    plan, launcher = await runai.plan(TRAIN), await runai.launcher()
    found = await launcher.find_submitted(order_of(plan))
    assert (found.workloads, found.never_happened) == ((), False)
    assert found.reason


async def test_what_was_deleted_meanwhile_is_found_as_cancelled(runai: Runner) -> None:
    workload, order = await runai.submit()
    launcher = await runai.launcher()
    await launcher.cancel_workload(workload.workload_id)
    runai.sandbox.advance(60)
    (found,) = (await launcher.find_submitted(order)).workloads
    assert (found.workload_id, found.phase) == (workload.workload_id, WorkloadPhase.CANCELLED)


async def test_another_orders_workload_is_not_taken(runai: Runner) -> None:
    await runai.submit()
    plan, launcher = await runai.plan(TRAIN), await runai.launcher()
    other = order_of(plan, mark="zz99zz99zz")
    assert (await launcher.find_submitted(other)).workloads == ()


async def test_without_a_mark_nothing_is_adopted(runai: Runner) -> None:
    workload, order = await runai.submit({**TRAIN, "exact_name": True})
    found = await (await runai.launcher()).find_submitted(order)
    assert found.workloads == ()
    assert workload.workload_id in str(found.reason)


# Lists


async def test_workloads_of_others_are_listed_and_other_types_are_not(runai: Runner) -> None:
    workload = await runai.running()
    runai.sandbox.setup("runai", foreign={"count": 3, "project": "4500012", "name": "other"})
    found = await listed(runai)
    assert set(found) == {workload.workload_id}
    assert not found[workload.workload_id].created_here


async def test_all_pages_are_read_in_few_calls(runai: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    runai.sandbox.choose({"runai.list_order": "newest"})
    plan, launcher = await runai.plan({**TRAIN, "gpus_per_node": None}), await runai.launcher()
    for number in range(12):
        await launcher.submit_workload(plan, order_of(plan, mark=f"mark{number:06}"))
    runai.sandbox.forget_requests()
    monkeypatch.setattr("jupyter_gpu_clusters.providers.runai.client.PAGE", 5)
    assert len(await listed(runai)) == 12
    lists = [row for row in runai.sent("GET", "/workloads") if row["query"].get("deleted") is None]
    assert [row["query"]["offset"] for row in lists] == [["0"], ["4"], ["8"]]


@pytest.mark.parametrize("how", ["skip", "repeat"])
async def test_pages_that_move_while_being_read(runai: Runner, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, launcher = await runai.plan({**TRAIN, "gpus_per_node": None}), await runai.launcher()
    for number in range(12):
        await launcher.submit_workload(plan, order_of(plan, mark=f"mark{number:06}"))
    monkeypatch.setattr("jupyter_gpu_clusters.providers.runai.client.PAGE", 5)
    cluster = await runai.cluster()
    runai.sandbox.fault(service="runai", action="list", kind="page_drift", how=how, times=2)
    again = await runai.provider.list_workloads([cluster])
    assert again.is_complete
    assert len(again.items) == 12
    runai.sandbox.fault(service="runai", action="list", kind="page_drift", how=how, times=None)
    always = await runai.provider.list_workloads([cluster])
    ids = [workload.workload_id for workload in always.items]
    assert len(set(ids)) == len(ids)
    assert len(ids) == 12 or not always.is_complete


@pytest.mark.parametrize(
    "fault", [{"kind": "status", "status": 500}, {"kind": "html"}, {"kind": "truncated"}, {"kind": "empty"}]
)
async def test_a_listing_that_fails_raises(runai: Runner, fault: dict[str, Any]) -> None:
    await runai.running()
    cluster = await runai.cluster()
    runai.sandbox.fault(service="runai", action="list", times=None, **fault)
    with pytest.raises(Exception, match=r"workloads"):
        await runai.provider.list_workloads([cluster])


@pytest.mark.parametrize(
    ("ops", "complete"),
    [
        ([{"op": "set", "path": "/workloads", "value": None}], True),
        ([{"op": "set", "path": "/workloads/*/extra", "value": {"a": [1]}}], True),
        ([{"op": "remove", "path": "/workloads/*/id"}], False),
        ([{"op": "text", "path": "/workloads/*/requestedPods/number"}], True),
        ([{"op": "set", "path": "/workloads/*/requestedPods", "value": "two"}], True),
        ([{"op": "list", "path": "/workloads/*/name"}], True),
        ([{"op": "set", "path": "/workloads/*/createdAt", "value": "yesterday"}], True),
        ([{"op": "set", "path": "/workloads/*/distributedFramework", "value": "Pytorch"}], True),
        ([{"op": "set", "path": "/workloads/*/type", "value": "distributed"}], True),
    ],
)
async def test_odd_rows(runai: Runner, ops: list[dict[str, Any]], complete: bool) -> None:
    workload = await runai.running()
    cluster = await runai.cluster()
    runai.sandbox.fault(service="runai", action="list", kind="mutate", ops=ops)
    found = await runai.provider.list_workloads([cluster])
    assert found.is_complete is complete
    if complete and "value" in ops[0] and ops[0]["path"] != "/workloads":
        assert [w.workload_id for w in found.items] == [workload.workload_id]


async def test_no_list_in_the_answer_is_a_failure(runai: Runner) -> None:
    cluster = await runai.cluster()
    runai.sandbox.fault(service="runai", action="list", kind="mutate", ops=[{"op": "remove", "path": "/workloads"}])
    with pytest.raises(Exception, match="no list of workloads"):
        await runai.provider.list_workloads([cluster])


async def test_the_service_that_spells_the_type_otherwise_is_read_without_the_filter(runai: Runner) -> None:
    workload = await runai.running()
    cluster = await runai.cluster()
    runai.sandbox.fault(
        service="runai", action="list", query={"filterBy": "type==Distributed"}, kind="empty_list", times=None
    )
    for _ in range(2):
        found = await runai.provider.list_workloads([cluster])
        assert [w.workload_id for w in found.items] == [workload.workload_id]


async def test_clocks_that_differ_do_no_harm(make_sandbox: MakeSandbox) -> None:
    for_test: CheckedSandbox = make_sandbox(services=[Runai])
    for skew in (-86_400.0, 86_400.0):
        for_test.set_clock(skew_s=skew)
        runner = Runner(for_test)
        workload, _ = await runner.submit(name=f"skew{int(skew > 0)}")
        assert workload.phase is WorkloadPhase.PENDING
        assert (await seen(runner, workload)).phase is WorkloadPhase.PENDING
        assert len(runner.sent("POST", "/token")) <= 2
        await runner.provider.aclose()


async def test_a_read_refused_for_the_role_is_an_error_and_no_absence(runai: Runner) -> None:
    workload = await runai.running()
    launcher = await runai.launcher()
    runai.sandbox.fault(service="runai", path="/api/v1/workloads/distributed/{id}", kind="status", status=403)
    with pytest.raises(AuthError) as caught:
        await launcher.get_workload(workload.workload_id)
    assert "role" in str(caught.value.hint)


async def test_many_reads_at_once(runai: Runner) -> None:
    workload = await runai.running()
    launcher = await runai.launcher()
    found = await asyncio.gather(*(launcher.get_workload(workload.workload_id) for _ in range(20)))
    assert {one.answer for one in found} == {"found"}


async def test_a_node_that_fails_degrades_the_workload_and_is_no_end(runai: Runner) -> None:
    workload = await runai.running()
    pods = (await runai.provider.show_details(workload, "pods")).rows
    runai.sandbox.setup("runai", node={"name": pods[0]["node"], "status": "NotReady"})
    for now in (await seen(runai, workload), (await listed(runai))[workload.workload_id]):
        assert (now.phase, now.provider_state) == (WorkloadPhase.RUNNING, "Degraded")
        assert now.reason


async def test_preempted_work_waits_again(runai: Runner) -> None:
    workload = await runai.running()
    runai.sandbox.setup("runai", preempt=workload.workload_id)
    assert (await seen(runai, workload)).phase is WorkloadPhase.PENDING


async def test_what_was_just_made_and_is_not_listed_yet_makes_the_list_incomplete(runai: Runner) -> None:
    workload, _ = await runai.submit()
    cluster = await runai.cluster()
    runai.sandbox.fault(service="runai", action="list", kind="hide_rows", seconds=30, times=None)
    found = await runai.provider.list_workloads([cluster])
    assert (found.items, found.is_complete) == ((), False)
    runai.sandbox.advance(60)
    found = await runai.provider.list_workloads([cluster])
    assert ([w.workload_id for w in found.items], found.is_complete) == ([workload.workload_id], True)

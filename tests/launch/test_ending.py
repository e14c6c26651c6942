"""How ranks end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import NotFoundError
from jupyter_gpu_clusters.core.models import Workload, WorkloadPhase
from jupyter_gpu_clusters.launch.spec import CommandSpec
from tests.until import until, until_async

from .bench import Bench, family

pytestmark = pytest.mark.anyio

STUBBORN = """
trap '' TERM HUP INT
(trap '' TERM; sleep 1000) &
setsid sh -c "trap '' TERM; sleep 1000" &
(setsid setsid sh -c 'sleep 1000' &) &
sh -c 'sleep 1000 & echo ready $RANK'
while :; do sleep 1000; done
"""
"""Ignores TERM, and has children in its group, in a session of their own, and orphans of both kinds."""


async def stubborn(bench: Bench) -> Workload:
    workload = await bench.submit(CommandSpec(script=STUBBORN, procs_per_node=2))
    for rank in range(4):
        log = bench.work_folder(workload.workload_id, rank // 2) / f"rank-{rank}.log"
        until(lambda log=log: log.read_text() == f"ready {log.stem[5:]}\n")  # type: ignore[misc]
    assert len(family(workload.workload_id)) > 4 * 5
    return workload


async def test_the_first_failing_rank_ends_the_others_and_is_named(bench: Bench) -> None:
    workload = await bench.run(CommandSpec(script="[ $RANK = 3 ] && exit 3; sleep 60", procs_per_node=2))
    assert workload.phase is WorkloadPhase.FAILED
    assert (workload.first_failed_rank, workload.exit_code) == (3, 3)
    assert workload.reason == "rank 3 on node 1 exited with code 3"
    assert [(rank.phase, rank.exit_code) for rank in workload.ranks] == [
        *[(WorkloadPhase.CANCELLED, -signal.SIGTERM)] * 3,
        (WorkloadPhase.FAILED, 3),
    ]


async def test_a_rank_killed_by_a_signal_is_named(bench: Bench) -> None:
    workload = await bench.run(CommandSpec(script="[ $RANK = 0 ] && kill -KILL $$; sleep 60", procs_per_node=2))
    assert workload.reason == "rank 0 on node 0 was killed by SIGKILL"
    assert (workload.exit_code, workload.ranks[0].reason) == (-9, "was killed by SIGKILL")


async def test_a_rank_that_fails_after_others_have_succeeded(bench: Bench) -> None:
    workload = await bench.run(CommandSpec(script="[ $RANK = 0 ] && exit 0; sleep 0.5; exit 5", procs_per_node=1))
    assert (workload.phase, workload.first_failed_rank) == (WorkloadPhase.FAILED, 1)
    assert [rank.phase for rank in workload.ranks] == [WorkloadPhase.SUCCEEDED, WorkloadPhase.FAILED]


async def test_what_a_rank_leaves_behind_is_ended_with_the_workload(impatient: Bench) -> None:
    script = "setsid sleep 1000 & (trap '' TERM; exec sleep 1000) & echo done"
    workload = await impatient.run(CommandSpec(script=script, procs_per_node=2))
    assert workload.phase is WorkloadPhase.SUCCEEDED
    assert not family(workload.workload_id)


async def test_a_node_whose_ranks_have_ended_rests_until_the_others_have(bench: Bench) -> None:
    workload = await bench.submit(CommandSpec(script="[ $RANK = 1 ] || sleep 60", procs_per_node=1))
    status = Path(f"/proc/{bench.supervisor(workload.workload_id, 1)}/status")

    def wake_ups() -> int:
        return int(status.read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0])

    async def rests() -> bool:
        before = wake_ups()
        await asyncio.sleep(0.5)
        return wake_ups() - before < 8

    until(lambda: bench.state(workload.workload_id, 1)["ranks"][0]["exit_code"] == 0)
    assert await until_async(rests)
    assert (await bench.get(workload.workload_id)).phase is WorkloadPhase.RUNNING


async def test_cancel_leaves_nothing_of_a_stubborn_family(impatient: Bench) -> None:
    workload = await stubborn(impatient)
    began = time.monotonic()
    report = await impatient.launcher.cancel_workload(workload.workload_id)
    assert time.monotonic() - began < 10
    assert (report.workload.phase, report.left_over) == (WorkloadPhase.CANCELLED, ())
    assert {rank.exit_code for rank in report.workload.ranks} == {-signal.SIGKILL}
    assert not family(workload.workload_id)


async def test_a_polite_rank_gets_its_grace_to_save_its_work(bench: Bench) -> None:
    script = (
        f"trap 'sleep 0.3; touch {bench.folder}/saved-$RANK; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    )
    workload = await bench.submit(CommandSpec(script=script, procs_per_node=1))
    for node in range(2):
        log = bench.work_folder(workload.workload_id, node) / f"rank-{node}.log"
        until(lambda log=log: log.read_text() == "ready\n")  # type: ignore[misc]
    report = await bench.launcher.cancel_workload(workload.workload_id)
    assert report.workload.phase is WorkloadPhase.CANCELLED
    assert sorted(path.name for path in bench.folder.glob("saved-*")) == ["saved-0", "saved-1"]


async def test_the_phase_is_stopping_while_ranks_use_their_grace(tmp_path: Path) -> None:
    bench = Bench(tmp_path, grace_s=2.0)
    workload = await stubborn(bench)
    cancel = asyncio.create_task(bench.launcher.cancel_workload(workload.workload_id))

    async def no_longer_running() -> WorkloadPhase | None:
        phase = (await bench.get(workload.workload_id)).phase
        return None if phase is WorkloadPhase.RUNNING else phase

    assert await until_async(no_longer_running, every_s=0.02) is WorkloadPhase.STOPPING
    assert (await cancel).workload.phase is WorkloadPhase.CANCELLED


async def test_a_finished_workload_keeps_its_phase_when_it_is_cancelled(bench: Bench) -> None:
    succeeded = await bench.run(CommandSpec(command=["true"]))
    failed = await bench.run(CommandSpec(command=["false"]))
    for workload in (succeeded, failed):
        report = await bench.launcher.cancel_workload(workload.workload_id)
        assert (report.workload, report.left_over) == (workload, ())


async def test_cancelling_twice_at_once_is_calm(bench: Bench) -> None:
    workload = await bench.submit(CommandSpec(command=["sleep", "60"]))
    reports = await asyncio.gather(*(bench.launcher.cancel_workload(workload.workload_id) for _ in range(2)))
    assert {report.workload.phase for report in reports} == {WorkloadPhase.CANCELLED}


async def test_cancelling_what_nobody_knows(bench: Bench) -> None:
    with pytest.raises(NotFoundError, match="knows the workload nothing"):
        await bench.launcher.cancel_workload("nothing")


async def test_a_stopped_rank_is_ended_too(bench: Bench) -> None:
    workload = await bench.submit(CommandSpec(command=["sleep", "60"], nodes=1))
    os.kill(bench.state(workload.workload_id)["ranks"][0]["pid"], signal.SIGSTOP)
    report = await bench.launcher.cancel_workload(workload.workload_id)
    assert report.workload.phase is WorkloadPhase.CANCELLED
    assert not family(workload.workload_id)


async def test_a_supervisor_told_to_stop_by_the_machine_is_no_cancel_of_the_user(bench: Bench) -> None:
    workload = await bench.submit(CommandSpec(command=["sleep", "60"]))
    os.kill(bench.supervisor(workload.workload_id, 1), signal.SIGTERM)
    workload = await bench.finished(workload)
    assert workload.phase is WorkloadPhase.FAILED
    assert workload.reason == "the supervisor on node 1 was told to stop (SIGTERM)"

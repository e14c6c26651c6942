"""What happens when processes of ours die: the client's, a supervisor's."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.models import WorkloadPhase
from jupyter_gpu_clusters.launch import control
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.supervisor.state_file import StateFile
from tests.until import until

from .bench import Bench, family, log_readers
from .test_ending import stubborn

pytestmark = pytest.mark.anyio

CLIENT = """
import anyio, sys
from pathlib import Path
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.supervisor.state_file import StateFile
from tests.launch.bench import Bench

async def main():
    bench = Bench(Path(sys.argv[1]))
    wait = "while [ ! -e %s/go ]; do sleep 0.05; done" % sys.argv[1]
    script = "echo one $RANK; " + wait + "; echo two $RANK; sleep 0.$((RANK * 2)); exit $((RANK * 4))"
    await bench.submit(CommandSpec(script=script, procs_per_node=1), "outlives")
    async for chunk in bench.launcher.stream_logs("outlives", follow=True):
        print("following", flush=True)

anyio.run(main)
"""


async def test_a_job_outlives_its_killed_client_and_is_attached_again(bench: Bench) -> None:
    bench.orders.append("outlives")
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLIENT, str(bench.folder)), stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout
    assert await client.stdout.readline() == b"following\n"
    client.kill()
    await client.wait()
    assert (await bench.get("outlives")).phase is WorkloadPhase.RUNNING
    (listed,) = (await bench.launcher.list_workloads()).items
    assert (listed.name, listed.nodes, listed.procs_per_node, listed.phase) == ("train", 2, 1, WorkloadPhase.RUNNING)
    until(lambda: not log_readers("outlives"))
    (bench.folder / "go").touch()
    workload = await bench.finished(listed)
    assert workload.reason == "rank 1 on node 1 exited with code 4"
    assert [await bench.text(workload, rank) for rank in range(2)] == ["one 0\ntwo 0\n", "one 1\ntwo 1\n"]


@pytest.mark.parametrize("node", [0, 1])
async def test_a_killed_supervisor_ends_the_workload_on_all_nodes(bench: Bench, node: int) -> None:
    workload = await bench.submit(CommandSpec(command=["sleep", "1000"], procs_per_node=2))
    os.kill(bench.supervisor(workload.workload_id, node), signal.SIGKILL)
    workload = await bench.finished(workload)
    assert workload.phase is WorkloadPhase.FAILED
    gone = f"the supervisor on node {node} is gone (killed or machine restarted)"
    assert workload.reason == (gone if node == 0 else "node 1 was lost: its control connection broke")
    until(lambda: not family(workload.workload_id))


async def test_all_supervisors_killed_at_once_are_reported_honestly(bench: Bench) -> None:
    workload = await bench.submit(CommandSpec(command=["sleep", "1000"]))
    for node in range(2):
        os.kill(bench.supervisor(workload.workload_id, node), signal.SIGSTOP)
    for node in range(2):
        os.kill(bench.supervisor(workload.workload_id, node), signal.SIGKILL)
    workload = await bench.finished(workload)
    assert workload.reason == "the supervisor on node 0, 1 is gone (killed or machine restarted)"
    assert {rank.reason for rank in workload.ranks} == {"its supervisor is gone, its exit code is not known"}


async def test_what_outlives_a_killed_supervisor_is_named_and_cancel_ends_it(impatient: Bench) -> None:
    bench = impatient
    workload = await stubborn(bench)
    for node in range(2):
        os.kill(bench.supervisor(workload.workload_id, node), signal.SIGKILL)
    workload = await bench.finished(workload)
    assert "still running: " in str(workload.reason)
    assert "sleep" in str(workload.reason)
    assert family(workload.workload_id)
    report = await bench.launcher.cancel_workload(workload.workload_id)
    assert (report.workload.phase, report.left_over) == (WorkloadPhase.FAILED, ())
    until(lambda: not family(workload.workload_id))


def _leave_behind(workload_id: str, *, code: str = "") -> subprocess.Popen[bytes]:
    """A process that carries the marks of a workload that nobody supervises."""
    marks = {"JGC_WORKLOAD_ID": workload_id, "JGC_NODE_RANK": "0"}
    argv = [sys.executable, "-c", f"{code}\nprint(flush=True)\nimport time; time.sleep(1000)"]
    process = subprocess.Popen(argv, env={**os.environ, **marks}, stdout=subprocess.PIPE)
    assert process.stdout
    with process.stdout as ready:
        ready.readline()
    return process


async def test_cancel_of_an_ended_workload_ends_what_still_carries_its_mark(impatient: Bench) -> None:
    workload = await impatient.run(CommandSpec(command=["true"]))
    left = _leave_behind(workload.workload_id)
    report = await impatient.launcher.cancel_workload(workload.workload_id)
    assert (report.workload.phase, report.left_over) == (WorkloadPhase.SUCCEEDED, ())
    assert left.wait(timeout=10) == -signal.SIGTERM


async def test_the_leftovers_of_all_workloads_are_ended_and_nobody_else(impatient: Bench) -> None:
    first, second = [await impatient.run(CommandSpec(command=["true"])) for _ in range(2)]
    polite = _leave_behind(first.workload_id)
    stubborn = _leave_behind(second.workload_id, code="import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    stranger = _leave_behind("of-another-cluster")
    try:
        assert await impatient.launcher.end_leftovers() == ()
        assert polite.wait(timeout=10) == -signal.SIGTERM
        assert stubborn.wait(timeout=10) == -signal.SIGKILL
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait(timeout=10)


async def test_leftovers_that_cannot_be_asked_for_are_told(bench: Bench) -> None:
    bench.launcher.control = control.Control("/no/such/python")
    (line,) = await bench.launcher.end_leftovers()
    assert line.startswith("this machine: not known, ")


@pytest.mark.parametrize("node", [0, 1])
async def test_removing_a_node_folder_ends_the_job_on_all_nodes(bench: Bench, node: int) -> None:
    workload = await bench.submit(CommandSpec(command=["sleep", "60"]))
    supervisors = [bench.supervisor(workload.workload_id, index) for index in range(2)]
    shutil.rmtree(bench.folder / f"node{node}")
    until(lambda: not family(workload.workload_id), within_s=10)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in supervisors), within_s=10)
    assert not (bench.folder / f"node{node}").exists()


async def test_cancel_ends_a_workload_whose_supervisor_is_frozen(
    impatient: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "KILL_S", 0.0)
    workload = await impatient.submit(CommandSpec(command=["sleep", "1000"], nodes=1))
    os.kill(impatient.supervisor(workload.workload_id), signal.SIGSTOP)
    report = await impatient.launcher.cancel_workload(workload.workload_id)
    assert report.workload.phase is WorkloadPhase.FAILED
    assert report.left_over == ()
    until(lambda: not family(workload.workload_id))


async def test_another_process_with_the_same_pid_is_not_our_supervisor(bench: Bench) -> None:
    """As after a restart of the machine: the pid lives, but started at another time."""
    workload = await bench.submit(CommandSpec(command=["sleep", "1000"], nodes=1))
    supervisor = bench.supervisor(workload.workload_id)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not family(workload.workload_id))
    state_file = bench.work_folder(workload.workload_id) / "state"
    innocent = await asyncio.create_subprocess_exec("sleep", "1000")
    try:
        _replace_pid(state_file, supervisor, innocent.pid)
        assert (await bench.get(workload.workload_id)).phase is WorkloadPhase.FAILED
        await bench.launcher.cancel_workload(workload.workload_id)
        assert innocent.returncode is None
    finally:
        innocent.kill()
        await innocent.wait()


def _replace_pid(state_file: Path, old: int, new: int) -> None:
    state = StateFile.read(str(state_file.parent))
    assert state is not None
    assert state["supervisor"]["pid"] == old
    state["supervisor"]["pid"] = new
    fd = os.open(state_file, os.O_RDWR)
    file = StateFile(fd, os.fstat(fd).st_size // 2)
    file.seq = time.time_ns()
    file.write(state)
    os.close(fd)

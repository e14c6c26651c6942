"""Rented nodes that are real machines: the sandbox rents them out, an sshd on each lets us in."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import SpecError
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, WorkloadPhase
from jupyter_gpu_clusters.core.service import Service
from tests.contracts.fixtures import CheckedSandbox
from tests.launch.bench import marked
from tests.until import until

from .ssh import Machines
from .work import finished, output, submit

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
NOTEBOOKS = str(Path(__file__).parents[2] / "notebooks")


def command_lines() -> list[bytes]:
    """Of all processes that can be seen, those in the machines too."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.append((folder / "cmdline").read_bytes())
    return found


async def test_two_nodes_of_two_processes_train_as_one(service: Service, cluster: Cluster, machines: Machines) -> None:
    command = ["python3", "train_iris.py", "--out", "result.json"]
    workload = await submit(service, cluster, command=command, procs_per_node=2, sync=NOTEBOOKS)
    ended = await finished(service, workload)
    assert (ended.phase, ended.exit_code) == (WorkloadPhase.SUCCEEDED, 0), ended.reason
    assert [(rank.rank, rank.node_index, rank.exit_code) for rank in ended.ranks] == [(r, r // 2, 0) for r in range(4)]
    (written,) = machines.nodes[0].home.rglob(f"{ended.workload_id}/*/result.json")
    assert json.loads(written.read_text())["world_size"] == 4


async def test_ranks_know_who_they_are_and_find_each_other_over_the_overlay(service: Service, cluster: Cluster) -> None:
    script = "#!/bin/sh\nhostname; env | sort; cat $HOSTFILE"
    workload = await submit(service, cluster, script=script, procs_per_node=2, env={"TOKEN": "planted", "A": "é $x"})
    texts = {rank: text.decode() for rank, text in (await output(service, workload, follow=True)).items()}
    assert [texts[rank].splitlines()[0] for rank in range(4)] == ["node1", "node1", "node2", "node2"]
    for rank in range(4):
        lines = texts[rank].splitlines()
        assert {"MASTER_ADDR=10.42.0.1", "NCCL_SOCKET_IFNAME=wg0", "GLOO_SOCKET_IFNAME=wg0", "A=é $x"} <= set(lines)
        assert {f"RANK={rank}", f"LOCAL_RANK={rank % 2}", "WORLD_SIZE=4"} <= set(lines)
        assert lines[-2:] == ["10.42.0.1 slots=2", "10.42.0.2 slots=2"]


async def test_a_secret_reaches_the_ranks_and_no_command_line_file_log_or_journal(
    service: Service, cluster: Cluster, machines: Machines, jupyter_folders: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = f"planted{os.urandom(8).hex()}"
    workload = await submit(service, cluster, script="echo ${#TOKEN}; sleep 2", nodes=1, env={"TOKEN": secret})
    assert not [line for line in command_lines() if secret.encode() in line]
    assert (await output(service, workload, follow=True))[0] == f"{len(secret)}\n".encode()
    await finished(service, workload)
    folders = [jupyter_folders, *(node.home for node in machines.nodes)]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert "asyncssh" in caplog.text
    assert secret not in caplog.text
    assert not [path for path in files if secret.encode() in path.read_bytes()]


async def test_the_first_failing_rank_ends_the_others_and_is_named(service: Service, cluster: Cluster) -> None:
    script = "if [ $RANK = 2 ]; then echo out of memory; exit 7; fi; sleep 100"
    ended = await finished(service, await submit(service, cluster, script=script, procs_per_node=2))
    assert (ended.phase, ended.exit_code, ended.first_failed_rank) == (WorkloadPhase.FAILED, 7, 2)
    assert (await output(service, ended))[2] == b"out of memory\n"


async def test_cancel_ends_what_ignores_term_and_what_hides_in_another_session(
    service: Service, cluster: Cluster
) -> None:
    word = f"hidden{os.getpid()}"
    script = (
        f"trap '' TERM; export {word}=1; setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' & sleep 300; sleep 300"
    )
    workload = await submit(service, cluster, script=script)
    await asyncio.to_thread(until, lambda: len(marked(word)) >= 4)
    report = await service.cancel(workload)
    assert report.workload.phase is WorkloadPhase.CANCELLED
    assert report.left_over == ()
    assert marked(word) == []


async def test_sixty_four_ranks(service: Service, cluster: Cluster) -> None:
    workload = await submit(service, cluster, script="echo $RANK of $WORLD_SIZE", procs_per_node=32)
    texts = await output(service, workload, follow=True)
    assert texts == {rank: b"%d of 64\n" % rank for rank in range(64)}


async def test_without_gpus_what_needs_them_is_refused_by_name_before_it_starts(
    service: Service, cluster: Cluster
) -> None:
    with pytest.raises(SpecError) as told:
        await submit(service, cluster, command=["true"], gpus_per_node=8)
    assert [(problem.field, problem.text.split(" (")[0]) for problem in told.value.problems] == [
        ("gpus_per_node", "node 0 shows 0 GPUs, 8 are needed"),
        ("gpus_per_node", "node 1 shows 0 GPUs, 8 are needed"),
    ]


async def test_another_process_of_the_user_sees_it_and_follows_it(
    service: Service, cluster: Cluster, machines: Machines
) -> None:
    script = "echo 1; while [ ! -e ~/go ]; do sleep 0.1; done; echo 2; echo 3"
    workload = await submit(service, cluster, script=script, nodes=1)
    other = Service.open()
    try:
        await other.refresh(["lium"])
        found = await other.find_workload("train")
        assert (found.workload_id, found.phase) == (workload.workload_id, WorkloadPhase.RUNNING)
        (machines.nodes[0].home / "go").touch()
        assert await output(other, found, follow=True) == {0: b"1\n2\n3\n"}
    finally:
        await other.aclose()


async def test_a_line_without_its_end_comes_within_a_second_and_bytes_that_are_no_text_are_replaced(
    service: Service, cluster: Cluster
) -> None:
    script = "printf 'half \\377 '; sleep 3; echo whole"
    workload = await submit(service, cluster, script=script, nodes=1)
    loop = asyncio.get_running_loop()
    began, seen = loop.time(), []
    async for chunk in service.stream_logs(workload, follow=True):
        seen.append((loop.time() - began, chunk.text))
    assert seen[0][1] == "half \ufffd "
    assert seen[0][0] < 2.5
    assert "".join(text for _, text in seen) == "half \ufffd whole\n"


@pytest.mark.harmful
async def test_a_node_that_dies_fails_the_workload_by_name(
    service: Service, cluster: Cluster, machines: Machines
) -> None:
    workload = await submit(service, cluster, script="echo on $NODE_RANK; sleep 100")
    machines.nodes[1].kill()
    ended = await finished(service, workload)
    assert ended.phase is WorkloadPhase.FAILED
    assert "node 1" in str(ended.reason)
    with pytest.raises(SpecError, match="node 1"):
        await submit(service, cluster, "again", command=["true"])
    alone = await submit(service, cluster, "alone", command=["true"], nodes=1)
    assert (await finished(service, alone)).phase is WorkloadPhase.SUCCEEDED


@pytest.mark.harmful
async def test_nodes_that_do_not_reach_each_other_start_nothing(
    service: Service, cluster: Cluster, machines: Machines
) -> None:
    machines.cut_off(1)
    workload = await submit(service, cluster, script="touch ~/has-run", env={"X": "1"})
    ended = await finished(service, workload, within_s=120)
    assert ended.phase is WorkloadPhase.FAILED
    assert "node 1" in str(ended.reason)
    assert not [node for node in machines.nodes if (node.home / "has-run").exists()]


@pytest.mark.harmful
async def test_a_rebooted_node_may_have_another_host_key_and_a_changed_one_is_refused(
    service: Service, sandbox: CheckedSandbox, cluster: Cluster, machines: Machines, jupyter_folders: Path
) -> None:
    assert (await finished(service, await submit(service, cluster, command=["true"]))).exit_code == 0
    pins = jupyter_folders / "jupyter_data_dir" / "jupyter_gpu_clusters" / "ssh" / "known_hosts"
    assert len(pins.read_text().splitlines()) == 2
    plan = await service.plan_action(cluster, "reboot", service.action_model("lium", "reboot")(node=1))
    await service.act(plan, consent=consent_to(plan))
    assert len(pins.read_text().splitlines()) == 1
    sandbox.advance(600)
    (again,) = [one for one in (await service.refresh(["lium"])).clusters if one.account == "lium"]
    assert again.phase is ClusterPhase.RUNNING
    assert len(pins.read_text().splitlines()) == 2

"""Local clusters for real: folders, processes, and the service on top of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_gpu_clusters.core import paths
from jupyter_gpu_clusters.core.errors import (
    ConflictError,
    GpuClustersError,
    NameTakenError,
    NoCapacityError,
    NotFoundError,
    ProviderError,
    SpecError,
)
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, State, Workload, WorkloadPhase
from jupyter_gpu_clusters.core.service import Service
from tests.until import until, until_async

from .test_machine import put_nvidia_smi

pytestmark = pytest.mark.anyio


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    opened = Service.open()
    yield opened
    await opened.aclose()


def folder() -> Path:
    return paths.data_dir() / "local"


async def create(service: Service, name: str = "demo", **spec: Any) -> Cluster:
    plan = await service.plan_create("local", name, service.spec_model("local")(**spec))
    return (await service.create(plan)).cluster


async def submit(service: Service, cluster: Cluster, *command: str, name: str | None = None, **spec: Any) -> Workload:
    model = service.workload_model("local")
    plan = await service.plan_submit(cluster, name, model(command=list(command), **spec))
    return (await service.submit(plan)).workload


async def end_of(service: Service, workload: Workload) -> Workload:
    return [now async for now in service.watch_workload(workload)][-1]


async def output_of(service: Service, workload: Workload) -> dict[int, str]:
    texts: dict[int, str] = {}
    async for chunk in service.stream_logs(workload, follow=True):
        texts[chunk.rank] = texts.get(chunk.rank, "") + chunk.text
    return texts


def names(state: State) -> list[str]:
    return [cluster.name for cluster in state.clusters]


async def test_this_machine_is_one_free_offer(service: Service) -> None:
    (listing,) = await service.offers()
    (offer,) = listing.offers
    assert offer.is_free
    assert offer.cpus_per_node == len(os.sched_getaffinity(0))


async def test_the_account_works_and_unread_settings_are_told(service: Service) -> None:
    (status,) = await service.check_accounts(["local"])
    assert status.is_usable
    file = paths.accounts_file()
    file.parent.mkdir(parents=True)
    file.write_text('[accounts.mine]\nprovider = "local"\ncolour = "red"\n')
    (status,) = await service.check_accounts(["mine"])
    assert not status.is_usable
    assert "'colour'" in status.detail


async def test_a_cluster_lives_from_create_to_delete(service: Service) -> None:
    cluster = await create(service, nodes=3)
    assert (cluster.phase, cluster.node_count, cluster.is_free) == (ClusterPhase.RUNNING, 3, True)
    assert [node.index for node in cluster.nodes] == [0, 1, 2]
    assert names(await service.refresh()) == ["demo"]
    assert (await service.find_cluster("local/demo")).created_here
    assert (await service.delete(cluster)).is_gone
    assert names(await service.refresh()) == []
    assert list(folder().glob("[!.]*")) == []
    with pytest.raises(NotFoundError, match="no cluster"):
        await service.find_cluster("demo")


async def test_deleting_twice_is_calm(service: Service) -> None:
    cluster = await create(service)
    assert (await service.delete(cluster)).is_gone
    assert (await service.delete(cluster)).is_gone


async def test_a_name_used_again_is_another_cluster(service: Service) -> None:
    first = await create(service)
    await service.delete(first)
    second = await create(service)
    assert first.cluster_id != second.cluster_id
    assert (await service.delete(first)).is_gone
    assert names(await service.refresh()) == ["demo"]


@pytest.mark.parametrize("name", ["Demo", "a b", "-a", "a-", "ä", "a/b", "../x", ".hidden", "a" * 49, "a\n"])
async def test_names_that_cannot_be_folders_are_refused(service: Service, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        await service.plan_create("local", name, service.spec_model("local")())
    assert [problem.field for problem in caught.value.problems] == ["name"]


async def test_everything_survives_the_loss_of_the_journal(service: Service) -> None:
    cluster = await create(service, nodes=2)
    workload = await submit(service, cluster, "sleep", "60", name="long")
    await service.aclose()
    for path in paths.data_dir().iterdir():
        if path.name != "local":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    again = Service.open()
    state = await again.refresh()
    assert names(state) == ["demo"]
    assert [w.workload_id for w in state.workloads] == [workload.workload_id]
    assert not state.clusters[0].created_here
    with pytest.raises(ConflictError, match="already that this journal did not create"):
        await create(again, nodes=2)
    assert (await again.cancel(state.workloads[0])).workload.phase is WorkloadPhase.CANCELLED
    await again.delete(state.clusters[0])
    await again.aclose()


async def test_a_folder_removed_by_hand_is_noticed_and_its_name_is_free(service: Service) -> None:
    await create(service)
    shutil.rmtree(folder() / "demo")
    assert (await create(service)).phase is ClusterPhase.RUNNING


async def test_a_damaged_record_hides_nothing_that_was_known(service: Service) -> None:
    await create(service, "one")
    await create(service, "two")
    await service.refresh()
    (folder() / "two" / "cluster.json").write_text("{")
    state = await service.refresh()
    assert names(state) == ["one", "two"]
    error = state.accounts[0].error
    assert error is not None
    assert "damaged" in error.message


async def test_a_damaged_record_is_told_with_its_path_and_stops_no_other_cluster(service: Service) -> None:
    await create(service, "broken")
    (folder() / "broken" / "cluster.json").write_text("{")
    with pytest.raises(ProviderError, match=r"broken/cluster.json is damaged"):
        await create(service, "broken")
    assert (await create(service, "sound")).phase is ClusterPhase.RUNNING
    assert (await service.state()).orders == ()


async def test_a_folder_without_a_record_holds_no_name(service: Service) -> None:
    (folder() / "ghost" / "nodes").mkdir(parents=True)
    assert (await create(service, "ghost")).phase is ClusterPhase.RUNNING


async def test_a_submit_during_a_delete_leaves_nothing_behind(service: Service) -> None:
    for round_ in range(3):
        cluster = await create(service, f"race{round_}", nodes=2)
        deleting = asyncio.create_task(service.delete(cluster))
        await asyncio.sleep(0.03 * round_)
        with contextlib.suppress(GpuClustersError):
            await submit(service, cluster, "sleep", "61.5")
        assert (await deleting).is_gone
        assert not (folder() / f"race{round_}").exists()
    until(lambda: not running("61.5"))


async def test_delete_ends_what_a_killed_supervisor_left(service: Service) -> None:
    cluster = await create(service)
    script = "setsid sleep 62.5 & sleep 0.5; kill -9 $PPID; sleep 62.5"
    workload = await submit(service, cluster, "bash", "-c", script)
    until(lambda: running("62.5"))
    assert (await end_of(service, workload)).phase is WorkloadPhase.FAILED
    assert (await service.delete(cluster)).is_gone
    until(lambda: not running("62.5"))


def running(argument: str) -> list[str]:
    """Processes that have `argument` in their command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if argument.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(process.name)
    return found


async def test_a_cluster_of_another_host_is_unknown_not_running(service: Service) -> None:
    await create(service)
    record = folder() / "demo" / "cluster.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"host": "elsewhere"}))
    (cluster,) = (await service.refresh()).clusters
    assert cluster.phase is ClusterPhase.UNKNOWN
    assert cluster.reason is not None
    assert "elsewhere" in cluster.reason


async def test_scaling_is_to_a_total(service: Service) -> None:
    cluster = await create(service, nodes=1)
    plan = await service.plan_scale(cluster, 3)
    assert (await service.scale(plan)).node_count == 3
    grown = await service.find_cluster("demo")
    workload = await submit(service, grown, "sh", "-c", "echo $NODE_RANK")
    assert await output_of(service, workload) == {0: "0\n", 1: "1\n", 2: "2\n"}
    assert (await service.scale(await service.plan_scale(grown, 2))).node_count == 2
    again = await service.plan_create("local", "demo", service.spec_model("local")(nodes=1))
    assert (await service.create(again)).attached


async def test_nodes_at_work_are_not_dropped(service: Service) -> None:
    cluster = await create(service, nodes=2)
    workload = await submit(service, cluster, "sleep", "60", name="long")
    with pytest.raises(SpecError, match="long runs on more"):
        await service.plan_scale(cluster, 1)
    await service.cancel(workload)
    assert (await service.scale(await service.plan_scale(cluster, 1))).node_count == 1


@pytest.mark.parametrize("nodes", [0, -1, 65])
async def test_impossible_sizes_are_refused(service: Service, nodes: int) -> None:
    cluster = await create(service)
    with pytest.raises(SpecError, match=f"cannot have {nodes} nodes"):
        await service.plan_scale(cluster, nodes)


async def test_delete_ends_what_runs(service: Service) -> None:
    cluster = await create(service, nodes=2)
    workload = await submit(service, cluster, "sleep", "60")
    pids = [rank.pid for rank in workload.ranks]
    assert (await service.delete(cluster)).is_gone
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


async def test_a_name_that_runs_attaches_and_one_that_ended_runs_again(service: Service) -> None:
    cluster = await create(service)
    first = await submit(service, cluster, "sleep", "60", name="train")
    second = await submit(service, cluster, "sleep", "60", name="train")
    assert first.workload_id == second.workload_id
    with pytest.raises(NameTakenError, match="from another spec"):
        await submit(service, cluster, "sleep", "61", name="train")
    await service.cancel(first)
    third = await submit(service, cluster, "sleep", "61", name="train")
    assert third.workload_id != first.workload_id
    assert (await service.find_workload("train")).workload_id == third.workload_id
    await service.cancel(third)


async def test_unnamed_workloads_always_run(service: Service) -> None:
    cluster = await create(service)
    runs = [await submit(service, cluster, "true") for _ in range(2)]
    assert len({run.name for run in runs}) == 2
    for run in runs:
        assert (await end_of(service, run)).phase is WorkloadPhase.SUCCEEDED


async def test_two_services_submitting_one_name_start_it_once(service: Service, tmp_path: Path) -> None:
    cluster = await create(service)
    others = [Service.open() for _ in range(3)]
    command = ("sh", "-c", f"echo x >> {tmp_path}/runs; sleep 60")
    found = await asyncio.gather(*(submit(other, cluster, *command, name="train") for other in others))
    assert len({workload.workload_id for workload in found}) == 1
    until(lambda: (tmp_path / "runs").exists())
    await service.cancel(found[0])
    assert (tmp_path / "runs").read_text() == "x\n"
    for other in others:
        await other.aclose()


async def test_ranks_do_not_inherit_secrets(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", "planted-s3cr3t")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    file = paths.accounts_file()
    file.parent.mkdir(parents=True)
    file.write_text('[accounts.lab]\nprovider = "local"\nsecret = "env:LAB_TOKEN"\n')
    cluster = await create(service)
    (text,) = (await output_of(service, await submit(service, cluster, "env"))).values()
    assert "planted-s3cr3t" not in text
    assert "MPLBACKEND" not in text


async def test_the_kernels_python_comes_first(service: Service) -> None:
    cluster = await create(service)
    probe = "import sys; print(sys.prefix)"
    (text,) = (await output_of(service, await submit(service, cluster, "python", "-c", probe))).values()
    assert text.strip() == sys.prefix


async def test_gpus_are_handed_out_once(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_nvidia_smi(tmp_path, 'for i in 0 1 2 3; do echo "$i, Test GPU"; done')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SpecError, match="this machine has 4"):
        await create(service, "huge", nodes=3, gpus_per_node=2)
    first = await create(service, "first", nodes=1, gpus_per_node=1)
    second = await create(service, "second", nodes=1, gpus_per_node=2)
    assert (first.nodes[0].gpu_indices, second.nodes[0].gpu_indices) == ((0,), (1, 2))
    with pytest.raises(NoCapacityError, match="2 GPUs are needed and 1 of 4 are free"):
        await create(service, "third", nodes=1, gpus_per_node=2)
    workload = await submit(service, second, "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $NPROC_PER_NODE")
    assert await output_of(service, workload) == {0: "1,2 2\n"}
    await service.delete(first)
    assert (await create(service, "third", nodes=2, gpus_per_node=1)).nodes[1].gpu_indices == (3,)


async def test_a_workload_on_a_cluster_that_is_gone_is_refused(service: Service) -> None:
    cluster = await create(service)
    model = service.workload_model("local")
    plan = await service.plan_submit(cluster, "train", model(command=["true"]))
    await service.delete(cluster)
    with pytest.raises(NotFoundError, match="gone"):
        await service.submit(plan)


async def test_a_wait_ends_when_the_cluster_is_deleted_elsewhere(service: Service) -> None:
    cluster = await create(service)
    workload = await submit(service, cluster, "sleep", "63.5")
    seen: list[Workload] = []

    async def follow() -> None:
        async for now in service.watch_workload(workload):
            seen.append(now)

    following = asyncio.create_task(follow())

    async def has_begun() -> bool:
        return bool(seen)

    await until_async(has_begun)
    other = Service.open()
    await other.delete(cluster)
    await other.aclose()
    async with asyncio.timeout(20):
        await following
    assert seen[-1].phase in (WorkloadPhase.CANCELLED, WorkloadPhase.UNKNOWN)
    assert seen[-1].reason

"""Who is who: the variables of every rank, as the ranks themselves see them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jupyter_gpu_clusters.core.models import WorkloadPhase
from jupyter_gpu_clusters.launch.ranks import RankNode
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.supervisor.ports import ephemeral_ports

from .bench import PYTHON, Bench

pytestmark = pytest.mark.anyio

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


async def environments(bench: Bench, **spec: Any) -> list[dict[str, str]]:
    workload = await bench.finished(await bench.python(SHOW, **spec))
    assert workload.phase is WorkloadPhase.SUCCEEDED, workload.reason
    return [json.loads(await bench.text(workload, rank.rank)) for rank in workload.ranks]


async def test_once_per_node_with_the_defaults_of_torchrun(bench: Bench) -> None:
    envs = await environments(bench)
    assert [env["NODE_RANK"] for env in envs] == ["0", "1"]
    for env in envs:
        assert env["MASTER_ADDR"] == "127.0.0.1"
        assert env["MASTER_PORT"] == envs[0]["MASTER_PORT"]
        assert env["NNODES"] == "2"
        assert env["NPROC_PER_NODE"] == "1"
        for name in ("MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK", "NPROC_PER_NODE"):
            assert env[f"PET_{name}"] == env[name]
        assert not {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"} & set(env)


async def test_processes_per_node_are_ranks_and_have_no_defaults_of_torchrun(bench: Bench) -> None:
    envs = await environments(bench, procs_per_node=2, env={"PET_NNODES": "9"})
    assert [env["RANK"] for env in envs] == ["0", "1", "2", "3"]
    assert [env["LOCAL_RANK"] for env in envs] == ["0", "1", "0", "1"]
    assert [env["NODE_RANK"] for env in envs] == ["0", "0", "1", "1"]
    for env in envs:
        assert (env["WORLD_SIZE"], env["LOCAL_WORLD_SIZE"], env["NPROC_PER_NODE"]) == ("4", "2", "2")
        assert not [name for name in env if name.startswith("PET_")]


async def test_fewer_nodes_than_the_cluster_has(bench: Bench) -> None:
    envs = await environments(bench, nodes=1)
    assert [(env["NODE_RANK"], env["NNODES"]) for env in envs] == [("0", "1")]


async def test_the_user_wins_except_for_who_is_who(bench: Bench) -> None:
    spec = CommandSpec(command=[PYTHON, "-c", SHOW], env={"BASE": "mine", "NODE_RANK": "7", "PYTHONUNBUFFERED": "0"})
    plan = await bench.plan(spec)
    assert plan.warnings == ("NODE_RANK is set by the launcher; your value is not used.",)
    workload = await bench.run(spec)
    env = json.loads(await bench.text(workload, 1))
    assert (env["BASE"], env["NODE_RANK"], env["PYTHONUNBUFFERED"]) == ("mine", "1", "0")


async def test_ranks_get_nothing_of_the_environment_of_the_notebook(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    for env in await environments(bench):
        assert "SOME_API_KEY" not in env
        assert env["PYTHONUNBUFFERED"] == "1"


@pytest.mark.parametrize(
    ("gpus_per_node", "expected"), [(None, ("4,5", "2")), (1, ("4", "1")), (0, ("", "1"))], ids=str
)
async def test_a_node_with_gpus_says_which_ones(
    tmp_path: Path, gpus_per_node: int | None, expected: tuple[str, str]
) -> None:
    def with_gpus(node: RankNode) -> RankNode:
        return dataclasses.replace(node, gpus=2, env={"CUDA_VISIBLE_DEVICES": "4,5"})

    bench = Bench(tmp_path, nodes=1, change=with_gpus)
    (env,) = await environments(bench, gpus_per_node=gpus_per_node, env={"CUDA_VISIBLE_DEVICES": "0"})
    assert (env["CUDA_VISIBLE_DEVICES"], env["NPROC_PER_NODE"]) == expected


async def test_every_parallel_workload_has_a_master_port_of_its_own(bench: Bench) -> None:
    show = "import os, sys; print(os.environ['MASTER_PORT'], flush=True); sys.stdin.read(); import time; time.sleep(60)"
    workloads = await asyncio.gather(*(bench.python(show) for _ in range(4)))
    ports = []
    for workload in workloads:
        async for chunk in bench.launcher.stream_logs(workload.workload_id, ranks=[1], follow=True):
            ports.append(int(chunk.text))
            break
    assert len(set(ports)) == 4
    assert not set(ports) & set(ephemeral_ports())


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
NASTY = ["", " ", "-rf", "--", "$(touch x)", "`id`", "a\nb", "'", '"', "\\", "\r\n", "🙂", "*", "~", "é\u0301"]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(arguments=NASTY, values={f"V_{number}": value for number, value in enumerate(NASTY)})
@given(
    arguments=st.lists(TEXT | st.sampled_from(NASTY), max_size=6),
    values=st.dictionaries(st.from_regex(r"\A[A-Z_][A-Z0-9_]{0,8}\Z").map("V_".__add__), TEXT, max_size=4),
)
async def test_arguments_and_values_arrive_byte_for_byte(
    bench: Bench, arguments: list[str], values: dict[str, str]
) -> None:
    code = (
        "import json, os, sys\n"
        "print(json.dumps([sys.argv[1:], {k: v for k, v in os.environ.items() if k[:2] == 'V_'}]))"
    )
    spec = CommandSpec(command=[PYTHON, "-X", "utf8", "-c", code, *arguments], env=values, nodes=1)
    workload = await bench.run(spec)
    assert json.loads(await bench.text(workload)) == [arguments, values]

"""On a node that is not the kernel's, ranks find what a user who logs in there finds."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.launch.planning import RankNode
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.supervisor import login
from jupyter_gpu_clusters.launch.supervisor.login import _of_file, login_environment

from .bench import PYTHON, Bench

pytestmark = pytest.mark.anyio

HOME = os.path.expanduser("~")
SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def as_member(node: RankNode) -> RankNode:
    return RankNode(node.index, node.host, node.root, env={"NCCL_SOCKET_IFNAME": "wg0"})


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path, inherits=True, change=as_member)
    yield bench
    await bench.close()


async def test_ranks_find_a_login_s_environment_and_over_it_the_node_s_and_the_user_s(node: Bench) -> None:
    workload = await node.run(CommandSpec(command=[PYTHON, "-c", SHOW], procs_per_node=2, env={"LANG": "of the user"}))
    env = json.loads(await node.text(workload, rank=3))
    assert env["HOME"] == HOME
    assert env["NCCL_SOCKET_IFNAME"] == "wg0"
    assert env["LANG"] == "of the user"
    assert (env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"]) == ("3", "4", "1")
    assert "BASE" not in env
    assert "SSH_CONNECTION" not in env


async def test_commands_run_where_a_login_begins_and_paths_begin_there(node: Bench, tmp_path: Path) -> None:
    shown = CommandSpec(script="pwd", nodes=1, workdir=str(tmp_path))
    assert (await node.text(await node.run(shown))).strip() == str(tmp_path)
    home = CommandSpec(script="pwd", nodes=1, workdir="~")
    assert (await node.text(await node.run(home))).strip() == os.path.realpath(HOME)  # noqa: ASYNC240


async def test_a_hostfile_lists_all_nodes_in_rank_order(node: Bench) -> None:
    workload = await node.run(CommandSpec(script="cat $HOSTFILE", procs_per_node=2, nodes=2))
    for rank in (0, 3):
        assert await node.text(workload, rank) == "127.0.0.1 slots=2\n127.0.0.1 slots=2\n"


def test_a_profile_that_prints_and_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".profile").write_text("echo welcome; export OF_PROFILE='two\nlines'\n")
    (tmp_path / ".bash_profile").write_text("echo welcome; export OF_PROFILE='two\nlines'\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert login_environment()["OF_PROFILE"] == "two\nlines"
    (tmp_path / ".profile").write_text("exit 3\n")
    (tmp_path / ".bash_profile").write_text("exit 3\n")
    monkeypatch.setenv("OF_PROFILE", "of this process")
    assert login_environment()["OF_PROFILE"] == "of this process"


def test_the_system_s_file_of_variables_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "environment"
    path.write_text("# NCCL\nNCCL_SOCKET_IFNAME=wg0\nexport A=\"two words\"  # why\nB='x'\n\nrubbish\nC=it's\n")
    assert _of_file(str(path)) == {"NCCL_SOCKET_IFNAME": "wg0", "A": "two words", "B": "x", "C": "it's"}
    assert _of_file(str(tmp_path / "missing")) == {}


def test_programs_of_the_first_process_are_found_after_the_login_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "_of_process", lambda pid: {"PATH": f"/image/{pid}/bin:/bin"})
    path = login_environment()["PATH"].split(os.pathsep)
    assert path[-1] == "/image/1/bin"
    assert path.count("/bin") == 1

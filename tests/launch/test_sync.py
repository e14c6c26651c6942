"""A directory travels to every node."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import Problem, ProviderError, SpecError
from jupyter_gpu_clusters.core.models import WorkloadPhase
from jupyter_gpu_clusters.launch import sync
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.sync import FileSet, collect

from .bench import Bench

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        ".gitignore": "*.log\n/build/\n!keep.log\n",
        ".git/config": "secret",
        "train.py": "import sys, pathlib; print(pathlib.Path('sub/data.txt').read_text(), sys.argv[1])",
        "run.log": "",
        "keep.log": "",
        "build/big": "x",
        "sub/build/kept": "",
        "sub/.ignore": "*.tmp\n*.log\n",
        "sub/data.txt": "data",
        "sub/a.tmp": "",
        "sub/keep.log": "",
        "with space 🙂/$(x)": "",
    }
    for name, text in files.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "project" / "link").symlink_to("train.py")
    os.mkfifo(tmp_path / "project" / "pipe")
    (tmp_path / "project" / "train.py").chmod(0o755)
    return tmp_path / "project"


KEPT = {
    *(".gitignore", "train.py", "keep.log", "link", "sub/build/kept", "sub/.ignore", "sub/data.txt"),
    "with space 🙂/$(x)",
}


def test_ignore_rules_are_honoured_and_the_deeper_ones_win(project: Path) -> None:
    found = collect(project)
    assert isinstance(found, FileSet)
    assert set(found.files) == KEPT
    assert found.size_bytes == sum(os.lstat(project / name).st_size for name in KEPT)


def test_too_much_is_a_problem_that_says_what_to_do(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "MAX_FILES", 3)
    found = collect(project)
    assert isinstance(found, Problem)
    assert "leave out what is not needed" in found.text


async def test_every_node_gets_a_copy_and_runs_in_it(bench: Bench, project: Path) -> None:
    spec = CommandSpec(command=["python3", "train.py", "x"], sync=str(project))
    plan = await bench.plan(spec)
    assert plan.shown["sync"] == f"{project} (8 files, 0.0 MiB)"
    workload = await bench.finished(await bench.launcher.submit_workload(plan, bench.order(plan)))
    for node in range(2):
        assert await bench.text(workload, node) == "data x\n"
        copy = bench.work_folder(workload.workload_id, node) / "work"
        assert {str(p.relative_to(copy)) for p in copy.rglob("*") if not p.is_dir()} == KEPT
        assert (copy / "link").is_symlink()
        assert (copy / "train.py").stat().st_mode & 0o100
    assert not list(bench.folder.glob("node*/*.files"))


async def test_a_relative_working_directory_is_inside_the_copy(bench: Bench, project: Path) -> None:
    workload = await bench.run(CommandSpec(command=["cat", "data.txt"], sync=str(project), workdir="sub", nodes=1))
    assert await bench.text(workload) == "data"


async def test_a_relative_path_begins_at_the_default_directory(bench: Bench, project: Path) -> None:
    workload = await bench.run(CommandSpec(command=["cat", "data.txt"], workdir="project/sub", nodes=1))
    assert await bench.text(workload) == "data"


async def test_all_problems_of_a_spec_are_told_at_once(bench: Bench, tmp_path: Path) -> None:
    spec = CommandSpec(command=["true"], nodes=3, gpus_per_node=1, sync="no-such", workdir="nowhere")
    with pytest.raises(SpecError) as caught:
        await bench.plan(spec)
    assert [str(problem) for problem in caught.value.problems] == [
        "nodes: 3 asked for, the cluster has 2",
        "gpus_per_node: 1 asked for, node 0 has 0",
        "gpus_per_node: 1 asked for, node 1 has 0",
        f"sync: {tmp_path}/no-such is not a directory",
        f"workdir: {tmp_path}/nowhere is not a directory",
    ]


async def test_files_that_vanish_before_the_start_refuse_it_and_leave_no_copy(bench: Bench, project: Path) -> None:
    plan = await bench.plan(CommandSpec(command=["true"], sync=str(project)))
    (project / "keep.log").unlink()
    with pytest.raises(ProviderError, match=r"nothing was started: .*keep\.log") as caught:
        await bench.launcher.submit_workload(plan, bench.order(plan))
    assert caught.value.is_definite
    assert [list(path.iterdir()) for path in bench.folder.glob("node*")] == [[], []]


async def test_a_working_directory_that_vanished_is_a_refusal(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    plan = await bench.plan(CommandSpec(command=["true"], workdir="place"))
    (tmp_path / "place").rmdir()
    workload = await bench.launcher.submit_workload(plan, bench.order(plan))
    assert workload.phase is WorkloadPhase.FAILED
    assert workload.reason == f"node 0: the working directory {tmp_path}/place does not exist"

"""Real kernels, killed at every step of a write; the folders on disk are the books."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import paths
from jupyter_gpu_clusters.core.claims import Claims
from tests.kernel import Kernel
from tests.until import until

LOAD = "%load_ext jupyter_gpu_clusters"
CREATE = "%cluster_create local --name fire --nodes 2"

# Stops the kernel at one step of a write and says so with a file, so that it can be killed right there.
STOP = """
import pathlib, time
def stop_at(owner, name, when):
    original = getattr(owner, name)
    def stopping(*args, **kwargs):
        if when == "before":
            pathlib.Path("stopped").touch(); time.sleep(600)
        result = original(*args, **kwargs)
        pathlib.Path("stopped").touch(); time.sleep(600)
        return result
    setattr(owner, name, stopping)
from jupyter_gpu_clusters.core.claims import Claims
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.providers.local.store import Store
"""

CREATE_STEPS = {
    "before the claim": "stop_at(Claims, 'claim', 'before')",
    "claimed, not in the journal": "stop_at(Claims, 'claim', 'after')",
    "in the journal, nothing made": "stop_at(Store, 'create', 'before')",
    "made, answer not recorded": "stop_at(Store, 'create', 'after')",
    "answer in the file, not in the journal": "stop_at(Claims, 'update', 'after')",
    "recorded, not shown": "stop_at(Journal, 'put_cluster', 'after')",
}


@pytest.fixture
def open_kernel(tmp_path: Path) -> Iterator[Callable[[], Kernel]]:
    opened: list[Kernel] = []
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def start() -> Kernel:
        kernel = Kernel(env=env, folder=tmp_path)
        opened.append(kernel)
        kernel.run(LOAD).require()
        return kernel

    yield start
    for kernel in opened:
        kernel.close()


def clusters() -> list[str]:
    return sorted(path.name for path in (paths.data_dir() / "local").glob("[!.]*"))


def kill_during(kernel: Kernel, cell: str, stopped: Path) -> None:
    """Send `cell`, wait until the kernel has stopped at its step, and kill it."""
    pid = int(kernel.run("import os; print(os.getpid())").require().text)
    kernel.client.execute(cell)
    until(stopped.exists, within_s=30)
    os.kill(pid, signal.SIGKILL)
    stopped.unlink()


@pytest.mark.parametrize("step", CREATE_STEPS)
def test_a_kernel_killed_during_create_leaves_one_cluster_or_none_and_the_next_goes_on(
    open_kernel: Callable[[], Kernel], tmp_path: Path, step: str
) -> None:
    first = open_kernel()
    first.run(STOP + CREATE_STEPS[step]).require()
    kill_during(first, CREATE, tmp_path / "stopped")
    made = clusters()
    second = open_kernel()
    listed = second.run("%cluster_list").require()
    assert ("fire" in listed.result["text/plain"]) == bool(made)
    again = second.run(CREATE).require()
    assert ("attached" in again.result["text/plain"] + again.text) == bool(made)
    assert clusters() == ["fire"]
    assert "No open orders" in second.run("%cluster_recover").require().result["text/plain"]
    assert len(list(Claims(paths.data_dir()).all())) == 1
    second.run("%cluster_delete fire --yes").require()
    assert clusters() == []


SUBMIT_STEPS = {
    "claimed, nothing started": ("stop_at(Journal, 'put_order', 'after')", 0),
    "started, answer not recorded": ("stop_at(Claims, 'update', 'before')", 1),
}


@pytest.mark.parametrize("step", SUBMIT_STEPS)
def test_a_kernel_killed_during_submit_starts_the_workload_once(
    open_kernel: Callable[[], Kernel], tmp_path: Path, step: str
) -> None:
    code, started = SUBMIT_STEPS[step]
    runs = tmp_path / "runs"
    submit = f"%workload_submit fire --name train --nodes 1 -- sh -c 'echo x >> {runs}; sleep 600'"
    first = open_kernel()
    first.run(CREATE).require()
    first.run(STOP + code).require()
    kill_during(first, submit, tmp_path / "stopped")
    if started:
        until(runs.exists)
    second = open_kernel()
    second.run(submit).require()
    until(runs.exists)
    assert "running" in second.run("%workload_status train").require().result["text/plain"]
    assert runs.read_text() == "x\n"
    second.run("%workload_cancel train").require()
    second.run("%cluster_delete fire --yes").require()


def test_a_kernel_killed_during_a_wait_loses_neither_work_nor_output(
    open_kernel: Callable[[], Kernel], tmp_path: Path
) -> None:
    first = open_kernel()
    first.run(CREATE).require()
    script = "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.1; done; touch done"
    first.run(f"%workload_submit fire --name train --nodes 1 -- sh -c '{script}'").require()
    pid = int(first.run("import os; print(os.getpid())").require().text)
    first.client.execute("%workload_wait train")
    until(lambda: "line 3" in _logs())
    os.kill(pid, signal.SIGKILL)
    second = open_kernel()
    second.run("%workload_wait train --timeout 60").require()
    assert (tmp_path / "done").exists()
    logs = second.run("%workload_logs train").require().text
    assert [line.split("line ")[1] for line in logs.splitlines() if "line " in line] == [str(i) for i in range(40)]
    second.run("%cluster_delete fire --yes").require()


def _logs() -> str:
    return "".join(path.read_text() for path in (paths.data_dir() / "local").rglob("rank-*.log"))


def test_two_kernels_creating_one_name_at_once_make_one_cluster(open_kernel: Callable[[], Kernel]) -> None:
    kernels = [open_kernel() for _ in range(2)]
    for kernel in kernels:
        kernel.run("import jupyter_gpu_clusters.core.service, jupyter_gpu_clusters.providers.local").require()
    for kernel in kernels:
        kernel.client.execute(CREATE)
    texts = [kernel.run("%cluster_status fire").require().result["text/plain"] for kernel in kernels]
    ids = {line.split()[-1] for text in texts for line in text.splitlines() if line.strip().startswith("id ")}
    assert len(ids) == 1
    assert clusters() == ["fire"]
    kernels[0].run("%cluster_delete fire --yes").require()

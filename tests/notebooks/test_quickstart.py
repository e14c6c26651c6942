"""The quickstart notebook from top to bottom, as people run it without a browser."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
import pytest

from .running import CELL_TIMEOUT_S, PLANTED, ROOT, read_notebook, text_of, with_nbclient

NOTEBOOK = "01_quickstart.ipynb"
MIME = "application/vnd.jupyter-gpu-clusters+json"

pytestmark = pytest.mark.timeout(400)


def with_papermill(folder: Path) -> Any:
    executed = folder.parent / "executed.ipynb"
    command = [sys.executable, "-m", "papermill", str(folder / NOTEBOOK), str(executed), "--cwd", str(folder)]
    ended = subprocess.run(command, timeout=CELL_TIMEOUT_S, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return read_notebook(executed)


def digests_of(notebook: Any) -> list[str]:
    """The two lines that the comparison prints: number of processes and digest of the weights."""
    return text_of(notebook, "compare").splitlines()


def check_outcome(notebook: Any) -> None:
    """All that a reader of the executed notebook may expect."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert [output for cell in code for output in cell.outputs if output.output_type == "error"] == []
    assert "quickstart" in text_of(notebook, "list")
    assert "running" in text_of(notebook, "list")
    logs = text_of(notebook, "logs")
    for rank in range(4):
        assert f"rank {rank} of 4: 30 of 120 training rows" in logs
    assert "succeeded" in text_of(notebook, "wait")
    together, alone = digests_of(notebook)
    assert (together[0], alone[0]) == ("4", "1")
    assert re.search(r"[0-9a-f]{64}$", together)
    assert together.split()[-1] == alone.split()[-1]
    assert logs.count(together.split()[-1][:16]) == 4
    assert "quickstart" not in text_of(notebook, "list-after")


def workload_id_of(notebook: Any) -> str:
    (cell,) = [cell for cell in notebook.cells if cell.id == "wait"]
    (shown,) = [output.data[MIME] for output in cell.outputs if MIME in output.get("data", {})]
    match = re.search(r'"workload_id": "(\w+)"', json.dumps(shown))
    assert match
    return match[1]


def processes_of(workload_id: str) -> list[str]:
    """Supervisors carry the workload's id in their command line, ranks in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            if workload_id.encode() in (process / "cmdline").read_bytes() + (process / "environ").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked for in /proc")
def test_nothing_of_the_cluster_runs_on_after_the_notebook(folder: Path) -> None:
    with subprocess.Popen(["sleep", "60"], env={"MARK": "a-mark-to-be-found"}) as marked:
        assert processes_of("a-mark-to-be-found") == [str(marked.pid)], "processes cannot be found this way"
        marked.kill()
    workload_id = workload_id_of(with_nbclient(folder / NOTEBOOK))
    deadline = time.monotonic() + 20
    while left := processes_of(workload_id):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)


def test_the_notebook_has_the_same_outcome_with_nbclient_twice_and_with_papermill(folder: Path) -> None:
    files = sorted(folder.rglob("*.*"))
    executed = [with_nbclient(folder / NOTEBOOK), with_nbclient(folder / NOTEBOOK), with_papermill(folder)]
    for notebook in executed:
        check_outcome(notebook)
    assert digests_of(executed[0]) == digests_of(executed[1]) == digests_of(executed[2])
    left = [path for path in sorted(folder.rglob("*.*")) if "__pycache__" not in path.parts]
    assert left == files


@pytest.mark.parametrize("until", ["create", "submit", "wait"])
def test_what_an_interrupted_run_left_behind_does_not_change_the_outcome(folder: Path, until: str) -> None:
    with_nbclient(folder / NOTEBOOK, until=until)
    check_outcome(with_nbclient(folder / NOTEBOOK))


def test_no_secret_of_the_environment_gets_into_the_executed_notebook_or_the_journal(
    folder: Path, tmp_path: Path
) -> None:
    executed = json.dumps(with_nbclient(folder / NOTEBOOK))
    written = [path for path in (tmp_path / "jupyter_data_dir").rglob("*") if path.is_file()]
    assert written, "the journal was looked for in the wrong place"
    forms = (PLANTED, json.dumps(PLANTED)[1:-1], quote(PLANTED, safe=""), base64.b64encode(PLANTED.encode()).decode())
    for form in forms:
        assert form not in executed
        assert [path for path in written if form.encode() in path.read_bytes()] == []


def test_the_notebook_is_stored_without_outputs_and_with_plain_metadata() -> None:
    notebook = read_notebook(ROOT / "notebooks" / NOTEBOOK)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.id for cell in notebook.cells if cell.metadata] == []
    assert [cell.id for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")] == []


def test_every_file_that_the_notebook_links_to_is_there() -> None:
    notebook = read_notebook(ROOT / "notebooks" / NOTEBOOK)
    links = re.findall(
        r"\]\(([^)]+)\)", "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    )
    assert links
    assert [link for link in links if not (ROOT / "notebooks" / link).is_file()] == []

"""The magics in IPython on a real terminal, and in a notebook that runs without anybody looking."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pexpect  # type: ignore[import-untyped]
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter, MarkdownExporter, TemplateExporter

ROOT = Path(__file__).parents[2]
_WITHIN_S = 60


@pytest.fixture
def terminal(jupyter_folders: Path) -> Iterator[pexpect.spawn]:
    """IPython in a terminal of 100 columns, at its first prompt."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=nocolor"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        cwd=str(jupyter_folders),
        dimensions=(40, 100),
        timeout=_WITHIN_S,
        encoding="utf-8",
    )
    child.expect(r"In \[1\]: ")
    child.sendline("%load_ext jupyter_gpu_clusters")
    child.expect(r"In \[\d+\]: ")
    yield child
    child.close(force=True)


def exported(kind: type[TemplateExporter], book: nbformat.NotebookNode) -> str:
    text, _ = kind().from_notebook_node(book)
    return text


def notebook(sources: list[str]) -> nbformat.NotebookNode:
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "id": f"cell-{index}", "source": source} for index, source in enumerate(sources)]
    book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return nbformat.NotebookNode(nbformat.from_dict(book))  # type: ignore[no-untyped-call]


def typed(terminal: pexpect.spawn, line: str) -> str:
    """Type a line; what came until the next prompt."""
    terminal.sendline(line)
    terminal.expect(r"In \[\d+\]: ")
    return str(terminal.before)


def test_a_table_and_a_wait_on_one_line(terminal: pexpect.spawn) -> None:
    assert "NAME" not in typed(terminal, "%cluster_create local --name demo")
    assert "NAME  ACCOUNT  PHASE" in typed(terminal, "%cluster_list")
    shown = typed(terminal, "%workload_submit demo --name nap --wait -- sleep 1.2")
    wait, result = shown.split("Out[")
    assert wait.count("\r● nap: running") >= 2
    assert wait.rstrip().count("\n") == 1
    assert "succeeded" in result


def test_control_c_ends_a_wait_and_control_d_is_no_consent(terminal: pexpect.spawn) -> None:
    typed(terminal, "%cluster_create local --name demo")
    terminal.sendline("%workload_submit demo --name nap --wait -- sleep 60")
    terminal.expect("nap: running")
    terminal.sendintr()
    terminal.expect("WaitInterruptedError: The wait for workload 'nap' was interrupted.")
    terminal.expect("`%workload_cancel demo/nap` ends it")
    terminal.expect(r"In \[\d+\]: ")
    terminal.sendline("%cluster_delete demo")
    terminal.expect(r"1 workload on it will end: nap\. \[y/N\] ")
    terminal.sendeof()
    terminal.expect("ConsentError")
    terminal.expect(r"In \[\d+\]: ")
    assert "deleted" in typed(terminal, "%cluster_delete demo --yes")


def test_a_notebook_runs_headless_with_quiet_outputs_and_exports(
    jupyter_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        "%load_ext jupyter_gpu_clusters",
        "%cluster_create local --name demo --wait",
        "%workload_submit demo --name nap --wait -- sleep 2.2",
        "%workload_logs nap -f",
        "%cluster_delete demo --yes",
    ]
    book = notebook(cells)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    NotebookClient(book, timeout=_WITHIN_S, resources={"metadata": {"path": str(jupyter_folders)}}).execute()
    kinds = [[output.output_type for output in cell.outputs] for cell in book.cells]
    assert kinds == [
        [],
        ["execute_result"],
        ["display_data", "execute_result"],
        ["execute_result"],
        ["execute_result"],
    ]
    assert "succeeded" in book.cells[2].outputs[0].data["text/plain"]
    assert "demo/nap" in exported(HTMLExporter, book)
    assert "demo/nap" in exported(MarkdownExporter, book)

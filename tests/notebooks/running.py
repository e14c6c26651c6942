"""Running notebooks as people run them without a browser, and reading what they show."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[2]
CELL_TIMEOUT_S = 150
PLANTED = "planted+secret/%7E&'quote"


def read_notebook(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def with_nbclient(path: Path, *, until: str | None = None, more: Mapping[str, str] = {}) -> Any:
    """Run the notebook, or its cells up to the one with the id `until`, in a kernel of its own.

    Parameters
    ----------
    more : id of a cell -> code that is added at its end.
    """
    notebook = read_notebook(path)
    for cell in notebook.cells:
        cell.source += more.get(cell.id, "")
    if until:
        ids = [cell.id for cell in notebook.cells]
        del notebook.cells[ids.index(until) + 1 :]
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        resources={"metadata": {"path": str(path.parent)}},
        config=Config({"KernelManager": {"transport": "ipc", "ip": f"{os.environ['JUPYTER_RUNTIME_DIR']}/kernel"}}),
    ).execute()
    return notebook


def text_of(notebook: Any, cell_id: str) -> str:
    """All plain text that a cell shows."""
    (cell,) = [cell for cell in notebook.cells if cell.id == cell_id]
    return "".join(
        output["text"] if output.output_type == "stream" else output.get("data", {}).get("text/plain", "") + "\n"
        for output in cell.outputs
    )

"""Run a notebook without a browser and print what each cell shows, as it happens.

    python notebooks/run.py notebooks/01_quickstart.ipynb

Ends with a failure when a cell fails. The notebook file is not changed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

CELL_TIMEOUT_S = 600


class PrintingClient(NotebookClient):  # type: ignore[misc]
    """Executes a notebook and writes every output to the terminal when it arrives."""

    def output(self, outs: list[Any], msg: dict[str, Any], display_id: str | None, cell_index: int) -> Any:
        """Keep the output, as nbclient does, and print it."""
        out = super().output(outs, msg, display_id, cell_index)
        if out is not None:
            print(text_of(out), end="", flush=True)
        return out


def text_of(output: dict[str, Any]) -> str:
    """What an output says in plain text; a failed cell says it in its exception."""
    if output["output_type"] == "stream":
        return str(output["text"])
    text = output.get("data", {}).get("text/plain", "")
    return f"{text}\n" if text else ""


def show_source(cell: Any, cell_index: int) -> None:
    """Announce a cell: prose as it is, code marked line by line."""
    if cell.cell_type == "markdown":
        print(f"\n{cell.source}", flush=True)
    elif cell.source.strip():
        print("\n" + "\n".join(f"    > {line}" for line in cell.source.splitlines()), flush=True)


def main(path: Path) -> int:
    """Run one notebook in its own folder; the exit code for the shell."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as sockets:
        client = PrintingClient(
            notebook,
            timeout=CELL_TIMEOUT_S,
            resources={"metadata": {"path": str(path.parent)}},
            on_cell_start=show_source,
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}}),
        )
        try:
            client.execute()
        except CellExecutionError as failure:
            print(f"\n{failure.ename}: {failure.evalue}\n{path.name} failed.", file=sys.stderr)
            return 1
    print(f"\n{path.name}: every cell ran, in {time.monotonic() - started:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

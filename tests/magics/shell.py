"""Running cells in a shell of this process, and looking at what came of them."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.magics.shown import Shown


class Shell:
    """A thin wrapper: cells in, results and errors out."""

    def __init__(self, ip: InteractiveShell) -> None:
        self.ip = ip

    @property
    def names(self) -> dict[str, Any]:
        """The notebook's variables."""
        names: dict[str, Any] = self.ip.user_ns
        return names

    def run(self, cell: str) -> Shown:
        """Run a cell that works; its result."""
        return self.capture(cell)[0]

    def capture(self, cell: str) -> tuple[Shown, str]:
        """Run a cell that works; its result, and what it printed and displayed apart from the result."""
        with capture_output() as captured:
            done = self.ip.run_cell(cell)  # type: ignore[no-untyped-call]
        if done.error_before_exec or done.error_in_exec:
            raise AssertionError(captured.stdout) from (done.error_before_exec or done.error_in_exec)
        result: Shown = done.result
        displayed = [str(output.data.get("text/plain", "")) for output in captured.outputs]
        return result, captured.stdout.partition("Out[")[0] + "".join(displayed)

    def fail(self, cell: str, kind: type[GpuClustersError] = GpuClustersError) -> GpuClustersError:
        """Run a cell that fails; its error, which must be shown as its lines and nothing else."""
        with capture_output() as captured:
            done = self.ip.run_cell(cell)  # type: ignore[no-untyped-call]
        error = done.error_in_exec
        if not isinstance(error, kind):
            pytest.fail(f"expected {kind.__name__}, got {error!r}\n{captured.stdout}")
        assert captured.stdout.rstrip().endswith("\n".join(error._render_traceback_()))
        assert "Traceback" not in captured.stdout
        return error

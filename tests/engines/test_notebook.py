"""The whole way in a notebook: rent real machines, train on them, look, give them back."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from jupyter_gpu_clusters.sandbox.lium import Lium
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.notebooks.running import ROOT, text_of, with_nbclient

from .conftest import lium_over
from .ssh import Machines

pytestmark = pytest.mark.timeout(300)

SPEC = "gpu: H100\nnodes: 2\nuser_public_key: [ssh-ed25519 AAAA me]"
TRAIN = (
    f"%workload_submit pair --name train --procs-per-node 2 --gpus-per-node 0 --sync {ROOT / 'notebooks'} "
    "--wait -- python3 train_iris.py --out result.json"
)
CELLS = {
    "load": "%load_ext jupyter_gpu_clusters",
    "rent": f"%%cluster_create lium --name pair --yes --wait\n{SPEC}",
    "train": TRAIN,
    "again": TRAIN,
    "logs": "%workload_logs train",
    "ssh": "%cluster_ssh pair",
    "delete": "%cluster_delete pair --yes",
}


@pytest.fixture
def fast_sandbox(
    machines: Machines, make_sandbox: MakeSandbox, jupyter_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> CheckedSandbox:
    """Lium on a clock that goes a hundred times as fast."""
    sandbox = make_sandbox(services=[Lium], speed=100, choices={"nodes.addresses": machines.addresses})
    return lium_over(sandbox, machines, jupyter_folders / "jupyter_config_dir", monkeypatch)


def test_a_notebook_rents_two_machines_trains_on_them_and_gives_them_back(
    fast_sandbox: CheckedSandbox, tmp_path: Path
) -> None:
    cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in CELLS.items()]  # type: ignore[no-untyped-call]
    path = tmp_path / "way.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)  # type: ignore[no-untyped-call]
    executed = with_nbclient(path)
    assert "Cluster lium/pair: ● running" in text_of(executed, "rent")
    for name in ("train", "again"):
        assert "succeeded" in text_of(executed, name)
    assert re.search(r"\[rank 0\] .*", text_of(executed, "logs"))
    assert text_of(executed, "ssh").count("SHA256:") == 2
    assert re.search(r"deleting|deleted", text_of(executed, "delete"))
    books = fast_sandbox.books()["services"]["lium"]
    assert len([entry for entry in books["entries"] if entry["action"] == "create"]) == 1
    assert [pod for pod in books["alive"] if pod["state"] != "DELETING"] == []

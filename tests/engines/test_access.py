"""``%cluster_ssh`` on machines that are really there."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import NotSupportedError, SettingsError
from tests.contracts.fixtures import CheckedSandbox
from tests.magics.conftest import shell
from tests.magics.shell import Shell

from .ssh import Machines

__all__ = ["shell"]

pytestmark = pytest.mark.timeout(180)
RENT = "%%cluster_create lium --name pair --yes\ngpu: H100\nnodes: 2\nuser_public_key: ['ssh-ed25519 AAAA me']"


def test_machines_are_shown_with_their_host_keys_and_open_to_the_ssh_program(
    sandbox: CheckedSandbox, shell: Shell, machines: Machines, tmp_path: Path
) -> None:
    shell.run(RENT)
    sandbox.advance(600)
    shell.run("%cluster_list lium")
    shown = shell.run("%cluster_ssh pair")
    access = shown.value
    assert [one.name for one in access.machines] == ["pair", "pair-node-1"]
    assert all(one.fingerprint.startswith("SHA256:") and one.problem is None for one in access.machines)
    assert "ssh pair" in repr(shown)
    config = tmp_path / "config"
    config.write_text(f"{access.include_line}\n")
    command = ["ssh", "-F", str(config), "-o", "BatchMode=yes", "pair-node-1", "hostname"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "node2\n", done.stderr
    shell.run("%cluster_ssh pair --node 1 --forget")


def test_a_port_of_a_node_is_forwarded_while_the_kernel_runs(
    sandbox: CheckedSandbox, shell: Shell, machines: Machines
) -> None:
    shell.run(RENT)
    sandbox.advance(600)
    shell.run("%cluster_list lium")
    serve = "python3 -m http.server --bind 127.0.0.1 8899"
    shell.run(f"%workload_submit pair --name web --nodes 1 --gpus-per-node 0 -- {serve}")
    local = shell.run("%cluster_ssh pair --node 0 --forward 8899").value
    with urllib.request.urlopen(f"http://127.0.0.1:{local}/", timeout=20) as answer:
        assert b"Directory listing" in answer.read()
    shell.run("%workload_cancel web")


def test_what_has_no_machines_says_so(shell: Shell) -> None:
    shell.run("%cluster_create local --name here")
    shell.fail("%cluster_ssh here", NotSupportedError)
    shell.fail("%cluster_ssh here --local-port 5", SettingsError)

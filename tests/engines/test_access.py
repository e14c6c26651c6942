"""``%cluster_ssh`` on machines that are really there."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import NotFoundError, NotSupportedError, SettingsError
from jupyter_gpu_clusters.sandbox.e2e import E2E
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.magics.conftest import shell
from tests.magics.shell import Shell

from .conftest import write_account
from .ssh import Machines, Sshd, running_sshd

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


@pytest.fixture
def login_node(tmp_path: Path) -> Iterator[Sshd]:
    """A server that logs people in."""
    with running_sshd(tmp_path / "sshd") as server:
        yield server


@pytest.fixture
def e2e(
    login_node: Sshd, make_sandbox: MakeSandbox, jupyter_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> CheckedSandbox:
    """E2E as the sandbox plays it, whose clusters log in to that server, and an account at it."""
    address = f"{login_node.user}@127.0.0.1:{login_node.port}"
    sandbox = make_sandbox(services=[E2E], choices={"nodes.addresses": address})
    variables = sandbox.variables()
    for name, value in variables.items():
        if name != "E2E_TIR_API_HOST":
            monkeypatch.setenv(name, value)
    write_account(
        jupyter_folders / "jupyter_config_dir",
        "e2e",
        secret={"api_key": "env:E2E_TIR_API_KEY", "auth_token": "env:E2E_TIR_ACCESS_TOKEN"},
        base_url=variables["E2E_TIR_API_HOST"],
        project_id=int(variables["E2E_TIR_PROJECT_ID"]),
        ssh_user=login_node.user,
        ssh_port=login_node.port,
        ssh_key=str(login_node.key),
    )
    return sandbox


def test_the_login_node_of_a_training_cluster_opens(e2e: CheckedSandbox, login_node: Sshd, shell: Shell) -> None:
    spec = "gpu: H100\nnodes: 2\nimage: ubuntu-slurm\nssh_keys: [spare]\nsecurity_group: ssh-only"
    shell.run(f"%%cluster_create e2e --name lab --yes\n{spec}")
    shell.fail("%cluster_ssh lab", NotFoundError)
    e2e.advance(3600)
    shell.run("%cluster_list e2e")
    (machine,) = shell.run("%cluster_ssh lab").value.machines
    assert (machine.name, machine.target.name, machine.problem) == ("lab", "login", None)
    assert machine.fingerprint == login_node.fingerprint


def test_what_has_no_machines_says_so(shell: Shell) -> None:
    shell.run("%cluster_create local --name here")
    shell.fail("%cluster_ssh here", NotSupportedError)
    shell.fail("%cluster_ssh here --local-port 5", SettingsError)

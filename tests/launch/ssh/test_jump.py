"""The user's own ``~/.ssh/config`` counts: through a jump host, with its keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import TransportError
from jupyter_gpu_clusters.launch.ssh import SshMachines, SshOptions
from jupyter_gpu_clusters.launch.ssh.pins import Pins
from tests.engines.ssh import Sshd, running_sshd

pytestmark = pytest.mark.anyio


@pytest.fixture
def jump(tmp_path: Path) -> Iterator[Sshd]:
    """A server between here and the machine."""
    with running_sshd(tmp_path / "jump") as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, jump: Sshd, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose configuration leads to 127.0.0.1 over the jump host."""
    folder = tmp_path / "home" / ".ssh"
    folder.mkdir(parents=True)
    lines = [
        "Host 127.0.0.1",
        "  ProxyJump jump",
        "Host jump",
        "  HostName 127.0.0.1",
        f"  Port {jump.port}",
        f"  User {jump.user}",
        f"  IdentityFile {jump.key}",
        "Host *",
        "  ForwardX11 no",
    ]
    (folder / "config").write_text("\n".join([*lines, ""]))
    (folder / "known_hosts").write_text((jump.folder / "client" / "known_hosts").read_text())
    monkeypatch.setenv("HOME", str(folder.parent))
    return folder.parent


async def test_a_machine_behind_a_jump_host_is_reached_and_its_own_key_is_pinned(
    home: Path, jump: Sshd, shared_sshd: Sshd, tmp_path: Path
) -> None:
    machines = SshMachines(SshOptions(ssh_key=str(shared_sshd.key)), Pins(tmp_path / "pins" / "known_hosts"))
    target = shared_sshd.target()
    assert (await machines.host(target, "node 0").run(["echo", "here"], timeout_s=20)).stdout == b"here\n"
    assert machines.link(target).fingerprint == shared_sshd.fingerprint
    assert jump.children() != []
    await machines.aclose()


@pytest.mark.parametrize("was_met", [False, True], ids=["first contact", "met before"])
async def test_a_jump_host_that_is_not_known_is_not_trusted(
    home: Path, shared_sshd: Sshd, tmp_path: Path, was_met: bool
) -> None:
    (home / ".ssh" / "known_hosts").write_text("")
    pins, target = Pins(tmp_path / "pins" / "known_hosts"), shared_sshd.target()
    if was_met:
        public = (shared_sshd.folder / "etc" / "host_ed25519.pub").read_text()
        pins.pin(target.identity, " ".join(public.split()[:2]))
    machines = SshMachines(SshOptions(ssh_key=str(shared_sshd.key)), pins)
    with pytest.raises(TransportError, match=r"not trusted|Host key"):
        await machines.host(target, "node 0").run(["true"], timeout_s=20)
    await machines.aclose()

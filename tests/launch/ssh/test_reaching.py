"""Ports of a machine here, and the same machine in the ``ssh`` program."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import SettingsError, TransportError
from jupyter_gpu_clusters.launch.ssh import SshMachines, SshOptions
from jupyter_gpu_clusters.launch.ssh.forward import Forward
from jupyter_gpu_clusters.launch.ssh.openssh import include_line, write_include
from jupyter_gpu_clusters.launch.ssh.pins import Pins
from tests.engines.ssh import Sshd

pytestmark = pytest.mark.anyio


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    """A server that says everything twice; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            writer.write(piece + piece)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield int(server.sockets[0].getsockname()[1])
    server.close()


async def ask(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_port_there_is_a_port_here(machines: SshMachines, shared_sshd: Sshd, echo: int) -> None:
    forward = Forward(machines.link(shared_sshd.target()), "node 0", echo)
    await forward.open()
    answers = await asyncio.gather(*(ask(forward.local_port, b"%d." % n) for n in range(20)))
    assert answers == [b"%d.%d." % (n, n) for n in range(20)]
    large = bytes(3_000_000)
    assert await ask(forward.local_port, large) == large + large
    with pytest.raises(SettingsError, match="cannot be used"):
        await Forward(machines.link(shared_sshd.target()), "node 0", echo).open(forward.local_port)
    port = forward.local_port
    await forward.aclose()
    with pytest.raises(OSError, match=r"refused|failed"):
        await ask(port, b"x")


async def test_a_forward_outlives_its_connection_and_a_port_where_nobody_listens(
    sshd: Sshd, tmp_path: Path, echo: int
) -> None:
    machines = SshMachines(SshOptions(ssh_key=str(sshd.key)), Pins(tmp_path / "known_hosts"))
    forward = Forward(machines.link(sshd.target()), "node 0", echo)
    await forward.open()
    machines.forwards.append(forward)
    assert await ask(forward.local_port, b"a") == b"aa"
    sshd.cut()
    assert await ask(forward.local_port, b"b") == b"bb"
    dead = Forward(machines.link(sshd.target()), "node 0", 1)
    await dead.open()
    assert await ask(dead.local_port, b"c") == b""
    await dead.aclose()
    sshd.stop()
    with pytest.raises(TransportError):
        await Forward(machines.link(sshd.target("other")), "node 0", echo).open()
    await machines.aclose()


async def test_the_ssh_program_logs_in_by_name_and_refuses_a_changed_key(
    machines: SshMachines, shared_sshd: Sshd, tmp_path: Path, jupyter_folders: Path
) -> None:
    target = shared_sshd.target()
    options = SshOptions(ssh_key=str(shared_sshd.key))
    await machines.link(target).connection("node 0")
    path = write_include("my account", {"pair": [target]}, options, machines.pins)
    assert path.stat().st_mode & 0o777 == 0o600
    config = tmp_path / "config"
    config.write_text(f"{include_line()}\n")

    def ssh(name: str) -> subprocess.CompletedProcess[str]:
        command = ["ssh", "-F", str(config), "-o", "BatchMode=yes", name, "echo", "here"]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)

    for name in ("pair", "pair-node-0"):
        done = await asyncio.to_thread(ssh, name)
        assert done.stdout == "here\n", done.stderr
    machines.pins.forget(target.identity)
    machines.pins.pin(target.identity, f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{'A' * 43}")
    done = await asyncio.to_thread(ssh, "pair")
    assert done.returncode == 255
    assert "Host key verification failed" in done.stderr or "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stderr

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.launch.ssh import SshMachines, SshOptions
from jupyter_gpu_clusters.launch.ssh.host import SshHost
from jupyter_gpu_clusters.launch.ssh.pins import Pins
from tests.engines.ssh import Sshd, running_sshd


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def shared_sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A server for tests that do it no harm."""
    with running_sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A server of the test's own."""
    with running_sshd(tmp_path / "sshd") as server:
        yield server


@pytest.fixture
async def machines(tmp_path: Path, shared_sshd: Sshd) -> AsyncIterator[SshMachines]:
    """A user's connections, with pins of their own."""
    machines = SshMachines(SshOptions(ssh_key=str(shared_sshd.key)), Pins(tmp_path / "pins" / "known_hosts"))
    yield machines
    await machines.aclose()


@pytest.fixture
def host(machines: SshMachines, shared_sshd: Sshd) -> SshHost:
    """The shared server as a machine."""
    return machines.host(shared_sshd.target(), "node 0")

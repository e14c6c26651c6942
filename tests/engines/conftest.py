from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.models import Cluster
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.sandbox.lium import Lium
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard
from tests.providers.lium.conftest import impatient
from tests.providers.lium.renting import running

from .ssh import Machines, running_machines

__all__ = ["impatient", "make_sandbox", "switchboard"]


@pytest.fixture(scope="session")
def shared_machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Two bare machines for tests that do them no harm."""
    with running_machines(tmp_path_factory.mktemp("machines"), 2) as machines:
        yield machines


@pytest.fixture
def own_machines(tmp_path: Path) -> Iterator[Machines]:
    """Two bare machines of the test's own, to be cut off and killed."""
    with running_machines(tmp_path / "machines", 2) as machines:
        yield machines


def write_account(config: Path, name: str, **options: object) -> None:
    """The accounts file of a user with one account."""
    folder = config / "jupyter_gpu_clusters"
    folder.mkdir()
    table = {"provider": name, **options}
    lines = [f"[accounts.{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items()), ""]
    (folder / "accounts.toml").write_text("\n".join(lines))


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def lium_over(
    sandbox: CheckedSandbox, machines: Machines, config: Path, monkeypatch: pytest.MonkeyPatch
) -> CheckedSandbox:
    """The sandbox, with an account at it that has the key to the machines."""
    variables = sandbox.variables()
    for name in ("LIUM_API_KEY", "SANDBOX_URL"):
        monkeypatch.setenv(name, variables[name])
    url = variables["LIUM_BASE_URL"]
    write_account(config, "lium", secret="env:LIUM_API_KEY", base_url=url, ssh_key=str(machines.key))
    return sandbox


@pytest.fixture
def machines(request: pytest.FixtureRequest) -> Machines:
    """The machines of the test: its own where it is marked ``harmful``."""
    name = "own_machines" if request.node.get_closest_marker("harmful") else "shared_machines"
    found = request.getfixturevalue(name)
    assert isinstance(found, Machines)
    return found


@pytest.fixture
def sandbox(
    machines: Machines, make_sandbox: MakeSandbox, jupyter_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> CheckedSandbox:
    """Lium as the sandbox plays it, whose nodes are the test's machines, and an account at it."""
    sandbox = make_sandbox(services=[Lium], choices={"nodes.addresses": machines.addresses})
    return lium_over(sandbox, machines, jupyter_folders / "jupyter_config_dir", monkeypatch)


@pytest.fixture
async def service(sandbox: CheckedSandbox) -> AsyncIterator[Service]:
    """A user's service with that account."""
    service = Service.open()
    yield service
    await service.aclose()


@pytest.fixture
async def cluster(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A rented cluster of two nodes that is up."""
    return await running(service, sandbox)

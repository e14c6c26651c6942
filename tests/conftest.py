"""No test touches the user's own Jupyter folders or leaves the machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import bridge

_LOOPBACK = ("127.", "::1", "localhost")
_CREDENTIALS = ("E2E_", "LIUM_", "RUNAI_", "SANDBOX_")


@pytest.fixture(autouse=True)
def jupyter_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Data, configuration and IPython folders of this test alone; the kernel-side service is closed at the end.

    Credentials of the services in the environment are hidden.
    """
    for variable in [name for name in os.environ if name.startswith(_CREDENTIALS)]:
        monkeypatch.delenv(variable)
    root = tmp_path_factory.mktemp("jupyter")
    for variable in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        folder = root / variable.lower()
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    yield root
    bridge.close()


@pytest.fixture(autouse=True)
def stay_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections to anything but loopback fail at once."""
    connect = socket.socket.connect

    def only_loopback(self: socket.socket, address: object) -> None:
        if self.family != socket.AF_UNIX and not str(address[0]).startswith(_LOOPBACK):  # type: ignore[index]
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", only_loopback)


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of async tests (the marker ``anyio``): the one that the bridge and Jupyter use."""
    return "asyncio"

"""Start and end of the extension, in the test's server and in a real one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, State
from jupyter_gpu_clusters.server.app import GpuClustersApp
from jupyter_gpu_clusters.server.watcher import LINGER_S, is_wanted

from .helpers import Client, eventually
from .test_events import CLUSTER, ORDER

ROOT = Path(__file__).parents[2]


def _tasks() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks()} & {
        "gpu-clusters heartbeat",
        "gpu-clusters watcher",
        "watch local",
    }


async def test_the_end_of_the_server_ends_the_watcher(client: Client, jp_serverapp: Any) -> None:
    await client.get("state")

    async def works() -> bool:
        return len(_tasks()) == 3

    await eventually(works)
    await jp_serverapp.extension_manager.stop_all_extensions()
    assert _tasks() == set()
    await jp_serverapp.extension_manager.stop_all_extensions()


async def test_a_late_request_does_not_start_it_again(client: Client, extension: GpuClustersApp) -> None:
    await extension.stop_extension()
    assert (await client.get("state")).status == 500
    assert _tasks() == set()


async def test_before_the_first_look_nothing_is_opened(extension: GpuClustersApp, jp_data_dir: Path) -> None:
    await asyncio.sleep(0)
    assert _tasks() <= {"gpu-clusters heartbeat"}
    assert not (jp_data_dir / "jupyter_gpu_clusters").exists()


def _with(phase: ClusterPhase) -> Cluster:
    return CLUSTER.model_copy(update={"phase": phase})


@pytest.mark.parametrize(
    ("state", "unseen_s", "wanted"),
    [
        (State(), LINGER_S - 1, True),
        (State(), LINGER_S + 1, False),
        (State(clusters=(_with(ClusterPhase.RUNNING),)), LINGER_S + 1, False),
        (State(clusters=(_with(ClusterPhase.CREATING),)), LINGER_S + 1, True),
        (State(clusters=(_with(ClusterPhase.DELETING),)), LINGER_S + 1, True),
        (State(orders=(ORDER,)), LINGER_S + 1, True),
    ],
)
def test_it_follows_while_somebody_looks_or_something_is_owed(state: State, unseen_s: float, wanted: bool) -> None:
    assert is_wanted(state, unseen_s) is wanted


def test_the_server_half_needs_neither_ipywidgets_nor_magics() -> None:
    code = (
        "import sys; sys.modules['ipywidgets'] = None\n"
        "import jupyter_gpu_clusters.server\n"
        "assert not [m for m in sys.modules if m.startswith('jupyter_gpu_clusters.magics')]\n"
        "assert not [m for m in sys.modules if m.startswith('jupyter_gpu_clusters.widgets')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


def test_the_shipped_switch_names_a_package_with_our_extension_point() -> None:
    import jupyter_gpu_clusters

    config = json.loads((ROOT / "jupyter_gpu_clusters/server/jupyter-config.json").read_text())
    assert config["ServerApp"]["jpserver_extensions"] == {"jupyter_gpu_clusters": True}
    (point,) = jupyter_gpu_clusters._jupyter_server_extension_points()
    assert point["app"] is GpuClustersApp


class RealServer:
    """A Jupyter server in a process of its own, below a prefix."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/us%C3%A9r%20x/"
        self.log = folder / "server.log"
        folders = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("DATA", "CONFIG", "RUNTIME")}
        environment = {**os.environ, **folders, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython")}
        options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0", "--allow-root"]
        options += [
            "--IdentityProvider.token=t",
            "--ServerApp.base_url=/us%C3%A9r%20x/",
            f"--ServerApp.root_dir={folder}",
        ]
        options += ["--ServerApp.jpserver_extensions={'jupyter_gpu_clusters': True}"]
        with self.log.open("w") as log:
            command = [sys.executable, "-m", "jupyter_server", *options]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)

    async def get(self, path: str) -> dict[str, Any]:
        """One answer; empty while the server does not listen yet."""
        request = Request(f"{self.url}gpu-clusters/{path}", headers={"Authorization": "token t"})
        try:
            text = await asyncio.to_thread(lambda: urlopen(request, timeout=10).read())
        except URLError:
            assert self.process.poll() is None, self.log.read_text()
            return {}
        body: dict[str, Any] = json.loads(text)
        return body


@pytest.fixture
def real_server(tmp_path: Path) -> Iterator[RealServer]:
    server = RealServer(tmp_path)
    yield server
    if server.process.poll() is None:
        server.process.kill()
    server.process.wait(30)


async def test_a_real_server_answers_and_stops_cleanly_while_it_watches(real_server: RealServer) -> None:
    async def answers() -> dict[str, Any]:
        return await real_server.get("health")

    assert (await eventually(answers))["error"] is None

    async def looked() -> bool:
        return bool((await real_server.get("state"))["accounts"][0]["observed_at"])

    await eventually(looked)
    real_server.process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(real_server.process.wait, 30) == 0
    log = real_server.log.read_text()
    assert "Traceback" not in log
    assert "never awaited" not in log
    assert "was destroyed but it is pending" not in log

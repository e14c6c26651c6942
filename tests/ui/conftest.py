"""A real JupyterLab with the real extension, in a real Chromium."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from jupyter_gpu_clusters.core import registry
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.sandbox import Sandbox
from tests.contracts.document import document, has_contract
from tests.contracts.fixtures import Switchboard, switchboard
from tests.contracts.validate import Checked
from tests.magics.conftest import SLOWCLOUD, slow_account

from .lab import Lab

__all__ = ["switchboard"]

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
TOKEN = "token-of-the-browser-tests"
BASE_URL = "/hub/us%C3%A9r%20x/"
ROOT = Path(__file__).parents[2]
expect.set_options(timeout=30_000)
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}


@pytest.fixture(scope="session", autouse=True)
def chromium() -> str:
    """The browser, or the reason why there is none."""
    if CHROMIUM is None:
        reason = "Chromium is missing. To install it: sudo apt-get install chromium fonts-dejavu-core"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return CHROMIUM


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: where it is, its folders, and the variables that its accounts come from."""

    url: str
    data: Path
    config: Path
    work: Path
    variables: Mapping[str, str]


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Server]:
    """JupyterLab behind a prefix with percent-encoded characters, without accounts."""
    with _running(tmp_path_factory.mktemp("lab"), {}) as server:
        yield server


@pytest.fixture(scope="session")
def services(switchboard: Switchboard) -> Iterator[Sandbox]:
    """The simulated services, on a fast clock, every request and answer held to the contracts."""
    sandbox = Sandbox(speed=20)
    contracts = {service.prefix: document(name) for name, service in sandbox.services.items() if has_contract(name)}
    checked = Checked(sandbox.app, contracts)
    sandbox.url, switchboard.app = switchboard.url, checked
    yield sandbox
    assert not checked.violations, "contract broken:\n" + "\n".join(checked.violations)


@pytest.fixture(scope="session")
def services_server(tmp_path_factory: pytest.TempPathFactory, chromium: str, services: Sandbox) -> Iterator[Server]:
    """JupyterLab of somebody with accounts at the simulated services, and `slow` at the paid sample provider."""
    root = tmp_path_factory.mktemp("services")
    variables = {**slow_account(root / "config", root / "books"), **services.variables()}
    with _running(root, variables) as server:
        yield server


@contextmanager
def _running(root: Path, variables: Mapping[str, str]) -> Iterator[Server]:
    work = root / "work"
    work.mkdir()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(SLOWCLOUD)]), **variables}
    for variable, name in FOLDERS.items():
        (root / name).mkdir(exist_ok=True)
        env[variable] = str(root / name)
    _silence_news(root / "config")
    port = _free_port()
    url = f"http://127.0.0.1:{port}{BASE_URL}"
    with (root / "server.log").open("wb") as log:
        server = subprocess.Popen(_command(port, work), env=env, stdout=log, stderr=log, cwd=work)
    try:
        _wait_for(f"{url}api/status?token={TOKEN}", server, root / "server.log")
        yield Server(url, root / "data", root / "config", work, variables)
    finally:
        server.terminate()
        server.wait(timeout=30)


def _command(port: int, work: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--allow-root",
        f"--ServerApp.root_dir={work}",
        f"--ServerApp.base_url={BASE_URL}",
        f"--IdentityProvider.token={TOKEN}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
        "--KernelManager.transport=ipc",
    ]


def _silence_news(config: Path) -> None:
    folder = config / "labconfig"
    folder.mkdir(parents=True)
    settings = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
    (folder / "default_setting_overrides.json").write_text(json.dumps(settings))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not come up:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """One Chromium for all tests."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh profile; a page whose scripts fail fails the test."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert errors == []


@pytest.fixture
def lab(lab_server: Server, page: Page, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """JupyterLab with our sidebar open; this process shares its folders. All clusters are deleted afterwards."""
    yield from _opened(lab_server, page, monkeypatch)


@pytest.fixture
def services_lab(services_server: Server, page: Page, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """The same with the accounts of `services_server`."""
    monkeypatch.syspath_prepend(str(SLOWCLOUD))
    registry._known.cache_clear()
    yield from _opened(services_server, page, monkeypatch)
    registry._known.cache_clear()


def _opened(server: Server, page: Page, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    folders = {"JUPYTER_DATA_DIR": str(server.data), "JUPYTER_CONFIG_DIR": str(server.config)}
    for name, value in {**folders, **server.variables}.items():
        monkeypatch.setenv(name, value)
    opened = Lab(page, server.url, TOKEN, server.work)
    opened.open()

    async def delete_all(service: Service) -> None:
        for cluster in (await service.refresh()).clusters:
            if cluster.created_here:
                await service.delete(cluster)

    yield opened
    opened.act(delete_all)

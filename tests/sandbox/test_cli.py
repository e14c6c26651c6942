"""The command line: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from jupyter_gpu_clusters.core.settings import Settings
from jupyter_gpu_clusters.sandbox.accounts_file import write_accounts
from jupyter_gpu_clusters.sandbox.cli import main
from tests.contracts.fixtures import Switchboard

_COMMAND = [sys.executable, "-m", "jupyter_gpu_clusters.sandbox"]


@contextmanager
def running(*options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    process = subprocess.Popen([*_COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == "READY":
                break
        yield process, dict(line.split("=", 1) for line in lines[:-1])
    finally:
        process.kill()
        process.communicate(timeout=30)


def failing(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What is said when the sandbox does not start."""
    try:
        code = main(options)
    except SystemExit as ended:
        code = int(str(ended.code))
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    return shown.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_prints_variables_serves_and_stops_cleanly(number: signal.Signals) -> None:
    with running("--speed", "100", "--seed", "7", "--scenario", "lost-answer") as (process, variables):
        assert variables["LIUM_BASE_URL"].startswith(variables["SANDBOX_URL"])
        key = {"X-API-Key": variables["LIUM_API_KEY"]}
        assert httpx.get(f"{variables['LIUM_BASE_URL']}/users/me", headers=key).status_code == 200
        assert httpx.get(f"{variables['SANDBOX_URL']}/_sandbox").json()["clock"]["speed"] == 100
        assert len(httpx.get(f"{variables['SANDBOX_URL']}/_sandbox/faults").json()["active"]) == 2
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (0, "")


def test_stops_although_somebody_follows_a_log() -> None:
    with running("--speed", "100", "--choose", "lium.start_seconds=0") as (process, variables):
        api = httpx.Client(base_url=variables["LIUM_BASE_URL"], headers={"X-API-Key": variables["LIUM_API_KEY"]})
        with api:
            node = api.get("/executors").json()[0]["id"]
            rent = {"pod_name": "a", "user_public_key": ["ssh-ed25519 AAAA me"]}
            pod = api.post(f"/executors/{node}/rent", json=rent).json()["pod_id"]
            with api.stream("GET", f"/pods/{pod}/logs", params={"follow": "true"}) as stream:
                assert next(stream.iter_lines())
                process.terminate()
                assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--host", "0.0.0.0"), "loopback"),
        (("--host", "example.org"), "loopback"),
        (("--scenario", "worst-day"), "lost-answer"),
        (("--choose", "lium.names=maybe"), "free, unique"),
        (("--choose", "lium.names"), "KEY=VALUE"),
        (("--speed", "-1"), "not negative"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_are_said_before_anything_starts(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], named: str
) -> None:
    assert named in failing(capsys, *options)


def test_taken_port_is_said(capsys: pytest.CaptureFixture[str], switchboard: Switchboard) -> None:
    assert "in use" in failing(capsys, "--port", switchboard.url.rpartition(":")[2])


def test_accounts_file_is_one_that_the_product_reads(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    with running("--write-accounts", str(file)) as (_, variables):
        accounts = Settings.load(file).accounts
        secret = accounts["lium"].secret()
        assert accounts["lium"].options["base_url"] == variables["LIUM_BASE_URL"]
        assert secret is not None
        assert secret.get_secret_value() == variables["LIUM_API_KEY"]
        assert variables["LIUM_API_KEY"] not in file.read_text()
        assert {os.stat(path).st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_accounts_file_of_an_earlier_sandbox_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    for port in (1, 2):
        accounts = {"lium": ({"base_url": f"http://127.0.0.1:{port}/lium/api"}, "secret")}
        write_accounts(file, accounts)
    assert tomllib.loads(file.read_text())["accounts"]["lium"]["base_url"] == "http://127.0.0.1:2/lium/api"


def test_accounts_file_of_somebody_else_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "accounts.toml"
    file.write_text("[accounts.mine]\nprovider = 'slurm'\n")
    assert "not written by the sandbox" in failing(capsys, "--write-accounts", str(file))
    assert "mine" in file.read_text()

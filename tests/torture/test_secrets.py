"""Secrets of accounts and of specs, after every write whose answer was lost, kills, restarts and recovery: nowhere."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jupyter_gpu_clusters.testing.searching import CONFIDED, PLANTED, forms_of, found_in, texts_of
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard
from tests.until import until

from .user import User, jupyter_server

__all__ = ["make_sandbox", "switchboard"]

SECOND = f"{PLANTED}-token"
ACCOUNTS = (PLANTED, SECOND)
SECRETS = (*ACCOUNTS, CONFIDED)
TEXT = textwrap.indent(f"#!/bin/sh\nexport TOKEN='x'{CONFIDED}\n", "  ")
CREATE = {
    "e2e": "gpu: H100\nnodes: 2\nimage: ubuntu-slurm\nssh_keys: [spare]\nsecurity_group: ssh-only\n"
    f"lifecycle_script: |\n{TEXT}",
    "lium": "gpu: H100\nnodes: 1\nuser_public_key: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample me']\n"
    f"dockerfile_content: |\n  FROM scratch\n  ENV TOKEN={CONFIDED}\n",
}
SUBMIT = (
    "%%workload_submit gpu-east --name train --yes\nproject: vision\nnodes: 2\ngpus_per_node: 1\nimage: example/image:1"
    f"\nenv:\n  TOKEN: |-\n    {CONFIDED}\nscript: |\n{TEXT}"
)


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch) -> CheckedSandbox:
    """All three services; the credentials in the environment are the planted ones."""
    sandbox = make_sandbox(choices={"lium.nodes": "6", "runai.run_seconds": "1000000"})
    variables = sandbox.variables()
    sandbox.setup("e2e", credential={"label": "planted", "api_key": PLANTED, "token": SECOND})
    sandbox.setup("lium", key={"name": "planted", "secret": PLANTED})
    sandbox.setup("runai", credential={"client_id": variables["RUNAI_CLIENT_ID"], "secret": PLANTED})
    secret = dict.fromkeys(("E2E_TIR_API_KEY", "LIUM_API_KEY", "RUNAI_CLIENT_SECRET"), PLANTED)
    for name, value in {**variables, **secret, "E2E_TIR_ACCESS_TOKEN": SECOND}.items():
        monkeypatch.setenv(name, value)
    return sandbox


@contextmanager
def lost(sandbox: CheckedSandbox, *actions: str) -> Iterator[None]:
    """The answers to such writes are cut off after the work."""
    numbers = [sandbox.fault(kind="drop_after", action=action, times=None) for action in actions]
    yield
    for number in numbers:
        sandbox.clear_faults(number)


def use(user: User, sandbox: CheckedSandbox) -> None:
    """Every write on every service, each with a lost answer, a kill in between, and everything looked for again."""
    with lost(sandbox, "create", "submit"):
        for account, spec in CREATE.items():
            user.run(f"%%cluster_create {account} --name fire-{account} --yes\n{spec}")
        user.run("%cluster_list")
        told = user.run(SUBMIT)
        assert told.error == "OutcomeUnknownError", told
    user.restart()
    assert "fire-e2e" in user.run("%cluster_recover").require().text + str(user.run("%cluster_list"))
    sandbox.advance(600)
    user.run("%cluster_list").require()
    with lost(sandbox, "change", "delete"):
        for cell in (
            "%cluster_scale fire-e2e --nodes 3 --yes",
            "%cluster_action fire-e2e restart_workers --yes",
            "%cluster_action fire-lium reboot --yes",
            "%workload_suspend train",
            "%cluster_delete fire-lium --yes --timeout 0",
        ):
            user.run(cell)
    user.restart()
    for cell in ("%cluster_recover", "%cluster_status fire-e2e", "%workload_list", "%workload_cancel train"):
        user.run(cell)
    user.run("%cluster_delete fire-e2e --yes --timeout 0")
    sandbox.advance(600)
    user.run("%cluster_recover").require()


def test_no_secret_is_in_any_file_log_event_or_output_after_lost_answers_kills_and_recovery(
    sandbox: CheckedSandbox, jupyter_folders: Path
) -> None:
    with jupyter_server(jupyter_folders, jupyter_folders / "jupyter_config_dir") as events:
        user = User(jupyter_folders)
        try:
            use(user, sandbox)
            until(lambda: '"kind": "cluster"' in events.read_text())
        finally:
            user.close()
        texts = {str(path.relative_to(jupyter_folders)): text for path, text in texts_of(jupyter_folders)}
    made = {entry["action"] for page in sandbox.books()["services"].values() for entry in page["entries"]}
    assert {"create", "submit", "delete"} <= made
    for part in ("journal.sqlite", "intents/released/", "kernel2.log", "server.log", "events.jsonl", "2.ipynb"):
        assert any(part in name and text for name, text in texts.items()), f"no {part} in {sorted(texts)}"
    leaks = {name: found_in(text, ACCOUNTS if _is_what_was_typed(name) else SECRETS) for name, text in texts.items()}
    assert not {name: forms for name, forms in leaks.items() if forms}


def _is_what_was_typed(name: str) -> bool:
    """IPython keeps the source of every cell, and with it what the user wrote there."""
    return name.startswith("ipythondir/") and name.rpartition("/")[2].startswith("history.sqlite")


def test_the_search_finds_what_was_planted_in_every_form() -> None:
    for secret in SECRETS:
        for form, text in forms_of(secret).items():
            assert found_in(f"xx{text}xx", [secret]), form

"""A planted key with every awkward character, under every class of failure: it is found nowhere afterwards."""

from __future__ import annotations

import base64
import html
import json
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.service import Service
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox, make_sandbox, switchboard

from .table import DELIVERIES, Case, _list, _order, quick

__all__ = ["make_sandbox", "switchboard"]

KEY, OTHER = "pl%nt+d&k'3y\"=<x>/1", "t0k%n+&'\"=<y>/2"
SECRETS = {"e2e": (KEY, OTHER), "lium": (KEY,), "runai": (KEY,)}
VERBS = {"e2e": ("create", "list"), "lium": ("create", "list"), "runai": ("submit", "list")}


def faults_of(service: str) -> list[dict[str, Any]]:
    """None, refusals that repeat the secrets, and answers that are spoilt on their way."""
    text = f"no: {' '.join(SECRETS[service])}"
    refusals = [{"kind": "status", "status": status, "text": text} for status in (400, 401, 403, 429, 500)]
    return [{}, *refusals, *DELIVERIES]


CASES = [Case(name, verb, fault) for name, verbs in VERBS.items() for verb in verbs for fault in faults_of(name)]

pytestmark = pytest.mark.anyio


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch) -> CheckedSandbox:
    """All three services, each with the planted credential, which the environment holds."""
    sandbox = make_sandbox()
    for name, value in sandbox.variables().items():
        monkeypatch.setenv(name, value)
    sandbox.setup("e2e", credential={"label": "planted", "api_key": KEY, "token": OTHER})
    sandbox.setup("lium", key={"name": "planted", "secret": KEY})
    sandbox.setup("runai", credential={"client_id": sandbox.variables()["RUNAI_CLIENT_ID"], "secret": KEY})
    for name in ("E2E_TIR_API_KEY", "LIUM_API_KEY", "RUNAI_CLIENT_SECRET"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("E2E_TIR_ACCESS_TOKEN", OTHER)
    return sandbox


def forms(secret: str) -> Iterator[str]:
    """The secret as it could turn up."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (html.escape(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1])
    yield base64.b64encode(secret.encode()).decode()


def found(text: str) -> list[str]:
    return [form for secret in (KEY, OTHER) for form in forms(secret) if form in text]


def written_below(folder: Path) -> list[str]:
    return [file.read_bytes().decode("utf-8", "replace") for file in folder.rglob("*") if file.is_file()]


async def provoked(case: Case, sandbox: CheckedSandbox) -> str:
    """What a user or a log would see of one failure: its stack with every cause, its fields, its lines."""
    service = Service.open()
    try:
        done = await (_list if case.verb == "list" else _order)(service, case, sandbox) if case.fault else None
        return repr(done)
    except GpuClustersError as exc:
        stack = "".join(traceback.TracebackException.from_exception(exc, capture_locals=False).format())
        return stack + repr(vars(exc)) + "\n".join(exc.lines())
    finally:
        await service.aclose()


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.service}-{case.verb}-{case.fault.get('kind')}-{case.fault.get('status')}"
)
async def test_no_form_of_the_key_is_left_anywhere(
    case: Case, sandbox: CheckedSandbox, jupyter_folders: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with quick():
        shown = await provoked(case, sandbox)
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith(("uvicorn", "asyncio"))]
    assert [hit for text in (shown, *ours, *written_below(jupyter_folders)) for hit in found(text)] == []


def test_the_search_would_find_it() -> None:
    for secret in (KEY, OTHER):
        for form in forms(secret):
            assert found(f"xx{form}xx")


async def test_the_planted_credentials_work(sandbox: CheckedSandbox) -> None:
    service = Service.open()
    statuses = await service.check_accounts()
    await service.aclose()
    assert [(status.account, status.is_usable) for status in statuses] == [
        ("local", True),
        ("e2e", True),
        ("lium", True),
        ("runai", True),
    ]

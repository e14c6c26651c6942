"""A planted key is found nowhere: not after any call, under any class of failure, in any form."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.models import utc_now
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.providers.lium.client import Client
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox

pytestmark = pytest.mark.anyio

KEY = 'sk_pl%nt+d&"q=/x 1'
POD = "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a01"
TEXT = f"you sent X-API-Key: {KEY} and {quote(KEY, safe='')} and {base64.b64encode(KEY.encode()).decode()}"
FAULTS: list[dict[str, Any]] = [
    *({"kind": "status", "status": status, "shape": "envelope", "text": TEXT} for status in (400, 401)),
    {"kind": "status", "status": 403, "shape": "detail_object", "text": TEXT, "details": {KEY: KEY}},
    {"kind": "status", "status": 409, "shape": "message_object", "text": TEXT, "details": {"id": KEY}},
    {"kind": "status", "status": 422, "shape": "validation_errors", "text": TEXT},
    {"kind": "status", "status": 200, "shape": "in_band", "text": TEXT},
    {"kind": "status", "status": 400, "body": {"error": {"code": KEY, "hint": KEY, "request_id": KEY}}},
    {"kind": "status", "status": 500, "body": {"pod_ids": [KEY], "id": KEY}},
    {"kind": "html", "status": 500, "text": f"<title>{TEXT}</title>"},
    {"kind": "redirect", "status": 302, "to": f"https://elsewhere.example/{quote(KEY, safe='')}?k={quote_plus(KEY)}"},
    {"kind": "drop_before"},
]


def calls(client: Client) -> list[Callable[[], Awaitable[object]]]:
    """Writes of every kind, reads of every kind."""
    return [
        client.me,
        client.list_fabrics,
        client.list_pods,
        lambda: client.statement("2026-11-01", "2026-11-30"),
        lambda: client.quote(POD, hours=1),
        lambda: client.events(POD),
        lambda: _lines(client),
        lambda: client.try_rent_by_spec({"gpu_type": "H100", "pod_name": "x", "user_public_key": ["k"]}),
        lambda: client.delete_pod(POD),
        lambda: client.delete_cluster(POD),
        lambda: client.schedule_removal(POD, utc_now()),
        lambda: client.cancel_removal(POD),
        lambda: client.reboot(POD),
        lambda: client.switch_template(POD, POD),
        lambda: client.add_ssh_key("laptop", "ssh-ed25519 AAAA"),
    ]


async def _lines(client: Client) -> None:
    """Read a log; what a pod writes into it is the user's own."""
    async for _ in client.logs(POD, tail=1):
        pass


def forms(secret: str) -> Iterator[str]:
    """The key as it could turn up; in base64 wherever it begins within three bytes."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1])
    for before in range(3):
        yield base64.b64encode(b"\0" * before + secret.encode()).decode()[4:-4]


@pytest.fixture
async def provider(
    make_sandbox: MakeSandbox, sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LiumProvider]:
    """The adapter with the planted key, which works."""
    sandbox.setup("lium", key={"name": "planted", "secret": KEY})
    monkeypatch.setenv("LIUM_API_KEY", KEY)
    service = Service.open()
    provider = service._accounts.provider("lium")
    assert isinstance(provider, LiumProvider)
    yield provider
    await service.aclose()


async def told_by(call: Callable[[], Awaitable[object]]) -> str:
    """All that a person or a log could see of one call."""
    try:
        return repr(await call())
    except GpuClustersError as exc:
        stack = "".join(traceback.format_exception(exc))
        return stack + repr(exc) + repr(vars(exc)) + "\n".join([*exc.lines(), *exc._render_traceback_()])


@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: f"{fault['kind']}-{fault.get('status')}-{fault.get('shape')}"
)
async def test_no_form_of_the_key_is_left_after_any_call(
    provider: LiumProvider, sandbox: CheckedSandbox, caplog: pytest.LogCaptureFixture, fault: dict[str, Any]
) -> None:
    caplog.set_level(logging.DEBUG)
    client = (await provider._access.connect()).client
    sandbox.fault(service="lium", times=None, **fault)
    told = [repr(provider), repr(client), repr(await provider._access.connect())]
    told += [await told_by(call) for call in calls(client)]
    status = await provider.check_account()
    told += [repr(status), repr(await provider.identity())]
    told += [r.getMessage() for r in caplog.records if not r.name.startswith(("uvicorn", "asyncio"))]
    assert [form for form in forms(KEY) for text in told if form in text] == []


async def test_the_key_works(provider: LiumProvider) -> None:
    assert (await provider.check_account()).is_usable


@pytest.mark.parametrize("before", ["", "a", "ab", "X-API-Key: "])
def test_the_search_would_find_it(before: str) -> None:
    text = before + KEY
    encoded = base64.b64encode(text.encode()).decode()
    for shown in (text, quote(text), quote(text, safe=""), quote_plus(text), json.dumps(text), encoded):
        assert any(form in shown for form in forms(KEY))

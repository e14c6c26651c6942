"""Whatever goes wrong, no form of the key comes out: not in errors, tracebacks with all variables, logs or reprs."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.core.http import Body, HttpClient
from tests.until import until_async

from . import nasty
from .reading import QUICK, quick, read_error
from .test_redact import forms_of

HEADER_SAFE = st.text("abXY%+&=\"'\\/<>-é€𝄞", min_size=8, max_size=24)

FAULTS: dict[str, nasty.Act] = {
    "echo 400": nasty.echo(400),
    "echo 401": nasty.echo(401),
    "echo 404": nasty.echo(404),
    "echo 429": nasty.echo(429),
    "echo 500": nasty.echo(500),
    "echo redirect": nasty.echo(302),
    "echo 200": nasty.echo(200),
    "drop": nasty.drop,
    "cut short": nasty.truncated(200, b"{}"),
    "page": nasty.page(502),
    "silence": nasty.silence,
    "bomb": nasty.gzipped(200, b" " * 3_000_000),
    "not HTTP": nasty.raw(b"hello\r\n\r\n", close=True),
}


class Records(logging.Handler):
    """Every record of this process as text, down to DEBUG, formatted as a user would see it."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{self.format(record)} {record.msg!r} {record.args!r}")


@asynccontextmanager
async def all_logs() -> AsyncIterator[Records]:
    records, root = Records(), logging.getLogger()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    try:
        yield records
    finally:
        root.setLevel(level)
        root.removeHandler(records)


async def outcome(work: Awaitable[Any]) -> str:
    """All that a verbose traceback of its failure shows; its frames start here, so the test's own stay out."""
    try:
        return repr(await work)
    except (Exception, asyncio.CancelledError) as exc:  # noqa: BLE001  # whatever it is, it must not show the key
        return everything(exc)


def everything(exc: BaseException) -> str:
    """Verbose traceback, str and repr of an exception and of all it is chained to, suppressed or not."""
    shown, chain = [], [exc]
    while chain:
        one = chain.pop()
        verbose = traceback.TracebackException.from_exception(one, capture_locals=True)
        shown += [str(one), repr(one), repr(vars(one)), *verbose.format()]
        chain += [other for other in (one.__cause__, one.__context__) if other is not None]
    return "".join(shown)


def client_with(key: str, url: str, **options: Any) -> HttpClient:
    client = HttpClient(url, provider="test", read_error=read_error, **options)
    client.authorize(query={"apikey": SecretStr(key)}, headers={"Authorization": SecretStr(f"Bearer {key}")})
    return client


def calls_of(client: HttpClient, key: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    secret = SecretStr(key)

    async def tail() -> int:
        return len([line async for line in client.lines("logs")])

    return {
        "get": lambda: client.get("a/b", {"page": 1}),
        "send": lambda: client.send("POST", "a", Body.from_json({"env": {"TOKEN": secret}}), headers={"x-k": secret}),
        "form": lambda: client.send("POST", "t", Body.from_form({"secret": secret}), is_repeatable=True),
        "lines": tail,
    }


def assert_hidden(key: str, text: str) -> None:
    for name, form in forms_of(key).items():
        assert form not in text, name


async def provoke(key: str, act: nasty.Act) -> str:
    """Every kind of call against one fault; all that could be seen of it."""
    limits = quick(tries=2, read_s=0.1, max_bytes=100_000)
    async with all_logs() as records, nasty.running(act) as server:
        client = client_with(key, server.url, limits=limits)
        shown = [await outcome(call()) for call in calls_of(client, key).values()]
        parts = [part for part in vars(client).values() if hasattr(part, "__dict__")]
        shown += [repr(client), repr(vars(client)), *(repr(vars(part)) for part in parts)]
        await client.aclose()
        assert server.seen[0].query["apikey"] == [key]
    return "\n".join([*shown, *records.lines])


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@pytest.mark.parametrize("fault", FAULTS)
@given(key=HEADER_SAFE)
def test_no_form_of_the_key_survives_a_fault(fault: str, key: str) -> None:
    shown = asyncio.run(provoke(key, FAULTS[fault]))
    assert "/a/b" in shown
    assert_hidden(key, shown)


@pytest.mark.anyio
async def test_a_cancelled_call_shows_no_key() -> None:
    key = "sk_p%c+t&q\"uo'te"
    async with all_logs() as records, nasty.running(nasty.silence) as server:
        client = client_with(key, server.url, limits=QUICK)
        for call in calls_of(client, key).values():

            async def limited(work: Callable[[], Awaitable[Any]] = call) -> None:
                async with asyncio.timeout(0.2):
                    await work()

            shown = await outcome(limited())
            assert "TimeoutError" in shown
            assert_hidden(key, shown)
            seen = len(server.seen)
            task = asyncio.ensure_future(call())
            await until_async(partial(_has_seen_more, server, seen))
            task.cancel()
            shown = await outcome(task)
            assert "CancelledError" in shown
            assert_hidden(key, shown)
        await client.aclose()
        assert_hidden(key, "\n".join(records.lines))


async def _has_seen_more(server: nasty.Nasty, count: int) -> bool:
    return len(server.seen) > count


@pytest.mark.anyio
async def test_a_connection_that_fails_shows_no_key_nor_the_password_of_the_proxy() -> None:
    key = "sk_p%c+t&q\"uo'te"
    for proxy in (None, SecretStr("http://user:hidden%2Bword@127.0.0.1:9")):
        async with all_logs() as records:
            client = client_with(key, "http://127.0.0.1:9", limits=QUICK, proxy=proxy)
            for call in calls_of(client, key).values():
                shown = await outcome(call())
                assert "nothing was sent" in shown
                assert_hidden(key, shown)
                assert "hidden" not in shown
            await client.aclose()
            assert_hidden(key, "\n".join(records.lines))


@pytest.mark.parametrize("key", ["", "sk_line\nbreak", "sk_nul\0", " sk_space", "sk_tab\t", "sk_bell\a"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    client = HttpClient("http://127.0.0.1:9", provider="test", read_error=read_error)
    with pytest.raises(SettingsError, match=r"Nothing was sent\.") as caught:
        client.authorize(headers={"X-API-Key": SecretStr(key)})
    assert "x-api-key" in caught.value.message
    assert not key.strip() or key.strip() not in str(caught.value)


@pytest.mark.anyio
async def test_half_a_surrogate_pair_in_a_key_crashes_nothing() -> None:
    async with nasty.running(nasty.echo(401)) as server:
        client = client_with("sk_\udc80_bad", server.url, limits=QUICK)
        assert "AuthError" in await outcome(client.get("x"))
        await client.aclose()


@pytest.mark.anyio
async def test_an_earlier_key_is_still_cut_out_after_a_new_one_came() -> None:
    async with nasty.running(nasty.as_json(400, {"message": "was old-token-1 and new-token-2"})) as server:
        client = client_with("old-token-1", server.url, limits=QUICK)
        client.authorize(headers={"Authorization": SecretStr("Bearer new-token-2")})
        shown = await outcome(client.get("x"))
        await client.aclose()
        assert "was *** and ***" in shown
        assert "apikey" not in server.seen[0].query


@pytest.mark.anyio
async def test_a_secret_of_one_request_is_cut_out_of_its_answer() -> None:
    async with all_logs() as records, nasty.running(nasty.echo(400)) as server:
        client = client_with("account-key-1", server.url, limits=QUICK)
        secret = SecretStr("registry/pass+1")
        for body in (Body.from_json({"spec": [{"env": secret}]}), Body.from_form({"secret": secret})):
            shown = await outcome(client.send("POST", "x", body, params={"q": secret}, headers={"x-k": secret}))
            assert "was answered HTTP 400" in shown
            assert_hidden("registry/pass+1", shown + "".join(records.lines))
        assert b"registry" in server.seen[0].body
        await client.aclose()


@pytest.mark.anyio
async def test_the_logs_of_other_users_of_httpx_stay_as_they_are() -> None:
    async with all_logs() as records, nasty.running(nasty.reply(200, b"{}", x_echo="same-key-1")) as server:
        client = client_with("same-key-1", server.url, limits=QUICK)
        await client.get("x")
        ours = len(records.lines)
        assert "same-key-1" not in "".join(records.lines)
        async with httpx.AsyncClient(trust_env=False) as other:
            await other.get(f"{server.url}/?k=same-key-1")
        await client.aclose()
        assert any("HTTP Request: GET" in line and "k=same-key-1" in line for line in records.lines[ours:])
        assert any("x-echo" in line and "same-key-1" in line for line in records.lines[ours:])

"""Reads are repeated within bounds, writes never; every wait and every size has an end."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import format_datetime
from functools import partial

import anyio
import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import (
    OutcomeUnknownError,
    ProviderError,
    QuotaError,
    RateLimitedError,
    TransportError,
)
from jupyter_gpu_clusters.core.http import Body, LostAnswerError
from jupyter_gpu_clusters.core.http_body import Unpacker, UnusableBodyError
from tests.until import until_async

from . import nasty
from .reading import KEY, client_of, quick

pytestmark = pytest.mark.anyio

GOOD = nasty.as_json(200, {"items": [], "price": 0.1})
PASSING = {
    "dropped": nasty.drop,
    "cut short": nasty.truncated(200, b'{"a": 1}'),
    "cut in the packing": nasty.gzipped(200, b'{"a": 1}' * 99, cut=9),
    "not a packing": nasty.reply(200, b"plain", content_encoding="gzip"),
    "half a JSON": nasty.reply(200, b'{"items": ['),
    "empty": nasty.reply(200),
    "a page": nasty.page(200),
    "not HTTP": nasty.raw(b"SSH-2.0-OpenSSH_9.9\r\n\r\n", close=True),
    "500": nasty.as_json(500, {"message": "boom"}),
    "502 page": nasty.page(502),
    "503 empty": nasty.reply(503),
    "408": nasty.reply(408),
}


async def test_a_read_brings_json_with_exact_fractions_and_sends_the_credential() -> None:
    async with nasty.running(GOOD) as server, client_of(f"{server.url}/api") as client:
        answer = await client.get("clusters/", {"page": 1, "all": True, "q": "a b&c"})
        assert (answer.status, answer.data) == (200, {"items": [], "price": Decimal("0.1")})
        (seen,) = server.seen
        assert seen.path == "/api/clusters/"
        assert seen.query == {"page": ["1"], "all": ["true"], "q": ["a b&c"], "apikey": [KEY]}
        assert seen.headers["authorization"].encode("latin-1").decode() == f"Bearer {KEY}"


@pytest.mark.parametrize("act", PASSING.values(), ids=PASSING.keys())
async def test_a_read_is_repeated_after_passing_trouble(act: nasty.Act) -> None:
    async with nasty.running(act, act, GOOD) as server, client_of(server.url) as client:
        assert (await client.get("x")).is_json
        assert len(server.seen) == 3


@pytest.mark.parametrize("act", PASSING.values(), ids=PASSING.keys())
async def test_a_read_gives_up_after_its_tries(act: nasty.Act) -> None:
    async with nasty.running(act) as server, client_of(server.url) as client:
        with pytest.raises((TransportError, ProviderError)):
            await client.get("x")
        assert len(server.seen) == 3


@pytest.mark.parametrize("act", PASSING.values(), ids=PASSING.keys())
async def test_a_write_is_sent_once_and_a_lost_answer_leaves_its_outcome_unknown(act: nasty.Act) -> None:
    async with nasty.running(act) as server, client_of(server.url) as client:
        if act is PASSING["empty"]:
            assert (await client.send("POST", "x", Body.from_json({"n": 1}))).data is None
        else:
            with pytest.raises(LostAnswerError) as caught:
                await client.send("POST", "x", Body.from_json({"n": 1}))
            assert "may have been carried out" in caught.value.message
        assert [seen.body for seen in server.seen] == [b'{"n":1}']


async def test_a_request_that_changes_nothing_is_repeated_with_the_same_bytes() -> None:
    async with nasty.running(nasty.drop, GOOD) as server, client_of(server.url) as client:
        form = Body.from_form({"grant_type": "client_credentials", "client_secret": SecretStr("a&b")})
        await client.send("POST", "token", form, is_repeatable=True)
        assert [seen.body for seen in server.seen] == [b"grant_type=client_credentials&client_secret=a%26b"] * 2


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 429, 501])
async def test_a_refused_read_is_not_repeated(status: int) -> None:
    async with nasty.running(nasty.as_json(status, {"message": "no"})) as server, client_of(server.url) as client:
        with pytest.raises(ProviderError, match="no"):
            await client.get("x")
        assert len(server.seen) == 1


async def test_writes_never_share_a_connection_and_reads_do() -> None:
    async with nasty.running(GOOD) as server, client_of(server.url) as client:
        for _ in range(2):
            await client.get("x")
        for _ in range(2):
            await client.send("DELETE", "x")
        await client.get("x")
        assert [seen.connection for seen in server.seen] == [1, 1, 2, 3, 1]
        await until_async(partial(_reaches, server, "hung_up", 2))


async def test_a_kept_connection_that_the_service_closed_does_no_harm() -> None:
    closing = nasty.reply(200, b"{}", close=True)
    async with nasty.running(closing) as server, client_of(server.url) as client:
        for _ in range(3):
            assert (await client.get("x")).data == {}
        assert server.connections >= 3


async def test_a_body_is_made_once_and_can_be_sent_again_byte_for_byte() -> None:
    async with nasty.running(nasty.drop, GOOD) as server, client_of(server.url) as client:
        body = Body.from_json({"b": "é", "a": Decimal("0.5"), "n": Decimal(3), "env": [SecretStr("s3cret")]})
        with pytest.raises(OutcomeUnknownError):
            await client.send("POST", "rent", body, headers={"Idempotency-Key": "k1"})
        await client.send("POST", "rent", body, headers={"Idempotency-Key": "k1"})
        first, second = server.seen
        assert first.body == second.body == b'{"b":"\\u00e9","a":0.5,"n":3,"env":["s3cret"]}'
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"] == "k1"
        assert len(body.digest) == 64
        assert "s3cret" not in repr(body)


# Waiting


@pytest.mark.parametrize("by", ["seconds", "date"])
async def test_429_is_repeated_where_it_says_when(by: str) -> None:
    now = datetime.now(UTC)
    date = {"retry_after": format_datetime(now, usegmt=True), "date": format_datetime(now, usegmt=True)}
    wait = nasty.as_json(429, {"message": "slow"}, **({"retry_after": "0"} if by == "seconds" else date))
    async with nasty.running(wait, GOOD) as server, client_of(server.url) as client:
        assert (await client.get("x")).is_json
        assert len(server.seen) == 2


async def test_a_read_waits_as_long_as_it_is_told() -> None:
    wait = nasty.as_json(503, {}, retry_after="0.4")
    async with nasty.running(wait, GOOD) as server, client_of(server.url) as client:
        started = asyncio.get_running_loop().time()
        await client.get("x")
        assert asyncio.get_running_loop().time() - started >= 0.4
        assert len(server.seen) == 2


async def test_a_wait_beyond_the_calls_time_is_told_and_not_sat_out() -> None:
    wait = nasty.as_json(429, {"message": "slow"}, retry_after="3000")
    async with nasty.running(wait) as server, client_of(server.url) as client:
        with pytest.raises(RateLimitedError) as caught:
            await client.get("x")
        assert caught.value.retry_after_s == 3000
        assert len(server.seen) == 1


async def test_429_for_quota_is_not_repeated_even_where_it_says_when() -> None:
    quota = nasty.as_json(429, {"message": "8 GPUs", "code": "quota"}, retry_after="0")
    async with nasty.running(quota) as server, client_of(server.url) as client:
        with pytest.raises(QuotaError, match="8 GPUs"):
            await client.get("x")
        assert len(server.seen) == 1


async def test_a_write_is_not_repeated_even_where_429_says_when() -> None:
    wait = nasty.as_json(429, {"message": "slow"}, retry_after="0")
    async with nasty.running(wait) as server, client_of(server.url) as client:
        with pytest.raises(RateLimitedError) as caught:
            await client.send("POST", "x")
        assert (caught.value.retry_after_s, caught.value.is_definite) == (0.0, False)
        assert len(server.seen) == 1


async def test_silence_ends_by_the_time_out_of_reading() -> None:
    async with nasty.running(nasty.silence) as server, client_of(server.url, limits=quick(read_s=0.2)) as client:
        with pytest.raises(TransportError, match=r"nothing came for 0\.2 s"):
            await client.get("x")
        with pytest.raises(LostAnswerError, match=r"nothing came for 0\.2 s"):
            await client.send("POST", "x")
        assert len(server.seen) == 4


async def test_a_body_that_drips_ends_by_the_time_of_the_whole_call() -> None:
    async with nasty.running(nasty.dripping(0.05)) as server, client_of(server.url, limits=quick(call_s=0.5)) as client:
        with pytest.raises(TransportError, match=r"no whole answer within 0\.5 s"):
            await client.get("x")
        with pytest.raises(LostAnswerError, match=r"no whole answer within 0\.5 s"):
            await client.send("POST", "x")


async def test_a_cancelled_call_closes_its_connection_and_the_client_lives_on() -> None:
    async with nasty.running(nasty.silence, nasty.silence, GOOD) as server, client_of(server.url) as client:
        for count, work in enumerate((client.get("x"), client.send("POST", "x")), start=1):
            task = asyncio.ensure_future(work)
            await until_async(partial(_reaches, server, "seen", count))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until_async(partial(_reaches, server, "hung_up", count))
        assert (await client.get("x")).is_json


async def test_an_owners_time_limit_ends_a_call() -> None:
    async with nasty.running(nasty.silence) as server, client_of(server.url) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.get("x")
        with anyio.move_on_after(0.2) as scope:
            await client.send("POST", "x")
        assert scope.cancelled_caught
        await until_async(partial(_reaches, server, "hung_up", 2))


# Size


async def test_a_body_beyond_the_limit_is_not_taken_in_nor_asked_for_again() -> None:
    for act in (nasty.endless(b"x" * 60_000), nasty.gzipped(200, b" " * 50_000_000)):
        async with nasty.running(act) as server, client_of(server.url, limits=quick(max_bytes=1_000_000)) as client:
            with pytest.raises(TransportError, match="larger than 1,000,000 bytes"):
                await client.get("x")
            with pytest.raises(LostAnswerError, match="larger than"):
                await client.send("POST", "x")
            assert len(server.seen) == 2


def test_unpacking_a_bomb_takes_no_more_memory_than_the_limit() -> None:
    bomb = gzip.compress(b" " * 60_000_000)
    tracemalloc.start()
    body = Unpacker("gzip", 1_000_000)
    with pytest.raises(UnusableBodyError):
        body.feed(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


async def test_a_packed_text_that_is_cut_short_is_no_whole_answer() -> None:
    async with nasty.running(nasty.gzipped(200, b"line\n" * 999, cut=9)) as server, client_of(server.url) as client:
        with pytest.raises(TransportError, match="cut short"):
            await client.get("logs", needs_json=False)


async def test_packed_answers_are_unpacked_and_unknown_packings_refused() -> None:
    strange = nasty.reply(200, b"???", content_encoding="br")
    async with nasty.running(nasty.gzipped(200, b'{"a": 1}'), strange) as server, client_of(server.url) as client:
        assert (await client.get("x")).data == {"a": 1}
        with pytest.raises(TransportError, match="not asked for"):
            await client.get("x")
        assert len(server.seen) == 2


# Redirects


async def test_a_read_follows_within_its_origin_with_the_credential_sent_once() -> None:
    there = nasty.reply(307, location="/b/?page=2&apikey=echoed&x=%26")
    async with nasty.running(there, GOOD) as server, client_of(server.url) as client:
        await client.get("a")
        assert server.seen[1].path == "/b/"
        assert server.seen[1].query == {"page": ["2"], "x": ["&"], "apikey": [KEY]}


async def test_a_read_follows_nowhere_else() -> None:
    async with nasty.running(GOOD) as other, nasty.running(nasty.drop) as server:
        away = [
            other.url,
            f"//127.0.0.1:{other.port}/",
            f"{server.url}@127.0.0.1:{other.port}/",
            "https:///",
            "http://[",
        ]
        for place in away:
            server.acts = [nasty.reply(302, location=place)]
            async with client_of(server.url) as client:
                with pytest.raises(TransportError, match="redirects to"):
                    await client.get("a")
        assert other.seen == []
        assert len(server.seen) == len(away)


async def test_redirects_end() -> None:
    async with nasty.running(nasty.reply(301, location="/again")) as server, client_of(server.url) as client:
        with pytest.raises(TransportError, match="redirects to"):
            await client.get("a")
        assert len(server.seen) == 6


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_write_follows_no_redirect(status: int) -> None:
    async with nasty.running(nasty.reply(status, location="/b"), GOOD) as server, client_of(server.url) as client:
        with pytest.raises(LostAnswerError, match="redirects to"):
            await client.send("POST", "a", Body.from_json({}))
        assert len(server.seen) == 1


async def _reaches(server: nasty.Nasty, counter: str, count: int) -> bool:
    return len(getattr(server, counter)) >= count

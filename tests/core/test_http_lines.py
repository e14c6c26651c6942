"""Logs that are followed: as they come, without an end, with a bound on every silence and every line."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial

import pytest

from jupyter_gpu_clusters.core.errors import AuthError, TransportError
from jupyter_gpu_clusters.core.http import HttpClient
from tests.until import until_async

from . import nasty
from .reading import client_of

pytestmark = pytest.mark.anyio


async def lines_of(client: HttpClient, silence_s: float | None = None) -> list[str]:
    return [line async for line in client.lines("logs", {"follow": True}, silence_s=silence_s)]


async def test_lines_come_whole_however_they_were_cut() -> None:
    text = "first\r\nsecond €\n\nlast".encode()
    act = nasty.chunked(text[:9], text[9:15], text[15:17], text[17:])
    async with nasty.running(act) as server, client_of(server.url) as client:
        assert await lines_of(client) == ["first", "second €", "", "last"]
        assert server.seen[0].headers["accept-encoding"] == "identity"


async def test_a_line_without_end_comes_in_pieces() -> None:
    async with nasty.running(nasty.chunked(*[b"x" * 50_000] * 5)) as server, client_of(server.url) as client:
        lines = await lines_of(client)
        assert "".join(lines) == "x" * 250_000
        assert max(map(len, lines)) < 200_000


async def test_a_stream_that_breaks_off_is_told_after_what_came() -> None:
    async with nasty.running(nasty.chunked(b"one\n", ends=False)) as server, client_of(server.url) as client:
        lines = client.lines("logs")
        assert await anext(lines) == "one"
        with pytest.raises(TransportError, match="connection broke"):
            await anext(lines)
        assert len(server.seen) == 1


async def test_silence_is_bounded_and_the_whole_is_not() -> None:
    async with nasty.running(nasty.silence) as server, client_of(server.url) as client:
        with pytest.raises(TransportError, match=r"nothing came for 0\.1 s"):
            await lines_of(client, silence_s=0.1)


async def test_a_refusal_is_the_same_error_as_elsewhere() -> None:
    async with nasty.running(nasty.as_json(401, {"message": "bad key"})) as server, client_of(server.url) as client:
        with pytest.raises(AuthError, match="bad key"):
            await lines_of(client)


async def test_a_packed_stream_is_refused() -> None:
    async with nasty.running(nasty.gzipped(200, b"x")) as server, client_of(server.url) as client:
        with pytest.raises(TransportError, match="not asked for"):
            await lines_of(client)


async def test_who_stops_listening_closes_the_connection() -> None:
    async with nasty.running(nasty.endless(b"line\n" * 5000)) as server, client_of(server.url) as client:
        async with aclosing(client.lines("logs")) as lines:
            assert await anext(lines) == "line"
        await until_async(partial(_has_hung_up, server))


async def _has_hung_up(server: nasty.Nasty) -> bool:
    return bool(server.hung_up)

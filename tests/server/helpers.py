"""What the tests of the server share: a client that quotes nothing by itself, and waiting with a deadline."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from tornado.httpclient import HTTPResponse

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """Status, headers and JSON body of one answer."""

    status: int
    body: dict[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Client:
    """Speaks to our routes of the server under test, signed in by the token unless `headers` says otherwise."""

    http: Any
    base_url: str
    headers: dict[str, str] = field(default_factory=dict)

    async def get(self, *segments: str, **query: str) -> Answer:
        return await self.send("GET", *segments, query=query)

    async def delete(self, *segments: str, body: bytes | None = None) -> Answer:
        return await self.send("DELETE", *segments, body=body)

    async def post(self, *segments: str, body: bytes = b"") -> Answer:
        return await self.send("POST", *segments, body=body)

    async def send(
        self, method: str, *segments: str, query: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """Send one request; every segment is one path segment whatever characters it has."""
        response = await self.fetch(method, "/".join(quote(segment, safe="") for segment in segments), query, body)
        text = response.body.decode() if response.body else "{}"
        return Answer(response.code, json.loads(text), response.headers)

    async def fetch(
        self, method: str, raw_path: str, query: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> HTTPResponse:
        """Send one request below ``gpu-clusters/`` with the path as it is."""
        url = f"{self.base_url}gpu-clusters/{raw_path}"
        if query:
            url += "?" + urlencode(query)
        response: HTTPResponse = await self.http.fetch(
            url,
            method=method,
            headers=dict(self.headers),
            body=body,
            raise_error=False,
            follow_redirects=False,
            allow_nonstandard_methods=True,
            request_timeout=60,
        )
        return response


async def eventually(check: Callable[[], Awaitable[T | None]], *, within_s: float = 60.0) -> T:
    """The first true result of `check`, asked again and again until the deadline."""
    deadline = time.monotonic() + within_s
    while not (result := await check()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not true within {within_s} s; the last result was {result!r}")
        await asyncio.sleep(0.05)
    return result


def by_name(things: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The cluster or workload of that name in a state body."""
    return next((thing for thing in things if thing["name"] == name), None)

"""A provider's reader of errors for tests, and the client that uses it."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import Problem, ProviderError, QuotaError
from jupyter_gpu_clusters.core.http import Answer, HttpClient, Limits, Refusal

KEY = "sk_p%c+t&q\"uo'te é"
QUICK = Limits(connect_s=5, read_s=5, write_s=5, pool_s=5, call_s=30, first_pause_s=0.01, max_pause_s=0.02)


def quick(**changes: Any) -> Limits:
    return dataclasses.replace(QUICK, **changes)


def read_error(answer: Answer) -> Refusal | None:
    """A service that says ``message``, and sometimes under HTTP 200 that it failed."""
    data = answer.data if isinstance(answer.data, dict) else {}
    if answer.is_success and data.get("success") is not False:
        return None
    kinds: dict[object, type[ProviderError]] = {"quota": QuotaError}
    return Refusal(
        text=str(data.get("message", "")),
        kind=kinds.get(data.get("code")),
        code=data.get("code"),
        problems=[Problem(field, text) for field, text in data.get("errors", {}).items()],
        request_id=data.get("request_id"),
        is_definite=bool(data.get("definite")),
        ids=data.get("ids", ()),
    )


@asynccontextmanager
async def client_of(url: str, *, limits: Limits = QUICK, **options: Any) -> AsyncIterator[HttpClient]:
    """A client with the key in the query and in a header, closed at the end."""
    hint = "The key came from env:TEST_KEY."
    client = HttpClient(url, provider="test", read_error=read_error, auth_hint=hint, limits=limits, **options)
    client.authorize(query={"apikey": SecretStr(KEY)}, headers={"Authorization": SecretStr(f"Bearer {KEY}")})
    try:
        yield client
    finally:
        await client.aclose()

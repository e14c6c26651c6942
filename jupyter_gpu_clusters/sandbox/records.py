"""Recorded requests, without secrets and without growing for ever."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from .service import Call

_KEPT = 2000
_BODY_KEPT = 64 * 1024
_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_NOT_SECRET = frozenset({"idempotency-key", "api_key_id", "id_key"})
MASK = "***"


class Records:
    """The last 2000 requests that reached the services."""

    def __init__(self) -> None:
        self._rows: deque[dict[str, Any]] = deque(maxlen=_KEPT)

    def add(self, service: str, call: Call, *, status: int | None, secrets: Iterable[str]) -> None:
        """Write one down; ``status`` is `None` when the connection was cut."""
        texts = sorted({form for secret in secrets if secret for form in _forms(secret)}, key=len, reverse=True)
        self._rows.append(
            {
                "seq": call.seq,
                "at": call.at,
                "service": service,
                "method": call.method,
                "path": _masked(call.path, texts),
                "query": {name: [_value(name, v, texts) for v in values] for name, values in call.query.items()},
                "headers": _headers(call.headers, texts),
                "body": _masked(call.body[:_BODY_KEPT].decode("utf-8", "replace"), texts),
                "body_sha256": call.digest(),
                "status": status,
                "faults": list(call.faults),
            }
        )

    def all(self) -> list[dict[str, Any]]:
        """Oldest first."""
        return list(self._rows)

    def clear(self) -> None:
        """Forget them."""
        self._rows.clear()


def _headers(headers: Mapping[str, str], texts: Iterable[str]) -> dict[str, str]:
    return {name: _value(name, value, texts) for name, value in headers.items()}


def _value(name: str, value: str, texts: Iterable[str]) -> str:
    if name.lower() not in _NOT_SECRET and _SECRET_NAME.search(name):
        return MASK
    return _masked(value, texts)


def _masked(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def _forms(secret: str) -> set[str]:
    return {secret, quote(secret, safe=""), quote_plus(secret)}

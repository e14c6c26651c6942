"""Every shape in which E2E says no, read into one. Source: contract, section 1, "Envelope and errors".

Certain refusals of a write (nothing was made), where the body is JSON, says why, and names no id. Under HTTP 200 the
status is that of the body's own ``code``; a failure that has none is never certain.

| status | why it is certain |
|---|---|
| 400 | documented: fields of the request are wrong |
| 401 | documented: key or token is wrong or expired |
| 403, 404, 412 | met on the sibling API: not allowed, not there, not allowed now |

409, 429 and everything else say nothing about what was made: the contract documents none of them for a create, and 429
is used for quotas as well as for rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import (
    AuthError,
    ConflictError,
    InvalidRequestError,
    NoCapacityError,
    Problem,
    ProviderError,
    QuotaError,
)
from ...core.http import Answer, Refusal, kind_of_status

_DEFINITE = frozenset({400, 401, 403, 404, 412})
_MONEY = re.compile(r"\b(credits?|balance|insufficient funds?|recharge|payment)\b", re.IGNORECASE)
_QUOTA = re.compile(r"\b(quota|limit (?:is )?(?:reached|exceeded)|maximum number)\b", re.IGNORECASE)
_STOCK = re.compile(
    r"\b(capacity|out of stock|not enough nodes|only [0-9]+ nodes?|inventory|not available|unavailable)\b",
    re.IGNORECASE,
)


def read_error(answer: Answer) -> Refusal | None:
    """What an answer refuses; ``None`` where it refuses nothing or is not the service's own."""
    body = answer.data
    if not isinstance(body, Mapping):
        ids = () if answer.is_json else _ids_in_text(answer)
        return Refusal(ids=ids) if ids else None
    code = _status_in(body)
    if answer.is_success and not _says_failure(body, code):
        return None
    told = answer.status if not answer.is_success else code if code is not None and code >= 400 else None
    status = told or 400
    text = _text(body)
    problems = tuple(_problems(body.get("errors")))
    return Refusal(
        text=text,
        kind=_kind(status, text, answer),
        code=str(told) if answer.is_success and told is not None else None,
        problems=problems,
        is_definite=told in _DEFINITE and bool(text) and not _ids(body),
        ids=_ids(body),
    )


def _says_failure(body: Mapping[Any, Any], code: int | None) -> bool:
    return (code is not None and code >= 400) or bool(body.get("errors")) or isinstance(body.get("detail"), str)


def _kind(status: int, text: str, answer: Answer) -> type[ProviderError] | None:
    if status in (401, 407):
        return AuthError
    if status in (400, 402, 403, 409, 412) or (status == 429 and answer.retry_after_s is None):
        if _MONEY.search(text) or status == 402:
            return QuotaError
        if _QUOTA.search(text) or status == 429:
            return QuotaError
        if _STOCK.search(text):
            return NoCapacityError
    return {400: InvalidRequestError, 409: ConflictError, 412: ConflictError}.get(status, kind_of_status(status))


def _text(body: Mapping[Any, Any]) -> str:
    """The first that says something of message, detail and errors."""
    return next((text for name in ("message", "detail", "errors") if (text := _words(body.get(name)))), "")


def _words(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {text}" for key, item in value.items() if (text := _words(item)))
    if isinstance(value, list):
        return "; ".join(text for item in value if (text := _words(item)))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _problems(errors: object) -> Iterator[Problem]:
    if isinstance(errors, Mapping):
        for field, texts in errors.items():
            if text := _words(texts):
                yield Problem(str(field), text)


def _status_in(body: Mapping[Any, Any]) -> int | None:
    for name in ("code", "status_code"):
        code = body.get(name)
        if isinstance(code, str) and code.isdecimal():
            code = int(code)
        if isinstance(code, int) and not isinstance(code, bool) and 100 <= code <= 599:
            return code
    return None


def _ids(body: Mapping[Any, Any]) -> tuple[str, ...]:
    data = body.get("data")
    found = data.get("id") if isinstance(data, Mapping) else None
    return (str(found),) if isinstance(found, int | str) and not isinstance(found, bool) and found != "" else ()


def _ids_in_text(answer: Answer) -> tuple[str, ...]:
    """The id of a cluster in an answer that was cut short or wrapped in something else; only a whole number counts."""
    found = re.search(r'"data"\s*:\s*\{\s*"id"\s*:\s*"?([0-9]+)"?\s*[,}]', answer.text)
    return (found[1],) if found else ()

"""Every shape in which Lium says no, read into one. Source: contract, section 1, "Error bodies" and "Status codes".

Certain refusals of a rent (nothing was rented), where the body is the service's own JSON:

| status | why it is certain |
|---|---|
| 200 with ``success: false`` | the contract calls it a definite refusal |
| 400, 402, 403, 404, 422 | node, budget, balance, scope, route, body |
| 401 | the key is wrong |
| 429 | the request was not executed |

and a 403 that is not JSON: the edge firewall stopped the body before it reached the service. A 409 is never certain:
its codes are not all known, and some mean that an earlier try may have rented. Nor is any status whose code is about
the idempotency key: it tells that the key was seen before. 5xx says nothing.
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
    NotFoundError,
    Problem,
    ProviderError,
    QuotaError,
)
from ...core.http import Answer, Refusal

_DEFINITE = frozenset({400, 401, 402, 403, 404, 422, 429})
_SCOPE = re.compile(r"does not have the '?(\w+)'? scope")
_UUID = re.compile(r'"(?:pod_id|id)"\s*:\s*"([0-9a-fA-F-]{36})"')
_POD_IDS = re.compile(r'"pod_ids"\s*:\s*\[([^\]]*)')
_FIREWALL_HINT = (
    "The service's firewall stops bodies with http:// addresses made of numbers, with ../../, or above 64 KB; it says "
    "nothing about permissions. Shorten or change what is sent."
)
_KINDS: Mapping[int, type[ProviderError]] = {
    400: InvalidRequestError,
    401: AuthError,
    402: QuotaError,
    403: AuthError,
    404: NotFoundError,
    409: ConflictError,
    422: InvalidRequestError,
}
_CODES: Mapping[str, type[ProviderError]] = {
    "node_unavailable": NoCapacityError,
    "no_matching_node": NoCapacityError,
    "idempotency_key_reused": ConflictError,
    "insufficient_balance": QuotaError,
    "api_key_budget_exceeded": QuotaError,
    "pod_not_found": NotFoundError,
}


def read_error(answer: Answer) -> Refusal | None:
    """What an answer refuses; ``None`` where it refuses nothing or is not the service's own."""
    body = answer.data
    if not isinstance(body, Mapping):
        return _not_json(answer)
    if answer.is_success and (body.get("success") is not False or isinstance(body.get("pods"), list)):
        return None
    code, text = _code(body), _text(body)
    return Refusal(
        text=text,
        kind=_kind(answer.status, code, text),
        code=code,
        hint=_hint(body, text),
        problems=tuple(_problems(body)),
        request_id=_request_id(body),
        is_definite=_is_certain(answer.status, code) and not ids_in(answer),
        ids=ids_in(answer),
    )


def _is_certain(status: int, code: str | None) -> bool:
    is_about_key = (code or "").lower().startswith("idempotency_")
    return (200 <= status < 300 or status in _DEFINITE) and not is_about_key


def ids_in(answer: Answer) -> tuple[str, ...]:
    """Ids of pods that an answer names, whatever its shape; also of one that is cut short."""
    body = answer.data
    if isinstance(body, Mapping):
        listed = body.get("pod_ids")
        found = [one for one in listed if isinstance(one, str) and one] if isinstance(listed, list) else []
        one = body.get("pod_id") or (None if body.get("error") else body.get("id"))
        return tuple(dict.fromkeys([*found, *([one] if isinstance(one, str) and one else [])]))
    if answer.is_json:
        return ()
    several = _POD_IDS.search(answer.text)
    ids = re.findall(r"[0-9a-fA-F-]{36}", several[1]) if several else []
    return tuple(dict.fromkeys([*ids, *_UUID.findall(answer.text)]))


def _not_json(answer: Answer) -> Refusal | None:
    if answer.status == 403 and not answer.is_json:
        return Refusal(
            text="the edge firewall stopped the request.",
            kind=InvalidRequestError,
            hint=_FIREWALL_HINT,
            is_definite=True,
        )
    ids = () if answer.is_json else ids_in(answer)
    return Refusal(ids=ids) if ids else None


def _kind(status: int, code: str | None, text: str) -> type[ProviderError] | None:
    by_code = _CODES.get((code or "").lower())
    if by_code is not None:
        return by_code
    if status == 403 and "balance" in text.lower():
        return QuotaError
    if 200 <= status < 300:
        return InvalidRequestError
    return _KINDS.get(status)


def _code(body: Mapping[Any, Any]) -> str | None:
    error = body.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    details = body.get("message")
    inner = details.get("code") if isinstance(details, Mapping) else None
    return next((one for one in (code, inner, body.get("code")) if isinstance(one, str) and one), None)


def _request_id(body: Mapping[Any, Any]) -> str | None:
    error = body.get("error")
    found = error.get("request_id") if isinstance(error, Mapping) else None
    return found if isinstance(found, str) and found else None


def _hint(body: Mapping[Any, Any], text: str) -> str | None:
    if found := _SCOPE.search(text):
        return f"Make a key with the scope {found[1]!r} and log in with it."
    error = body.get("error")
    hint = error.get("hint") if isinstance(error, Mapping) else None
    return hint if isinstance(hint, str) and hint else None


def _text(body: Mapping[Any, Any]) -> str:
    """The first that says something, with the amounts and names that stand beside it."""
    error = body.get("error")
    inner = error.get("message") if isinstance(error, Mapping) else None
    for value in (inner, body.get("message"), body.get("detail"), error):
        if text := _words(value):
            more = _words({k: v for k, v in value.items() if k != "message"}) if isinstance(value, Mapping) else ""
            beside = body.get("message")
            if isinstance(beside, Mapping) and not isinstance(value, Mapping):
                more = _words({k: v for k, v in beside.items() if k not in ("message", "code")})
            return f"{text} ({more})" if more and more not in text else text
    return ""


def _words(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        if text := _words(value.get("message") or value.get("msg")):
            return text
        return ", ".join(f"{key} {text}" for key, item in value.items() if (text := _words(item)))
    if isinstance(value, list):
        return "; ".join(text for item in value if (text := _words(item)))
    return str(value) if value is not None and not isinstance(value, bool) else ""


def _problems(body: Mapping[Any, Any]) -> Iterator[Problem]:
    for name in ("validation_errors", "detail"):
        rows = body.get(name)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and (text := _words(row.get("message") or row.get("msg"))):
                place = row.get("field") or row.get("loc") or ""
                parts = place if isinstance(place, list) else [place]
                yield Problem(".".join(str(part) for part in parts if part != "body"), text)

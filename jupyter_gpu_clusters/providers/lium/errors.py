"""Every shape in which Lium says no, read into one; and which of them are certain (`REFUSALS`).

Source: contract, section 1, "Error bodies" and "Status codes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Meaning:
    """What a refusal tells of a rent.

    Parameters
    ----------
    is_certain : nothing was rented by the request that got it.
    is_certain_again : nor by an earlier one with the same key and bytes whose answer was lost.
    """

    is_certain: bool
    is_certain_again: bool
    why: str


REFUSALS: Mapping[int, Meaning] = {
    200: Meaning(True, True, "`success: false` in the body is a definite refusal; it is kept under the key"),
    400: Meaning(True, True, "the node or the request is refused; that is kept under the key"),
    401: Meaning(True, False, "the API key is wrong: checked before the idempotency key is looked up"),
    402: Meaning(True, False, "the key's budget is spent: maybe by the earlier request"),
    403: Meaning(True, False, "balance, scope or account: checked before the idempotency key is looked up"),
    404: Meaning(True, False, "no such node or route: a server that lacks the route knows no key either"),
    409: Meaning(False, False, "an earlier request may be running or may have rented; the codes are not all known"),
    422: Meaning(True, False, "the body is malformed: an earlier request may have met another check"),
    429: Meaning(True, False, "too many requests: this one was not executed"),
}
"""The definite refusals of a rent, by status (all of 2xx under 200); what is not here is never certain.

They count only where the body is the service's own JSON and names no pod and no cluster. A code about the idempotency
key (``idempotency_...``) is never certain: the key was seen before. One thing more is certain, though only for the
request itself: a 403 that is not JSON comes from the edge firewall, which the request did not pass.

Source: contract, section 1, "Status codes"; section 3, "Idempotency" and "Required client procedure".
"""

_UNKNOWN = Meaning(False, False, "the contract does not list it")
_SCOPE = re.compile(r"does not have the '?(\w+)'? scope")
_UUID = re.compile(r'"(?:pod_id|id)"\s*:\s*"([0-9a-fA-F-]{36})"')
_POD_IDS = re.compile(r'"pod_ids"\s*:\s*\[([^\]]*)')
_CLUSTER_ID = re.compile(r'"cluster_id"\s*:\s*"([0-9a-fA-F-]{36})"')
_MOST_DEPTH = 8
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
        is_definite=_is_certain(answer.status, code) and not things_in(answer),
        ids=things_in(answer),
    )


def _is_certain(status: int, code: str | None) -> bool:
    is_about_key = (code or "").lower().startswith("idempotency_")
    return _meaning(status).is_certain and not is_about_key


def settles_both(status: int | None) -> bool:
    """Whether a certain refusal of a repeated rent settles the first one too."""
    return status is not None and _meaning(status).is_certain_again


def _meaning(status: int) -> Meaning:
    return REFUSALS.get(200 if 200 <= status < 300 else status, _UNKNOWN)


def things_in(answer: Answer) -> tuple[str, ...]:
    """Ids of pods and of a cluster that an answer names."""
    body = answer.data if isinstance(answer.data, Mapping) else {}
    wrapped = body.get("data")
    parts = (body, wrapped if isinstance(wrapped, Mapping) else {})
    clusters = [part.get("cluster_id") for part in parts] if answer.is_json else _CLUSTER_ID.findall(answer.text)
    return tuple(dict.fromkeys([*ids_in(answer), *_named(clusters)]))


def ids_in(answer: Answer) -> tuple[str, ...]:
    """Ids of pods that an answer names, whatever its shape; also of one that is cut short."""
    if answer.is_json:
        return tuple(dict.fromkeys(_ids_of(answer.data)))
    several = _POD_IDS.search(answer.text)
    ids = re.findall(r"[0-9a-fA-F-]{36}", several[1]) if several else []
    return tuple(dict.fromkeys([*ids, *_UUID.findall(answer.text)]))


def _ids_of(body: object) -> Iterator[str]:
    """Of an answer or a list of pods, and of what either is wrapped in."""
    wrapped = body.get("data") if isinstance(body, Mapping) else None
    for part in (body, wrapped):
        for row in part if isinstance(part, list) else [part]:
            if isinstance(row, Mapping):
                listed = row.get("pod_ids")
                yield from _named(listed if isinstance(listed, list) else [listed])
                yield from _named([row.get("pod_id") or (None if row.get("error") else row.get("id"))])


def _named(pods: Iterable[object]) -> Iterator[str]:
    for pod in pods:
        one = pod.get("pod_id") or pod.get("id") if isinstance(pod, Mapping) else pod
        if isinstance(one, str) and one:
            yield one


def _not_json(answer: Answer) -> Refusal | None:
    """Of a page, a plain text, or half of the service's own JSON; JSON that is no object tells nothing."""
    if answer.is_json:
        return None
    if ids := things_in(answer):
        return Refusal(ids=ids)
    if answer.status == 403 and not answer.text.lstrip().startswith("{"):
        return Refusal(
            text="the edge firewall stopped the request.",
            kind=InvalidRequestError,
            hint=_FIREWALL_HINT,
            is_definite=True,
        )
    return None


def _kind(status: int, code: str | None, text: str) -> type[ProviderError] | None:
    by_code = _CODES.get((code or "").lower())
    if by_code is not None:
        return by_code
    if status == 403 and code is None and "balance" in text.lower():
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


def _words(value: object, depth: int = 0) -> str:
    """All that a value says, down to a few levels."""
    if isinstance(value, str):
        return value.strip()
    if depth > _MOST_DEPTH:
        return ""
    if isinstance(value, Mapping):
        if text := _words(value.get("message") or value.get("msg"), depth + 1):
            return text
        return ", ".join(f"{key} {text}" for key, item in value.items() if (text := _words(item, depth + 1)))
    if isinstance(value, list):
        return "; ".join(text for item in value if (text := _words(item, depth + 1)))
    return str(value) if value is not None and not isinstance(value, bool) else ""


def _problems(body: Mapping[Any, Any]) -> Iterator[Problem]:
    for name in ("validation_errors", "detail"):
        rows = body.get(name)
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, Mapping) and (text := _words(row.get("message") or row.get("msg"))):
                place = row.get("field") or row.get("loc") or ""
                parts = place if isinstance(place, list) else [place]
                yield Problem(".".join(str(part) for part in parts if part != "body"), text)

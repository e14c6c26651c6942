"""Every shape in which Run:ai says no, read into one. Source: contract, section 2.

Certain refusals of a create (nothing was made), where the body is the service's own JSON:

| status | why it is certain |
|---|---|
| 400 | the request was not valid, broke a policy, or the cluster is too old |
| 401 | no token, or a wrong or expired one |
| 403 | the role or its scope does not cover it |
| 404 | the service has no such route or thing |
| 405 | not a method of that route |
| 409 | the name is taken |

Everything else (5xx, 408, 429, pages of gateways, empty bodies) says nothing about what was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import AuthError, ConflictError, InvalidRequestError, Problem, ProviderError
from ...core.http import Answer, Refusal

_DEFINITE = frozenset({400, 401, 403, 404, 405, 409})
_ID = re.compile(r'"workloadId"\s*:\s*"([0-9a-fA-F-]{36})"')
_OAUTH_AUTH = frozenset({"invalid_client", "unauthorized_client", "invalid_grant", "access_denied"})
_SCOPE_HINT = "It needs a role whose scope covers this project; an administrator of Run:ai can give one."
_TAKEN_HINT = "Choose another --name."
_GATEWAY_HINT = (
    "If it says so every time, it may be a fault of the service: 502 came for policies with defaults for one role only."
)


def read_error(answer: Answer) -> Refusal | None:
    """What an answer refuses; ``None`` where it refuses nothing or is not the service's own."""
    body = answer.data
    if isinstance(body, Mapping) and (not answer.is_success or _is_failure(body)):
        return _refusal(answer, body)
    if answer.is_success:
        return _damaged(answer)
    hint = _GATEWAY_HINT if answer.status == 502 else None
    return Refusal(hint=hint, ids=_ID.findall(answer.text)) if hint or _ID.search(answer.text) else None


def read_log_error(answer: Answer) -> Refusal | None:
    """The same for logs, whose text is the users' own, whatever it looks like."""
    return None if answer.is_success else read_error(answer)


def _is_failure(body: Mapping[Any, Any]) -> bool:
    """Whether a body that came with 2xx is one of a failure."""
    if "workloadId" in body:
        return False
    code = _status_in(body)
    says_error = isinstance(body.get("error"), str) and "access_token" not in body
    return says_error or (code is not None and code >= 400)


def _damaged(answer: Answer) -> Refusal | None:
    """A 2xx of which only a part came: the id in it must not be lost."""
    is_json = "json" in answer.headers.get("content-type", "")
    if answer.is_json or answer.is_empty or not is_json:
        return None
    return Refusal(text="the answer is cut short or damaged.", ids=_ID.findall(answer.text))


def _refusal(answer: Answer, body: Mapping[Any, Any]) -> Refusal:
    status = (_status_in(body) if answer.is_success else None) or answer.status
    text = _text(body)
    kind = _kind(status, text, body)
    return Refusal(
        text=text,
        kind=kind,
        code=_word(body.get("error")) or (str(status) if answer.is_success else None),
        hint=_hint(status, kind),
        problems=tuple(_issues(body)),
        is_definite=answer.status in _DEFINITE and bool(text),
        ids=_ids(body),
    )


def _kind(status: int, text: str, body: Mapping[Any, Any]) -> type[ProviderError] | None:
    if body.get("error") in _OAUTH_AUTH or status in (401, 403):
        return AuthError
    if status in (400, 409) and "already exists" in text.lower():
        return ConflictError
    return {400: InvalidRequestError, 409: ConflictError}.get(status)


def _hint(status: int, kind: type[ProviderError] | None) -> str | None:
    if status == 403:
        return _SCOPE_HINT
    if kind is ConflictError:
        return _TAKEN_HINT
    return _GATEWAY_HINT if status == 502 else None


def _text(body: Mapping[Any, Any]) -> str:
    """The service's own words; the keys are those of the control plane or, for tokens, of OAuth2."""
    parts = [_word(body.get(name)) for name in ("message", "details", "error_description", "error_uri")]
    words = [part for part in parts if part] or [_word(body.get("error")) or ""]
    return "; ".join(dict.fromkeys(words))


def _issues(body: Mapping[Any, Any]) -> Iterator[Problem]:
    issues = body.get("complianceIssues")
    for issue in issues if isinstance(issues, list) else ():
        if isinstance(issue, Mapping):
            rule = _word(issue.get("rule"))
            yield Problem(
                _word(issue.get("field")) or "",
                (_word(issue.get("details")) or "is refused by a policy") + (f" (rule {rule})" if rule else ""),
            )


def _ids(body: Mapping[Any, Any]) -> tuple[str, ...]:
    found = _word(body.get("workloadId"))
    return (found,) if found else ()


def _status_in(body: Mapping[Any, Any]) -> int | None:
    code = body.get("code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 100 <= code <= 599 else None


def _word(value: object) -> str | None:
    if isinstance(value, list):
        return "; ".join(word for item in value if (word := _word(item))) or None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None

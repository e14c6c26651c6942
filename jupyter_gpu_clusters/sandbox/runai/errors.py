"""Every error body of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ..exchange import FAULT_HEADER
from ..service import Answer, Refused, Shape

_OAUTH = {400: "invalid_request", 401: "invalid_client", 500: "server_error", 503: "temporarily_unavailable"}
_PAGE = "<html>\n<head><title>{0}</title></head>\n<body>\n<center><h1>{0}</h1></center>\n<hr>\n</body>\n</html>\n"


def _error(refused: Refused) -> Answer:
    body: dict[str, Any] = {"code": refused.status, "message": refused.text}
    details = _details(refused)
    if details:
        body["details"] = details
    return Answer.json(body, refused.status, refused.headers)


def _details(refused: Refused) -> str:
    lines = [f"{field}: {text}" if field else text for field, text in refused.problems]
    lines += [f"{name}: {value}" for name, value in (refused.details or {}).items() if name != "complianceIssues"]
    return "; ".join(lines)


def _bare(refused: Refused) -> Answer:
    return Answer.json({"code": refused.status, "message": refused.text}, refused.status, refused.headers)


def _compliance(refused: Refused) -> Answer:
    known = (refused.details or {}).get("complianceIssues")
    issues = known or [{"field": "compute.gpuDevicesRequest", "details": refused.text, "rule": "max"}]
    body = {"code": refused.status, "message": refused.text, "complianceIssues": issues}
    return Answer.json(body, refused.status, refused.headers)


def _oauth(refused: Refused) -> Answer:
    code = refused.code or _OAUTH.get(refused.status, "invalid_request")
    return Answer.json({"error": code, "error_description": refused.text}, refused.status, refused.headers)


def _html(refused: Refused) -> Answer:
    phrase = HTTPStatus(refused.status).phrase if refused.status in HTTPStatus._value2member_map_ else "Error"
    headers = {FAULT_HEADER: "gateway", **refused.headers}
    page = _PAGE.format(f"{refused.status} {phrase}")
    return Answer(refused.status, page.encode(), "text/html; charset=utf-8", headers)


def _empty(refused: Refused) -> Answer:
    return Answer(refused.status, b"", None, {FAULT_HEADER: "gateway", **refused.headers})


SHAPES: Mapping[str, Shape] = {
    "error": _error,
    "bare": _bare,
    "compliance": _compliance,
    "oauth": _oauth,
    "html": _html,
    "empty": _empty,
}


def shape_of(refused: Refused) -> str:
    """The usual shape of a refusal."""
    if refused.shape is not None:
        return refused.shape
    return "compliance" if "complianceIssues" in (refused.details or {}) else "error"

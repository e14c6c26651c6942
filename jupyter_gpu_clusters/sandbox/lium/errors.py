"""Every error body that the Lium contract knows."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ..service import Answer, Refused, Shape

_CODES: Mapping[int, str] = {400: "bad_request", 403: "forbidden", 404: "not_found", 409: "conflict"}


def _envelope(refused: Refused) -> Answer:
    error = {
        "code": refused.code or _CODES.get(refused.status, "error"),
        "message": refused.text,
        "hint": None,
        "request_id": refused.headers.get("X-Request-Id"),
    }
    message: Any = {"message": refused.text, **refused.details} if refused.details is not None else refused.text
    body = {"success": False, "error": error, "message": message, "status_code": refused.status}
    return Answer.json(body, refused.status, refused.headers)


def _older(refused: Refused) -> Answer:
    body = {"success": False, "error": "HTTP error", "message": refused.text}
    return Answer.json(body, refused.status, refused.headers)


def _bare(refused: Refused) -> Answer:
    body = {"success": False, "message": refused.text, "status_code": refused.status}
    return Answer.json(body, refused.status, refused.headers)


def _detail(refused: Refused) -> Answer:
    return Answer.json({"detail": refused.text}, refused.status, refused.headers)


def _detail_object(refused: Refused) -> Answer:
    body = {"detail": {"message": refused.text, **(refused.details or {})}}
    return Answer.json(body, refused.status, refused.headers)


def _detail_list(refused: Refused) -> Answer:
    problems = refused.problems or [("pod_name", refused.text)]
    rows = [{"loc": ["body", *name.split(".")], "msg": text, "type": "value_error"} for name, text in problems]
    return Answer.json({"detail": rows}, refused.status, refused.headers)


def _validation_errors(refused: Refused) -> Answer:
    problems = refused.problems or [("pod_name", refused.text)]
    rows = [{"field": name, "message": text} for name, text in problems]
    body = {"success": False, "message": refused.text, "validation_errors": rows}
    return Answer.json(body, refused.status, refused.headers)


def _message_object(refused: Refused) -> Answer:
    body = {"success": False, "message": {"message": refused.text, **(refused.details or {})}}
    return Answer.json(body, refused.status, refused.headers)


def _wrong_types(refused: Refused) -> Answer:
    error = {"code": 17, "message": refused.text, "hint": ["text"], "request_id": {"id": 5}}
    return Answer.json({"success": False, "error": error, "message": refused.text}, refused.status, refused.headers)


def _in_band(refused: Refused) -> Answer:
    return Answer.json({"success": False, "message": refused.text}, 200, refused.headers)


def _html(refused: Refused) -> Answer:
    page = f"<html><head><title>{refused.status}</title></head><body><h1>{escape(refused.text)}</h1></body></html>\n"
    return Answer(refused.status, page.encode(), "text/html", refused.headers)


def _plain(refused: Refused) -> Answer:
    return Answer(refused.status, refused.text.encode(), "text/plain; charset=utf-8", refused.headers)


SHAPES: Mapping[str, Shape] = {
    "envelope": _envelope,
    "older": _older,
    "bare": _bare,
    "detail": _detail,
    "detail_object": _detail_object,
    "detail_list": _detail_list,
    "validation_errors": _validation_errors,
    "message_object": _message_object,
    "wrong_types": _wrong_types,
    "in_band": _in_band,
    "html": _html,
    "plain": _plain,
}


def usual_shape(refused: Refused) -> str:
    """The shape in which the contract shows this kind of refusal."""
    if refused.problems:
        return "validation_errors"
    if refused.status == 401 or (refused.status == 403 and refused.code is None):
        return "detail"
    if refused.status in (429, 502):
        return "bare"
    return "envelope"


def in_band(text: str) -> Refused:
    """A definite refusal of a cluster rent: ``success: false`` under 200."""
    return Refused(200, text, shape="in_band")


def no_pod() -> Refused:
    """No such pod for this caller."""
    return Refused(404, "Pod not found", code="pod_not_found")

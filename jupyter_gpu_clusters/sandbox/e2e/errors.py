"""Every error body that the E2E contract knows."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ..service import Answer, Refused, Shape

_WHOLE_BODY = "non_field_errors"


def bad(field: str, text: str, status: int = 400) -> Refused:
    """One field is wrong."""
    return Refused(status, "Invalid request", problems=[(field, text)])


def absent(kind: str) -> Refused:
    """No such object in this project and location."""
    return Refused(404, f"No {kind} with this id here")


def by_field(refused: Refused) -> dict[str, list[str]]:
    """Field -> texts; what is wrong deeper inside a field is named at the start of its text."""
    found: dict[str, list[str]] = {}
    for path, text in refused.problems or [("name", refused.text)]:
        field, _, inner = path.partition(".")
        found.setdefault(field or _WHOLE_BODY, []).append(f"{inner}: {text}" if inner else text)
    return found


def _json(refused: Refused, status: int | None = None, **body: Any) -> Answer:
    return Answer.json(body, status or refused.status, refused.headers)


def _fields(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, errors=by_field(refused), message=refused.text)


def _bare_field_text(refused: Refused) -> Answer:
    errors = {field: texts[0] for field, texts in by_field(refused).items()}
    return _json(refused, code=refused.status, errors=errors, message=refused.text)


def _unauthorized(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, message=refused.text)


def _detail(refused: Refused) -> Answer:
    return _json(refused, detail=refused.text)


def _detail_list(refused: Refused) -> Answer:
    return _json(refused, detail=[refused.text])


def _status_code(refused: Refused) -> Answer:
    return _json(refused, status_code=refused.status, errors=refused.text)


def _errors_text(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, data={}, errors=refused.text, message="Failed")


def _errors_list(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, data={}, errors=[refused.text], message="")


def _errors_boolean(refused: Refused) -> Answer:
    return _json(refused, errors=True, message=refused.text)


def _errors_null(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, data=None, errors=None, message=refused.text)


def _errors_detail(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, data={}, errors={"detail": [refused.text]}, message=refused.text)


def _message_object(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, errors={}, message={"text": refused.text})


def _message_list(refused: Refused) -> Answer:
    return _json(refused, code=refused.status, errors={}, message=[refused.text])


def _under_200(refused: Refused) -> Answer:
    return _json(refused, 200, code=refused.status, data={}, errors={"detail": [refused.text]}, message=refused.text)


def _under_200_status_code(refused: Refused) -> Answer:
    return _json(refused, 200, status_code=refused.status, errors=refused.text)


def _under_200_errors(refused: Refused) -> Answer:
    return _json(refused, 200, code=200, data={}, errors=by_field(refused), message="Success")


def _under_200_boolean(refused: Refused) -> Answer:
    return _json(refused, 200, code=200, data={}, errors=True, message=refused.text)


def _under_200_detail(refused: Refused) -> Answer:
    return _json(refused, 200, detail=refused.text)


def _html(refused: Refused) -> Answer:
    page = f"<html><head><title>{refused.status}</title></head><body><h1>{escape(refused.text)}</h1></body></html>\n"
    return Answer(refused.status, page.encode(), "text/html; charset=utf-8", refused.headers)


def _plain(refused: Refused) -> Answer:
    return Answer(refused.status, refused.text.encode(), "text/plain; charset=utf-8", refused.headers)


def _empty(refused: Refused) -> Answer:
    return Answer(refused.status, b"", None, refused.headers)


SHAPES: Mapping[str, Shape] = {
    "fields": _fields,
    "bare_field_text": _bare_field_text,
    "unauthorized": _unauthorized,
    "detail": _detail,
    "detail_list": _detail_list,
    "status_code": _status_code,
    "errors_text": _errors_text,
    "errors_list": _errors_list,
    "errors_boolean": _errors_boolean,
    "errors_null": _errors_null,
    "errors_detail": _errors_detail,
    "message_object": _message_object,
    "message_list": _message_list,
    "under_200": _under_200,
    "under_200_status_code": _under_200_status_code,
    "under_200_errors": _under_200_errors,
    "under_200_boolean": _under_200_boolean,
    "under_200_detail": _under_200_detail,
    "html": _html,
    "plain": _plain,
    "empty": _empty,
}

_USUAL: Mapping[int, str] = {
    400: "fields",
    401: "unauthorized",
    403: "detail",
    404: "errors_text",
    405: "detail",
    409: "errors_list",
    412: "errors_detail",
    415: "detail",
    429: "status_code",
    502: "html",
    503: "html",
    504: "html",
}


def usual_shape(refused: Refused) -> str:
    """The shape in which the contract, or its sibling, shows this kind of refusal."""
    return _USUAL.get(refused.status, "errors_boolean")

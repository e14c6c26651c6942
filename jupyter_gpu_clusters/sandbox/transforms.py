"""What a fault makes of an answer, before it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from .faults import Fault, Op
from .rows import edit_rows
from .service import Answer, Call, Refused, Service

_PAGE = "<!DOCTYPE html>\n<html><head><title>{0}</title></head><body><h1>{0}</h1><p>gateway</p></body></html>\n"


def transform(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    """The answer as this fault leaves it; faults of the connection itself leave it alone."""
    change = _CHANGES.get(fault.kind)
    return change(fault, answer, service, call) if change else answer


def _status(fault: Fault, _: Answer, service: Service, call: Call) -> Answer:
    status = fault.status or 500
    if fault.body is not None:
        return Answer.json(fault.body, status)
    text = fault.text or _phrase(status)
    return service.error(Refused(status, text, code=fault.code, details=fault.details, shape=fault.shape))


def _html(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    status = fault.status or 200
    page = fault.text or _PAGE.format(f"{status} {_phrase(status)}")
    return Answer.text(page, status, "text/html; charset=utf-8")


def _empty(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    return Answer(fault.status or answer.status, b"", answer.media_type, dict(answer.headers))


def _truncated(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    half = answer.body[: len(answer.body) // 2]
    return Answer(fault.status or answer.status, half, answer.media_type, dict(answer.headers))


def _retry_after(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    status = fault.status or 429
    seconds = 1.0 if fault.seconds is None else fault.seconds
    clock = service.world.clock
    value = clock.http_date(clock.now() + seconds) if fault.date else f"{seconds:g}"
    text = fault.text or _phrase(status)
    return service.error(Refused(status, text, headers={"Retry-After": value}, shape=fault.shape))


def _redirect(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    where = (fault.to or "").rstrip("/") + service.prefix + call.path
    query = urlencode(call.query, doseq=True)
    return Answer(fault.status or 307, headers={"Location": where + (f"?{query}" if query and not fault.to else "")})


def _rows(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    world = service.world
    page = call.asked("page") or call.asked("page_no") or call.asked("offset") or "0"

    def edit(data: Any) -> Any:
        births = world.books.births(service.name)
        return edit_rows(fault, data, births=births, now=world.clock.now(), first_page=page in ("0", "1"))

    return _edited(answer, edit)


def _mutate(fault: Fault, answer: Answer, service: Service, call: Call) -> Answer:
    def edit(data: Any) -> Any:
        holder = {"": data}
        for op in fault.ops:
            _apply(op, holder, ["", *op.path.split("/")[1:]])
        return holder[""]

    changed = _edited(answer, edit)
    changed.status = fault.status or changed.status
    return changed


def _edited(answer: Answer, edit: Callable[[Any], Any]) -> Answer:
    try:
        data = json.loads(answer.body)
    except ValueError:
        return answer
    return Answer.json(edit(data), answer.status, answer.headers)


def _apply(op: Op, holder: Any, path: list[str]) -> None:
    head, *rest = path
    for key in reversed(_keys(holder, head, new=op.op == "set" and not rest)):
        if rest:
            _apply(op, holder[key], rest)
        elif op.op == "remove":
            del holder[key]
        else:
            holder[key] = _value(op, holder.get(key) if isinstance(holder, dict) else holder[key])


def _keys(holder: Any, segment: str, *, new: bool) -> list[Any]:
    if isinstance(holder, dict):
        if segment == "*":
            return list(holder)
        return [segment] if segment in holder or new else []
    if isinstance(holder, list):
        every = range(len(holder))
        return [number for number in every if segment in ("*", str(number))]
    return []


def _value(op: Op, old: Any) -> Any:
    if op.op == "set":
        return op.value
    if op.op == "list":
        return [old]
    if op.op == "text":
        return str(old)
    try:
        return float(old)
    except (TypeError, ValueError):
        return old


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


_CHANGES: dict[str, Callable[[Fault, Answer, Service, Call], Answer]] = {
    "status": _status,
    "status_after": _status,
    "commit_late": _status,
    "html": _html,
    "empty": _empty,
    "truncated": _truncated,
    "retry_after": _retry_after,
    "redirect": _redirect,
    "hide_rows": _rows,
    "empty_list": _rows,
    "page_drift": _rows,
    "mutate": _mutate,
}

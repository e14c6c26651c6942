"""Paging, filtering, searching and sorting, as the lists of the control plane do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..service import Call, Refused

Row = Mapping[str, Any]
LARGEST_PAGE, USUAL_PAGE = 500, 50
_TERM = re.compile(r"([A-Za-z0-9]+)(==|!=|<=|>=|=@|!@|=\^|=\$)(.+)", re.DOTALL)
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")


def number(call: Call, name: str, usual: int, low: int, high: int) -> int:
    """A whole number out of the query.

    Raises
    ------
    Refused : 400, no whole number or out of bounds.
    """
    text = call.asked(name)
    if text is None:
        return usual
    if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
        raise Refused(400, f"parameter {name} must be a whole number from {low} to {high}")
    return int(text)


def flag(call: Call, name: str) -> bool | None:
    """True, false, or nothing.

    Raises
    ------
    Refused : 400, another word.
    """
    text = call.asked(name)
    if text is not None and text not in ("true", "false"):
        raise Refused(400, f"parameter {name} must be true or false")
    return None if text is None else text == "true"


def word(call: Call, name: str, known: Collection[str], usual: str | None = None) -> str | None:
    """One of the known words.

    Raises
    ------
    Refused : 400, another word.
    """
    text = call.asked(name)
    if text is not None and text not in known:
        raise Refused(400, f"parameter {name} must be one of {', '.join(known)}")
    return usual if text is None else text


@dataclass(frozen=True)
class Page:
    """One page and where the next one begins."""

    rows: Sequence[Any]
    next: int | None

    def body(self, key: str) -> dict[str, Any]:
        """The answer; ``next`` is absent at the end."""
        return {key: list(self.rows), **({} if self.next is None else {"next": self.next})}


def page(call: Call, rows: Sequence[Any]) -> Page:
    """The part of all rows that ``offset`` and ``limit`` ask for.

    Raises
    ------
    Refused : 400, out of bounds.
    """
    offset = number(call, "offset", 0, 0, 2**31 - 1)
    limit = number(call, "limit", USUAL_PAGE, 1, LARGEST_PAGE)
    end = offset + limit
    return Page(rows[offset:end], end if end < len(rows) else None)


def select(
    call: Call, rows: Sequence[Any], fields: Collection[str] | None, *, names: Mapping[str, str] | None = None,
    searched: Sequence[str] = ("name",),
) -> list[Any]:  # fmt: skip
    """Rows that meet ``filterBy`` and ``search``, sorted by ``sortBy`` and ``sortOrder``.

    Parameters
    ----------
    fields : what may be filtered and sorted by; anything when `None`.
    names : dotted path of the row for fields that have another name in the query.

    Raises
    ------
    Refused : 400, an unknown field, operator or order.
    """
    terms = _terms(call, fields, names or {})
    found = [row for row in rows if all(term(row) for term in terms)]
    text = (call.asked("search") or "").lower()
    if text:
        found = [row for row in found if any(text in str(at(row, name) or "").lower() for name in searched)]
    key = call.asked("sortBy")
    if key is not None and fields is not None and key not in fields:
        raise Refused(400, f"parameter sortBy must be one of {', '.join(fields)}")
    descending = word(call, "sortOrder", ("asc", "desc"), "asc") == "desc"
    if key is not None:
        path = (names or {}).get(key, key)
        present = [row for row in found if at(row, path) is not None]
        absent = [row for row in found if at(row, path) is None]
        return sorted(present, key=lambda row: _sortable(at(row, path)), reverse=descending) + absent
    return found


def at(row: Row, path: str) -> Any:
    """What lies at a dotted path of a row."""
    found: Any = row
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _sortable(value: Any) -> tuple[bool, float, str]:
    if isinstance(value, int | float):
        return (False, float(value), "")
    return (True, 0.0, str(value))


def _terms(call: Call, fields: Collection[str] | None, names: Mapping[str, str]) -> list[Callable[[Row], bool]]:
    texts = [text for joined in call.query.get("filterBy", ()) for text in joined.split(",")]
    return [_term(text, fields, names) for text in texts]


def _term(text: str, fields: Collection[str] | None, names: Mapping[str, str]) -> Callable[[Row], bool]:
    found = _TERM.fullmatch(text)
    if found is None:
        raise Refused(400, f"parameter filterBy: {text!r} is not field, operator and value")
    field, operator, wanted = found.groups()
    if fields is not None and field not in fields:
        raise Refused(400, f"parameter filterBy: there is no field {field}")
    path = names.get(field, field)
    return lambda row: _meets(at(row, path), operator, wanted)


def _meets(value: Any, operator: str, wanted: str) -> bool:
    if isinstance(value, list):
        hits = [_meets(item, operator, wanted) for item in value]
        return all(hits) if operator.startswith("!") else any(hits)
    if value is None:
        return operator.startswith("!")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if operator in ("==", "!="):
        return bool(_ordered(value, text) == _ordered(value, wanted)) == (operator == "==")
    if operator in ("=@", "!@"):
        return (wanted in text) == (operator == "=@")
    if operator == "=^":
        return text.startswith(wanted)
    if operator == "=$":
        return text.endswith(wanted)
    have, bound = _ordered(value, text), _ordered(value, wanted)
    if type(have) is not type(bound):
        return False
    return bool(have <= bound if operator == "<=" else have >= bound)


def _ordered(value: Any, text: str) -> Any:
    """A text as something that compares like `value`: a number, a moment, or the text itself."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(text)
        if isinstance(value, str) and value[4:5] == "-" and value[10:11] == "T":
            return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return text
    return text

"""Faults of listings: rows that are late, missing, repeated, or all gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .faults import Fault

Births = Mapping[str, tuple[float, int]]
"""Id -> when it was made and its place among what the same order made."""


def edit_rows(fault: Fault, data: Any, *, births: Births, now: float, first_page: bool) -> Any:
    """The listing as the fault leaves it, edited in place.

    The rows are the list at the JSON pointer ``fault.rows`` or, without it, the uppermost list of the answer.
    """
    rows = _rows(data, fault.rows)
    if rows is None:
        return data
    if fault.kind == "empty_list":
        rows.clear()
    elif fault.kind == "hide_rows":
        rows[:] = [row for row in rows if not _hidden(fault, row, births, now)]
    else:
        _drift(fault, rows, first_page)
    return data


def _rows(data: Any, pointer: str | None) -> list[Any] | None:
    if pointer is not None:
        for segment in pointer.strip("/").split("/"):
            data = data.get(segment) if isinstance(data, dict) else None
        return data if isinstance(data, list) else None
    level = [data]
    while level:
        found = next((value for value in level if isinstance(value, list)), None)
        if found is not None:
            return found
        level = [inner for value in level if isinstance(value, dict) for inner in value.values()]
    return None


def _hidden(fault: Fault, row: Any, births: Births, now: float) -> bool:
    name = str(row.get(fault.id_key)) if isinstance(row, dict) else ""
    if fault.ids is not None and name not in fault.ids:
        return False
    if name not in births:
        return fault.ids is not None and fault.seconds is None
    born, place = births[name]
    if fault.index is not None and place != fault.index:
        return False
    return fault.seconds is None or now < born + fault.seconds


def _drift(fault: Fault, rows: list[Any], first_page: bool) -> None:
    if not first_page and fault.how == "skip":
        del rows[:1]
    elif not first_page and fault.memory is not None:
        rows.insert(0, fault.memory)
    fault.memory = rows[-1] if rows else fault.memory

"""The limits of a field in words, from its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FORMATS = {
    "date-time": "a time such as 2030-01-31T18:00:00Z",
    "date": "a date such as 2030-01-31",
    "time": "a time of day such as 18:00:00",
    "duration": "a duration such as PT1H30M (1 hour 30 minutes)",
    "uri": "a URL",
    "uuid": "a UUID",
}


def limits_text(schema: Mapping[str, Any]) -> str:
    """What values are allowed, for example ``1 to 64`` or ``at most 34 characters``; empty when anything goes."""
    bounds = {**_number_branch(schema), **schema}
    parts = [
        _FORMATS.get(str(schema.get("format")), ""),
        _between(bounds.get("minimum"), bounds.get("maximum"), ""),
        _apart(bounds),
        _between(schema.get("minLength"), schema.get("maxLength"), " characters"),
        _between(schema.get("minItems"), schema.get("maxItems"), " entries"),
        f"matches {schema['pattern']}" if "pattern" in schema else "",
    ]
    return ", ".join(part for part in parts if part)


def _number_branch(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Pydantic writes a decimal as "number or text" and its bounds into the number branch."""
    return next((branch for branch in schema.get("anyOf", ()) if branch.get("type") == "number"), {})


def _between(low: Any, high: Any, unit: str) -> str:
    if unit and low == 1:
        low = None
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {_plain(low)}{unit}"
    if low is None:
        return f"at most {_plain(high)}{unit}"
    return f"{_plain(low)}{unit}" if low == high else f"{_plain(low)} to {_plain(high)}{unit}"


def _apart(schema: Mapping[str, Any]) -> str:
    words = {"exclusiveMinimum": "more than", "exclusiveMaximum": "less than", "multipleOf": "a multiple of"}
    return ", ".join(f"{word} {_plain(schema[key])}" for key, word in words.items() if key in schema)


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)

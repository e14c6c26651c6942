"""What models of answers are made of. Everything may be missing, null, or of another type than the contract says.

A text that came as a list is joined, a number may be text, what cannot be read is ``None``; unknown fields are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

T = TypeVar("T")


def _as_text(value: object) -> str | None:
    if isinstance(value, list):
        return ", ".join(text for item in value if (text := _as_text(item))) or None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | Decimal) else None


def as_number(value: object) -> float | None:
    """A finite number, also one that is written as text; else ``None``."""
    try:
        number = None if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        return None
    return float(number) if number is not None and number.is_finite() else None


def _as_whole(value: object) -> int | None:
    number = as_number(value)
    return int(number) if number is not None else None


def _as_flag(value: object) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _as_time(value: object) -> datetime | None:
    """ISO 8601; a time without a zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _as_object(value: object) -> Any:
    return value if isinstance(value, Mapping) else {}


def _as_objects(value: object) -> list[Any]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _as_texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [text for item in items if (text := _as_text(item))]


Text = Annotated[str | None, BeforeValidator(_as_text)]
Number = Annotated[float | None, BeforeValidator(as_number)]
Whole = Annotated[int | None, BeforeValidator(_as_whole)]
Flag = Annotated[bool | None, BeforeValidator(_as_flag)]
When = Annotated[datetime | None, BeforeValidator(_as_time)]
Plain = Annotated[dict[str, Any], BeforeValidator(_as_object)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_as_texts)]
One = Annotated[T, BeforeValidator(_as_object)]
Many = Annotated[tuple[T, ...], BeforeValidator(_as_objects)]


def nothing() -> Any:
    """An empty object where there is none."""
    return Field(default_factory=dict)


class Wire(BaseModel):
    """One object of an answer."""

    model_config = ConfigDict(extra="ignore", frozen=True)

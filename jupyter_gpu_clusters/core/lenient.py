"""Types for what services answer, where the same quantity comes as 8, "8" and "8 GB" and any field may be odd.

A value that cannot be read becomes ``None`` (or an empty tuple) and never an error: answers are shown, not judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

_NUMBER = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)\s*(?:GB|GiB)?\s*", re.IGNORECASE)
_MAX_TEXT = 10_000


class Wire(BaseModel):
    """What a service sent, as far as it can be read."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def number_in(value: object) -> Decimal | None:
    """A finite number, whether sent as one or as text with or without ``GB``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        number = Decimal(str(value))
        return number if number.is_finite() else None
    found = _NUMBER.fullmatch(value) if isinstance(value, str) and len(value) < 100 else None
    return Decimal(found[1]) if found else None


def whole_in(value: object) -> int | None:
    """A whole number."""
    number = number_in(value)
    return int(number) if number is not None and number == number.to_integral_value() else None


def size_in(value: object) -> float | None:
    """A size, 0 or more."""
    number = number_in(value)
    return float(number) if number is not None and number >= 0 else None


def amount_in(value: object) -> Decimal | None:
    """A price: above zero; everything else is no price that could be trusted."""
    number = number_in(value)
    return number if number is not None and number > 0 else None


def text_in(value: object) -> str | None:
    """A text that says something; of a list, all of its texts."""
    if isinstance(value, list):
        return ", ".join(text for item in value if (text := text_in(item))) or None
    if isinstance(value, str):
        return value.strip()[:_MAX_TEXT] or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def flag_in(value: object) -> bool | None:
    """Yes, no, or not told."""
    return value if isinstance(value, bool) else None


def time_in(value: object) -> datetime | None:
    """A time in ISO 8601; one without a zone is UTC."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found


def _object(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else []
    return [text for item in items if (text := text_in(item)) is not None]


def _read_by(read: Callable[[object], object]) -> BeforeValidator:
    return BeforeValidator(read)


Whole = Annotated[int | None, _read_by(whole_in)]
Size = Annotated[float | None, _read_by(size_in)]
Amount = Annotated[Decimal | None, _read_by(amount_in)]
Balance = Annotated[Decimal | None, _read_by(number_in)]
Text = Annotated[str | None, _read_by(text_in)]
Texts = Annotated[tuple[str, ...], _read_by(_texts)]
Flag = Annotated[bool | None, _read_by(flag_in)]
Time = Annotated[datetime | None, _read_by(time_in)]

OBJECT = _read_by(_object)
"""For a field that is a model: what is no object is read as an empty one."""
OBJECTS = _read_by(_objects)
"""For a tuple of models: what is no object in it is passed over."""

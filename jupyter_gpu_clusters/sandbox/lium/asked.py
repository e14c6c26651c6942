"""Query parameters, read as strictly as the contract types them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from ..service import Call, Refused
from .bodies import UUID_PATTERN

T = TypeVar("T")


class Asked:
    """The query of one call; `done` refuses with every problem at once."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._problems: list[tuple[str, str]] = []

    def number(self, name: str, least: float = -math.inf) -> float | None:
        """A number, `None` when not asked."""
        return self._read(name, float, lambda value: value >= least, "must be a number in range")

    def integer(self, name: str, least: int = 1, most: float = math.inf) -> int | None:
        """A whole number, `None` when not asked."""
        return self._read(name, int, lambda value: least <= value <= most, "must be a whole number in range")

    def flag(self, name: str) -> bool:
        """Yes or no, no when not asked."""
        words = {"true": True, "false": False}
        return bool(self._read(name, lambda text: words[text.lower()], lambda _: True, "must be true or false"))

    def moment(self, name: str) -> datetime | None:
        """A time with its zone, `None` when not asked."""
        aware = self._read(name, datetime.fromisoformat, lambda value: value.tzinfo is not None, "must be a date-time")
        return aware

    def day(self, name: str) -> str | None:
        """A day as ``YYYY-MM-DD``, `None` when not asked."""
        shape = re.compile(r"\d{4}-\d{2}-\d{2}")
        return self._read(name, str, lambda text: shape.fullmatch(text) is not None, "must be a date")

    def uuid(self, name: str) -> str:
        """A UUID that must be there."""
        value = self._read(name, str, lambda text: re.fullmatch(UUID_PATTERN, text) is not None, "must be a UUID")
        return self._needed(name, value) or ""

    def needed_number(self, name: str) -> float:
        """A number above 0 that must be there."""
        return self._needed(name, self._read(name, float, lambda value: value > 0, "must be above 0")) or 0.0

    def done(self) -> None:
        """Raise `Refused` 422 if anything was wrong."""
        if self._problems:
            raise Refused(422, "Validation error", problems=self._problems)

    def _needed(self, name: str, value: T | None) -> T | None:
        if self._call.asked(name) is None:
            self._problems.append((name, "Field required"))
        return value

    def _read(self, name: str, read: Callable[[str], T], right: Callable[[T], bool], text: str) -> T | None:
        raw = self._call.asked(name)
        if raw is None:
            return None
        try:
            value = read(raw)
        except (ValueError, KeyError):
            self._problems.append((name, text))
            return None
        if right(value):
            return value
        self._problems.append((name, text))
        return None

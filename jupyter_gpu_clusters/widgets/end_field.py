"""The field that says after how many hours a new cluster is to be deleted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets

from ..core.errors import Problem
from .editor import NOTE_MARGIN
from .fields import control_layout, control_style
from .html import problem_html

MAX_HOURS = "max_hours"
_MOST_HOURS = 24 * 365


class EndField:
    """A text field that may stay empty, and a note below it.

    Parameters
    ----------
    changed : called when something else was filled in.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.text = ipywidgets.Text(
            description="Delete after (hours)",
            placeholder="left empty, it goes on until it is deleted",
            style=control_style(),
            layout=control_layout(),
        )
        self.note = ipywidgets.HTML(layout={"margin": NOTE_MARGIN, "display": "none"})
        self.text.observe(lambda _: changed(), names="value")

    @property
    def widgets(self) -> tuple[Any, Any]:
        """Field and note."""
        return self.text, self.note

    @property
    def hours(self) -> float | None:
        """What is filled in; ``None`` when that is nothing, or nothing that makes sense."""
        hours = _number(self.text.value)
        return hours if hours is not None and 0 < hours <= _MOST_HOURS else None

    def problems(self) -> list[Problem]:
        """What is wrong with it."""
        if not self.text.value.strip() or self.hours is not None:
            return []
        return [Problem(MAX_HOURS, f"must be a number of hours above 0 and at most {_MOST_HOURS}, or empty.")]

    def show_problems(self, texts: Sequence[str]) -> None:
        """Show what is wrong, or clear it."""
        self.note.value = problem_html(texts)
        self.note.layout.display = "" if texts else "none"


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

"""Putting something into the output of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from IPython.display import display, update_display


def show(bundle: Mapping[str, Any], display_id: str | None = None, *, is_update: bool = False) -> None:
    """Display data by MIME type, under an id that later displays can replace."""
    put = update_display if is_update else display
    put(bundle, raw=True, display_id=display_id)  # type: ignore[no-untyped-call]  # IPython has no annotations here

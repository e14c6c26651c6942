"""The right name for a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, options: Iterable[str]) -> str | None:
    """The option that `word` was probably meant to be, or ``None`` when none is near."""
    by_lower = {option.lower(): option for option in options}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """``" Did you mean 'x'?"`` (with the leading space), or nothing."""
    found = nearest(word, options)
    return f" Did you mean {found!r}?" if found else ""

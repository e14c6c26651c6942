"""Kubernetes quantities as numbers, to compare them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_FORM = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([-+]?[0-9]{1,3}))?", re.ASCII)
_SMALL = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
_DECIMAL, _BINARY = "kMGTPE", "KMGTPE"


def amount_of(text: str) -> Decimal | None:
    """The number behind ``500M``, ``1.5Ti`` or ``2e3``; ``None`` where it is not a quantity."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    number, unit, exponent = found.groups()
    try:
        return Decimal(number) * _factor(unit or "") * Decimal(f"1e{exponent or 0}")
    except InvalidOperation:
        return None


def _factor(unit: str) -> Decimal:
    if unit in _SMALL:
        return _SMALL[unit]
    if unit.endswith("i"):
        return Decimal(1024) ** (_BINARY.index(unit[0]) + 1)
    return Decimal(1000) ** (_DECIMAL.index(unit) + 1) if unit else Decimal(1)

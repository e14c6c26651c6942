"""Kubernetes quantities, as far as the contract's pattern lets them through."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

PATTERN = r"^([+]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_SPLIT = re.compile(r"([+]?[0-9.]+)(.*)")
_EXPONENT = re.compile(r"[eE][-+]?[0-9]+")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def amount(text: str) -> Decimal | None:
    """The value of a quantity; `None` when the text only looks like one (``1..2``, ``5Mm``)."""
    found = _SPLIT.fullmatch(text)
    if found is None:
        return None
    number, suffix = found.groups()
    try:
        if _EXPONENT.fullmatch(suffix):
            return Decimal(number + suffix)
        if suffix in _BINARY:
            return Decimal(number) * Decimal(1024 ** _BINARY[suffix])
        return Decimal(number).scaleb(_DECIMAL[suffix]) if suffix in _DECIMAL else None
    except InvalidOperation:
        return None

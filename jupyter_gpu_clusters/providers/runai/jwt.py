"""Reading tokens without checking them: when they end, and whose they are."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr


def claims_of(token: SecretStr) -> Mapping[str, Any]:
    """What a JWT says of itself; empty where it is none."""
    parts = token.get_secret_value().split(".")
    data = _decoded(parts[1]) if len(parts) == 3 else None
    try:
        claims = json.loads(data or b"")
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


def number_in(claims: Mapping[str, Any], name: str) -> float | None:
    """A claim that is a number of seconds, whatever it is written as."""
    value = claims.get(name)
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def login_token(secret: SecretStr) -> SecretStr | None:
    """The token in the login file of Run:ai's command line, whose ``accessToken`` is base64 of a JWT; else ``None``.

    Source: contract, section 1 (observed in public clients).
    """
    try:
        data = json.loads(secret.get_secret_value())
    except ValueError:
        return None
    text = data.get("accessToken") if isinstance(data, dict) else None
    if not isinstance(text, str) or not text:
        return None
    if text.count(".") == 2:
        return SecretStr(text)
    inner = (_decoded(text) or b"").strip()
    return SecretStr(inner.decode("ascii")) if inner.isascii() and inner.count(b".") == 2 else None


def _decoded(text: str) -> bytes | None:
    padded = text.strip().replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None

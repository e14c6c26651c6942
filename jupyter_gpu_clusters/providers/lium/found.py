"""Where Lium's own tools keep a key: the environment variable ``LIUM_API_KEY`` (contract, section 1)."""

from __future__ import annotations

import os

from ...core.settings import Account


def find_account() -> Account | None:
    """The account ``lium`` from the environment, if a key is there."""
    if not os.environ.get("LIUM_API_KEY"):
        return None
    base_url = os.environ.get("LIUM_BASE_URL")
    options = {"base_url": base_url} if base_url else {}
    return Account(name="lium", provider="lium", secret_ref="env:LIUM_API_KEY", options=options)

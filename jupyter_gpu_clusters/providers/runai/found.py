"""Where Run:ai credentials are found: variables for a service account, else the login of its command line.

The files of the command line are described in the contract, section 1.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...core.settings import Account

_LOGIN = Path("~/.runai/authentication.json")
_CONFIG = Path("~/.runai/config.json")


def find_account() -> Account | None:
    """The account ``runai``, if a client secret or a login is there."""
    url, client = os.environ.get("RUNAI_URL"), os.environ.get("RUNAI_CLIENT_ID")
    if url and client and os.environ.get("RUNAI_CLIENT_SECRET"):
        options = {"base_url": url, "client_id": client}
        return Account(name="runai", provider="runai", secret_ref="env:RUNAI_CLIENT_SECRET", options=options)
    if _LOGIN.expanduser().is_file() and _CONFIG.expanduser().is_file():
        return Account(name="runai", provider="runai", secret_ref=f"file:{_LOGIN}")
    return None

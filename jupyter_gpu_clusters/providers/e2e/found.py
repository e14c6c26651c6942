"""Where E2E's own tools keep a credential: the variables of its SDK, then of its command line (contract, section 1)."""

from __future__ import annotations

import os

from ...core.settings import Account

_FAMILIES = (
    ("E2E_TIR_API_KEY", "E2E_TIR_ACCESS_TOKEN", "E2E_TIR_PROJECT_ID", "E2E_TIR_LOCATION"),
    ("E2E_API_KEY", "E2E_AUTH_TOKEN", "E2E_PROJECT_ID", "E2E_LOCATION"),
)


def find_account() -> Account | None:
    """The account ``e2e`` from the environment, if key and token are there."""
    for key, token, project_id, location in _FAMILIES:
        if os.environ.get(key) and os.environ.get(token):
            names = {"base_url": "E2E_TIR_API_HOST", "project_id": project_id, "location": location}
            options = {option: os.environ[name] for option, name in names.items() if os.environ.get(name)}
            parts = {"api_key": f"env:{key}", "auth_token": f"env:{token}"}
            return Account(name="e2e", provider="e2e", secret_ref=parts, options=options)
    return None

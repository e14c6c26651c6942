"""Accounts that no file names: credentials found where the services' own tools keep them.

Each provider that has such places knows them in a small module of its own, which is all that is imported here.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings import Account

_FINDERS = (
    "jupyter_gpu_clusters.providers.e2e.found",
    "jupyter_gpu_clusters.providers.lium.found",
    "jupyter_gpu_clusters.providers.runai.found",
)


def accounts() -> dict[str, Account]:
    """Name -> account. Cheap: looks at the environment and whether some files exist, and reads no secret.

    Where ``SANDBOX_URL`` is set (the sandbox prints it), accounts that point there are marked as simulated.
    """
    sandbox = os.environ.get("SANDBOX_URL", "").rstrip("/")
    found: dict[str, Account] = {}
    for module in _FINDERS:
        account: Account | None = importlib.import_module(module).find_account()
        if account is not None:
            is_there = bool(sandbox) and str(account.options.get("base_url", "")).startswith(f"{sandbox}/")
            found[account.name] = account.model_copy(update={"is_sandbox": is_there})
    return found

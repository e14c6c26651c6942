"""Accounts that no file names: credentials found where the services' own tools keep them.

Each provider that has such places knows them in a small module of its own, which is all that is imported here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings import Account

_FINDERS = (
    "jupyter_gpu_clusters.providers.e2e.found",
    "jupyter_gpu_clusters.providers.lium.found",
    "jupyter_gpu_clusters.providers.runai.found",
)


def accounts() -> dict[str, Account]:
    """Name -> account. Cheap: looks at the environment and whether some files exist, and reads no secret."""
    found: dict[str, Account] = {}
    for module in _FINDERS:
        account: Account | None = importlib.import_module(module).find_account()
        if account is not None:
            found[account.name] = account
    return found

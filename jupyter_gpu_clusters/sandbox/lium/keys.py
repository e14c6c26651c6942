"""Accounts, their API keys, what a key may do, and how fast."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from ..service import Call, Refused

DEFAULT_SCOPES = ("read", "rent", "manage")
SCOPES = (*DEFAULT_SCOPES, "billing")
WINDOWS = {"daily": 24 * 3600.0, "monthly": 30 * 24 * 3600.0, "max": float("inf")}


@dataclass
class Account:
    """Who pays: one workspace with one balance (USD at the start, before any bill)."""

    id: str
    name: str
    balance: float
    verified: bool = True
    workspace_id: str = ""
    polls: deque[float] = field(default_factory=lambda: deque(maxlen=10_000))


@dataclass
class Key:
    """One API key; ``budget_usd`` limits what its pods may cost within ``window``."""

    id: str
    name: str
    secret: str
    account: Account
    scopes: Sequence[str] = DEFAULT_SCOPES
    budget_usd: float | None = None
    window: str = "max"
    customer_ref: str | None = None

    def need(self, scope: str) -> None:
        """Raise `Refused` 403 unless the key has the scope."""
        if scope not in self.scopes:
            raise Refused(403, f"API key '{self.name}' does not have the '{scope}' scope")


def presented(call: Call) -> str | None:
    """The credential of a call: ``X-API-Key`` or a bearer token."""
    key = call.headers.get("x-api-key")
    if key is not None:
        return key
    kind, _, token = call.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" and token else None


def limit_polls(account: Account, now: float, per_minute: float) -> None:
    """Count one poll of pods; raise `Refused` 429, with Retry-After, beyond the limit."""
    while account.polls and account.polls[0] <= now - 60:
        account.polls.popleft()
    if len(account.polls) >= per_minute:
        wait = max(1, ceil(account.polls[0] + 60 - now))
        raise Refused(429, "Too many requests", headers={"Retry-After": str(wait)})
    account.polls.append(now)

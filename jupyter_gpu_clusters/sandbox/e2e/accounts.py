"""Who calls, for whom, and for which project and location."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from ..service import Call, Refused
from .errors import bad

LOCATIONS = ("Delhi", "Chennai")
LIFETIME_S = 365 * 24 * 3600.0
_UNAUTHORIZED = "Unauthorized access."
_RATE_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where things live: an account's project in one location.

    SSH keys belong to no project; theirs is 0.
    """

    account: int
    project: int
    location: str

    def without_project(self) -> Place:
        """The same for SSH keys."""
        return Place(self.account, 0, self.location)


@dataclass
class Project:
    """A project; the MyAccount side knows it under another id."""

    id: int
    name: str
    sibling_id: int


@dataclass
class Account:
    """Who pays. ``credit`` is what was there before anything was billed, in ``currency``."""

    id: int
    name: str
    email: str
    projects: list[Project]
    credit: float = 5_000_000.0
    currency: str = "INR"
    is_primary: bool = True

    def owner(self) -> dict[str, Any]:
        """As ``created_by`` shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "email": self.email,
            "username": self.email,
            "is_primary_contact": self.is_primary,
            "currency": self.currency,
            "is_suspended": False,
        }


@dataclass
class Credential:
    """A key and its token; both stop a year after their making."""

    label: str
    api_key: str
    token: str
    account: Account
    created: float
    read_only: bool = False
    may_act_for: Sequence[Account] = ()
    calls: deque[float] = field(default_factory=lambda: deque(maxlen=10_000))

    def is_valid(self, now: float) -> bool:
        """Whether it has not expired."""
        return now < self.created + LIFETIME_S

    def reachable(self) -> list[Account]:
        """Its own account, and those it may act in through ``active_iam``."""
        return [self.account, *self.may_act_for]

    def remaining(self, now: float, per_minute: float) -> int:
        """How many calls are left in this minute."""
        while self.calls and self.calls[0] <= now - _RATE_WINDOW_S:
            self.calls.popleft()
        return max(0, int(per_minute) - len(self.calls))

    def reset_at(self, now: float) -> float:
        """When the oldest call of this minute is forgotten."""
        return (self.calls[0] if self.calls else now) + _RATE_WINDOW_S

    def count(self, now: float, per_minute: float) -> None:
        """Count one call; raises `Refused` 429 when there are too many."""
        if not self.remaining(now, per_minute):
            wait = max(1, ceil(self.reset_at(now) - now))
            raise Refused(429, "Too many requests", headers={"Retry-After": str(wait)})
        self.calls.append(now)


def presented(call: Call, credentials: Iterable[Credential]) -> Credential | None:
    """The credential whose two halves both came with the call."""
    kind, _, token = call.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        return None
    key = call.asked("apikey")
    return next((one for one in credentials if one.api_key == key and one.token == token), None)


def sign_in(call: Call, credentials: Iterable[Credential], now: float) -> Credential:
    """The caller; raises `Refused` 401 when a half is missing, wrong, of another pair, or expired."""
    found = presented(call, credentials)
    if found is None or not found.is_valid(now):
        raise Refused(401, _UNAUTHORIZED)
    return found


def acting_account(call: Call, credential: Credential) -> Account:
    """The account a call is about; raises `Refused` 403 for one that the caller may not act in."""
    if call.asked("active_iam") is None:
        return credential.account
    wanted = whole_number(call, "active_iam", 0)
    account = next((one for one in credential.reachable() if one.id == wanted), None)
    if account is None:
        raise Refused(403, "You may not act in this account.")
    return account


def place_of(call: Call, account: Account) -> Place:
    """The place a call names; parts it does not name are 0 and empty.

    Raises
    ------
    Refused : 400 for a malformed part, 403 for another's project.
    """
    project = whole_number(call, "project_id", 0)
    if call.asked("project_id") is not None and project not in {one.id for one in account.projects}:
        raise Refused(403, "You have no role in this project.")
    location = call.asked("location")
    if location is not None and location not in LOCATIONS:
        raise bad("location", f'"{location}" is not one of {", ".join(LOCATIONS)}.')
    return Place(account.id, project, location or "")


def whole_number(call: Call, name: str, default: int, least: int = 0) -> int:
    """A query parameter that must be a whole number; raises `Refused` 400."""
    text = call.asked(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) < least:
        raise bad(name, f"A whole number of at least {least} is needed.")
    return int(text)

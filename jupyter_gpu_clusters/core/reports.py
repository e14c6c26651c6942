"""What is not certain, and what nobody here ordered: the two reports a user goes through before going home."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .models import Cluster, Frozen, Money, Order

Kind = Literal["open", "not seen", "deleting", "vanished", "out of sight", "settled"]


class Recovered(Frozen):
    """One thing whose outcome or end is not certain, after looking for it.

    ``kind``: an order without a known outcome (``open``: its sender may still be at work, ``not seen``), a delete
    that is not confirmed (``deleting``), a cluster that went without a delete from here (``vanished``), or an order
    that this look has settled. ``out of sight``: it was made under another key, project or location, and the present
    one does not show it. ``order`` is the one whose id names it. ``price_per_hour`` is what it may cost; ``None``
    where no price is known.
    ``candidates`` may be what the order made, but nothing on them proves it.
    """

    kind: Kind
    account: str
    name: str
    since: datetime
    note: str
    order: Order
    cluster: Cluster | None = None
    price_per_hour: Money | None = None
    candidates: tuple[Cluster, ...] = ()


class Orphan(Frozen):
    """Something that may cost and that no order of this journal accounts for, or an order with nothing behind it.

    ``why`` says which, ``next_step`` is the one line that deals with it.
    """

    account: str
    name: str
    ref: str
    why: str
    next_step: str
    since: datetime | None = None
    price_per_hour: Money | None = None
    is_free: bool = False


class Orphans(Frozen):
    """The report; ``not_seen`` are the accounts, projects and locations that could not be looked at."""

    items: tuple[Orphan, ...] = ()
    not_seen: tuple[str, ...] = ()

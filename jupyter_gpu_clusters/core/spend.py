"""What was spent so far and what is being spent now: an estimate from the ledger, with what it assumes. Pure.

The same rounded pieces make every grouping, so the sum over days is the sum over clusters to the last digit.
Currencies are never added up together, and time whose price is unknown stands in rows of its own, without an amount.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Literal, assert_never

from .format import plural
from .ledger import Commitment, Span
from .models import AccountStatus, Billing, Frozen, Money, Order, Verb
from .spend_pieces import NOTHING, Piece, pieces_of

By = Literal["cluster", "account", "currency", "day"]

ASSUMPTIONS = (
    "It is an estimate from what was seen here, not the service's bill.",
    "Billing is counted from when the order was accepted, unless the service says otherwise, until it was proven gone.",
    "The price is the one at creation; a changed size has its own.",
    "The whole sum of a committed term counts at once, and its nodes' hours in the term cost nothing more.",
)


class Cost(Frozen):
    """One row of the estimate; what it is about is filled in as far as the grouping tells it.

    ``amount`` is what was billed for certain and, with it, what was committed; ``amount_high`` has what may have been
    billed as well. Both are ``None`` where the price is unknown; then ``currency`` is ``None`` too. ``hours`` are
    hours of whole clusters, ``hours_unknown`` those of them whose billing is unknown. ``per_hour`` and
    ``per_hour_high`` are the same for this moment, with ``running`` clusters that cost or may cost.
    """

    account: str | None = None
    provider: str | None = None
    cluster: str | None = None
    cluster_id: str | None = None
    day: date | None = None
    currency: str | None = None
    is_free: bool = False
    amount: Decimal | None = None
    amount_high: Decimal | None = None
    committed: Decimal = NOTHING
    hours: Decimal = NOTHING
    hours_unknown: Decimal = NOTHING
    per_hour: Decimal | None = None
    per_hour_high: Decimal | None = None
    running: int = 0
    note: str | None = None


class Balance(Frozen):
    """What an account has left. ``hours_left`` at the present rate; ``None`` when nothing of a known price runs.

    ``is_upper_bound``: something of an unknown price runs as well.
    """

    account: str
    balance: Money
    per_hour: Money
    hours_left: Decimal | None = None
    is_upper_bound: bool = False


class Spend(Frozen):
    """The whole estimate, grouped in each way. ``since`` and ``until`` are the time that it covers."""

    since: datetime | None
    until: datetime
    clusters: tuple[Cost, ...] = ()
    accounts: tuple[Cost, ...] = ()
    currencies: tuple[Cost, ...] = ()
    days: tuple[Cost, ...] = ()
    assumptions: tuple[str, ...] = ASSUMPTIONS
    notes: tuple[str, ...] = ()

    def by(self, grouping: By) -> tuple[Cost, ...]:
        """The rows of one grouping; each adds up to the same."""
        match grouping:
            case "cluster":
                return self.clusters
            case "account":
                return self.accounts
            case "currency":
                return self.currencies
            case "day":
                return self.days
        assert_never(grouping)


def spend_of(
    spans: Iterable[Span],
    commitments: Iterable[Commitment],
    now: datetime,
    *,
    accounts: Collection[str] = (),
    since: datetime | None = None,
    with_free: bool = False,
    orders: Iterable[Order] = (),
    identities: Collection[str] | None = None,
) -> Spend:
    """The estimate at `now`.

    Parameters
    ----------
    accounts : only these; all when empty.
    since : only what was spent from then on; the present rate is not touched by it.
    with_free : also what is free, as rows of amount 0.
    orders : open ones; what they may cost is told in a note, since nobody knows whether they made anything.
    identities : those that can be looked at now; what runs under others is told in a note.
    """
    chosen = [one for one in spans if (not accounts or one.account in accounts) and (with_free or not one.is_free)]
    terms = [one for one in commitments if not accounts or one.account in accounts]
    pending = [one for one in orders if not accounts or one.account in accounts]
    pieces = pieces_of(chosen, terms, since, now)
    return Spend(
        since=since,
        until=now,
        clusters=_grouped(pieces, "cluster"),
        accounts=_grouped(pieces, "account"),
        currencies=_grouped(pieces, "currency"),
        days=_grouped(pieces, "day"),
        notes=(*_pending_notes(pending), *_hidden_notes(chosen, identities)),
    )


def balances(spend: Spend, statuses: Iterable[AccountStatus]) -> tuple[Balance, ...]:
    """How long the balances last that the services tell, at the present rate in their own currency."""
    return tuple(_balance(spend, one.account, one.balance) for one in statuses if one.balance is not None)


def _balance(spend: Spend, account: str, balance: Money) -> Balance:
    rows = [row for row in spend.accounts if row.account == account and not row.is_free]
    rate = sum((row.per_hour_high or NOTHING for row in rows if row.currency == balance.currency), NOTHING)
    left = max(balance.amount, NOTHING) / rate if rate else None
    return Balance(
        account=account,
        balance=balance,
        per_hour=Money(amount=rate, currency=balance.currency),
        hours_left=left,
        is_upper_bound=any(row.currency is None and row.running for row in rows),
    )


def _grouped(pieces: Iterable[Piece], grouping: By) -> tuple[Cost, ...]:
    groups: dict[tuple[object, ...], list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.day is not None or grouping != "day":
            groups[(*_key(piece, grouping), piece.currency, piece.is_free)].append(piece)
    return tuple(sorted((_row(group, grouping) for group in groups.values()), key=_order))


def _key(piece: Piece, grouping: By) -> tuple[object, ...]:
    match grouping:
        case "cluster":
            return piece.owner.place
        case "account":
            return (piece.owner.account,)
        case "currency":
            return ()
        case "day":
            return (piece.day,)
    assert_never(grouping)


def _row(pieces: Sequence[Piece], grouping: By) -> Cost:
    """One group added up; what it is about is told by its newest piece."""
    last = pieces[-1]
    certain = [piece for piece in pieces if piece.is_certain]
    is_priced = last.currency is not None or last.is_free
    has_rate = is_priced and grouping != "day"
    row = Cost(
        currency=last.currency,
        is_free=last.is_free,
        amount=_sum(piece.amount for piece in certain) if is_priced else None,
        amount_high=_sum(piece.amount for piece in pieces) if is_priced else None,
        committed=_sum(piece.committed for piece in pieces),
        hours=_sum(piece.hours for piece in pieces),
        hours_unknown=_sum(piece.hours for piece in pieces if not piece.is_certain),
        per_hour=_sum(piece.per_hour for piece in certain) if has_rate else None,
        per_hour_high=_sum(piece.per_hour for piece in pieces) if has_rate else None,
        running=sum(piece.is_running for piece in pieces),
    )
    return row.model_copy(update=_about(pieces, grouping))


def _about(pieces: Sequence[Piece], grouping: By) -> dict[str, object]:
    owner = pieces[-1].owner
    match grouping:
        case "day":
            return {"day": pieces[-1].day}
        case "currency":
            return {}
        case "account":
            return {"account": owner.account, "provider": owner.provider}
        case "cluster":
            notes = [piece.owner.detail for piece in pieces if isinstance(piece.owner, Span)]
            return {
                "account": owner.account,
                "provider": owner.provider,
                "cluster": owner.name,
                "cluster_id": owner.cluster_id,
                "note": notes[-1] if notes else None,
            }
    assert_never(grouping)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return sum(amounts, NOTHING)


def _order(row: Cost) -> tuple[object, ...]:
    """Days in their order; else by currency, the dearest first, unknown prices after them and what is free last."""
    dearest = -(row.amount_high if row.amount_high is not None else row.hours)
    return row.day or date.min, row.is_free, row.currency is None, row.currency or "", dearest, row.account or ""


def _pending_notes(orders: Sequence[Order]) -> Iterator[str]:
    open_ones = [one for one in orders if one.verb in (Verb.CREATE, Verb.SCALE) and one.state.is_open]
    if not open_ones:
        return
    rates = rates_of(open_ones)
    told = ", ".join(str(Money(amount=amount, currency=currency)) for currency, amount in sorted(rates.items()))
    cost = f"may cost {told} per hour" if told else "may cost money"
    yield (
        f"{plural(len(open_ones), 'order')} without a known outcome {cost}, which is not counted; "
        "%cluster_recover looks for them."
    )


def rates_of(orders: Iterable[Order]) -> Mapping[str, Decimal]:
    """Currency -> what these orders were to cost per hour, as far as it is known."""
    rates: dict[str, Decimal] = defaultdict(Decimal)
    for order in orders:
        if order.price_per_hour is not None:
            rates[order.price_per_hour.currency] += order.price_per_hour.amount
    return rates


def _hidden_notes(spans: Sequence[Span], identities: Collection[str] | None) -> Iterator[str]:
    hidden = [
        span
        for span in spans
        if span.ended is None
        and not span.is_free
        and span.billing is not Billing.NO
        and identities is not None
        and span.identity not in identities
    ]
    if hidden:
        yield (
            "Last seen under a key, project or location that no account has now, and counted as if still running: "
            f"{plural(len(hidden), 'cluster')}."
        )

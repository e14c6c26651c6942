"""From spans and commitments to the pieces that an estimate of spend adds up. Pure.

Every span is cut at midnight UTC and where a committed term ends. Each piece is priced and rounded once, to a
billionth, before anything is added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from .ledger import Commitment, Span
from .models import Billing

NOTHING = Decimal(0)

_EXACT = Decimal("1e-9")
_HOUR_US = Decimal(3_600_000_000)


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that is added up: at most one day of one span, one sum of a term, or one present rate."""

    owner: Span | Commitment
    day: date | None
    currency: str | None
    is_free: bool = False
    hours: Decimal = NOTHING
    amount: Decimal = NOTHING
    committed: Decimal = NOTHING
    per_hour: Decimal = NOTHING
    is_running: bool = False
    is_certain: bool = True


def pieces_of(spans: Sequence[Span], terms: Sequence[Commitment], since: datetime | None, now: datetime) -> list[Piece]:
    """All pieces between `since` and `now`, and the present rates; those of the spans in their order."""
    return [*_of_spans(spans, _covers(spans, terms), since, now), *_of_terms(terms, since)]


@dataclass(frozen=True, slots=True)
class _Cover:
    """Until when a committed term pays for a cluster of up to `nodes` nodes."""

    until: datetime
    nodes: int
    currency: str


def _covers(spans: Sequence[Span], terms: Sequence[Commitment]) -> Mapping[tuple[str, str], _Cover]:
    sizes: dict[tuple[str, str], int] = {}
    for span in spans:
        sizes.setdefault(span.place, span.nodes)
    far = datetime.max.replace(tzinfo=UTC)
    return {
        term.place: _Cover(
            far if term.days is None else term.at + timedelta(days=term.days),
            sizes.get(term.place, 0),
            term.amount.currency,
        )
        for term in terms
    }


def _of_spans(
    spans: Iterable[Span], covers: Mapping[tuple[str, str], _Cover], since: datetime | None, now: datetime
) -> Iterator[Piece]:
    for span in spans:
        if span.billing is Billing.NO and not span.is_free:
            continue
        cover = covers.get(span.place)
        if cover is not None and span.nodes > cover.nodes:
            cover = None
        start = span.began if since is None else max(span.began, since)
        end = min(span.ended or now, now)
        for began, ended in _days(start, end, None if cover is None else cover.until):
            paid = cover if cover is not None and began < cover.until else None
            yield _piece(span, began, _hours(began, ended), paid)
        if span.ended is None:
            yield _rate(span, cover if cover is not None and now < cover.until else None)


def _days(start: datetime, end: datetime, cut: datetime | None) -> Iterator[tuple[datetime, datetime]]:
    """The time from `start` to `end`, cut at every midnight UTC and at `cut`; nothing where it ends too early."""
    while start < end:
        day = start.astimezone(UTC).date()
        stop = min(end, datetime.combine(day + timedelta(days=1), time(), UTC))
        if cut is not None and start < cut < stop:
            stop = cut
        yield start, stop
        start = stop


def _hours(began: datetime, ended: datetime) -> Decimal:
    return Decimal((ended - began) // timedelta(microseconds=1)) / _HOUR_US


def _piece(span: Span, began: datetime, hours: Decimal, paid: _Cover | None) -> Piece:
    amount = NOTHING if span.price is None or paid or span.is_free else span.price.amount * hours
    return Piece(
        owner=span,
        day=began.astimezone(UTC).date(),
        currency=_currency(span, paid),
        is_free=span.is_free,
        hours=hours.quantize(_EXACT),
        amount=amount.quantize(_EXACT),
        is_certain=_is_certain(span, paid),
    )


def _rate(span: Span, paid: _Cover | None) -> Piece:
    """What the span costs per hour at this moment."""
    is_costly = not span.is_free and paid is None
    return Piece(
        owner=span,
        day=None,
        currency=_currency(span, paid),
        is_free=span.is_free,
        per_hour=span.price.amount if span.price is not None and is_costly else NOTHING,
        is_running=is_costly,
        is_certain=_is_certain(span, paid),
    )


def _currency(span: Span, paid: _Cover | None) -> str | None:
    if paid is not None:
        return paid.currency
    return None if span.price is None else span.price.currency


def _is_certain(span: Span, paid: _Cover | None) -> bool:
    return span.is_free or paid is not None or span.billing is Billing.YES


def _of_terms(terms: Iterable[Commitment], since: datetime | None) -> Iterator[Piece]:
    for term in terms:
        if since is None or term.at >= since:
            day, amount = term.at.astimezone(UTC).date(), term.amount.amount.quantize(_EXACT)
            yield Piece(owner=term, day=day, currency=term.amount.currency, amount=amount, committed=amount)

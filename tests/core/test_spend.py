"""The ledger in a real journal, and the estimate made from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_gpu_clusters.core import ledger
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.ledger import Commitment, Span
from jupyter_gpu_clusters.core.models import (
    AccountStatus,
    Billing,
    Cluster,
    ClusterPhase,
    Money,
    OrderState,
    Verb,
)
from jupyter_gpu_clusters.core.spend import By, Cost, Spend, balances, spend_of

from . import make

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
GROUPINGS: tuple[By, ...] = ("cluster", "account", "currency", "day")


def usd(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="USD")


def costly(**changes: Any) -> Cluster:
    return make.cluster(**{"billing": Billing.YES, "price_per_hour": usd("6"), **changes})


def told(*values: object) -> tuple[object, ...]:
    """The same, for comparing Decimals with plain numbers."""
    return values


class Book:
    """A journal's ledger; the hours are counted from noon."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        self._journal.database.write(work)

    def seen(self, hour: float, cluster: Cluster, *, began: float | None = None) -> None:
        start = None if began is None else NOON + began * HOUR
        self.write(lambda c: ledger.put_span(c, make.IDENTITY, cluster, NOON + hour * HOUR, began=start))

    def gone(self, hour: float, cluster_id: str = "c1") -> None:
        self.write(lambda c: ledger.end_span(c, make.IDENTITY, cluster_id, NOON + hour * HOUR))

    def committed(self, hour: float, amount: Money, days: int | None) -> None:
        at = NOON + hour * HOUR
        self.write(lambda c: ledger.put_commitment(c, make.IDENTITY, costly(), amount, at, days=days))

    def spans(self) -> list[Span]:
        return self._journal.database.read(ledger.read_spans)

    def spend(self, hour: float, **options: Any) -> Spend:
        terms = self._journal.database.read(ledger.read_commitments)
        return spend_of(self.spans(), terms, NOON + hour * HOUR, **options)

    def only(self, hour: float, **options: Any) -> Cost:
        """The one row of the estimate by cluster."""
        (row,) = self.spend(hour, **options).clusters
        return row


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    journal = Journal(tmp_path)
    yield Book(journal)
    journal.close()


# The ledger


def test_a_cluster_costs_from_when_its_order_was_made_until_it_is_proven_gone(book: Book) -> None:
    book.seen(1, costly(), began=0)
    book.gone(3)
    row = book.only(100)
    assert told(row.amount, row.amount_high, row.hours, row.per_hour, row.running) == (18, 18, 3, 0, 0)


def test_what_did_not_change_is_one_span(book: Book) -> None:
    for hour in range(5):
        book.seen(hour, costly(reason=f"look {hour}"))
    assert [(span.began, span.ended) for span in book.spans()] == [(NOON, None)]


def test_every_change_of_billing_price_or_size_begins_a_span_where_the_last_one_ended(book: Book) -> None:
    book.seen(0, costly())
    book.seen(1, costly(billing=Billing.UNKNOWN))
    book.seen(2, costly(node_count=4, price_per_hour=usd("12")))
    book.seen(4, costly(node_count=4, price_per_hour=usd("12"), phase=ClusterPhase.DELETED))
    spans = book.spans()
    assert [(span.ended, span.nodes, span.billing) for span in spans] == [
        (NOON + HOUR, 2, Billing.YES),
        (NOON + 2 * HOUR, 2, Billing.UNKNOWN),
        (NOON + 4 * HOUR, 4, Billing.YES),
    ]
    assert [span.began for span in spans[1:]] == [span.ended for span in spans[:-1]]


def test_the_price_is_frozen_at_creation(book: Book) -> None:
    book.seen(0, costly())
    book.seen(1, costly(price_per_hour=usd("9")))
    book.seen(2, costly(price_per_hour=None))
    assert book.only(4).amount == 24


def test_a_price_that_was_told_late_holds_from_the_start(book: Book) -> None:
    book.seen(0, costly(price_per_hour=None))
    book.seen(1, costly(price_per_hour=None, billing=Billing.UNKNOWN))
    book.seen(2, costly())
    row = book.only(3)
    assert told(row.amount, row.amount_high) == (12, 18)


@pytest.mark.parametrize("price", [None, usd("0")])
def test_a_missing_price_is_unknown_and_never_nothing(book: Book, price: Money | None) -> None:
    book.seen(0, costly(price_per_hour=price))
    row = book.only(2)
    assert told(row.amount, row.amount_high, row.currency, row.hours, row.running) == (None, None, None, 2, 1)


def test_a_clock_that_was_set_back_never_gives_negative_or_double_hours(book: Book) -> None:
    book.seen(0, costly())
    book.seen(-3, costly(billing=Billing.UNKNOWN))
    assert book.spend(-3).clusters[0].hours == 0
    book.seen(-2, costly())
    book.gone(2)
    assert book.only(5).hours == 2
    assert all(span.ended is not None and span.ended >= span.began for span in book.spans())


def test_a_cluster_that_the_service_made_in_the_future_begins_now(book: Book) -> None:
    book.seen(0, costly(), began=25)
    assert book.only(2).amount == 12


def test_what_shows_again_after_it_was_proven_gone_has_cost_all_the_time_and_only_once(book: Book) -> None:
    book.seen(0, costly())
    book.gone(2)
    book.seen(5, costly(), began=0)
    assert book.only(6).hours == 6


OTHER_KEY = "fake|http://127.0.0.1|project|another"
ELSEWHERE = "fake|http://127.0.0.1:81|project|"


def test_a_cluster_that_is_seen_under_another_key_costs_once(book: Book) -> None:
    book.seen(0, costly())
    book.committed(0, usd("50"), 1)
    book.write(lambda c: ledger.put_span(c, OTHER_KEY, costly(account="new"), NOON + 2 * HOUR, began=NOON))
    book.write(lambda c: ledger.put_commitment(c, OTHER_KEY, costly(), usd("50"), NOON))
    assert [(span.identity, span.account) for span in book.spans()] == [(OTHER_KEY, "new")]
    assert told(book.only(30).hours, book.only(30).committed) == (30, 50)
    book.seen(31, costly(billing=Billing.UNKNOWN))
    book.write(lambda c: ledger.end_span(c, OTHER_KEY, "c1", NOON + 32 * HOUR))
    assert book.only(40).hours == 32


def test_the_same_id_at_another_service_is_another_cluster(book: Book) -> None:
    book.seen(0, costly())
    book.write(lambda c: ledger.put_span(c, ELSEWHERE, costly(price_per_hour=usd("1")), NOON))
    book.gone(1)
    assert [row.amount for row in book.spend(2).clusters] == [6, 2]


def test_only_the_oldest_ended_spans_are_forgotten(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_KEPT_FREE_SPANS", 2)
    for number in range(5):
        book.seen(number, make.cluster(cluster_id=f"free{number}", is_free=True))
        book.seen(number, costly(cluster_id=f"paid{number}"))
        if number != 0:
            book.gone(number + 1, f"free{number}")
            book.gone(number + 1, f"paid{number}")
    book.write(ledger.prune)
    kept = [span.cluster_id for span in book.spans()]
    assert [one for one in kept if one.startswith("free")] == ["free0", "free3", "free4"]
    assert len([one for one in kept if one.startswith("paid")]) == 5


# The estimate


def test_unknown_billing_is_kept_apart(book: Book) -> None:
    book.seen(0, costly())
    book.seen(2, costly(billing=Billing.UNKNOWN))
    row = book.only(5)
    assert told(row.amount, row.amount_high, row.hours, row.hours_unknown) == (12, 30, 5, 3)
    assert told(row.per_hour, row.per_hour_high) == (0, 6)


def test_what_is_not_billed_costs_nothing_and_is_no_row(book: Book) -> None:
    book.seen(0, costly(billing=Billing.NO))
    assert book.spend(9).clusters == ()


def test_what_is_free_is_left_out_unless_asked_for(book: Book) -> None:
    book.seen(0, make.cluster(is_free=True))
    assert book.spend(2).clusters == ()
    row = book.only(2, with_free=True)
    assert told(row.amount, row.hours, row.is_free, row.running) == (0, 2, True, 0)


def test_amounts_are_exact_decimals(book: Book) -> None:
    book.seen(0, costly(price_per_hour=usd("0.1")))
    assert book.only(3).amount == Decimal("0.3")
    assert book.only(1 / 3600).amount == Decimal("0.000027778")


def test_currencies_are_never_added_up(book: Book) -> None:
    book.seen(0, costly())
    rupees = Money(amount=Decimal(400), currency="INR")
    book.seen(0, costly(cluster_id="c2", name="other", price_per_hour=rupees))
    book.seen(0, costly(cluster_id="c3", name="third", price_per_hour=None))
    amounts = {row.currency: row.amount for row in book.spend(2).currencies}
    assert amounts == {"USD": 12, "INR": 800, None: None}
    assert len(book.spend(2).accounts) == 3


def test_days_are_utc_days(book: Book) -> None:
    book.seen(11, costly())
    amounts = {row.day: row.amount for row in book.spend(11 + 3).days}
    assert amounts == {date(2026, 11, 1): 6, date(2026, 11, 2): 12}


def test_since_cuts_the_past_and_leaves_the_present_rate(book: Book) -> None:
    book.seen(0, costly())
    row = book.only(10, since=NOON + 8 * HOUR)
    assert told(row.amount, row.per_hour) == (12, 6)


def test_accounts_are_chosen_by_name(book: Book) -> None:
    book.seen(0, costly())
    book.seen(0, costly(cluster_id="c2", account="other"))
    assert [row.account for row in book.spend(1, accounts=["other"]).clusters] == ["other"]


def test_what_was_not_created_here_says_so(book: Book) -> None:
    book.seen(0, costly(created_here=False))
    assert book.only(1).note == "not created here"


def test_a_committed_term_counts_at_once_and_covers_its_hours(book: Book) -> None:
    book.seen(0, costly(billing=Billing.UNKNOWN))
    book.committed(0, usd("4320"), 30)
    book.committed(1, usd("9999"), 30)
    row = book.only(10)
    assert told(row.amount, row.committed, row.hours, row.hours_unknown, row.per_hour) == (4320, 4320, 10, 0, 0)
    book.gone(20)
    assert book.only(100).amount == 4320, "a deleted cluster still owes its term"


def test_hours_after_a_committed_term_and_nodes_beyond_it_cost_again(book: Book) -> None:
    book.seen(0, costly())
    book.committed(0, usd("100"), 1)
    row = book.only(26)
    assert told(row.amount, row.per_hour) == (112, 6)
    book.seen(26, costly(node_count=3, price_per_hour=usd("9")))
    book.committed(0, usd("100"), None)
    assert book.only(28).amount == 130


def test_open_orders_are_told_and_not_counted(book: Book) -> None:
    lost = make.order(price_per_hour=usd("6"), account="fake")
    done = make.order(order_id="2", price_per_hour=usd("6"), state=OrderState.DONE)
    spend = book.spend(1, orders=[lost, done, make.order(order_id="3", verb=Verb.DELETE)])
    assert spend.clusters == ()
    assert "1 order without a known outcome may cost 6.00 USD per hour" in spend.notes[0]


def test_what_runs_under_another_key_is_told(book: Book) -> None:
    book.seen(0, costly())
    assert book.spend(1, identities=[make.IDENTITY]).notes == ()
    (note,) = book.spend(1, identities=["another"]).notes
    assert "as if still running: 1 cluster." in note
    assert book.only(1, identities=["another"]).amount == 6


def test_hours_left_are_the_balance_by_the_rate_of_its_own_currency(book: Book) -> None:
    book.seen(0, costly())
    book.seen(0, costly(cluster_id="c2", billing=Billing.UNKNOWN))
    status = AccountStatus(account="fake", provider="fake", is_usable=True, detail="", balance=usd("30"))
    (left,) = balances(book.spend(1), [status, status.model_copy(update={"balance": None})])
    assert told(left.hours_left, left.per_hour, left.is_upper_bound) == (Decimal("2.5"), usd("12"), False)
    book.seen(1, costly(cluster_id="c3", price_per_hour=None))
    rupees = status.model_copy(update={"balance": Money(amount=Decimal(5), currency="INR")})
    owed = status.model_copy(update={"balance": usd("-1")})
    none, empty = balances(book.spend(1), [rupees, owed])
    assert told(none.hours_left, empty.hours_left, empty.is_upper_bound) == (None, 0, True)


# Whatever was recorded

times = st.integers(0, 10**9).map(lambda second: NOON + timedelta(seconds=second / 1000))
prices = st.none() | st.builds(
    Money, amount=st.decimals("0.0001", "999", places=4), currency=st.sampled_from(["USD", "INR"])
)
spans = st.builds(
    lambda began, length, **rest: Span(
        identity="i", provider="p", began=began, ended=None if length is None else began + length, **rest
    ),
    began=times,
    length=st.none() | st.timedeltas(timedelta(), timedelta(days=40)),
    cluster_id=st.sampled_from("abc"),
    name=st.just("n"),
    account=st.sampled_from(["one", "two"]),
    billing=st.sampled_from(Billing),
    price=prices,
    is_free=st.booleans(),
    nodes=st.integers(1, 3),
)
terms = st.builds(
    Commitment,
    identity=st.just("i"),
    cluster_id=st.sampled_from("abc"),
    account=st.just("one"),
    provider=st.just("p"),
    name=st.just("n"),
    at=times,
    amount=st.builds(Money, amount=st.decimals("1", "9999", places=2), currency=st.sampled_from(["USD", "INR"])),
    days=st.none() | st.integers(1, 20),
)


def sums(rows: Sequence[Cost]) -> dict[tuple[str | None, bool], tuple[Decimal, ...]]:
    found: dict[tuple[str | None, bool], tuple[Decimal, ...]] = {}
    for row in rows:
        numbers = (row.amount or 0, row.amount_high or 0, row.hours, row.hours_unknown, row.committed)
        so_far = found.get((row.currency, row.is_free), (Decimal(0),) * 5)
        found[row.currency, row.is_free] = tuple(a + b for a, b in zip(so_far, numbers, strict=True))
    return {key: numbers for key, numbers in found.items() if any(numbers)}


@settings(max_examples=150, deadline=None)
@given(st.lists(spans, max_size=8), st.lists(terms, max_size=3, unique_by=lambda one: one.cluster_id), times)
def test_every_grouping_adds_up_to_the_same_to_the_last_digit(
    spans: list[Span], terms: list[Commitment], now: datetime
) -> None:
    spend = spend_of(spans, terms, now, with_free=True)
    by_cluster = sums(spend.by("cluster"))
    for grouping in GROUPINGS:
        assert sums(spend.by(grouping)) == by_cluster
        assert all(row.hours >= row.hours_unknown >= 0 for row in spend.by(grouping))
        assert all((row.amount is None) == (row.currency is None and not row.is_free) for row in spend.by(grouping))
        assert all(row.amount_high is None or row.amount_high >= (row.amount or 0) for row in spend.by(grouping))


@settings(max_examples=100, deadline=None)
@given(st.lists(spans, max_size=6), times, times)
def test_what_was_spent_before_and_since_a_moment_is_all(spans: list[Span], one: datetime, other: datetime) -> None:
    then, now = min(one, other), max(one, other)
    ended = [span for span in spans if span.began <= then]
    before = sums(spend_of(ended, [], then).currencies)
    whole = sums(spend_of(ended, [], now).currencies)
    since = sums(spend_of(ended, [], now, since=then).currencies)
    for key, numbers in whole.items():
        nothing = (Decimal(0),) * 5
        parts = zip(before.get(key, nothing), since.get(key, nothing), numbers, strict=True)
        assert all(abs(a + b - c) < Decimal("1e-6") for a, b, c in parts)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.uuids(),
    st.lists(st.tuples(st.floats(-30, 30), st.sampled_from(Billing), st.integers(1, 3), st.booleans()), max_size=12),
)
def test_spans_never_overlap_whatever_the_clocks_say(
    book: Book, cluster_id: UUID, steps: list[tuple[float, Billing, int, bool]]
) -> None:
    def record(c: sqlite3.Connection) -> None:
        for hour, billing, nodes, is_gone in steps:
            cluster = costly(cluster_id=str(cluster_id), billing=billing, node_count=nodes)
            if is_gone:
                ledger.end_span(c, make.IDENTITY, cluster.cluster_id, NOON + hour * HOUR)
            else:
                ledger.put_span(c, make.IDENTITY, cluster, NOON + hour * HOUR, began=NOON)

    book.write(record)
    found = [span for span in book.spans() if span.cluster_id == str(cluster_id)]
    assert all(span.ended is not None and span.began <= span.ended for span in found[:-1])
    assert all(a.ended is not None and a.ended <= b.began for a, b in pairwise(found))

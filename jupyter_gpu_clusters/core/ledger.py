"""What clusters cost, as rows of the journal, written inside somebody else's transaction.

A *span* is a stretch of time in which a cluster's billing word, price and size stayed the same. The spans of one
cluster never overlap, and none is shorter than nothing, whatever the clocks of those who write them say.
A *commitment* is the whole sum of a committed term, owed from the moment the order was accepted.

The same cluster may be seen under several identities, one after another when a key is changed, or by two accounts at
once. It still costs once: here a cluster is told by its service's origin and its id, whoever looks at it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from .models import Billing, Cluster, ClusterPhase, Money

NOT_CREATED_HERE = "not created here"

_SAME = "cluster_id = ? AND instr(identity || '|', ?) = 1"
_KEPT_SPANS = 100_000
_KEPT_FREE_SPANS = 1_000


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of time; ``ended`` is ``None`` while it lasts. ``price`` is per hour, ``None`` when unknown."""

    identity: str
    cluster_id: str
    name: str
    account: str
    provider: str
    began: datetime
    ended: datetime | None
    billing: Billing
    price: Money | None
    is_free: bool
    nodes: int
    detail: str | None = None

    @property
    def place(self) -> tuple[str, str]:
        """What tells the cluster from all others, under whatever key it is seen."""
        return _origin_of(self.identity), self.cluster_id


@dataclass(frozen=True, slots=True)
class Commitment:
    """One committed term; ``days`` is its length, ``None`` when unknown."""

    identity: str
    cluster_id: str
    account: str
    provider: str
    name: str
    at: datetime
    amount: Money
    days: int | None = None

    @property
    def place(self) -> tuple[str, str]:
        """As that of a span."""
        return _origin_of(self.identity), self.cluster_id


def put_span(
    c: sqlite3.Connection, identity: str, cluster: Cluster, at: datetime, *, began: datetime | None = None
) -> None:
    """Record how a cluster was seen; a new span begins when billing, price or size differ from the last one.

    The price of a size is the first one that was told for it: prices are frozen at creation, and a service that
    leaves one out for a while has not changed it. Where it was told late it also holds for the time before.

    Parameters
    ----------
    at : when it was seen.
    began : since when a cluster that has no open span costs: when its order was made, or else its own creation time.
    """
    if cluster.phase is ClusterPhase.DELETED:
        end_span(c, identity, cluster.cluster_id, at)
        return
    nodes = cluster.node_count or len(cluster.nodes)
    price = _frozen_price(c, identity, cluster, nodes)
    span_id, last = _last(c, identity, cluster.cluster_id)
    if last is not None and last.ended is None:
        seen = (cluster.billing, price, cluster.is_free, nodes)
        if (last.billing, last.price, last.is_free, last.nodes) == seen:
            if (last.identity, last.account) != (identity, cluster.account):
                key = (identity, cluster.account, cluster.name, span_id)
                c.execute("UPDATE spans SET identity = ?, account = ?, name = ? WHERE span_id = ?", key)
            return
        end_span(c, identity, cluster.cluster_id, at)
        began = at
    elif last is None and _end_elsewhere(c, identity, cluster, at):
        began = at
    start = min(began or at, at)
    if last is not None:
        start = max(start, last.ended or last.began)
    _insert(c, identity, cluster, start, price, nodes)


def _end_elsewhere(c: sqlite3.Connection, identity: str, cluster: Cluster, at: datetime) -> bool:
    """A cluster that shows under another key of its account now costs once; whether it cost under an earlier one."""
    rows = c.execute(
        "SELECT DISTINCT identity FROM spans WHERE identity != ? AND account = ? AND cluster_id = ? AND ended IS NULL",
        (identity, cluster.account, cluster.cluster_id),
    ).fetchall()
    service = identity.split("|")[:2]
    found = [row["identity"] for row in rows if row["identity"].split("|")[:2] == service]
    for other in found:
        end_span(c, other, cluster.cluster_id, at)
    return bool(found)


def end_span(c: sqlite3.Connection, identity: str, cluster_id: str, at: datetime) -> None:
    """The open span of a cluster, if it has one, ends: it is proven gone, or was seen changed."""
    span_id, last = _last(c, identity, cluster_id)
    if last is not None and last.ended is None:
        c.execute("UPDATE spans SET ended = ? WHERE span_id = ?", (max(at, last.began).isoformat(), span_id))


def put_commitment(
    c: sqlite3.Connection, identity: str, cluster: Cluster, amount: Money, at: datetime, *, days: int | None = None
) -> None:
    """Record the sum of a committed term that was accepted at `at`; a second time changes nothing."""
    if c.execute(f"SELECT 1 FROM commitments WHERE {_SAME}", _same(identity, cluster.cluster_id)).fetchone():
        return
    key = (identity, cluster.cluster_id, cluster.account, cluster.provider, cluster.name)
    c.execute(
        "INSERT INTO commitments (identity, cluster_id, account, provider, name, at, amount, currency, days) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*key, at.isoformat(), str(amount.amount), amount.currency, days),
    )


def read_spans(c: sqlite3.Connection) -> list[Span]:
    """All spans, the oldest first, of all identities: a changed key or project does not undo what was spent."""
    return [_span(row) for row in c.execute("SELECT * FROM spans ORDER BY span_id").fetchall()]


def read_commitments(c: sqlite3.Connection) -> list[Commitment]:
    """All commitments, the oldest first."""
    return [_commitment(row) for row in c.execute("SELECT * FROM commitments ORDER BY rowid").fetchall()]


def prune(c: sqlite3.Connection) -> None:
    """Forget the oldest ended spans beyond 100,000, and beyond 1,000 of what is free."""
    for is_free, kept in ((1, _KEPT_FREE_SPANS), (0, _KEPT_SPANS)):
        c.execute(
            "DELETE FROM spans WHERE ended IS NOT NULL AND is_free = ?1 AND span_id <= (SELECT span_id FROM spans "
            "WHERE ended IS NOT NULL AND is_free = ?1 ORDER BY span_id DESC LIMIT 1 OFFSET ?2)",
            (is_free, kept),
        )


def _frozen_price(c: sqlite3.Connection, identity: str, cluster: Cluster, nodes: int) -> Money | None:
    if cluster.is_free:
        return None
    key = (*_same(identity, cluster.cluster_id), nodes)
    row = c.execute(
        f"SELECT per_hour, currency FROM spans WHERE {_SAME} AND nodes = ? AND per_hour IS NOT NULL "
        "ORDER BY span_id LIMIT 1",
        key,
    ).fetchone()
    if row is not None:
        return Money(amount=Decimal(row["per_hour"]), currency=row["currency"])
    told = cluster.price_per_hour
    if told is None or told.amount <= 0:
        return None
    c.execute(
        f"UPDATE spans SET per_hour = ?, currency = ? WHERE {_SAME} AND nodes = ? AND is_free = 0",
        (str(told.amount), told.currency, *key),
    )
    return told


def _insert(
    c: sqlite3.Connection, identity: str, cluster: Cluster, began: datetime, price: Money | None, nodes: int
) -> None:
    amount, currency = (None, None) if price is None else (str(price.amount), price.currency)
    c.execute(
        "INSERT INTO spans (identity, cluster_id, name, account, provider, began, billing, per_hour, currency, "
        "is_free, nodes, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            identity,
            cluster.cluster_id,
            cluster.name,
            cluster.account,
            cluster.provider,
            began.isoformat(),
            cluster.billing,
            amount,
            currency,
            cluster.is_free,
            nodes,
            None if cluster.created_here else NOT_CREATED_HERE,
        ),
    )


def _last(c: sqlite3.Connection, identity: str, cluster_id: str) -> tuple[int, Span | None]:
    row = c.execute(
        f"SELECT * FROM spans WHERE {_SAME} ORDER BY span_id DESC LIMIT 1", _same(identity, cluster_id)
    ).fetchone()
    return (0, None) if row is None else (row["span_id"], _span(row))


def _same(identity: str, cluster_id: str) -> tuple[str, str]:
    return cluster_id, f"{_origin_of(identity)}|"


def _origin_of(identity: str) -> str:
    """Provider and origin of `RemoteIdentity.key`."""
    return "|".join(identity.split("|", 2)[:2])


def _span(row: sqlite3.Row) -> Span:
    amount = row["per_hour"]
    return Span(
        identity=row["identity"],
        cluster_id=row["cluster_id"],
        name=row["name"],
        account=row["account"],
        provider=row["provider"],
        began=datetime.fromisoformat(row["began"]),
        ended=None if row["ended"] is None else datetime.fromisoformat(row["ended"]),
        billing=Billing(row["billing"]),
        price=None if amount is None else Money(amount=Decimal(amount), currency=row["currency"]),
        is_free=bool(row["is_free"]),
        nodes=row["nodes"],
        detail=row["detail"],
    )


def _commitment(row: sqlite3.Row) -> Commitment:
    return Commitment(
        identity=row["identity"],
        cluster_id=row["cluster_id"],
        account=row["account"],
        provider=row["provider"],
        name=row["name"],
        at=datetime.fromisoformat(row["at"]),
        amount=Money(amount=Decimal(row["amount"]), currency=row["currency"]),
        days=row["days"],
    )

"""How snapshots, orders and looks become rows of the journal's database, inside somebody else's transaction."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime, timedelta
from socket import gethostname
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from .errors import JournalError
from .ledger import prune as prune_costs
from .ledger import put_commitment, put_span
from .models import (
    Billing,
    Cluster,
    ClusterPhase,
    Listing,
    Order,
    Transition,
    Workload,
    WorkloadPhase,
    utc_now,
)
from .names import windows

T = TypeVar("T", bound=BaseModel)

GONE_AFTER_MISSES = 2
GONE_AFTER = timedelta(seconds=5)
"""What costs has vanished when two complete listings at least so far apart lack it."""

STRAGGLERS_FOR = timedelta(days=1)
"""For how long what was deleted, or vanished, is still looked for."""

LATE_FOR = timedelta(days=30)
"""For how long the marks of orders that the user closed are looked for."""

_KEPT_TRANSITIONS = 100_000
_KEPT_ENDED_WORKLOADS = 500


class LeaseLostError(JournalError):
    """Another process has taken over the polling; what was read is dropped."""


def _read(model: type[T], text: str) -> T:
    try:
        return model.model_validate_json(text)
    except ValidationError as exc:
        fields = ", ".join(".".join(map(str, one["loc"])) for one in exc.errors()[:5])
        raise JournalError(
            f"The journal holds a {model.__name__.lower()} that this release cannot read ({fields}).",
            hint="A newer release may have written it: upgrade here and restart kernel and server.",
        ) from None


@functools.lru_cache(maxsize=20_000)
def read_cluster(text: str) -> Cluster:
    return _read(Cluster, text)


@functools.lru_cache(maxsize=20_000)
def read_workload(text: str) -> Workload:
    return _read(Workload, text)


@functools.lru_cache(maxsize=20_000)
def read_order(text: str) -> Order:
    return _read(Order, text)


def read_transition(row: sqlite3.Row) -> Transition:
    return Transition(
        seq=row["seq"],
        at=datetime.fromisoformat(row["at"]),
        identity_key=row["identity"],
        kind=row["kind"],
        object_id=row["object_id"],
        name=row["name"],
        before=row["before"],
        after=row["after"],
        detail=row["detail"],
    )


def submitted_key(workload: Workload) -> str:
    return workload.submitted_at.isoformat() if workload.submitted_at else ""


def put_lost_orders(c: sqlite3.Connection, orders: Iterable[Order]) -> None:
    """Orders that only files know; one that has a row by now has a newer one."""
    for order in orders:
        if c.execute("SELECT 1 FROM orders WHERE order_id = ?", (order.order_id,)).fetchone() is None:
            put_order(c, order)


def put_order(c: sqlite3.Connection, order: Order) -> None:
    before = c.execute("SELECT state, body FROM orders WHERE order_id = ?", (order.order_id,)).fetchone()
    if before is not None:
        order = order.following(read_order(before["body"]))
    c.execute(
        "INSERT INTO orders VALUES (?1, ?2, ?3, ?4) ON CONFLICT (order_id) DO UPDATE SET state = ?3, body = ?4",
        (order.order_id, order.identity_key, order.state, order.model_dump_json()),
    )
    old = before["state"] if before else None
    if old != order.state:
        text = f"{order.verb} {order.state}"
        _add_transition(c, order.identity_key, "order", order.order_id, order.name, old, text, order.note)


class Owners:
    """Which order of this journal made what, by the ids that answers named. Read once, at first use."""

    def __init__(self, c: sqlite3.Connection, identity: str) -> None:
        self._c = c
        self._identity = identity

    @functools.cached_property
    def _by_id(self) -> dict[str, Order]:
        rows = self._c.execute(
            "SELECT body FROM orders WHERE identity = ? AND json_extract(body, '$.verb') IN ('create', 'submit')",
            (self._identity,),
        )
        orders = [read_order(row["body"]) for row in rows]
        return {remote_id: order for order in orders for remote_id in (*order.members, *order.remote_ids)}

    @functools.cached_property
    def _by_mark(self) -> dict[str, Order]:
        """Also orders under other keys or projects: a mark proves whose it is, whoever lists it."""
        rows = self._c.execute(
            "SELECT body FROM orders WHERE substr(identity, 1, ?2) = ?1 "
            "AND json_extract(body, '$.verb') IN ('create', 'submit') "
            "AND json_extract(body, '$.remote_name') != json_extract(body, '$.name')",
            (service := self._identity.split("|")[0] + "|", len(service)),
        )
        orders = [read_order(row["body"]) for row in rows]
        return {order.mark: order for order in orders}

    def order_of(self, thing: Cluster | Workload) -> Order | None:
        """The order that made it: by its id, by that of a node that the answer named, or by the mark in its name."""
        ids: tuple[str, ...] = (thing.workload_id,) if isinstance(thing, Workload) else (thing.cluster_id,)
        if isinstance(thing, Cluster):
            ids = (*ids, *thing.member_ids, *(node.node_id for node in thing.nodes))
        by_id = next((self._by_id[one] for one in ids if one in self._by_id), None)
        return by_id or next((self._by_mark[one] for one in windows(thing.name) if one in self._by_mark), None)

    def known(self, cluster: Cluster) -> Cluster:
        """The cluster under the name that was asked for, with its order, if one of ours made it."""
        if cluster.order_id is not None:
            row = self._c.execute("SELECT 1 FROM orders WHERE order_id = ?", (cluster.order_id,)).fetchone()
            return cluster.model_copy(update={"created_here": row is not None})
        order = self.order_of(cluster)
        if order is None:
            return cluster.model_copy(update={"created_here": False})
        price = cluster.price_per_hour or (order.price_per_hour if cluster.node_count == order.nodes else None)
        changes = {"created_here": True, "order_id": order.order_id, "name": order.name, "price_per_hour": price}
        return cluster.model_copy(update=changes)

    def known_workload(self, workload: Workload) -> Workload:
        """The workload under the name that was asked for, if one of our orders made it."""
        order = self.order_of(workload)
        if order is None:
            return workload
        return workload.model_copy(update={"created_here": True, "name": order.name})


def put_cluster(
    c: sqlite3.Connection,
    identity: str,
    cluster: Cluster,
    detail: str | None,
    since: int | None = None,
    owners: Owners | None = None,
) -> None:
    owners = owners or Owners(c, identity)
    cluster = owners.known(cluster)
    text = cluster.model_dump_json()
    key = (identity, cluster.cluster_id)
    old = c.execute("SELECT * FROM clusters WHERE identity = ? AND cluster_id = ?", key).fetchone()
    if old and (_is_newer(old, since) or (old["snapshot"] == text and old["missed"] == 0)):
        return
    c.execute(
        "INSERT INTO clusters (identity, cluster_id, phase, snapshot, changed_at, tick) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (identity, cluster_id) "
        "DO UPDATE SET phase = ?3, snapshot = ?4, missed = 0, missed_at = NULL, changed_at = ?5, tick = ?6",
        (*key, cluster.phase, text, utc_now().isoformat(), _next_tick(c)),
    )
    _put_cost(c, identity, cluster, owners.order_of(cluster))
    before = old["phase"] if old else None
    if before != cluster.phase:
        _add_transition(c, identity, "cluster", cluster.cluster_id, cluster.name, before, cluster.phase, detail)


def _put_cost(c: sqlite3.Connection, identity: str, cluster: Cluster, order: Order | None) -> None:
    """What our order made is billed from the order on, as far as anybody knows."""
    now = utc_now()
    put_span(c, identity, cluster, now, began=order.created_at if order is not None else cluster.created_at)
    if order is not None and order.commitment is not None:
        put_commitment(c, identity, cluster, order.commitment, order.created_at)


def put_workload(
    c: sqlite3.Connection,
    identity: str,
    workload: Workload,
    since: int | None = None,
    owners: Owners | None = None,
) -> None:
    workload = (owners or Owners(c, identity)).known_workload(workload)
    text = workload.model_dump_json()
    key = (identity, workload.cluster_id, workload.workload_id)
    old = c.execute("SELECT * FROM workloads WHERE identity = ? AND cluster_id = ? AND workload_id = ?", key).fetchone()
    if old and (_is_newer(old, since) or old["snapshot"] == text):
        return
    if old and WorkloadPhase(old["phase"]).is_final and not workload.phase.is_final:
        return
    c.execute(
        "INSERT INTO workloads (identity, cluster_id, workload_id, phase, snapshot, changed_at, tick) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (identity, cluster_id, workload_id) "
        "DO UPDATE SET phase = ?4, snapshot = ?5, changed_at = ?6, tick = ?7",
        (*key, workload.phase, text, utc_now().isoformat(), _next_tick(c)),
    )
    before = old["phase"] if old else None
    if before != workload.phase:
        _add_transition(
            c, identity, "workload", workload.workload_id, workload.name, before, workload.phase, workload.reason
        )


def count_missing(
    c: sqlite3.Connection, identity: str, seen: Listing[Cluster], since: int | None = None
) -> list[Cluster]:
    """Note what a complete listing lacks; the clusters that have vanished by now, as they were last seen."""
    present = {cluster.cluster_id for cluster in seen.items}
    rows = c.execute("SELECT * FROM clusters WHERE identity = ? AND phase != 'deleted'", (identity,)).fetchall()
    vanished = []
    for row in rows:
        if row["cluster_id"] in present or _is_newer(row, since):
            continue
        cluster = read_cluster(row["snapshot"])
        missed_at = _missed_at(row, seen.observed_at)
        if row["missed"] + 1 >= GONE_AFTER_MISSES and (cluster.is_free or seen.observed_at - missed_at >= GONE_AFTER):
            vanished.append(cluster)
        c.execute(
            "UPDATE clusters SET missed = missed + 1, missed_at = ?, missed_on = ? "
            "WHERE identity = ? AND cluster_id = ?",
            (missed_at.isoformat(), gethostname(), identity, row["cluster_id"]),
        )
    return vanished


def _missed_at(row: sqlite3.Row, now: datetime) -> datetime:
    """When it was first missed; after another host's clock, or one that was set back, it begins anew."""
    if row["missed_at"] is None or row["missed_on"] != gethostname():
        return now
    return min(datetime.fromisoformat(row["missed_at"]), now)


def mark_vanished(c: sqlite3.Connection, identity: str, cluster: Cluster) -> bool:
    """Keep a vanished cluster in sight, its billing unknown; whether that was long enough.

    What went without our wish may bill on or come back, so it is not called deleted for a day.
    """
    key = (identity, cluster.cluster_id)
    row = c.execute("SELECT * FROM clusters WHERE identity = ? AND cluster_id = ?", key).fetchone()
    now = utc_now()
    since = _missed_at(row, now)
    if now - since >= STRAGGLERS_FOR:
        return True
    if cluster.vanished_at is None:
        reason = "It vanished without a delete from here; whether it still bills is not known."
        changes = {"phase": ClusterPhase.UNKNOWN, "billing": Billing.UNKNOWN, "reason": reason, "vanished_at": since}
        lost = cluster.model_copy(update=changes)
        c.execute(
            "UPDATE clusters SET phase = ?3, snapshot = ?4, changed_at = ?5, tick = ?6 "
            "WHERE identity = ?1 AND cluster_id = ?2",
            (*key, lost.phase, lost.model_dump_json(), now.isoformat(), _next_tick(c)),
        )
        put_span(c, identity, lost, now)
        _add_transition(c, identity, "cluster", cluster.cluster_id, cluster.name, row["phase"], "vanished", reason)
    return False


def drop_missing_workloads(
    c: sqlite3.Connection, identity: str, seen: Listing[Workload], since: int | None = None
) -> None:
    """A complete listing no longer has them: ended ones are forgotten, live ones become unknown."""
    present = {(workload.cluster_id, workload.workload_id) for workload in seen.items}
    rows = c.execute("SELECT rowid, * FROM workloads WHERE identity = ?", (identity,)).fetchall()
    for row in rows:
        workload = read_workload(row["snapshot"])
        if (workload.cluster_id, workload.workload_id) in present or _is_newer(row, since):
            continue
        if workload.phase.is_final:
            c.execute("DELETE FROM workloads WHERE rowid = ?", (row["rowid"],))
        elif workload.phase is not WorkloadPhase.UNKNOWN:
            lost = {"phase": WorkloadPhase.UNKNOWN, "reason": "The provider no longer lists it."}
            put_workload(c, identity, workload.model_copy(update=lost))


def tick(c: sqlite3.Connection) -> int:
    """Grows with every recorded change; tells before from after without any clock."""
    return int(c.execute("SELECT value FROM meta WHERE key = 'tick'").fetchone()["value"])


def _next_tick(c: sqlite3.Connection) -> int:
    c.execute("UPDATE meta SET value = value + 1 WHERE key = 'tick'")
    return tick(c)


def _is_newer(row: sqlite3.Row, since: int | None) -> bool:
    """Whether `row` was recorded after the look that began at tick `since`."""
    return since is not None and int(row["tick"]) > since


def put_look(c: sqlite3.Connection, identity: str, clusters: Listing[Cluster], workloads: Listing[Workload]) -> None:
    not_seen = json.dumps([*clusters.not_seen, *workloads.not_seen])
    is_complete = clusters.is_complete and workloads.is_complete
    c.execute(
        "INSERT INTO looks VALUES (?1, ?2, ?3, ?4, NULL) ON CONFLICT (identity) "
        "DO UPDATE SET observed_at = ?2, is_complete = ?3, not_seen = ?4, failure = NULL",
        (identity, clusters.observed_at.isoformat(), is_complete, not_seen),
    )


def check_epoch(c: sqlite3.Connection, identity: str, epoch: int | None) -> None:
    if epoch is None:
        return
    row = c.execute("SELECT epoch FROM leases WHERE identity = ?", (identity,)).fetchone()
    if row is None or row["epoch"] != epoch:
        raise LeaseLostError("Another process watches this account now.")


def _add_transition(
    c: sqlite3.Connection,
    identity: str,
    kind: str,
    object_id: str,
    name: str,
    before: str | None,
    after: str,
    detail: str | None,
) -> None:
    c.execute(
        "INSERT INTO transitions (at, identity, kind, object_id, name, before, after, detail) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (utc_now().isoformat(), identity, kind, object_id, name, before, after, detail),
    )


def prune(c: sqlite3.Connection) -> None:
    """Forget the oldest of what only ever grows."""
    prune_costs(c)
    c.execute("DELETE FROM transitions WHERE seq <= (SELECT max(seq) FROM transitions) - ?", (_KEPT_TRANSITIONS,))
    c.execute(
        "DELETE FROM workloads WHERE phase IN ('succeeded', 'failed', 'cancelled') AND rowid NOT IN (SELECT rowid "
        "FROM workloads WHERE phase IN ('succeeded', 'failed', 'cancelled') ORDER BY changed_at DESC LIMIT ?)",
        (_KEPT_ENDED_WORKLOADS,),
    )

"""What every kernel and the Jupyter server of one user know: orders, last known snapshots, transitions, leases.

Two authorities, one face: the intent files (`claims`) decide what was started, the database remembers what was
seen. Rows are keyed by the remote identity. Nothing secret comes in here; plans arrive already masked.
Methods block for a disk write or two; the service calls them on worker threads.
"""

from __future__ import annotations

import functools
import json
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .claims import Claims
from .database import Database
from .errors import JournalError
from .models import (
    Cluster,
    ClusterPhase,
    Failure,
    Listing,
    Order,
    OrderState,
    Transition,
    Workload,
    WorkloadPhase,
    utc_now,
)

GONE_AFTER_MISSES = 2
_KEPT_TRANSITIONS = 100_000
_NOTICE_FOR_S = 86_400
_KEPT_ENDED_WORKLOADS = 500


@dataclass(frozen=True, slots=True)
class Look:
    """When an identity's list was last read, and what went wrong if it could not be."""

    observed_at: datetime | None = None
    is_complete: bool = True
    not_seen: tuple[str, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """Who polls an identity. A stale ``epoch`` cannot write; ``pokes`` grows when somebody wants fresh data."""

    epoch: int
    holder: str
    beat: int
    pokes: int


class LeaseLostError(JournalError):
    """Another process has taken over the polling; what was read is dropped."""


class Journal:
    """The journal of one user in `folder` (created at first use, mode 0700)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.claims = Claims(folder)
        self.database = Database(folder / "journal.sqlite")

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        self.database.close()

    def journal_id(self) -> str:
        """Eight hex digits that tell this journal from a colleague's or another machine's."""
        return self._meta("journal_id")

    def salt(self) -> bytes:
        """The salt of credential digests; differs per journal."""
        return bytes.fromhex(self._meta("salt"))

    def notices(self) -> tuple[str, ...]:
        """What happened to the journal itself that the user must know (a corrupt file set aside)."""
        return tuple(
            f"The journal was corrupt and was set aside as {path.name} in {self.folder}; open orders were rebuilt "
            "from their intent files, the rest from the providers."
            for path in sorted(self.folder.glob("journal.corrupt-*.sqlite"))[-1:]
            if time.time() - path.stat().st_ctime < _NOTICE_FOR_S
        )

    def seq(self) -> int:
        """Number of the newest transition."""
        return self.database.read(
            lambda c: int(c.execute("SELECT coalesce(max(seq), 0) FROM transitions").fetchone()[0])
        )

    # Orders

    def put_order(self, order: Order) -> None:
        """Mirror an order into the database."""
        self.database.write(lambda c: _put_order(c, order))

    def finish_order(self, order: Order) -> None:
        """Record what became of an order: file first, then the row; a name that is free again is released."""
        if order.state in (OrderState.REFUSED, OrderState.CLOSED):
            self.claims.release(order)
        else:
            self.claims.update(order)
        self.put_order(order)

    def release(self, order: Order) -> None:
        """The order's work is over for good (gone, ended): its name is free again."""
        self.claims.release(order)
        self.put_order(order)

    def order(self, order_id: str) -> Order | None:
        """One order by its id."""
        row = self.database.read(
            lambda c: c.execute("SELECT body FROM orders WHERE order_id = ?", (order_id,)).fetchone()
        )
        return _order(row["body"]) if row else None

    def open_orders(self, identity_key: str | None = None) -> list[Order]:
        """Orders whose outcome nobody has confirmed, oldest first."""
        rows = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE state IN ('open', 'not_seen') AND (?1 IS NULL OR identity = ?1) "
                "ORDER BY rowid LIMIT 1000",
                (identity_key,),
            ).fetchall()
        )
        return [_order(row["body"]) for row in rows]

    def restore_orders(self) -> None:
        """Copy orders that only the intent files know into the database (after a crash or a lost database)."""
        known = set(self._order_ids())
        lost = [order for order in self.claims.all() if order.order_id not in known]
        if lost:
            self.database.write(lambda c: _put_orders(c, lost))

    def _order_ids(self) -> list[str]:
        rows = self.database.read(lambda c: c.execute("SELECT order_id FROM orders").fetchall())
        return [str(row[0]) for row in rows]

    # What was seen

    def clusters(self, identity_keys: Iterable[str]) -> list[Cluster]:
        """Clusters of these identities that are not known to be gone."""
        rows = self._rows("clusters", "phase != 'deleted'", identity_keys)
        return [_cluster(row["snapshot"]) for row in rows]

    def workloads(self, identity_keys: Iterable[str]) -> list[Workload]:
        """Workloads on clusters that are not known to be gone, newest first."""
        rows = self._rows("workloads", "1", identity_keys)
        return sorted((_workload(row["snapshot"]) for row in rows), key=_submitted, reverse=True)

    def cluster(self, identity_key: str, cluster_id: str) -> Cluster | None:
        """The last snapshot of one cluster, also of one that is gone."""
        row = self.database.read(
            lambda c: c.execute(
                "SELECT snapshot FROM clusters WHERE identity = ? AND cluster_id = ?", (identity_key, cluster_id)
            ).fetchone()
        )
        return _cluster(row["snapshot"]) if row else None

    def workload(self, identity_key: str, workload_id: str) -> Workload | None:
        """The last snapshot of one workload."""
        row = self.database.read(
            lambda c: c.execute(
                "SELECT snapshot FROM workloads WHERE identity = ? AND workload_id = ?", (identity_key, workload_id)
            ).fetchone()
        )
        return _workload(row["snapshot"]) if row else None

    def look(self, identity_key: str) -> Look:
        """How fresh the list of an identity is."""
        row = self.database.read(
            lambda c: c.execute("SELECT * FROM looks WHERE identity = ?", (identity_key,)).fetchone()
        )
        if row is None:
            return Look()
        return Look(
            observed_at=datetime.fromisoformat(row["observed_at"]) if row["observed_at"] else None,
            is_complete=bool(row["is_complete"]),
            not_seen=tuple(json.loads(row["not_seen"])),
            failure=Failure.model_validate_json(row["failure"]) if row["failure"] else None,
        )

    def put_cluster(self, identity_key: str, cluster: Cluster, detail: str | None = None) -> None:
        """Record one cluster as just seen."""
        self.database.write(lambda c: _put_cluster(c, identity_key, cluster, detail))

    def put_workload(self, identity_key: str, workload: Workload) -> None:
        """Record one workload as just seen."""
        self.database.write(lambda c: _put_workload(c, identity_key, workload))

    def drop_cluster(self, identity_key: str, cluster: Cluster, detail: str) -> None:
        """Record that a cluster is proven gone, with its workloads."""
        gone = cluster.model_copy(update={"phase": ClusterPhase.DELETED, "reason": detail})

        def work(c: sqlite3.Connection) -> None:
            _put_cluster(c, identity_key, gone, detail)
            c.execute("DELETE FROM workloads WHERE identity = ? AND cluster_id = ?", (identity_key, cluster.cluster_id))

        self.database.write(work)

    def record_look(
        self,
        identity_key: str,
        clusters: Listing[Cluster],
        workloads: Listing[Workload],
        *,
        epoch: int | None = None,
    ) -> list[Cluster]:
        """Record one whole look at a provider; returns the clusters that have now vanished.

        A cluster counts as vanished after it was missing from two complete listings in a row; an incomplete
        listing proves nothing, and no listing overrules what was recorded after it began. With `epoch`, the
        write happens only while that lease is still held.

        Raises
        ------
        LeaseLostError : another process polls this identity now.
        """

        def work(c: sqlite3.Connection) -> list[Cluster]:
            _check_epoch(c, identity_key, epoch)
            for cluster in clusters.items:
                _put_cluster(c, identity_key, cluster, None, clusters.observed_at)
            for workload in workloads.items:
                _put_workload(c, identity_key, workload, workloads.observed_at)
            vanished = _count_missing(c, identity_key, clusters) if clusters.is_complete else []
            if workloads.is_complete:
                _drop_missing_workloads(c, identity_key, workloads)
            _put_look(c, identity_key, clusters, workloads)
            _prune(c)
            return vanished

        return self.database.write(work)

    def record_failure(self, identity_key: str, failure: Failure) -> None:
        """The look failed: the last good list stays, with the reason beside it."""
        self.database.write(
            lambda c: c.execute(
                "INSERT INTO looks (identity, failure) VALUES (?1, ?2) "
                "ON CONFLICT (identity) DO UPDATE SET failure = ?2",
                (identity_key, failure.model_dump_json()),
            )
        )

    def transitions(self, after_seq: int = 0, limit: int = 1000) -> list[Transition]:
        """Entries of the timeline after `after_seq`, oldest first."""
        rows = self.database.read(
            lambda c: c.execute(
                "SELECT * FROM transitions WHERE seq > ? ORDER BY seq LIMIT ?", (after_seq, limit)
            ).fetchall()
        )
        return [_transition(row) for row in rows]

    # Leases

    def lease(self, identity_key: str) -> Lease:
        """The present lease; epoch 0 when nobody ever held it."""
        row = self.database.read(
            lambda c: c.execute("SELECT * FROM leases WHERE identity = ?", (identity_key,)).fetchone()
        )
        return Lease(row["epoch"], row["holder"], row["beat"], row["pokes"]) if row else Lease(0, "", 0, 0)

    def take_lease(self, identity_key: str, seen: Lease, holder: str) -> bool:
        """Take over the lease if it is still exactly as it was `seen`."""

        def work(c: sqlite3.Connection) -> bool:
            c.execute("INSERT OR IGNORE INTO leases VALUES (?, 0, '', 0, 0)", (identity_key,))
            done = c.execute(
                "UPDATE leases SET epoch = epoch + 1, holder = ?, beat = 0 "
                "WHERE identity = ? AND epoch = ? AND beat = ? AND holder = ?",
                (holder, identity_key, seen.epoch, seen.beat, seen.holder),
            )
            return done.rowcount == 1

        return self.database.write(work)

    def beat(self, identity_key: str, epoch: int) -> bool:
        """Show that the holder is alive; False when the lease is another's by now."""
        return self.database.write(
            lambda c: (
                c.execute(
                    "UPDATE leases SET beat = beat + 1 WHERE identity = ? AND epoch = ?", (identity_key, epoch)
                ).rowcount
                == 1
            )
        )

    def give_up_lease(self, identity_key: str, epoch: int) -> None:
        """Let another process poll at once."""
        self.database.write(
            lambda c: c.execute(
                "UPDATE leases SET holder = '', beat = 0 WHERE identity = ? AND epoch = ?", (identity_key, epoch)
            )
        )

    def poke(self, identity_key: str) -> None:
        """Ask whoever polls to look soon."""

        def work(c: sqlite3.Connection) -> None:
            c.execute("INSERT OR IGNORE INTO leases VALUES (?, 0, '', 0, 0)", (identity_key,))
            c.execute("UPDATE leases SET pokes = pokes + 1 WHERE identity = ?", (identity_key,))

        self.database.write(work)

    def _meta(self, key: str) -> str:
        row = self.database.read(lambda c: c.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone())
        return str(row["value"])

    def _rows(self, table: str, where: str, identity_keys: Iterable[str]) -> list[sqlite3.Row]:
        keys = tuple(identity_keys)
        marks = ", ".join("?" * len(keys))
        statement = f"SELECT snapshot FROM {table} WHERE {where} AND identity IN ({marks}) ORDER BY rowid"
        return self.database.read(lambda c: c.execute(statement, keys).fetchall())


@functools.lru_cache(maxsize=20_000)
def _cluster(text: str) -> Cluster:
    return Cluster.model_validate_json(text)


@functools.lru_cache(maxsize=20_000)
def _workload(text: str) -> Workload:
    return Workload.model_validate_json(text)


def _order(text: str) -> Order:
    return Order.model_validate_json(text)


def _transition(row: sqlite3.Row) -> Transition:
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


def _submitted(workload: Workload) -> str:
    return workload.submitted_at.isoformat() if workload.submitted_at else ""


def _put_orders(c: sqlite3.Connection, orders: Iterable[Order]) -> None:
    for order in orders:
        _put_order(c, order)


def _put_order(c: sqlite3.Connection, order: Order) -> None:
    before = c.execute("SELECT state FROM orders WHERE order_id = ?", (order.order_id,)).fetchone()
    c.execute(
        "INSERT INTO orders VALUES (?1, ?2, ?3, ?4) ON CONFLICT (order_id) DO UPDATE SET state = ?3, body = ?4",
        (order.order_id, order.identity_key, order.state, order.model_dump_json()),
    )
    old = before["state"] if before else None
    if old != order.state:
        text = f"{order.verb} {order.state}"
        _add_transition(c, order.identity_key, "order", order.order_id, order.name, old, text, order.note)


def _put_cluster(
    c: sqlite3.Connection, identity: str, cluster: Cluster, detail: str | None, seen_at: datetime | None = None
) -> None:
    known = c.execute("SELECT 1 FROM orders WHERE order_id = ?", (cluster.order_id or "",)).fetchone()
    cluster = cluster.model_copy(update={"created_here": known is not None})
    text = cluster.model_dump_json()
    key = (identity, cluster.cluster_id)
    old = c.execute("SELECT * FROM clusters WHERE identity = ? AND cluster_id = ?", key).fetchone()
    if old and (_is_newer(old, seen_at) or (old["snapshot"] == text and old["missed"] == 0)):
        return
    c.execute(
        "INSERT INTO clusters VALUES (?1, ?2, ?3, ?4, 0, ?5) ON CONFLICT (identity, cluster_id) "
        "DO UPDATE SET phase = ?3, snapshot = ?4, missed = 0, changed_at = ?5",
        (*key, cluster.phase, text, utc_now().isoformat()),
    )
    before = old["phase"] if old else None
    if before != cluster.phase:
        _add_transition(c, identity, "cluster", cluster.cluster_id, cluster.name, before, cluster.phase, detail)


def _put_workload(c: sqlite3.Connection, identity: str, workload: Workload, seen_at: datetime | None = None) -> None:
    text = workload.model_dump_json()
    key = (identity, workload.cluster_id, workload.workload_id)
    old = c.execute("SELECT * FROM workloads WHERE identity = ? AND cluster_id = ? AND workload_id = ?", key).fetchone()
    if old and (_is_newer(old, seen_at) or old["snapshot"] == text):
        return
    if old and WorkloadPhase(old["phase"]).is_final and not workload.phase.is_final:
        return
    c.execute(
        "INSERT INTO workloads VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (identity, cluster_id, workload_id) "
        "DO UPDATE SET phase = ?4, snapshot = ?5, changed_at = ?6",
        (*key, workload.phase, text, utc_now().isoformat()),
    )
    before = old["phase"] if old else None
    if before != workload.phase:
        _add_transition(
            c, identity, "workload", workload.workload_id, workload.name, before, workload.phase, workload.reason
        )


def _count_missing(c: sqlite3.Connection, identity: str, seen: Listing[Cluster]) -> list[Cluster]:
    present = {cluster.cluster_id for cluster in seen.items}
    rows = c.execute("SELECT * FROM clusters WHERE identity = ? AND phase != 'deleted'", (identity,)).fetchall()
    vanished = []
    for row in rows:
        if row["cluster_id"] in present or _is_newer(row, seen.observed_at):
            continue
        if row["missed"] + 1 >= GONE_AFTER_MISSES:
            vanished.append(_cluster(row["snapshot"]))
        c.execute(
            "UPDATE clusters SET missed = missed + 1 WHERE identity = ? AND cluster_id = ?",
            (identity, row["cluster_id"]),
        )
    return vanished


def _drop_missing_workloads(c: sqlite3.Connection, identity: str, seen: Listing[Workload]) -> None:
    """A complete listing no longer has them: ended ones are forgotten, live ones become unknown."""
    present = {(workload.cluster_id, workload.workload_id) for workload in seen.items}
    rows = c.execute("SELECT rowid, * FROM workloads WHERE identity = ?", (identity,)).fetchall()
    for row in rows:
        workload = _workload(row["snapshot"])
        if (workload.cluster_id, workload.workload_id) in present or _is_newer(row, seen.observed_at):
            continue
        if workload.phase.is_final:
            c.execute("DELETE FROM workloads WHERE rowid = ?", (row["rowid"],))
        elif workload.phase is not WorkloadPhase.UNKNOWN:
            lost = {"phase": WorkloadPhase.UNKNOWN, "reason": "The provider no longer lists it."}
            _put_workload(c, identity, workload.model_copy(update=lost))


def _is_newer(row: sqlite3.Row, seen_at: datetime | None) -> bool:
    """Whether `row` was recorded after the look at `seen_at` had begun."""
    return seen_at is not None and datetime.fromisoformat(row["changed_at"]) > seen_at


def _put_look(c: sqlite3.Connection, identity: str, clusters: Listing[Cluster], workloads: Listing[Workload]) -> None:
    not_seen = json.dumps([*clusters.not_seen, *workloads.not_seen])
    is_complete = clusters.is_complete and workloads.is_complete
    c.execute(
        "INSERT INTO looks VALUES (?1, ?2, ?3, ?4, NULL) ON CONFLICT (identity) "
        "DO UPDATE SET observed_at = ?2, is_complete = ?3, not_seen = ?4, failure = NULL",
        (identity, clusters.observed_at.isoformat(), is_complete, not_seen),
    )


def _check_epoch(c: sqlite3.Connection, identity: str, epoch: int | None) -> None:
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


def _prune(c: sqlite3.Connection) -> None:
    c.execute("DELETE FROM transitions WHERE seq <= (SELECT max(seq) FROM transitions) - ?", (_KEPT_TRANSITIONS,))
    c.execute(
        "DELETE FROM workloads WHERE phase IN ('succeeded', 'failed', 'cancelled') AND rowid NOT IN (SELECT rowid "
        "FROM workloads WHERE phase IN ('succeeded', 'failed', 'cancelled') ORDER BY changed_at DESC LIMIT ?)",
        (_KEPT_ENDED_WORKLOADS,),
    )

"""What every kernel and the Jupyter server of one user know: orders, last known snapshots, transitions, leases.

Two authorities, one face: the intent files (`claims`) decide what was started, the database remembers what was
seen. Rows are keyed by the remote identity. Nothing secret comes in here; plans arrive already masked.
Methods block for a disk write or two; the service calls them on worker threads.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from . import rows
from .claims import Claims
from .database import Database
from .models import (
    Cluster,
    ClusterPhase,
    Failure,
    Listing,
    Order,
    OrderState,
    Transition,
    Workload,
    utc_now,
)
from .paths import data_dir, salt_in

_FILE = "journal.sqlite"
_NOTICE_FOR_S = 86_400
KEPT_FOR = timedelta(minutes=5)
"""How long ago a Jupyter server must have shown that it can reach an identity, to be trusted with its end times."""


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


def has_journal() -> bool:
    """Whether this user has a journal at all; looks at the folder only."""
    return (data_dir() / _FILE).exists()


class Journal:
    """The journal of one user in `folder` (created at first use, mode 0700)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.claims = Claims(folder)
        self.database = Database(folder / _FILE)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        self.database.close()

    def journal_id(self) -> str:
        """Eight hex digits that tell this journal from a colleague's or another machine's."""
        return self._meta("journal_id")

    def salt(self) -> bytes:
        """The salt of digests; differs per journal, and survives the loss of the database."""
        return salt_in(self.folder)

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

    def tick(self) -> int:
        """Grows with every recorded change of a cluster or workload."""
        return self.database.read(rows.tick)

    # Orders

    def put_order(self, order: Order) -> None:
        """Mirror an order into the database."""
        self.database.write(lambda c: rows.put_order(c, order))

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
        return rows.read_order(row["body"]) if row else None

    def open_orders(self, identity_key: str | None = None) -> list[Order]:
        """Orders whose outcome nobody has confirmed, oldest first."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE state IN ('open', 'not_seen') AND (?1 IS NULL OR identity = ?1) "
                "ORDER BY rowid LIMIT 1000",
                (identity_key,),
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def late_arrivals(self) -> list[Order]:
        """Orders that the user had closed and that made something after all, the newest first."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE state = 'done' AND json_extract(body, '$.is_late') "
                "ORDER BY rowid DESC LIMIT 100"
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def late_orders(self, identity_key: str) -> list[Order]:
        """Orders closed in the last 30 days whose marks may still appear."""
        return self._orders_since(
            identity_key, "state = 'closed' AND json_extract(body, '$.verb') IN ('create', 'submit')", rows.LATE_FOR
        )

    def fulfilled_deletes(self, identity_key: str) -> list[Order]:
        """Wishes to delete that were fulfilled in the last day."""
        where = "state = 'done' AND json_extract(body, '$.verb') = 'delete'"
        return self._orders_since(identity_key, where, rows.STRAGGLERS_FOR)

    def _orders_since(self, identity_key: str, where: str, age: timedelta) -> list[Order]:
        found = self.database.read(
            lambda c: c.execute(
                f"SELECT body FROM orders WHERE identity = ? AND {where} AND json_extract(body, '$.created_at') > ? "
                "ORDER BY rowid DESC LIMIT 1000",
                (identity_key, (utc_now() - age).isoformat()),
            ).fetchall()
        )
        return [rows.read_order(row["body"]) for row in found]

    def members(self, identity_key: str) -> dict[str, tuple[str, ...]]:
        """Cluster id -> ids of the nodes that the answer to its order named."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT body FROM orders WHERE identity = ? AND json_extract(body, '$.members[0]') IS NOT NULL",
                (identity_key,),
            ).fetchall()
        )
        orders = [rows.read_order(row["body"]) for row in found]
        return {remote_id: order.members for order in orders for remote_id in order.remote_ids}

    def restore_orders(self) -> None:
        """Copy orders that only the intent files know into the database (after a crash or a lost database)."""
        known = set(self._order_ids())
        lost = [order for order in self.claims.all() if order.order_id not in known]
        if lost:
            self.database.write(lambda c: rows.put_orders(c, lost))

    def _order_ids(self) -> list[str]:
        found = self.database.read(lambda c: c.execute("SELECT order_id FROM orders").fetchall())
        return [str(row[0]) for row in found]

    # What was seen

    def clusters(self, identity_keys: Iterable[str]) -> list[Cluster]:
        """Clusters of these identities that are not known to be gone."""
        found = self._rows("clusters", "phase != 'deleted'", identity_keys)
        return [rows.read_cluster(row["snapshot"]) for row in found]

    def clusters_elsewhere(self, identity_keys: Iterable[str]) -> list[Cluster]:
        """Clusters of all other identities that are not known to be gone."""
        keys = tuple(identity_keys)
        marks = ", ".join("?" * len(keys))
        statement = f"SELECT snapshot FROM clusters WHERE phase != 'deleted' AND identity NOT IN ({marks}) LIMIT 1000"
        found = self.database.read(lambda c: c.execute(statement, keys).fetchall())
        return [rows.read_cluster(row["snapshot"]) for row in found]

    def workloads(self, identity_keys: Iterable[str]) -> list[Workload]:
        """Workloads on clusters that are not known to be gone, newest first."""
        found = self._rows("workloads", "1", identity_keys)
        return sorted((rows.read_workload(row["snapshot"]) for row in found), key=rows.submitted_key, reverse=True)

    def cluster(self, identity_key: str, cluster_id: str) -> Cluster | None:
        """The last snapshot of one cluster, also of one that is gone."""
        row = self.database.read(
            lambda c: c.execute(
                "SELECT snapshot FROM clusters WHERE identity = ? AND cluster_id = ?", (identity_key, cluster_id)
            ).fetchone()
        )
        return rows.read_cluster(row["snapshot"]) if row else None

    def workload(self, identity_key: str, workload_id: str) -> Workload | None:
        """The last snapshot of one workload."""
        row = self.database.read(
            lambda c: c.execute(
                "SELECT snapshot FROM workloads WHERE identity = ? AND workload_id = ?", (identity_key, workload_id)
            ).fetchone()
        )
        return rows.read_workload(row["snapshot"]) if row else None

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

    def known_cluster(self, identity_key: str, cluster: Cluster) -> Cluster:
        """The cluster under the name it was ordered by, with its order, if one of ours made it."""
        return self.database.read(lambda c: rows.Owners(c, identity_key).known(cluster))

    def known_workload(self, identity_key: str, workload: Workload) -> Workload:
        """The workload under the name it was ordered by, if one of our orders made it."""
        return self.database.read(lambda c: rows.Owners(c, identity_key).known_workload(workload))

    def order_of(self, identity_key: str, thing: Cluster | Workload) -> Order | None:
        """The order of this journal that made it."""
        return self.database.read(lambda c: rows.Owners(c, identity_key).order_of(thing))

    def put_cluster(self, identity_key: str, cluster: Cluster, detail: str | None = None) -> None:
        """Record one cluster as just seen."""
        self.database.write(lambda c: rows.put_cluster(c, identity_key, cluster, detail))

    def put_workload(self, identity_key: str, workload: Workload) -> None:
        """Record one workload as just seen."""
        self.database.write(lambda c: rows.put_workload(c, identity_key, workload))

    def drop_cluster(self, identity_key: str, cluster: Cluster, detail: str) -> None:
        """Record that a cluster is proven gone, with its workloads."""
        gone = cluster.model_copy(update={"phase": ClusterPhase.DELETED, "reason": detail})

        def work(c: sqlite3.Connection) -> None:
            rows.put_cluster(c, identity_key, gone, detail)
            c.execute("DELETE FROM timers WHERE identity = ? AND cluster_id = ?", (identity_key, cluster.cluster_id))
            c.execute("DELETE FROM workloads WHERE identity = ? AND cluster_id = ?", (identity_key, cluster.cluster_id))

        self.database.write(work)

    def mark_vanished(self, identity_key: str, cluster: Cluster) -> bool:
        """Keep a cluster that went without our wish in sight for a day; whether that is over."""
        return self.database.write(lambda c: rows.mark_vanished(c, identity_key, cluster))

    def record_look(
        self,
        identity_key: str,
        clusters: Listing[Cluster],
        workloads: Listing[Workload],
        *,
        since: int | None = None,
        epoch: int | None = None,
    ) -> list[Cluster]:
        """Record one whole look at a provider; returns the clusters that have now vanished.

        A cluster counts as vanished after it was missing from two complete listings in a row; an incomplete
        listing proves nothing, and no listing overrules what was recorded after it began (at tick `since`). With
        `epoch`, the write happens only while that lease is still held.

        Raises
        ------
        LeaseLostError : another process polls this identity now.
        """

        def work(c: sqlite3.Connection) -> list[Cluster]:
            rows.check_epoch(c, identity_key, epoch)
            owners = rows.Owners(c, identity_key)
            for cluster in clusters.items:
                rows.put_cluster(c, identity_key, cluster, None, since, owners)
            for workload in workloads.items:
                rows.put_workload(c, identity_key, workload, since, owners)
            vanished = rows.count_missing(c, identity_key, clusters, since) if clusters.is_complete else []
            if workloads.is_complete:
                rows.drop_missing_workloads(c, identity_key, workloads, since)
            rows.put_look(c, identity_key, clusters, workloads)
            rows.prune(c)
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
        found = self.database.read(
            lambda c: c.execute(
                "SELECT * FROM transitions WHERE seq > ? ORDER BY seq LIMIT ?", (after_seq, limit)
            ).fetchall()
        )
        return [rows.read_transition(row) for row in found]

    # End times that we keep ourselves

    def set_timer(self, identity_key: str, cluster_id: str, ends_at: datetime | None) -> None:
        """From then on the cluster is to be deleted; ``None``: it has no end."""

        def work(c: sqlite3.Connection) -> None:
            c.execute("DELETE FROM timers WHERE identity = ? AND cluster_id = ?", (identity_key, cluster_id))
            if ends_at is not None:
                c.execute("INSERT INTO timers VALUES (?, ?, ?)", (identity_key, cluster_id, ends_at.isoformat()))

        self.database.write(work)

    def timers(self) -> dict[tuple[str, str], datetime]:
        """(identity, cluster id) -> when it is to be deleted."""
        found = self.database.read(lambda c: c.execute("SELECT * FROM timers").fetchall())
        return {(row["identity"], row["cluster_id"]): datetime.fromisoformat(row["ends_at"]) for row in found}

    def overdue(self, identity_key: str) -> list[Cluster]:
        """Clusters whose time is over, as last seen."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT snapshot FROM clusters JOIN timers USING (identity, cluster_id) "
                "WHERE identity = ? AND phase != 'deleted' AND ends_at <= ?",
                (identity_key, utc_now().isoformat()),
            ).fetchall()
        )
        return [rows.read_cluster(row["snapshot"]) for row in found]

    def keep(self, identity_key: str) -> None:
        """The Jupyter server can reach this identity and sees to its end times."""
        self.database.write(
            lambda c: c.execute("INSERT OR REPLACE INTO keepers VALUES (?, ?)", (identity_key, utc_now().isoformat()))
        )

    def kept(self) -> frozenset[str]:
        """Identities whose end times a Jupyter server has been seeing to in the last minutes."""
        since = (utc_now() - KEPT_FOR).isoformat()
        found = self.database.read(lambda c: c.execute("SELECT identity FROM keepers WHERE seen_at > ?", (since,)))
        return frozenset(row["identity"] for row in found.fetchall())

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

    def give_up_lease(self, identity_key: str, holder: str) -> None:
        """Let another process poll at once, if `holder` has the lease."""
        self.database.write(
            lambda c: c.execute(
                "UPDATE leases SET holder = '', beat = 0 WHERE identity = ? AND holder = ?", (identity_key, holder)
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

"""The journal's part about what was seen: last known snapshots, looks, and the timeline."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from . import rows
from .database import Database
from .ledger import Commitment, Span, read_commitments, read_spans
from .models import Cluster, ClusterPhase, Failure, Listing, Order, Transition, Workload


@dataclass(frozen=True, slots=True)
class Look:
    """When an identity's list was last read, and what went wrong if it could not be."""

    observed_at: datetime | None = None
    is_complete: bool = True
    not_seen: tuple[str, ...] = ()
    failure: Failure | None = None


class SeenRecords:
    """Rows of clusters, workloads and looks."""

    database: Database

    def clusters(self, identity_keys: Iterable[str]) -> list[Cluster]:
        """Clusters of these identities that are not known to be gone."""
        found = self._rows("clusters", "phase != 'deleted'", identity_keys)
        return [rows.read_cluster(row["snapshot"]) for row in found]

    def deleted_clusters(self, identity_keys: Iterable[str]) -> list[Cluster]:
        """Clusters of these identities that are proven gone, the latest first."""
        found = self._rows("clusters", "phase = 'deleted'", identity_keys)
        return [rows.read_cluster(row["snapshot"]) for row in reversed(found)]

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

    def orders_of(self, identity_key: str, clusters: Sequence[Cluster]) -> list[tuple[Cluster, Order | None]]:
        """Each cluster with the order of this journal that made it."""

        def work(c: sqlite3.Connection) -> list[tuple[Cluster, Order | None]]:
            owners = rows.Owners(c, identity_key)
            return [(cluster, owners.order_of(cluster)) for cluster in clusters]

        return self.database.read(work)

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

    def costs(self) -> tuple[list[Span], list[Commitment], list[Order]]:
        """What was billed under all identities, and the orders that may bill."""

        def work(c: sqlite3.Connection) -> tuple[list[Span], list[Commitment], list[Order]]:
            found = c.execute("SELECT body FROM orders WHERE state IN ('open', 'not_seen')").fetchall()
            return read_spans(c), read_commitments(c), [rows.read_order(row["body"]) for row in found]

        return self.database.read(work)

    def transitions(self, after_seq: int = 0, limit: int = 1000) -> list[Transition]:
        """Entries of the timeline after `after_seq`, oldest first."""
        found = self.database.read(
            lambda c: c.execute(
                "SELECT * FROM transitions WHERE seq > ? ORDER BY seq LIMIT ?", (after_seq, limit)
            ).fetchall()
        )
        return [rows.read_transition(row) for row in found]

    def _rows(self, table: str, where: str, identity_keys: Iterable[str]) -> list[sqlite3.Row]:
        keys = tuple(identity_keys)
        marks = ", ".join("?" * len(keys))
        statement = f"SELECT snapshot FROM {table} WHERE {where} AND identity IN ({marks}) ORDER BY rowid"
        return self.database.read(lambda c: c.execute(statement, keys).fetchall())

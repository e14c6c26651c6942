"""The journal's part about who does something when: end times that we keep ourselves, and leases."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from . import rows
from .database import Database
from .models import Cluster, utc_now

KEPT_FOR = timedelta(minutes=5)
"""How long ago a Jupyter server must have shown that it can reach an identity, to be trusted with its end times."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who polls an identity. A stale ``epoch`` cannot write; ``pokes`` grows when somebody wants fresh data."""

    epoch: int
    holder: str
    beat: int
    pokes: int


class EndRecords:
    """Rows of end times."""

    database: Database

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


class LeaseRecords:
    """Rows of leases."""

    database: Database

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

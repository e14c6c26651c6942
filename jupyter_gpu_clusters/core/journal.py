"""What every kernel and the Jupyter server of one user know: orders, last known snapshots, transitions, leases.

Two authorities, one face: the intent files (`claims`) decide what was started, the database remembers what was
seen. Rows are keyed by the remote identity. Nothing secret comes in here; plans arrive already masked.
Methods block for a disk write or two; the service calls them on worker threads.
"""

from __future__ import annotations

import time
from pathlib import Path

from . import rows
from .claims import Claims
from .database import Database
from .journal_orders import OrderRecords
from .journal_seen import SeenRecords
from .journal_times import EndRecords, LeaseRecords
from .paths import data_dir, salt_in

_FILE = "journal.sqlite"
_NOTICE_FOR_S = 86_400


def has_journal() -> bool:
    """Whether this user has a journal at all; looks at the folder only."""
    return (data_dir() / _FILE).exists()


class Journal(OrderRecords, SeenRecords, EndRecords, LeaseRecords):
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

    def _meta(self, key: str) -> str:
        row = self.database.read(lambda c: c.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone())
        return str(row["value"])

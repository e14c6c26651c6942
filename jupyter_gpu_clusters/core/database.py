"""One SQLite file shared by every kernel and the Jupyter server of one user.

Short transactions on one connection, guarded by a lock, retried while another process writes. WAL only where
the file system is known to be local. A database of a newer release is refused; one that is truly corrupt is set
aside under a lock file and started anew.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from .errors import JournalBusyError, JournalError, JournalVersionError
from .locks import file_lock, has_locks
from .paths import make_private

T = TypeVar("T")

BUSY_AFTER_S = 5.0

_FIRST = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE orders (
    order_id TEXT PRIMARY KEY, identity TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX orders_by_state ON orders (state, identity);
CREATE TABLE clusters (
    identity TEXT NOT NULL, cluster_id TEXT NOT NULL, phase TEXT NOT NULL, snapshot TEXT NOT NULL,
    missed INTEGER NOT NULL DEFAULT 0, changed_at TEXT NOT NULL, PRIMARY KEY (identity, cluster_id));
CREATE TABLE workloads (
    identity TEXT NOT NULL, cluster_id TEXT NOT NULL, workload_id TEXT NOT NULL, phase TEXT NOT NULL,
    snapshot TEXT NOT NULL, changed_at TEXT NOT NULL, PRIMARY KEY (identity, cluster_id, workload_id));
CREATE TABLE looks (
    identity TEXT PRIMARY KEY, observed_at TEXT, is_complete INTEGER NOT NULL DEFAULT 1,
    not_seen TEXT NOT NULL DEFAULT '[]', failure TEXT);
CREATE TABLE transitions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, identity TEXT NOT NULL, kind TEXT NOT NULL,
    object_id TEXT NOT NULL, name TEXT NOT NULL, before TEXT, after TEXT NOT NULL, detail TEXT);
CREATE TABLE leases (
    identity TEXT PRIMARY KEY, epoch INTEGER NOT NULL, holder TEXT NOT NULL, beat INTEGER NOT NULL,
    pokes INTEGER NOT NULL DEFAULT 0);
"""
_SPEND_AND_ENDS = """
ALTER TABLE clusters ADD COLUMN missed_at TEXT;
ALTER TABLE clusters ADD COLUMN missed_on TEXT;
ALTER TABLE clusters ADD COLUMN tick INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workloads ADD COLUMN tick INTEGER NOT NULL DEFAULT 0;
UPDATE clusters SET missed = 1 WHERE phase != 'deleted';
INSERT INTO meta VALUES ('tick', '0');
CREATE TABLE spans (
    span_id INTEGER PRIMARY KEY, identity TEXT NOT NULL, cluster_id TEXT NOT NULL, name TEXT NOT NULL,
    account TEXT NOT NULL, provider TEXT NOT NULL, began TEXT NOT NULL, ended TEXT, billing TEXT NOT NULL,
    per_hour TEXT, currency TEXT, is_free INTEGER NOT NULL, nodes INTEGER NOT NULL, detail TEXT);
CREATE INDEX spans_by_cluster ON spans (cluster_id);
CREATE TABLE commitments (
    identity TEXT NOT NULL, cluster_id TEXT NOT NULL, account TEXT NOT NULL, provider TEXT NOT NULL,
    name TEXT NOT NULL, at TEXT NOT NULL, amount TEXT NOT NULL, currency TEXT NOT NULL, days INTEGER,
    PRIMARY KEY (identity, cluster_id));
CREATE TABLE timers (
    identity TEXT NOT NULL, cluster_id TEXT NOT NULL, ends_at TEXT NOT NULL, PRIMARY KEY (identity, cluster_id));
CREATE TABLE keepers (identity TEXT PRIMARY KEY, seen_at TEXT NOT NULL);
"""
_MIGRATIONS = (_FIRST, _SPEND_AND_ENDS)
"""What leads from each format to the next; number 0 is an empty file."""

SCHEMA_VERSION = len(_MIGRATIONS)

_JSON_COLUMNS = (("orders", "body"), ("clusters", "snapshot"), ("workloads", "snapshot"))

_MISREAD = "the journal is damaged"
_DAMAGED_TEXT = ("Could not decode", "malformed JSON", _MISREAD)
_LOCAL_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay"})


class Database:
    """The file, its connection and its transactions. Methods block; call them off the event loop."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self.writes = 0

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` against a consistent view of the file."""
        return self._guarded(work)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one immediate transaction; all of it happens or none.

        Raises
        ------
        JournalBusyError : another process held the file for more than 5 s.
        JournalVersionError : a newer release wrote the file.
        JournalError : it cannot be written (full disk, read-only folder).
        """

        def transaction(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            try:
                _version(connection, self.path)
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

        result = self._guarded(transaction)
        self.writes += 1
        return result

    def change_mark(self) -> tuple[int, int]:
        """Two numbers that differ from their last values when anybody has written meanwhile."""
        version = self._guarded(lambda connection: connection.execute("PRAGMA data_version").fetchone()[0])
        return int(version), self.writes

    def _guarded(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, _plain_errors(self.path):
            try:
                return work(self._open())
            except sqlite3.DatabaseError as exc:
                if not _is_corrupt(exc):
                    raise
                self.close()
                _set_aside(self.path)
                return work(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and _file_id(self.path) == self._file:
            return self._connection
        self.close()
        make_private(self.path.parent)
        with _only_one(self.path):
            connection = _connect(self.path)
            try:
                _migrate(connection, self.path)
                _check(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._file = connection, _file_id(self.path)
        return connection


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Keep others from making, changing to WAL, migrating or setting aside the file meanwhile."""
    with file_lock(path.with_suffix(".lock"), within_s=BUSY_AFTER_S):
        yield


def _connect(path: Path) -> sqlite3.Connection:
    with suppress(FileExistsError):  # opening and closing a file that is there would drop SQLite's locks on it
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_AFTER_S, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    try:
        _version(connection, path)
        connection.execute(f"PRAGMA journal_mode = {'WAL' if _is_on_local_disk(path) else 'DELETE'}")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection, path) == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    version = _version(connection, path)
    for migration in _MIGRATIONS[version:]:
        for statement in migration.split(";"):
            connection.execute(statement)
    if version == 0:
        connection.execute("INSERT INTO meta VALUES ('journal_id', ?)", (os.urandom(4).hex(),))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _check(connection: sqlite3.Connection) -> None:
    """Fail like SQLite where damage would be misread without an error: a row missing in an index, text cut short."""
    is_whole = connection.execute("PRAGMA integrity_check('orders')").fetchone()[0] == "ok"
    has_tick = connection.execute("SELECT 1 FROM meta WHERE key = 'tick'").fetchone() is not None
    if not is_whole or not has_tick or _has_damaged_text(connection):
        raise sqlite3.DatabaseError(_MISREAD)


def _has_damaged_text(connection: sqlite3.Connection) -> bool:
    """Whether some text that should be JSON is none; reading it fails where it is not even text."""
    return any(
        not row[1]
        for table, column in _JSON_COLUMNS
        for row in connection.execute(f"SELECT {column}, json_valid({column}) FROM {table}")
    )


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise JournalVersionError(
            f"The journal {path} was written by a newer release (its format is {version}, this one knows "
            f"{SCHEMA_VERSION}); it was left untouched.",
            hint="Upgrade here (pip install --upgrade jupyter-gpu-clusters) and restart kernel and server; nothing was "
            "sent.",
        )
    return version


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino


def _is_corrupt(exc: sqlite3.DatabaseError) -> bool:
    """Whether the file may be damaged; text that is none has no code of SQLite's, or only its general one."""
    code = _code(exc)
    damaged_text = code in (0, sqlite3.SQLITE_ERROR) and any(words in str(exc) for words in _DAMAGED_TEXT)
    return damaged_text or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(exc: sqlite3.Error) -> int:
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF


def _set_aside(path: Path) -> None:
    """Rename a corrupt file with its side files; whoever comes second finds the new file in place."""
    with _only_one(path):
        if _is_sound(path):
            return
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        for suffix in ("", "-wal", "-shm", "-journal"):
            side = path.with_name(path.name + suffix)
            if side.exists():
                side.rename(path.with_name(f"{path.stem}.corrupt-{stamp}{path.suffix}{suffix}"))


def _is_sound(path: Path) -> bool:
    connection = sqlite3.connect(path, timeout=BUSY_AFTER_S)
    try:
        answer = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        return answer == "ok" and not _has_damaged_text(connection)
    except sqlite3.DatabaseError as exc:
        if not _is_corrupt(exc):
            raise
        return False
    finally:
        connection.close()


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    """SQLite's and the system's words as sentences of ours. What was sent, the caller knows."""
    try:
        yield
    except TimeoutError as exc:
        raise JournalBusyError(
            f"Another process has been opening or repairing the journal {path} for more than {BUSY_AFTER_S:.0f} s.",
            hint="Run it again.",
        ) from exc
    except sqlite3.DatabaseError as exc:
        if _code(exc) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
            raise _busy(path) from exc
        raise _unusable(path, str(exc)) from exc
    except OSError as exc:
        raise _unusable(path, exc.strerror or str(exc)) from exc


def _busy(path: Path) -> JournalError:
    """SQLite calls a file system without locks busy, too."""
    if not has_locks(path.with_suffix(".lock")):
        return JournalError(
            f"The journal {path} cannot be shared safely: its file system keeps no locks.",
            hint="Set JUPYTER_DATA_DIR to a folder on a disk with locks and start anew; nothing that costs was sent.",
        )
    return JournalBusyError(
        f"Another process holds the journal {path} for more than {BUSY_AFTER_S:.0f} s; nothing was changed in it.",
        hint="Run it again; if it stays so, stop the process that holds the file.",
    )


def _unusable(path: Path, reason: str) -> JournalError:
    way_out = "Move that folder away" if path.is_dir() else "Make room on that disk or make the folder writable"
    return JournalError(
        f"The journal {path} cannot be used ({reason}).",
        hint=f"{way_out}, then run it again; nothing that costs was sent.",
    )


def _is_on_local_disk(path: Path) -> bool:
    """Whether the file system is one that is known to be local; unknown is "no"."""
    try:
        mounts = _mounts(Path("/proc/self/mounts").read_text())
    except OSError:
        return False
    folder = path.parent.resolve()
    best = max((point for point in mounts if folder.is_relative_to(point)), key=lambda p: len(p.parts), default=None)
    return best is not None and mounts[best] in _LOCAL_FILE_SYSTEMS


def _mounts(text: str) -> Mapping[Path, str]:
    rows = (line.split() for line in text.splitlines())
    return {Path(row[1].replace("\\040", " ")): row[2] for row in rows if len(row) > 2}

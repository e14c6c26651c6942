from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import database as module
from jupyter_gpu_clusters.core.database import SCHEMA_VERSION, Database
from jupyter_gpu_clusters.core.errors import JournalBusyError, JournalError, JournalVersionError
from jupyter_gpu_clusters.core.journal import Journal

from . import make


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "journal.sqlite")
    yield opened
    opened.close()


def test_the_file_is_private_and_has_the_schema(database: Database) -> None:
    assert database.read(lambda c: c.execute("PRAGMA user_version").fetchone()[0]) == SCHEMA_VERSION
    assert database.path.stat().st_mode & 0o777 == 0o600
    assert database.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_failing_transaction_leaves_nothing(database: Database) -> None:
    def work(c: sqlite3.Connection) -> None:
        c.execute("INSERT INTO meta VALUES ('x', 'y')")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.write(work)
    assert database.read(lambda c: c.execute("SELECT count(*) FROM meta WHERE key = 'x'").fetchone()[0]) == 0


def test_a_journal_of_a_newer_release_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.execute("CREATE TABLE theirs (x)")
    newer.commit()
    newer.close()
    before = path.read_bytes()
    database = Database(path)
    with pytest.raises(JournalVersionError, match="newer release"):
        database.read(lambda c: c.execute("SELECT 1"))
    with pytest.raises(JournalVersionError):
        database.write(lambda c: c.execute("DROP TABLE theirs"))
    assert path.read_bytes() == before


def test_a_release_that_migrates_meanwhile_is_noticed_before_the_next_write(database: Database) -> None:
    database.write(lambda c: c.execute("INSERT INTO meta VALUES ('x', 'y')"))
    newer = sqlite3.connect(database.path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(JournalVersionError, match="newer release"):
        database.write(lambda c: c.execute("INSERT INTO meta VALUES ('z', 'y')"))
    with sqlite3.connect(database.path) as look:
        assert look.execute("SELECT count(*) FROM meta WHERE key = 'z'").fetchone() == (0,)
    look.close()


def test_a_journal_locked_by_another_process_is_busy_not_broken(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_AFTER_S", 0.3)
    database.write(lambda c: c.execute("INSERT INTO meta VALUES ('x', 'y')"))
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(database.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "held"
    other = Database(database.path)
    with pytest.raises(JournalBusyError, match="Another process holds"):
        other.write(lambda c: c.execute("INSERT INTO meta VALUES ('z', 'y')"))
    holder.communicate("\n", timeout=10)
    other.write(lambda c: c.execute("INSERT INTO meta VALUES ('z', 'y')"))
    other.close()
    assert list(database.path.parent.glob("*corrupt*")) == []


@pytest.mark.parametrize("rubbish", [b"this is no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_corrupt_journal_is_set_aside_and_orders_come_back_from_their_files(tmp_path: Path, rubbish: bytes) -> None:
    journal = Journal(tmp_path)
    order = make.order()
    journal.claims.claim(order)
    journal.put_order(order)
    journal.close()
    for side in tmp_path.glob("journal.sqlite-*"):
        side.unlink()
    journal.database.path.write_bytes(rubbish)
    journal.restore_orders()
    assert journal.open_orders() == [order]
    aside = list(tmp_path.glob("journal.corrupt-*.sqlite"))
    assert [path.read_bytes() for path in aside] == [rubbish]
    assert any(aside[0].name in notice for notice in journal.notices())
    journal.close()


def test_a_damaged_page_in_the_middle_is_noticed_at_use(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for index in range(400):
        journal.put_cluster(make.IDENTITY, make.cluster(cluster_id=f"c{index}", name="n" * 200))
    journal.database.write(lambda c: c.execute("DELETE FROM meta WHERE key = 'nothing'"))
    journal.database.read(lambda c: c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    journal.close()
    data = bytearray(journal.database.path.read_bytes())
    data[8192:-4096] = os.urandom(len(data) - 12288)
    journal.database.path.write_bytes(bytes(data))
    journal.restore_orders()
    assert journal.clusters([make.IDENTITY]) == []
    assert len(list(tmp_path.glob("journal.corrupt-*.sqlite"))) == 1
    journal.close()


def test_a_file_replaced_behind_our_back_is_opened_anew(database: Database) -> None:
    database.write(lambda c: c.execute("INSERT INTO meta VALUES ('x', 'y')"))
    for side in database.path.parent.glob("journal.sqlite*"):
        side.unlink()
    database.write(lambda c: c.execute("INSERT INTO meta VALUES ('fresh', 'y')"))
    keys = database.read(lambda c: [row[0] for row in c.execute("SELECT key FROM meta")])
    assert "fresh" in keys
    assert "x" not in keys


def test_a_write_by_another_connection_changes_the_mark(database: Database) -> None:
    other = Database(database.path)
    before = database.change_mark()
    assert database.change_mark() == before
    other.write(lambda c: c.execute("INSERT INTO meta VALUES ('x', 'y')"))
    other.close()
    assert database.change_mark() != before


def test_wal_is_used_only_on_file_systems_known_to_be_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mode(folder: Path) -> str:
        database = Database(folder / "journal.sqlite")
        answer = database.read(lambda c: str(c.execute("PRAGMA journal_mode").fetchone()[0]))
        database.close()
        return answer

    monkeypatch.setattr(module, "_mounts", lambda text: {Path("/"): "ext4"})
    assert mode(tmp_path / "local") == "wal"
    monkeypatch.setattr(module, "_mounts", lambda text: {Path("/"): "ext4", tmp_path: "nfs4"})
    assert mode(tmp_path / "home") == "delete"


def test_a_folder_that_is_a_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("in the way")
    with pytest.raises(JournalError, match="nothing that costs was sent"):
        Database(tmp_path / "journal" / "journal.sqlite").read(lambda c: c.execute("SELECT 1"))


def test_mount_points_with_spaces_are_read() -> None:
    assert module._mounts("dev /with\\040space ext4 rw 0 0\n") == {Path("/with space"): "ext4"}

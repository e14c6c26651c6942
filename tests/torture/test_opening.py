"""Many processes that open, repair and close one journal at the same moment."""

from __future__ import annotations

import os
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.claims import Claims
from jupyter_gpu_clusters.core.database import Database
from jupyter_gpu_clusters.core.journal import Journal
from tests.core import make

from .children import CONTEXT, in_child

MANY = 6


def put_one(folder: Path, number: int, start: Barrier) -> None:
    start.wait(60)
    journal = Journal(folder)
    journal.put_order(make.order(order_id=f"o{number}", name=f"n{number}"))
    journal.close()


def all_put(folder: Path) -> set[str]:
    """What is in the journal after many put one order each at the same moment."""
    start = CONTEXT.Barrier(MANY)
    processes = [CONTEXT.Process(target=put_one, args=(folder, number, start)) for number in range(MANY)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * MANY
    journal = Journal(folder)
    found = {order.order_id for order in journal.open_orders()}
    journal.close()
    return found


@pytest.mark.parametrize("attempt", range(4))
def test_a_journal_that_many_create_at_once_is_one(tmp_path: Path, attempt: int) -> None:
    assert all_put(tmp_path / "journal") == {f"o{number}" for number in range(MANY)}


@pytest.mark.parametrize("attempt", range(4))
def test_a_corrupt_journal_that_many_find_at_once_is_set_aside_once(tmp_path: Path, attempt: int) -> None:
    rubbish = os.urandom(20_000)
    (tmp_path / "journal.sqlite").write_bytes(rubbish)
    assert all_put(tmp_path) == {f"o{number}" for number in range(MANY)}
    aside = list(tmp_path.glob("journal.corrupt-*.sqlite"))
    assert [path.read_bytes() for path in aside] == [rubbish]


def test_what_a_kill_left_half_written_is_removed_after_an_hour_and_not_before(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    claims.claim(make.order())
    old, young = (tmp_path / "intents" / f".x.json.{pid}.abcd" for pid in (1, 2))
    for scratch in (old, young):
        scratch.write_bytes(b"{")
    os.utime(old, (0, 0))
    claims.release(make.order())
    assert (old.exists(), young.exists()) == (False, True)


def opened_and_closed(path: Path) -> bool:
    """Whether a process that comes and goes leaves the log of the others in place."""
    database = Database(path)
    database.read(lambda c: c.execute("SELECT count(*) FROM meta").fetchone())
    database.close()
    return path.with_name(f"{path.name}-wal").exists()


def test_a_second_user_of_the_file_in_one_process_does_not_take_the_locks_of_the_first(tmp_path: Path) -> None:
    first, second = Database(tmp_path / "journal.sqlite"), Database(tmp_path / "journal.sqlite")
    first.write(lambda c: c.execute("INSERT INTO meta VALUES ('first', '')"))
    second.read(lambda c: c.execute("SELECT count(*) FROM meta").fetchone())
    second.close()
    assert in_child(opened_and_closed, first.path)
    first.close()

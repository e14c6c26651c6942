"""Files that are cut, overwritten, replaced or taken away, at rest and in use: sentences, and nothing bought twice."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import OrderState
from tests.core import make

from .buying import Outcome, buy, hide, look_again, lose_answer
from .children import in_child
from .disks import make_read_only, mounted

Damage = Callable[[Path], object]


def database(folder: Path) -> Path:
    return folder / "journal.sqlite"


def intent(folder: Path, name: str) -> Path:
    return next(p for p in (folder / "intents").glob("*.json") if f'"name": "{name}"' in p.read_text())


def rubbish(folder: Path) -> None:
    database(folder).write_bytes(os.urandom(20_000))


def emptied(folder: Path) -> None:
    database(folder).write_bytes(b"")


def cut(folder: Path) -> None:
    database(folder).write_bytes(database(folder).read_bytes()[: database(folder).stat().st_size // 2 + 100])


def middle(folder: Path) -> None:
    data = bytearray(database(folder).read_bytes())
    data[4096:-4096] = os.urandom(len(data) - 8192)
    database(folder).write_bytes(data)


def gone(folder: Path) -> None:
    database(folder).unlink()


def side_files(folder: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        (folder / f"journal.sqlite{suffix}").write_bytes(os.urandom(5000))


def intent_cut(folder: Path) -> None:
    path = intent(folder, "demo")
    path.write_bytes(path.read_bytes()[:200])


def intent_empty(folder: Path) -> None:
    intent(folder, "demo").write_bytes(b"")


def intents_gone(folder: Path) -> None:
    shutil.rmtree(folder / "intents")


REBUILT = (rubbish, emptied, cut, middle, gone, side_files, intent_cut, intent_empty, intents_gone)


def intent_and_database(folder: Path) -> None:
    intent_cut(folder)
    gone(folder)


def directory(folder: Path) -> None:
    database(folder).unlink()
    database(folder).mkdir()


def newer(folder: Path) -> None:
    with sqlite3.connect(database(folder)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def intent_directory(folder: Path) -> None:
    path = intent(folder, "demo")
    path.unlink()
    path.mkdir()


def salt_cut(folder: Path) -> None:
    (folder / "salt").write_bytes(b"short")


def folder_is_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way")


REFUSED: tuple[tuple[Damage, str], ...] = (
    (directory, "folder away"),
    (newer, "newer release"),
    (intent_and_database, "may exist"),
    (intent_directory, "may exist"),
    (salt_cut, "is damaged"),
    (folder_is_a_file, "cannot be|can be neither"),
)


@pytest.fixture
def bought(tmp_path: Path) -> tuple[Path, Path]:
    """A journal with an order without an answer (``demo``, which the far side does not show) and a live cluster."""
    folder, books = tmp_path / "journal", tmp_path / "books"
    in_child(buy, folder, books, "other")
    lost = in_child(buy, folder, books, after=(lose_answer,))
    assert [order.name for order in lost.orders] == ["demo"]
    hide(books, "c2")
    return folder, books


def is_ours(outcome: Outcome) -> bool:
    """An error with a sentence about what and one about what next."""
    return bool(outcome.error) and len(outcome.told.splitlines()) > 1 and "Traceback" not in outcome.told


@pytest.mark.parametrize("damage", REBUILT)
def test_what_is_left_in_one_place_is_rebuilt_and_no_open_order_lost(bought: tuple[Path, Path], damage: Damage) -> None:
    folder, books = bought
    damage(folder)
    told = in_child(buy, folder, books)
    assert told.error == "OutcomeUnknownError", told
    assert is_ours(told)
    assert told.creates == 2
    assert [order.name for order in in_child(look_again, folder, books).orders] == ["demo"]
    other = in_child(buy, folder, books, "other")
    assert (other.cluster_id, other.attached, other.creates) == ("c1", True, 2)
    hide(books, "c2", undo=True)
    found = in_child(buy, folder, books)
    assert (found.cluster_id, found.attached, found.creates, found.orders) == ("c2", True, 2, ())


@pytest.mark.parametrize(("damage", "sentence"), REFUSED, ids=[damage.__name__ for damage, _ in REFUSED])
def test_what_cannot_be_rebuilt_is_told_and_nothing_is_sent(
    bought: tuple[Path, Path], damage: Damage, sentence: str
) -> None:
    folder, books = bought
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    damage(folder)
    for name in ("demo", "third"):
        told = in_child(buy, folder, books, name)
        assert is_ours(told), told
        assert re.search(sentence, told.told), told
        assert told.creates == 2
    shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    kept.rename(folder)
    assert [order.name for order in in_child(look_again, folder, books).orders] == ["demo"]


def test_a_read_only_folder_is_told_and_nothing_is_sent(tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path / "disk") as disk:
        folder, books = disk / "journal", tmp_path / "books"
        for is_used in (False, True):
            make_read_only(disk)
            told = in_child(buy, folder, books)
            make_read_only(disk, undo=True)
            assert told.error == "JournalError", told
            assert is_ours(told)
            assert "Read-only file system" in told.told or "readonly" in told.told
            assert "nothing" in told.told
            assert told.creates == int(is_used)
            again = in_child(buy, folder, books, "other" if is_used else "first")
            assert (again.error, again.attached, again.orders) == ("", False, ())


def replace_by_copy(folder: Path, copy: Path) -> None:
    """What a restored backup does."""
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)


def test_a_folder_that_is_taken_away_between_request_and_answer_is_made_again_and_buys_nothing_twice(
    tmp_path: Path,
) -> None:
    folder, books = tmp_path / "journal", tmp_path / "books"
    told = in_child(buy, folder, books, before=(partial(shutil.rmtree, folder),))
    assert (told.error, told.cluster_id) == ("", "c1")
    again = in_child(buy, folder, books)
    assert (again.error, again.creates) == ("NameTakenError", 1), "the new journal is another one"


def test_a_folder_that_is_replaced_by_an_older_copy_in_use_buys_nothing_twice(tmp_path: Path) -> None:
    folder, books = tmp_path / "journal", tmp_path / "books"
    in_child(buy, folder, books, "other")
    shutil.copytree(folder, tmp_path / "backup")
    in_child(buy, folder, books, before=(partial(replace_by_copy, folder, tmp_path / "backup"),))
    again = in_child(buy, folder, books)
    assert again.creates == 2
    assert "c2" in again.told or again.cluster_id == "c2"


def test_damage_at_random_places_never_shows_a_stack_and_loses_no_open_order(tmp_path: Path) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed)  # noqa: T201
    dice = random.Random(seed)
    sound = Journal(tmp_path / "sound")
    opened = make.order(order_id="open1", name="open")
    sound.claims.claim(opened)
    for index in range(60):
        done = make.order(order_id=f"o{index}", name=f"n{index}", state=OrderState.DONE, remote_ids=(f"c{index}",))
        sound.put_order(done)
        sound.put_cluster(make.IDENTITY, make.cluster(cluster_id=f"c{index}", reason="é" * dice.randrange(3000)))
        sound.put_workload(make.IDENTITY, make.workload(workload_id=f"w{index}"))
    sound.put_order(opened)
    sound.close()
    failures = []
    for number in range(40):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "sound", folder)
        wound(database(folder), dice)
        try:
            read_everything(folder)
        except GpuClustersError as exc:
            failures.append(f"{number}: {exc}")
        shutil.rmtree(folder)
    assert failures == [], seed


def wound(path: Path, dice: random.Random) -> None:
    """A sector or a page of rubbish or of zeros, somewhere."""
    data = bytearray(path.read_bytes())
    size = dice.choice((512, 4096))
    at = dice.randrange(len(data) - size) // size * size
    data[at : at + size] = dice.choice((dice.randbytes(size), bytes(size)))
    path.write_bytes(data)


def read_everything(folder: Path) -> None:
    journal = Journal(folder)
    try:
        journal.restore_orders()
        journal.clusters([make.IDENTITY])
        journal.workloads([make.IDENTITY])
        journal.members(make.IDENTITY)
        journal.late_orders(make.IDENTITY)
        journal.fulfilled_deletes(make.IDENTITY)
        journal.put_order(make.order(order_id="new", name="new"))
        journal.put_cluster(make.IDENTITY, make.cluster(cluster_id="new"))
        journal.restore_orders()
        assert "open1" in {order.order_id for order in journal.open_orders()}
    finally:
        journal.close()

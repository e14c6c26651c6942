"""A disk that is full at every moment of a purchase, with every number of free blocks that makes a difference."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .buying import Outcome, buy, look_again, lose_answer, refuse
from .children import in_child
from .disks import fill, mounted

ROOM = (0, 1, 2, 3, 5, 8, 16, 80)
"""Free blocks: from not one to more than a purchase needs."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted("tmpfs", tmp_path / "small", "size=2m,mode=0700") as folder:
        yield folder


@dataclass(frozen=True)
class Round:
    """One purchase, in a journal of its own on the small disk, with books of its own beside it."""

    disk: Path
    blocks: int
    folder: Path
    books: Path

    def make_room(self) -> None:
        (self.disk / "filler").unlink()

    def fill(self) -> None:
        fill(self.disk, but_blocks=self.blocks)


def rounds(disk: Path, tmp_path: Path) -> Iterator[Round]:
    for blocks in ROOM:
        yield Round(disk, blocks, disk / "journal", tmp_path / f"{blocks}.books")
        shutil.rmtree(disk / "journal")


@pytest.mark.parametrize("is_used", [False, True], ids=["new journal", "used journal"])
def test_a_disk_that_is_full_before_the_claim_means_nothing_is_sent(disk: Path, tmp_path: Path, is_used: bool) -> None:
    refused = []
    before = int(is_used)
    for one in rounds(disk, tmp_path):
        if is_used:
            in_child(buy, one.folder, one.books, "earlier")
        one.fill()
        outcome = in_child(buy, one.folder, one.books)
        one.make_room()
        if outcome.error == "JournalError":
            refused.append(one.blocks)
            assert "nothing" in outcome.told, outcome
            assert any(words in outcome.told for words in ("No space left", "is full", "disk I/O")), outcome
            assert outcome.creates == before, outcome
            outcome = in_child(buy, one.folder, one.books)
            assert (outcome.error, outcome.attached, outcome.orders) == ("", False, ()), one
        elif outcome.error:
            assert "could not be recorded" in outcome.told, "the last block went with the claim"
            outcome = in_child(buy, one.folder, one.books)
        assert (outcome.error, outcome.creates) == ("", before + 1), one
    assert refused[:1] == [0]
    assert ROOM[-1] not in refused


def rounds_of_an_unrecorded_answer(
    disk: Path, tmp_path: Path, after: tuple[Callable[[], None], ...]
) -> Iterator[tuple[int, Outcome]]:
    """What the buyer was told with so many free blocks; afterwards there is room, and a new process finds it."""
    for one in rounds(disk, tmp_path):
        told = in_child(buy, one.folder, one.books, after=(one.fill, *after))
        one.make_room()
        yield one.blocks, told
        looked = in_child(look_again, one.folder, one.books)
        assert (looked.error, looked.told, looked.orders) == ("", "", ())
        again = in_child(buy, one.folder, one.books)
        assert (again.error, again.cluster_id, again.attached, again.creates) == ("", "c1", True, 1)


def test_a_disk_that_is_full_when_the_answer_comes_keeps_the_order_open_until_there_is_room(
    disk: Path, tmp_path: Path
) -> None:
    unrecorded = []
    for blocks, told in rounds_of_an_unrecorded_answer(disk, tmp_path, ()):
        assert told.creates == 1
        if told.error:
            unrecorded.append(blocks)
            assert told.error == "OutcomeUnknownError", told
            assert "cluster c1" in told.told, told
            assert "could not be recorded" in told.told, told
            assert "nothing" not in told.told.lower(), told
    assert unrecorded[:1] == [0]
    assert ROOM[-1] not in unrecorded


def test_a_full_disk_and_a_lost_answer_keep_the_order_open_until_there_is_room(disk: Path, tmp_path: Path) -> None:
    for _, told in rounds_of_an_unrecorded_answer(disk, tmp_path, (lose_answer,)):
        assert told.error == "OutcomeUnknownError", told
        assert "the connection was cut" in told.told, told
        assert "nothing" not in told.told.lower(), told
        assert [order.name for order in told.orders] == ["demo"]


def test_a_refusal_is_told_also_where_the_full_disk_takes_no_record_of_it(disk: Path, tmp_path: Path) -> None:
    unrecorded = []
    for one in rounds(disk, tmp_path):
        told = in_child(buy, one.folder, one.books, after=(one.fill, refuse))
        one.make_room()
        assert told.error == "ProviderError", told
        assert "no such image" in told.told
        if "could not record the refusal" in told.told:
            unrecorded.append(one.blocks)
        again = in_child(buy, one.folder, one.books)
        assert (again.error, again.attached, again.creates, again.orders) == ("", False, 2, ()), "one request each"
    assert unrecorded[:1] == [0]
    assert ROOM[-1] not in unrecorded

"""File systems that lack something: locks, hard links, or the power to keep what was written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from . import calls
from .buying import buy, look_again
from .children import in_child
from .violence import HANDS, Violence


@pytest.fixture(autouse=True)
def filters() -> None:
    calls.need_filters()


@pytest.mark.parametrize("is_used", [False, True], ids=["new journal", "used journal"])
def test_without_locks_nothing_is_sent_and_the_sentence_names_them(tmp_path: Path, is_used: bool) -> None:
    folder, books = tmp_path / "journal", tmp_path / "books"
    if is_used:
        in_child(buy, folder, books, "earlier")
    told = in_child(buy, folder, books, first=calls.without_locks)
    assert told.error == "JournalError", told
    assert "keeps no locks" in told.told
    assert "nothing that costs was sent" in told.told
    assert told.creates == int(is_used)
    again = in_child(buy, folder, books)
    assert (again.error, again.attached, again.creates) == ("", False, int(is_used) + 1)


def test_locks_that_go_between_request_and_answer_leave_the_order_open(tmp_path: Path) -> None:
    folder, books = tmp_path / "journal", tmp_path / "books"
    told = in_child(buy, folder, books, before=(calls.without_locks,))
    assert told.error == "OutcomeUnknownError", told
    assert "cluster c1" in told.told
    assert "keeps no locks" in told.told
    assert "nothing" not in told.told
    assert in_child(look_again, folder, books).orders == ()
    again = in_child(buy, folder, books)
    assert (again.cluster_id, again.attached, again.creates) == ("c1", True, 1)


def test_what_cannot_be_made_durable_is_not_sent_and_leaves_the_name_free(tmp_path: Path) -> None:
    folder, books = tmp_path / "journal", tmp_path / "books"
    in_child(buy, folder, books, "earlier")
    told = in_child(buy, folder, books, first=calls.without_sync)
    assert told.error == "JournalError", told
    assert "nothing" in told.told
    assert told.creates == 1
    again = in_child(buy, folder, books)
    assert (again.error, again.attached, again.creates, again.orders) == ("", False, 2, ())


def test_without_hard_links_a_name_still_has_one_holder_under_kills(tmp_path: Path) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed)  # noqa: T201
    story = Violence(tmp_path / "journal", seed, prepare=dict.fromkeys(HANDS, calls.without_links)).run(2)
    assert story.violations == [], seed
    assert story.writes > 20

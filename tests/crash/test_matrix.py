"""Kernels that are hit at every step of every write: a selection that has most pairs, and proof that it can fail.

The whole: ``python -m tests.crash.matrix``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from .books import Intent, Told, Truth, Wrong, abandoned, always, ended, resolved, written
from .cases import (
    ANSWERED,
    CLAIMED,
    IN_FILE,
    JOURNALED,
    KILL,
    RECORDED,
    SAME,
    SENT,
    Case,
    all_cases,
    coverage,
    pairwise,
)
from .kernels import Nursery
from .mutations import MUTATIONS
from .play import play
from .scene import Alive, Making

CASES = all_cases()
SELECTION = pairwise(CASES, 36)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    made = Nursery()
    yield made
    made.close()


def first(*, steps: tuple[str, ...], fault: str, has_namesake: bool | None = None) -> Case:
    """An E2E create that is killed, and resolved with the same account."""
    return next(
        case
        for case in CASES
        if (case.write, case.violence, case.fault, case.resolver) == ("e2e create", KILL, fault, SAME)
        and case.step in steps
        and has_namesake in (None, case.has_namesake)
    )


def test_the_selection_shows_most_pairs_and_every_single_value() -> None:
    assert coverage(SELECTION, CASES) > 0.55
    for name in ("write", "step", "violence", "fault", "resolver"):
        assert {getattr(case, name) for case in SELECTION} == {getattr(case, name) for case in CASES}


@pytest.mark.parametrize("case", SELECTION, ids=lambda case: f"{case.number}-{case.slug}")
def test_nothing_is_doubled_lost_adopted_or_called_deleted(case: Case, nursery: Nursery, tmp_path: Path) -> None:
    report = play(case, nursery, tmp_path / "case")
    assert report.violations == [], "\n".join([str(case), *map(str, report.violations), *report.log])


SENT_OR_LATER = (SENT, ANSWERED, IN_FILE, RECORDED)
SHOWING = {
    "resent by another process": (first(has_namesake=False, steps=SENT_OR_LATER, fault="commit later"), Wrong.DOUBLE),
    "adopted by its name alone": (first(has_namesake=True, steps=(CLAIMED, JOURNALED), fault="none"), Wrong.FOREIGN),
    "closed when it is not listed": (
        first(has_namesake=False, steps=SENT_OR_LATER, fault="commit later"),
        Wrong.DOUBLE,
    ),
    "everything is unknown": (first(steps=(ANSWERED,), fault="none"), Wrong.UNRESOLVED),
    "gone after one empty listing": (first(steps=(RECORDED,), fault="one empty list"), Wrong.FALSE_DELETED),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_fault_in_the_product_is_found(mutation: str, nursery: Nursery, tmp_path: Path) -> None:
    case, kind = SHOWING[mutation]
    found = play(case, nursery, tmp_path / "case", mutation=mutation).violations
    assert kind in {one.kind for one in found}, found


HERE, THERE = Alive("Delhi/1", "fire-1a2b234567", True, 2), Alive("Delhi/2", "fire-0bad234567", True, 1)
CREATE, SCALE = Intent("create", "fire"), Intent("scale", "fire", target="Delhi/1")
ORDER = {
    "order_id": "o",
    "verb": "create",
    "name": "fire",
    "state": "done",
    "note": None,
    "remote_ids": ["Delhi/1"],
    "identity_key": "me",
}
ROW = {
    "cluster_id": "Delhi/1",
    "name": "fire",
    "phase": "running",
    "billing": "yes",
    "created_here": True,
    "order_id": "o",
}
THEIRS = {**ROW, "cluster_id": "Delhi/2", "name": "fire-0bad234567", "created_here": False, "order_id": None}
GOOD_TRUTH = Truth([HERE, THERE], [Making(1, ("Delhi/1",))], {THERE.id: THERE}, {THERE.id})
GOOD = Told([ORDER], [{**ROW, "identity_key": "me"}], [], [ROW, THEIRS])
TWO = [Making(1, ("Delhi/1",)), Making(2, ("Delhi/3",))]


def test_the_judge_finds_nothing_where_all_is_well() -> None:
    assert always(CREATE, GOOD_TRUTH, GOOD) == resolved(CREATE, GOOD_TRUTH, GOOD, is_done=False) == []
    assert abandoned(GOOD) == written(SCALE, [], ["1"]) == []


@pytest.mark.parametrize(
    ("intent", "truth", "told", "kind"),
    [
        (CREATE, replace(GOOD_TRUTH, made=TWO), GOOD, Wrong.DOUBLE),
        (SCALE, replace(GOOD_TRUTH, alive=[replace(HERE, size=4), THERE]), GOOD, Wrong.DOUBLE),
        (CREATE, GOOD_TRUTH, Told(), Wrong.LOST),
        (CREATE, GOOD_TRUTH, Told([{**ORDER, "state": "refused", "remote_ids": []}]), Wrong.LOST),
        (CREATE, GOOD_TRUTH, replace(GOOD, shown=[ROW, {**THEIRS, "created_here": True}]), Wrong.FOREIGN),
        (CREATE, GOOD_TRUTH, replace(GOOD, orders=[{**ORDER, "remote_ids": ["Delhi/2"]}]), Wrong.FOREIGN),
        (CREATE, GOOD_TRUTH, replace(GOOD, shown=[{**ROW, "phase": "deleted"}]), Wrong.FALSE_DELETED),
        (CREATE, GOOD_TRUTH, replace(GOOD, clusters=[{**ROW, "billing": "no"}]), Wrong.FALSE_DELETED),
        (CREATE, replace(GOOD_TRUTH, alive=[HERE]), GOOD, Wrong.TOUCHED),
        (CREATE, replace(GOOD_TRUTH, alive=[HERE, replace(THERE, size=2)]), GOOD, Wrong.TOUCHED),
    ],
)
def test_the_judge_sees_what_may_never_be(intent: Intent, truth: Truth, told: Told, kind: Wrong) -> None:
    assert kind in {one.kind for one in always(intent, truth, told)}


def test_the_judge_does_not_take_unknown_for_an_answer() -> None:
    unknown = replace(GOOD, orders=[{**ORDER, "state": "not_seen", "remote_ids": []}])
    assert {one.kind for one in resolved(CREATE, GOOD_TRUTH, unknown, is_done=False)} == {Wrong.UNRESOLVED}
    scaling = replace(GOOD, orders=[ORDER, {**ORDER, "verb": "scale", "state": "open"}])
    assert [one.kind for one in resolved(SCALE, GOOD_TRUTH, scaling, is_done=True)] == [Wrong.UNRESOLVED]
    assert resolved(SCALE, GOOD_TRUTH, scaling, is_done=False) == []
    assert [one.kind for one in abandoned(scaling)] == [Wrong.UNRESOLVED]
    assert [one.kind for one in ended(SCALE, GOOD_TRUTH, GOOD)] == [Wrong.UNRESOLVED] * 2


def test_the_judge_sees_every_write_but_the_delete_that_was_wished() -> None:
    requests = ["POST /cluster/", "DELETE /cluster/1/", "DELETE /cluster/2/"]
    delete = Intent("delete", "fire", target="Delhi/1")
    assert [one.text for one in written(delete, requests, ["1"])] == ["POST /cluster/", "DELETE /cluster/2/"]
    assert len(written(SCALE, requests, ["1"])) == 3

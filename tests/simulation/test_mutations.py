"""The simulation finds what it is there to find: broken cores fail, and soon."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from . import machine, mutations, script
from .world import Violation

WITHIN = 300
"""In so many schedules a broken core must have been found."""


@pytest.mark.parametrize(
    ("mutation", "found"),
    [
        (mutations.resend_by_another_process, "was sent twice"),
        (mutations.adoption_by_name_alone, "which it did not make"),
        (mutations.gone_after_one_empty_listing, "bills, and"),
        (mutations.absence_closes_an_order, "was closed without the user"),
        (mutations.names_are_not_claimed, "is not over"),
        (mutations.everything_stays_unknown, "and is open"),
        (mutations.wishes_are_forgotten, "the wish"),
    ],
)
def test_a_broken_core_is_found(
    mutation: Callable[[], AbstractContextManager[None]], found: str, tmp_path: Path
) -> None:
    path = tmp_path / "schedule.py"
    with mutation(), pytest.raises(Violation, match=found):
        machine.run(WITHIN, written_to=path)
    steps = script.read(path)
    assert script.play(steps) is None, "only the broken core fails"
    with mutation():
        assert script.play(steps) is not None, "a failing schedule replays"


def test_a_failing_schedule_is_shortened_to_what_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "schedule.py"
    with mutations.absence_closes_an_order():
        with pytest.raises(Violation):
            machine.run(WITHIN, written_to=path)
        steps = script.read(path)
        short = script.shorten(steps)
        assert len(short) < len(steps)
        assert script.play(short) is not None
        for index in range(len(short)):
            assert script.play(short[:index] + short[index + 1 :]) is None

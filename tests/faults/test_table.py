"""A selection of the fault table; ``python -m tests.faults.table`` runs all of it."""

from __future__ import annotations

import pytest

from .table import Case, cases, is_right, quick, run

SELECTED = list(cases())[::23]

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("case", SELECTED, ids=str)
async def test_every_fault_is_told_in_our_words_and_the_books_agree(case: Case) -> None:
    with quick():
        outcome = await run(case)
    assert is_right(case, outcome), outcome

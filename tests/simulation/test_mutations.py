"""Broken cores must be found, or the simulation shows nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import hypothesis
import pytest
from hypothesis import Phase
from hypothesis.stateful import run_state_machine_as_test

from .machine import Simulation, how
from .mutations import MUTATIONS
from .world import Violation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_it_is_found(mutation: Callable[[], AbstractContextManager[None]]) -> None:
    machine = hypothesis.seed(0)(type("Mutated", (Simulation,), {}))
    with mutation(), pytest.raises(Violation):
        run_state_machine_as_test(machine, settings=how(300, derandomize=False, phases=[Phase.generate]))

"""Random schedules of kernels, hosts, machines and a colleague; of a failing one the steps are printed, shrunk."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from .machine import Simulation, how
from .replay import replay

SCHEDULES = 300
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_breaks_a_promise(part: int, tmp_path: Path) -> None:
    steps = tmp_path / "steps.py"
    machine = hypothesis.seed(part)(type("Part", (Simulation,), {"written_to": steps}))
    try:
        run_state_machine_as_test(machine, settings=how(SCHEDULES // PARTS, derandomize=False))
    except AssertionError:
        pytest.fail(f"replays with python -m tests.simulation.replay FILE:\n{steps.read_text()}")


def test_a_written_schedule_replays(tmp_path: Path) -> None:
    steps = tmp_path / "steps.py"
    steps.write_text("world.create(kernel='A1', name='demo', nodes=2, fate='made', then=100.0)\nworld.settle()\n")
    assert replay(steps) is None
    steps.write_text("world.create(kernel='A1', name='demo', nodes=2, fate='made', then='late')\n")
    assert isinstance(replay(steps), TypeError)

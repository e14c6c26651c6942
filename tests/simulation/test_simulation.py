"""Random schedules of users, kernels, hosts and a misleading cloud, against the same core that everybody runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import machine, script
from .world import Violation

SCHEDULES = 300


def test_nothing_is_rented_twice_lost_or_called_gone(tmp_path: Path) -> None:
    machine.Simulation.totals.clear()
    path = tmp_path / "schedule.py"
    try:
        machine.run(SCHEDULES, written_to=path)
    except Violation as exc:
        short = script.shorten(script.read(path))
        script.write(path, short)
        pytest.fail(f"{exc}\n\nIt replays with: python -m tests.simulation.replay {path}\n\n{path.read_text()}")
    assert machine.Simulation.totals["schedules"] >= SCHEDULES

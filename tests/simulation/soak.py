"""``python -m tests.simulation.soak [--schedules N] [--minutes M] [--seed S]``: random schedules, at length."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .machine import Simulation, run
from .script import read, shorten, write
from .world import Violation

_CHUNK = 500


def main() -> int:
    """Run schedules until there are enough, the time is over, or one fails; print figures now and then."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.soak")
    parser.add_argument("--schedules", type=int, default=None, help="how many (default 50,000)")
    parser.add_argument("--minutes", type=float, default=None, help="or for how long")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="what the schedules are made from")
    parser.add_argument("--out", type=Path, default=Path("test-results/schedule.py"), help="where a failing one is put")
    given = parser.parse_args()
    wanted = given.schedules or (50_000 if given.minutes is None else sys.maxsize)
    began = time.monotonic()
    ends = began + (given.minutes * 60.0 if given.minutes is not None else float("inf"))
    seed = given.seed
    while Simulation.totals["schedules"] < wanted and time.monotonic() < ends:
        left = wanted - Simulation.totals["schedules"]
        try:
            run(min(_CHUNK, left), seed=seed, written_to=given.out)
        except Violation:
            _fail(given.out, began)
            return 1
        seed += 1
        _say(_figures(began, 0))
    return 0


def _figures(began: float, violations: int) -> str:
    totals = Simulation.totals
    faults = sum(count for name, count in totals.items() if name.startswith(("fault ", "step kill", "step suspend")))
    steps = sum(count for name, count in totals.items() if name.startswith("step "))
    return (
        f"{totals['schedules']} schedules, {steps} steps, {faults} faults injected, "
        f"{time.monotonic() - began:.0f} s, {violations} violations"
    )


def _fail(path: Path, began: float) -> None:
    _say(_figures(began, 1))
    write(path, shorten(read(path)))
    _say(path.read_text())
    _say(f"It replays with: python -m tests.simulation.replay {path}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tests.simulation.soak [--schedules N] [--minutes M] [--seed S]``: random schedules, the first limit ends."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import hypothesis
from hypothesis.stateful import run_state_machine_as_test

from .machine import Simulation, how

_AT_ONCE = 250


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> int:
    """Print what was run and found; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=50_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    options = parser.parse_args()
    began, seed, totals = time.monotonic(), options.seed, Simulation.totals
    Simulation.written_to = Path("simulation-steps.py")
    try:
        while totals["schedules"] < options.schedules and time.monotonic() - began < options.minutes * 60:
            machine = hypothesis.seed(seed)(type("Part", (Simulation,), {}))
            run_state_machine_as_test(machine, settings=how(_AT_ONCE, derandomize=False))
            seed += 1
    except AssertionError as exc:
        _say(f"violation with seed {seed}: {exc}")
        _say(f"replay: python -m tests.simulation.replay {Simulation.written_to}\n{Simulation.written_to.read_text()}")
        return 1
    finally:
        _say(f"{totals['schedules']} schedules from seed {options.seed} in {time.monotonic() - began:.0f} s")
        _say(", ".join(f"{what}: {number}" for what, number in sorted(totals.items()) if what != "schedules"))
    _say("violations: 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())

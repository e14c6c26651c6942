"""``python -m tests.torture.soak --minutes N --seed S``: writers and a reader under kills, for long."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from .violence import Violence

_ROUND_S = 20.0


def main() -> int:
    """Rounds of 20 s, each on a folder of its own, until the time is over; 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--folder", type=Path, default=None, help="where the journals lie (a temporary folder)")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().getrandbits(32)
    sys.stdout.write(f"seed {seed}\n")
    end = time.monotonic() + given.minutes * 60
    writes = kills = wrong = number = 0
    while (left := end - time.monotonic()) > 1:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            story = Violence(Path(folder), seed + number).run(min(_ROUND_S, left))
        sys.stdout.write("\n".join([f"round {number} (seed {seed + number}): {story}", *story.violations, ""]))
        sys.stdout.flush()
        writes, kills, wrong = writes + story.writes, kills + story.kills, wrong + len(story.violations)
        number += 1
    sys.stdout.write(f"{number} rounds, {writes} writes, {kills} kills, violations: {wrong}\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tests.simulation.replay FILE`` takes the steps of a file again, one a line."""

from __future__ import annotations

import sys
from pathlib import Path

from .world import World


def replay(file: Path) -> BaseException | None:
    """Take the steps; what they raised."""
    world = World()
    try:
        for step in file.read_text().splitlines():
            exec(step, {"world": world})
    except Exception as exc:  # noqa: BLE001 - whatever it is, it is what the replay is for
        return exc
    finally:
        world.close()
    return None


if __name__ == "__main__":
    failure = replay(Path(sys.argv[1]))
    sys.exit(None if failure is None else f"{type(failure).__name__}: {failure}")

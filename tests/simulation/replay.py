"""Play a schedule again: ``python -m tests.simulation.replay FILE [--shorten]``. Ends with 1 if it still fails."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .script import Step, play, read, shorten, write
from .world import World


def main() -> int:
    """Print every step at its time, with the books and the orders before it, and what was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.replay")
    parser.add_argument("file", type=Path)
    parser.add_argument("--shorten", action="store_true", help="first leave out what is not needed, also in the file")
    given = parser.parse_args()
    steps = read(given.file)
    if given.shorten:
        steps = shorten(steps)
        write(given.file, steps)
    violation = play(steps, _tell)
    sys.stdout.write(f"\n{violation or 'Nothing was violated.'}\n")
    return 1 if violation else 0


def _tell(world: World, step: Step) -> None:
    lines = [f"{world.loop.time():10.1f} s  {step}"]
    for one in world.cloud.books.values():
        end = "bills" if one.ended_at is None else f"ended at {one.ended_at:.1f} s"
        lines.append(f"{'':14}{one.cluster_id} {one.name} of {one.owner} {one.order_id}: {end}")
    for journal in world.observers:
        for order in world.checks.orders(journal):
            ids = " ".join(order.remote_ids)
            about = order.target_id or ids
            lines.append(
                f"{'':14}{journal} {order.verb} {order.name} {about} {order.order_id}: {order.state} {order.note}"
            )
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    sys.exit(main())

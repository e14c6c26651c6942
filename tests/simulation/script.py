"""Schedules as Python scripts: written, read, played again, and shortened as long as they fail in the same way."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .world import Violation, World

_HEAD = '''"""A schedule of tests/simulation. `python -m tests.simulation.replay FILE` plays it."""

from tests.simulation.world import World

world = World()
'''


@dataclass(frozen=True)
class Step:
    """One thing that happens in a world."""

    name: str
    what: Mapping[str, Any]

    def __str__(self) -> str:
        return f"world.{self.name}({', '.join(f'{key}={value!r}' for key, value in self.what.items())})"

    def take(self, world: World) -> None:
        """Let it happen; raises `Violation`."""
        getattr(world, self.name)(**self.what)


def write(path: Path, steps: Sequence[Step]) -> None:
    """Write a schedule as a script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_HEAD + "".join(f"{step}\n" for step in steps))


def read(path: Path) -> list[Step]:
    """The steps of a script that `write` made."""
    steps = []
    for line in ast.parse(path.read_text()).body:
        match line:
            case ast.Expr(ast.Call(func=ast.Attribute(ast.Name("world"), name), keywords=keywords)):
                steps.append(Step(name, {one.arg or "": ast.literal_eval(one.value) for one in keywords}))
    return steps


def play(steps: Sequence[Step], tell: Callable[[World, Step], None] = lambda world, step: None) -> str | None:
    """Take the steps in a new world; what was violated, if anything."""
    world = World()
    try:
        for step in steps:
            tell(world, step)
            step.take(world)
    except Violation as exc:
        return str(exc)
    finally:
        world.close()
    return None


def shorten(steps: Sequence[Step]) -> list[Step]:
    """A schedule that fails in the same way, and no longer does without any one of its steps."""
    kind = _kind(play(steps))
    kept = list(steps)
    if kind is None:
        return kept
    size = max(len(kept) // 2, 1)
    while True:
        before = len(kept)
        for start in reversed(range(0, len(kept), size)):
            fewer = kept[:start] + kept[start + size :]
            if _kind(play(fewer)) == kind:
                kept = fewer
        if size == 1 and len(kept) == before:
            return kept
        size = max(size // 2, 1)


def _kind(violation: str | None) -> str | None:
    """The first broken promise without its numbers, ids and names."""
    if violation is None:
        return None
    first = violation.splitlines()[0]
    return re.sub(r"\([^)]*\)|'[^']*'|\b[a-z2-7]{16}\b|\b[cJ]?\d+(\.\d+)?\b|\bforeign\b", "", first)

"""What becomes of one thing over time, planned ahead and read lazily."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """From `at` (sandbox time) on, the thing is in `state`."""

    at: float
    state: str


class Lifecycle:
    """The states of one thing, past and planned.

    Parameters
    ----------
    now : sandbox time of its birth.
    steps : ``(seconds after now, state)``, in order; the first one begins at 0.
    """

    def __init__(self, now: float, *steps: tuple[float, str]) -> None:
        self._steps: list[Step] = []
        self.plan(now, *steps)

    def plan(self, now: float, *steps: tuple[float, str]) -> None:
        """Replace whatever was planned after `now`; what happened stays."""
        self._steps = [step for step in self._steps if step.at <= now]
        self._steps += [Step(now + after, state) for after, state in steps]

    def add(self, at: float, *steps: tuple[float, str]) -> None:
        """End the present plan at `at` and go on from there, keeping what is planned before."""
        self._steps = [step for step in self._steps if step.at < at]
        self._steps += [Step(at + after, state) for after, state in steps]

    def drop_planned(self, state: str, now: float) -> None:
        """Forget a planned step into `state` and everything planned after it."""
        place = next((n for n, step in enumerate(self._steps) if step.at > now and step.state == state), None)
        self._steps = self._steps[:place]

    def state(self, now: float) -> str:
        """The state at that time."""
        return self.past(now)[-1].state

    def since(self, now: float) -> float:
        """When the present state began."""
        return self.past(now)[-1].at

    def past(self, now: float) -> list[Step]:
        """Every step taken so far, the first one at least."""
        return [step for step in self._steps if step.at <= now] or self._steps[:1]

    def first(self, states: Collection[str], now: float) -> float | None:
        """When one of these states was first reached; `None` if not yet."""
        return next((step.at for step in self.past(now) if step.state in states), None)

    def seconds_in(self, states: Collection[str], start: float, until: float) -> float:
        """How long it was in any of these states between two moments."""
        return sum(max(0.0, min(end, until) - max(begin, start)) for begin, end in self._spells(states))

    def _spells(self, states: Collection[str]) -> Iterable[tuple[float, float]]:
        ends = [step.at for step in self._steps[1:]] + [float("inf")]
        return ((step.at, end) for step, end in zip(self._steps, ends, strict=True) if step.state in states)

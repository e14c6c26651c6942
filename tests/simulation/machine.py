"""The world as a state machine for hypothesis: every rule takes steps of the world, and all steps are written down."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from .cloud import DELETE_FAULTS, FATES, FAULTS, LIST_FAULTS, Fault
from .script import Step, write
from .world import KERNELS, NAMES, World

STEPS = 30
"""The most steps of a schedule."""

kernels = st.sampled_from(tuple(KERNELS))
names = st.sampled_from(NAMES)
sizes = st.sampled_from((2, 3))
fates = st.sampled_from(FATES)
ends = st.sampled_from((None, None, 1.0, 20.0))
choices = st.integers(0, 3)
looks = st.sampled_from(("look", "recover"))
gaps = st.sampled_from((0.5, 7.0, 60.0))
hours = st.sampled_from((0.0, -1.0, -12.5, 12.5))
"""By how much wall clocks are wrong; two of them differ by up to 25 hours."""

moments = st.sampled_from((0.0, 0.15, 1.0, 10.0, 100.0))
"""How long a step is given, in seconds: before, between and after the ways of a request, its time-out, everything."""


def run(schedules: int, *, seed: int | None = None, written_to: Path | None = None) -> None:
    """Run so many schedules; without a `seed` the same ones every time.

    Parameters
    ----------
    written_to : where the steps of a failing schedule are put.

    Raises
    ------
    Violation : the first that was found.
    """
    Simulation.written_to = written_to
    factory = Simulation if seed is None else hypothesis.seed(seed)(type("Simulation", (Simulation,), {}))
    run_state_machine_as_test(
        factory,
        settings=hypothesis.settings(
            max_examples=schedules,
            stateful_step_count=STEPS,
            phases=[hypothesis.Phase.generate],
            derandomize=seed is None,
            deadline=None,
            database=None,
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(hypothesis.HealthCheck),
        ),
    )


class Simulation(RuleBasedStateMachine):
    """One schedule. Of a failing one the steps are left in `written_to`; `totals` counts over all schedules."""

    written_to: ClassVar[Path | None] = None
    totals: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.steps: list[Step] = []
        self.has_failed = False

    def do(self, step: str, **what: Any) -> None:
        """Take one step of the world and write it down."""
        self.steps.append(Step(step, what))
        self.totals[f"step {step}"] += 1
        try:
            self.steps[-1].take(self.world)
        except BaseException:
            self.has_failed = True
            if self.written_to is not None:
                write(self.written_to, self.steps)
            raise

    @initialize(a=hours, b=hours, c=hours)
    def clocks(self, **what: Any) -> None:
        self.do("set_clocks", **what)

    @initialize(kernel=kernels, name=names, nodes=sizes, fate=fates, then=moments)
    def create_first(self, **what: Any) -> None:
        self.do("create", **what)

    @rule(kernel=kernels, name=names, nodes=sizes, fate=fates, new=st.booleans(), max_hours=ends, then=moments)
    def create(self, **what: Any) -> None:
        self.do("create", **what)

    @rule(kernel=kernels, then=moments)
    def run_all_again(self, **what: Any) -> None:
        self.do("run_all_again", **what)

    @rule(step=st.sampled_from(("look", "recover", "watch")), kernel=kernels, then=moments)
    def ask(self, step: str, **what: Any) -> None:
        self.do(step, **what)

    @rule(fault=st.sampled_from(LIST_FAULTS), step=looks, kernel=kernels, gaps=st.lists(gaps, min_size=1, max_size=3))
    def blink(self, fault: Fault, step: str, kernel: str, gaps: list[float]) -> None:
        """Listings mislead while somebody looks, and are right again."""
        self.do("fault", fault=fault)
        for gap in gaps:
            self.do(step, kernel=kernel, then=gap)
        self.do("cease", fault=fault)

    @precondition(lambda self: self.world.has_ours())
    @rule(kernel=kernels, which=choices, fault=st.none() | st.sampled_from(DELETE_FAULTS), then=moments)
    def delete(self, fault: Fault | None, **what: Any) -> None:
        if fault is not None:
            self.do("fault", fault=fault)
        self.do("delete", **what)

    @precondition(lambda self: self.world.has_open())
    @rule(
        step=st.sampled_from(("close_order", "delete_on_sight", "adopt")), kernel=kernels, which=choices, then=moments
    )
    def decide(self, step: str, **what: Any) -> None:
        self.do(step, **what)

    @rule(kernel=kernels, fuse=st.integers(0, 30), then=moments)
    def kill(self, **what: Any) -> None:
        self.do("kill", **what)

    @rule(step=st.sampled_from(("suspend", "go_on", "interrupt", "restart")), kernel=kernels, then=moments)
    def signal(self, step: str, **what: Any) -> None:
        self.do(step, **what)

    @rule(fault=st.sampled_from(FAULTS))
    def fault(self, **what: Any) -> None:
        self.do("fault", **what)

    @precondition(lambda self: bool(self.world.cloud.billing()))
    @rule(step=st.sampled_from(("hide", "foreign_delete")), which=choices)
    def touch(self, step: str, **what: Any) -> None:
        self.do(step, **what)

    @precondition(lambda self: self.world.cloud.is_faulty)
    @rule()
    def heal(self) -> None:
        self.do("heal")

    @rule(name=names, form=st.sampled_from(("{name}", "{name}-1f0ak3j2hq")))
    def foreign_create(self, **what: Any) -> None:
        self.do("foreign_create", **what)

    @rule(seconds=st.sampled_from((1.0, 30.0, 300.0, 90_000.0)))
    def advance(self, **what: Any) -> None:
        self.do("advance", **what)

    def teardown(self) -> None:
        self.totals["schedules"] += 1
        try:
            if not self.has_failed:
                self.do("settle")
        finally:
            self.totals.update(self.world.counts)
            self.world.close()

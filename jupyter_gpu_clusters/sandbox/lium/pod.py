"""One rented pod: its life, what it shows of itself, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..lifecycle import Lifecycle
from ..world import Address
from .bodies import RentBody
from .inventory import Executor
from .keys import Key

GONE = "GONE"
STARTING = frozenset({"PENDING", "START_PENDING"})
DEAD = frozenset({"CREATION_FAILED", "FAILED", "REBOOT_FAILED", "BROKEN"})
CHARGED_WHEN_RUNNING = frozenset({"RUNNING", "REBOOT_PENDING", "REBOOT_FAILED"})
CHARGED_FROM_ACCEPTANCE = CHARGED_WHEN_RUNNING | STARTING
REMOVAL_S = 10.0
FAILED_ROW_S = 180.0
_SSH_S = 2.0
_PHASES = ("queued", "preparing node", "connecting to node", "pulling image", "starting container", "configuring ssh")


@dataclass(frozen=True)
class Event:
    """Something that was asked of a pod."""

    at: float
    kind: str
    sub: str


@dataclass
class Pod:
    """A pod, from the moment its rent was accepted until for ever."""

    id: str
    key: Key
    body: RentBody
    name: str
    executor: Executor
    gpu_count: int
    price: float
    template: dict[str, Any]
    created: float
    ready_s: float
    address: Address
    life: Lifecycle
    customer_ref: str | None = None
    cluster_id: str | None = None
    index: int | None = None
    removal_at: float | None = None
    termination_hours: int | None = None
    close_reason: str | None = None
    host_key: int = 1
    volume_id: str | None = None
    jupyter_at: float | None = None
    jupyter_port: int | None = None
    events: list[Event] = field(default_factory=list)
    feedback: list[dict[str, Any]] = field(default_factory=list)

    def state(self, now: float) -> str:
        """The status word, or `GONE`."""
        return self.life.state(now)

    def is_listed(self, now: float) -> bool:
        """Whether listings show it."""
        return self.state(now) != GONE

    def holds_node(self, now: float) -> bool:
        """Whether its GPUs are not free for others."""
        return self.state(now) not in (GONE, "CREATION_FAILED")

    def go(self, now: float, *steps: tuple[float, str]) -> None:
        """A new plan from now on; a scheduled removal stays."""
        self.life.plan(now, *steps)
        self.schedule(self.removal_at, now)

    def suffer(self, at: float, *steps: tuple[float, str]) -> None:
        """Something happens at a later time; a scheduled removal stays."""
        self.life.add(at, *steps)
        self.schedule(self.removal_at, at)

    def remove(self, now: float, reason: str) -> None:
        """Begin the removal; the bill ends at once."""
        self.close_reason = self.close_reason or reason
        self.life.plan(now, (0, "DELETING"), (REMOVAL_S, GONE))

    def schedule(self, at: float | None, now: float) -> None:
        """Plan the removal for a time, or cancel the plan."""
        self.life.drop_planned("DELETING", now)
        self.removal_at = at
        if at is not None and self.life.state(at) not in ("DELETING", GONE):
            self.life.add(max(at, now), (0, "DELETING"), (REMOVAL_S, GONE))

    def reason(self, now: float) -> str | None:
        """Why it was closed; `None` while it is not."""
        if self.removed_at(now) is None:
            return None
        return self.close_reason or ("executor_offline" if self.removal_at is None else "scheduled_termination")

    def removed_at(self, now: float) -> float | None:
        """When its removal began."""
        return self.life.first(("DELETING", GONE), now)

    def billed_seconds(self, start: float, until: float, *, from_acceptance: bool) -> float:
        """Seconds charged between two moments; a pod that the provider broke is credited whole."""
        if self.life.first(("BROKEN",), until) is not None:
            return 0.0
        charged = CHARGED_FROM_ACCEPTANCE if from_acceptance else CHARGED_WHEN_RUNNING
        return self.life.seconds_in(charged, start, until)

    def has_ssh(self, now: float) -> bool:
        """Whether it can be reached: up, and a moment longer."""
        return self.state(now) == "RUNNING" and now >= self.life.since(now) + _SSH_S

    def start_phase(self, now: float) -> tuple[str | None, int | None]:
        """What a starting pod is doing and how many seconds it still needs."""
        if self.state(now) not in STARTING:
            return None, None
        done = min(0.999, (now - self.created) / self.ready_s) if self.ready_s else 0.999
        return _PHASES[int(done * len(_PHASES))], max(0, round(self.created + self.ready_s - now))

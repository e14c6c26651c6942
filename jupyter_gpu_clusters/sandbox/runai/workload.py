"""One workload: what was asked for, its pods, and its phases."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..lifecycle import Lifecycle, Step
from .inventory import NON_PREEMPTIBLE_FROM, PRIORITIES, Node, NodePool, Project
from .merge import Spec
from .quantity import amount

GONE = "Gone"
"""Our word for the time after Deleting; the service shows ``deletedAt`` instead."""
FINAL = ("Completed", "Failed")
HOLDING = ("Initializing", "Running", "Degraded", "Updating")
DELETED_KEPT_S = 14 * 86_400.0
AUTO_DELETE_S = 30 * 86_400
_EVENTS_KEPT = 1000
_RUNS_KEPT = 100


class Phases(Lifecycle):
    """The phases of a workload; the last one is ours, `GONE`."""

    def force(self, now: float, state: str) -> None:
        """Be in `state` from now on until the next planned step."""
        place = len([step for step in self._steps if step.at <= now])
        self._steps.insert(place, Step(now, state))


@dataclass
class Pod:
    """One pod; `index` counts within its role."""

    id: str
    name: str
    role: str
    index: int
    gpus: float
    node: Node | None = None


@dataclass
class Run:
    """The pods from one queueing to the end or the next preemption; `pool` is set once they have nodes."""

    began_at: float
    pods: list[Pod]
    pool: NodePool | None = None
    placed_at: float | None = None
    ended_at: float | None = None


@dataclass(frozen=True)
class Event:
    """Something that Kubernetes tells."""

    at: float
    id: str
    type: str
    reason: str
    message: str


@dataclass(frozen=True)
class Obstacle:
    """Why one node pool does not take the pods; without `phase_reason` it simply has no room."""

    pool: str
    phase_reason: str | None
    text: str


@dataclass
class Workload:
    """Everything about one; `spec` and `master` are effective ones, defaults and template merged in."""

    id: str
    name: str
    requested_name: str
    project: Project
    created_by: str
    created_at: float
    life: Phases
    spec: Spec
    master: Spec | None = None
    same_as_worker: bool | None = None
    type: str = "Distributed"
    desired: str = "Running"
    deleted_at: float | None = None
    run: Run | None = None
    past_runs: deque[Run] = field(default_factory=lambda: deque(maxlen=_RUNS_KEPT))
    obstacles: list[Obstacle] = field(default_factory=list)
    message: str = ""
    outcome: str | None = None
    run_seconds: float | None = None
    log: list[str] | None = None
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=_EVENTS_KEPT))

    def phase(self, now: float) -> str:
        """The phase as the service shows it."""
        state = self.life.state(now)
        return "Deleting" if state == GONE else state

    def started_at(self, run: Run, now: float) -> float | None:
        """When the pods of a run were first running; `None` if not yet."""
        steps = [step.at for step in self.life.past(now) if step.state == "Running"]
        return next((at for at in steps if run.placed_at is not None and at >= run.placed_at), None)

    @property
    def framework(self) -> str:
        """Its framework, or nothing for other types."""
        return str(self.spec.get("distributedFramework") or "")

    @property
    def priority_class(self) -> str:
        """Its own or that of training."""
        return str(self.spec.get("priorityClass") or "low")

    @property
    def priority(self) -> int:
        """The value of its class."""
        return PRIORITIES[self.priority_class]

    @property
    def preemptible(self) -> bool:
        """Said in the spec, else following the priority."""
        said = self.spec.get("preemptibility")
        return said == "preemptible" if said else self.priority < NON_PREEMPTIBLE_FROM

    @property
    def workers(self) -> int:
        """Worker pods."""
        return int(self.spec.get("numWorkers") or 1)

    @property
    def master_spec(self) -> Spec | None:
        """What the master pod gets; `None` without a master."""
        return self.spec if self.same_as_worker else self.master

    def roles(self) -> list[tuple[str, int, Spec]]:
        """Role, number of pods, spec; the master first."""
        lead = "launcher" if self.framework == "MPI" else "master"
        master = self.master_spec
        return [*([(lead, 1, master)] if master is not None else []), ("worker", self.workers, self.spec)]

    @property
    def pod_count(self) -> int:
        """Master included."""
        return sum(count for _, count, _ in self.roles())

    def pools(self) -> list[str]:
        """Node pools in order of preference."""
        own = self.spec.get("nodePools") or list(self.project.quotas)
        return [str(name) for name in own]

    def keeps_pods(self) -> bool:
        """Whether pods (and their logs) stay after the end."""
        return self.spec.get("cleanPodPolicy") != "All"

    @property
    def auto_delete_s(self) -> float:
        """Seconds from the end to its deletion."""
        said = self.spec.get("autoDeletionTimeAfterCompletionSeconds")
        return float(AUTO_DELETE_S if said is None else max(0, said))

    def node_ports(self) -> set[int]:
        """Ports of the nodes that it wants for itself."""
        wanted = [port for _, _, spec in self.roles() for port in spec.get("ports") or ()]
        return {port["external"] for port in wanted if port.get("serviceType") == "NodePort" and port.get("external")}


def gpus_of(spec: Mapping[str, Any], gpu_bytes: int) -> float:
    """GPU devices that one pod takes on nodes with GPUs of that size; fractions are per device."""
    compute = spec.get("compute") or {}
    devices = float(compute.get("gpuDevicesRequest") or 0)
    if compute.get("gpuRequestType") == "portion":
        return (devices or 1.0) * float(compute["gpuPortionRequest"])
    if compute.get("gpuRequestType") == "memory":
        wanted = amount(compute["gpuMemoryRequest"])
        return (devices or 1.0) * float(wanted or 0) / gpu_bytes
    return devices

"""Time passes for workloads: phases, queue, gang scheduling, quota, preemption, clean-up.

Nothing runs in the background: `advance` works through everything that was due since the last look, in order, so that
the result does not depend on when somebody looks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count

from ..world import World
from .inventory import NodePool
from .placement import forbidden, place, used_by, victims
from .workload import DELETED_KEPT_S, FINAL, GONE, HOLDING, Event, Obstacle, Pod, Run, Workload, gpus_of

_PORT_CLASH_S = 2.0


class Scheduler:
    """All workloads and the GPUs that they hold."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.workloads: dict[str, Workload] = {}
        self._agenda: list[tuple[float, int, Workload]] = []
        self._seq = count()
        self._waiting: dict[str, Workload] = {}
        self._held: dict[str, Workload] = {}
        self._changed = False

    def add(self, workload: Workload) -> None:
        """Take a new workload in; its life is planned up to Pending."""
        self.workloads[workload.id] = workload
        self._remind(workload, workload.created_at)
        settle, creating = self._number("settle_seconds"), self._number("creating_seconds")
        first = "Creating" if self._world.choices["runai.after_create"] == "creating" else "Unknown"
        self.plan(workload, workload.created_at, (0, first), (settle, "Creating"), (settle + creating, "Pending"))

    def plan(self, workload: Workload, at: float, *steps: tuple[float, str]) -> None:
        """Replace what was planned for a workload after `at`."""
        workload.life.plan(at, *steps)
        for after, _ in steps:
            self._remind(workload, at + after)

    def _remind(self, workload: Workload, at: float) -> None:
        heapq.heappush(self._agenda, (at, next(self._seq), workload))

    def _number(self, key: str) -> float:
        return self._world.choices.number(f"runai.{key}")

    def advance(self, now: float) -> None:
        """Do everything that is due by `now`."""
        while self._agenda and self._agenda[0][0] <= now:
            moment = self._agenda[0][0]
            while self._agenda and self._agenda[0][0] == moment:
                self._arrive(heapq.heappop(self._agenda)[2], moment)
            if self._changed:
                self._schedule(moment)

    def reconsider(self, now: float) -> None:
        """Try what waits again: nodes or quotas are not what they were."""
        self._schedule(now)
        self.advance(now)

    def holders(self) -> list[Workload]:
        """The workloads that hold nodes."""
        return list(self._held.values())

    def _arrive(self, workload: Workload, at: float) -> None:
        state = workload.life.state(at)
        if state == "Deleting":
            workload.desired = "Deleted"
        if state == "Pending" and workload.run is None:
            self._queue(workload, at)
        elif state in (*FINAL, "Stopped", GONE) and workload.run is not None:
            self.end_run(workload, at)
        if state == GONE and workload.deleted_at is None:
            workload.deleted_at = at
            self._remind(workload, at + DELETED_KEPT_S)
        elif state == GONE and workload.deleted_at is not None and at >= workload.deleted_at + DELETED_KEPT_S:
            self.workloads.pop(workload.id, None)
        if workload.life.since(at) == at:
            self._tell(workload, at, state)

    def _tell(self, workload: Workload, at: float, state: str) -> None:
        if state == "Running":
            workload.message = ""
        if state in FINAL:
            workload.message = workload.message or ("" if state == "Completed" else "a pod ended with exit code 1")
        if state in (*FINAL, "Running", "Stopped"):
            self.event(workload, at, state, f"The workload is {state}.", warning=state == "Failed")

    def event(self, workload: Workload, at: float, reason: str, text: str, *, warning: bool = False) -> None:
        """Note what Kubernetes would tell."""
        kind = "Warning" if warning else "Normal"
        workload.events.append(Event(at, self._world.uuid(), kind, reason, text))

    def _queue(self, workload: Workload, at: float) -> None:
        pods = []
        for role, number, _ in workload.roles():
            for index in range(number):
                pods.append(Pod(self._world.uuid(), f"{workload.name}-{role}-{index}", role, index, 0.0))
        workload.run = Run(at, pods)
        self._waiting[workload.id] = workload
        self._changed = True
        self.event(workload, at, "PodGroupCreated", f"{len(pods)} pods wait for resources together.")

    def end_run(self, workload: Workload, at: float) -> None:
        """Give the nodes back."""
        if workload.run is not None:
            workload.run.ended_at = at
            workload.past_runs.append(workload.run)
            workload.run, workload.obstacles = None, []
            self._waiting.pop(workload.id, None)
            self._held.pop(workload.id, None)
            self._changed = True

    def _schedule(self, at: float) -> None:
        self._changed = False
        waiting = [w for w in self._waiting.values() if w.life.state(at) == "Pending"]
        for workload in sorted(waiting, key=lambda w: (-w.priority, w.run.began_at if w.run else at)):
            self._try(workload, at)

    def _try(self, workload: Workload, at: float) -> None:
        obstacles = []
        for pool in self._pools(workload):
            obstacle = forbidden(workload, pool, self.holders())
            if obstacle is None and self._fits(workload, pool, at):
                return
            room = f"not enough free GPUs on the nodes of {pool.name} for {workload.pod_count} pods together"
            obstacles.append(obstacle or Obstacle(pool.name, None, room))
        if obstacles != workload.obstacles:
            workload.obstacles = obstacles
            workload.message = "; ".join(f"{o.pool}: {o.text}" for o in obstacles)
            self.event(workload, at, "Unschedulable", workload.message, warning=True)

    def _pools(self, workload: Workload) -> Iterable[NodePool]:
        pools = workload.project.cluster.pools
        return [pools[name] for name in workload.pools() if name in pools]

    def _fits(self, workload: Workload, pool: NodePool, at: float) -> bool:
        holders = self.holders()
        nodes = place(workload, pool, used_by(holders))
        if nodes is None and self._world.choices["runai.preemption"] == "priority":
            evicted: list[Workload] = []
            for victim in victims(workload, pool, holders):
                evicted.append(victim)
                nodes = place(workload, pool, used_by(h for h in holders if h not in evicted))
                if nodes is not None:
                    for other in evicted:
                        self.preempt(other, at)
                    break
        if nodes is None or workload.run is None:
            return False
        self._held[workload.id] = self._waiting.pop(workload.id)
        workload.run.pool, workload.run.placed_at, workload.obstacles, workload.message = pool, at, [], ""
        specs = [spec for _, number, spec in workload.roles() for _ in range(number)]
        for pod, node, spec in zip(workload.run.pods, nodes, specs, strict=True):
            pod.node, pod.gpus = node, gpus_of(spec, node.gpu_bytes)
        self.event(workload, at, "Scheduled", f"All {len(nodes)} pods have nodes in {pool.name}.")
        self._start(workload, at)
        return True

    def _start(self, workload: Workload, at: float) -> None:
        others = [w for w in self.holders() if w is not workload]
        taken = workload.node_ports() & {port for other in others for port in other.node_ports()}
        if taken:
            workload.message = f"node port {min(taken)} is taken"
            self.plan(
                workload, at, (0, "Initializing"), (_PORT_CLASH_S, "Failed"), *self._clean(workload, _PORT_CLASH_S)
            )
            return
        init = self._number("init_seconds")
        runs = self._number("run_seconds") if workload.run_seconds is None else workload.run_seconds
        outcome = workload.outcome or self._world.choices["runai.outcome"]
        end = init + runs
        steps = [(0.0, "Initializing"), (init, "Running"), (end, outcome), *self._clean(workload, end)]
        self.plan(workload, at, *steps)

    def _clean(self, workload: Workload, end: float) -> list[tuple[float, str]]:
        after = end + workload.auto_delete_s
        return [(after, "Deleting"), (after + self._number("delete_seconds"), GONE)]

    def finish(self, workload: Workload, at: float, outcome: str) -> None:
        """End a workload now."""
        self.plan(workload, at, (0, outcome), *self._clean(workload, 0.0))
        self.advance(at)

    def preempt(self, workload: Workload, at: float) -> None:
        """Take a workload's nodes away; it queues again unless it asked to end."""
        self.end_run(workload, at)
        self.event(workload, at, "Preempted", "The pods made room for other work.", warning=True)
        if workload.spec.get("terminateAfterPreemption"):
            workload.message = "preempted, and asked to end then"
            self.plan(workload, at, (0, "Failed"), *self._clean(workload, 0.0))
        else:
            workload.message = "preempted, waiting for resources again"
            self.plan(workload, at, (0, "Pending"))

    def is_held(self, workload: Workload, now: float) -> bool:
        """Whether it runs or starts on nodes right now."""
        return workload.run is not None and workload.run.pool is not None and workload.life.state(now) in HOLDING

"""Everything that is read of workloads."""

from __future__ import annotations

from typing import Any

from ..service import Answer, Call, Refused, Route
from ..world import World
from .listing import flag, page, select, word
from .metrics import metrics
from .scheduler import Scheduler
from .views import detailed, event, history, pods, row, typed
from .workload import GONE, Workload

_FIELDS = (
    "type", "name", "clusterId", "projectId", "projectName", "departmentId", "departmentName", "createdAt",
    "deletedAt", "submittedBy", "phase", "completedAt", "nodepool", "distributedFramework", "allocatedGPU",
    "idleGpus", "idleAllocatedGpus", "phaseUpdatedAt", "category", "totalPendingTimeSeconds",
    "totalRunningTimeSeconds", "priority", "priorityClassName", "guaranteedRuntimeEndsAt", "aiApplicationId",
    "aiApplicationName",
)  # fmt: skip
_NAMES = {"nodepool": "currentNodePools", "allocatedGPU": "allocatedResources.gpu"}
_SEARCHED = ("name", "projectName", "type", "submittedBy", "phase")
_POD_FIELDS = (
    "clusterId", "workloadId", "revisionId", "nodeName", "currentNodepool", "createdAt", "completedAt", "deletedAt",
)  # fmt: skip
_POD_NAMES = {"currentNodepool": "currentNodePool"}


class Reading:
    """The reads; none of them changes anything."""

    def __init__(self, world: World, scheduler: Scheduler) -> None:
        self._world, self._scheduler = world, scheduler

    def routes(self) -> list[Route]:
        """Every operation here."""
        one = "/api/v1/workloads/{workload}"
        return [
            Route("GET", "/api/v1/workloads/distributed/{workload}", self._typed),
            Route("GET", "/api/v1/workloads", self._list, "list"),
            Route("GET", "/api/v1/workloads/count", self._count),
            Route("GET", one, self._generic),
            Route("GET", f"{one}/pods", self._pods),
            Route("GET", "/api/v1/workloads/pods", self._all_pods),
            Route("GET", f"{one}/events", self._events),
            Route("GET", f"{one}/history", self._history),
            Route("GET", f"{one}/metrics", self._metrics),
            Route("GET", f"{one}/pods/{{pod}}/metrics", self._pod_metrics),
        ]

    def _find(self, call: Call) -> Workload:
        found = self._scheduler.workloads.get(call.params["workload"].lower())
        if found is None:
            raise Refused(404, "workload not found")
        state = found.life.state(self._world.clock.now())
        unsettled = state == "Unknown" and self._world.choices["runai.after_create"] == "not-found"
        if unsettled or (state == GONE and self._world.choices["runai.deleted_read"] == "404"):
            raise Refused(404, "workload not found")
        return found

    def _typed(self, call: Call) -> Answer:
        workload = self._find(call)
        if workload.type != "Distributed":
            raise Refused(404, "there is no distributed workload of that id")
        return Answer.json(typed(self._world, workload))

    def _generic(self, call: Call) -> Answer:
        if self._world.choices["runai.generic_read"] == "403":
            raise Refused(403, "insufficient permissions")
        return Answer.json(detailed(self._world, self._find(call)))

    def _rows(self, call: Call) -> list[dict[str, Any]]:
        now, deleted = self._world.clock.now(), flag(call, "deleted") or False
        hidden = self._world.choices["runai.after_create"] == "not-found"
        chosen = []
        for workload in self._scheduler.workloads.values():
            state = workload.life.state(now)
            if (state == GONE) == deleted and not (hidden and state == "Unknown"):
                chosen.append(row(self._world, workload))
        if self._world.choices["runai.list_order"] == "newest":
            chosen.reverse()
        return select(call, chosen, _FIELDS, names=_NAMES, searched=_SEARCHED)

    def _list(self, call: Call) -> Answer:
        return Answer.json(page(call, self._rows(call)).body("workloads"))

    def _count(self, call: Call) -> Answer:
        return Answer.json({"count": len(self._rows(call))})

    def _pods(self, call: Call) -> Answer:
        found = pods(self._world, self._find(call), deleted=flag(call, "deleted") or False)
        return Answer.json(page(call, select(call, found, ())).body("pods"))

    def _all_pods(self, call: Call) -> Answer:
        full = word(call, "verbosity", ("brief", "full"), "brief") == "full"
        deleted = flag(call, "deleted") or False
        every = [
            p for w in self._scheduler.workloads.values() for p in pods(self._world, w, deleted=deleted, full=full)
        ]
        return Answer.json(page(call, select(call, every, _POD_FIELDS, names=_POD_NAMES)).body("pods"))

    def _events(self, call: Call) -> Answer:
        workload = self._find(call)
        told = [event(self._world, workload, item) for item in workload.events]
        if word(call, "sortOrder", ("asc", "desc"), "desc") == "desc":
            told.reverse()
        return Answer.json(page(call, told).body("events"))

    def _history(self, call: Call) -> Answer:
        return Answer.json(page(call, history(self._world, self._find(call))).body("records"))

    def _metrics(self, call: Call) -> Answer:
        return metrics(self._world, call, self._find(call))

    def _pod_metrics(self, call: Call) -> Answer:
        workload = self._find(call)
        runs = [*workload.past_runs, *([workload.run] if workload.run else [])]
        pod = next((p for run in runs for p in run.pods if p.id == call.params["pod"].lower()), None)
        if pod is None:
            raise Refused(404, "pod not found")
        return metrics(self._world, call, workload, pod)

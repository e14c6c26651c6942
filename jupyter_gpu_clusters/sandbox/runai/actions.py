"""Delete, suspend and resume, one by one or several at once."""

from __future__ import annotations

from collections.abc import Callable

from ..exchange import FAULT_HEADER
from ..service import Answer, Call, Refused, Route
from ..world import World
from .bodies import read_body
from .scheduler import Scheduler
from .spec import BatchRequest
from .workload import FINAL, GONE, Workload


class Actions:
    """Everything that changes a workload after it was made."""

    def __init__(self, world: World, scheduler: Scheduler) -> None:
        self._world, self._scheduler = world, scheduler
        self._actions: dict[str, Callable[[Workload, Call], None]] = {
            "delete": self._delete,
            "suspend": self._suspend,
            "resume": self._resume,
        }

    def routes(self) -> list[Route]:
        """Every operation here."""
        path = "/api/v1/workloads/distributed/{workload}"
        return [
            Route("DELETE", path, lambda call: self._one("delete", call), "delete"),
            Route("POST", f"{path}/suspend", lambda call: self._one("suspend", call), "change"),
            Route("POST", f"{path}/resume", lambda call: self._one("resume", call), "change"),
            Route("POST", "/api/v1/workloads/batch", self._batch, "change"),
        ]

    def _find(self, workload_id: str, *, typed: bool) -> Workload:
        found = self._scheduler.workloads.get(workload_id.lower())
        now = self._world.clock.now()
        if found is None or found.life.state(now) == GONE or (typed and found.type != "Distributed"):
            raise Refused(404, "workload not found")
        return found

    def _one(self, action: str, call: Call) -> Answer:
        workload = self._find(call.params["workload"], typed=True)
        call.note["name"] = workload.name
        self._actions[action](workload, call)
        self._scheduler.advance(self._world.clock.now())
        if self._world.choices["runai.accepted_body"] == "empty":
            return Answer(202, headers={FAULT_HEADER: "accepted-empty"})
        return Answer.json({"code": 202, "message": f"{action} accepted"}, 202)

    def _batch(self, call: Call) -> Answer:
        body = read_body(call, BatchRequest, self._world.choices)
        succeeded, failed = [], []
        for workload_id in body.ids:
            try:
                self._actions[body.action](self._find(workload_id, typed=False), call)
                succeeded.append(workload_id)
            except Refused as refused:
                failed.append({"id": workload_id, "code": refused.status, "message": refused.text})
        call.note.update(action=body.action, ids=body.ids)
        self._scheduler.advance(self._world.clock.now())
        return Answer.json({"id": self._world.uuid(), "succeeded": succeeded, "failed": failed})

    def _delete(self, workload: Workload, call: Call) -> None:
        now = self._world.clock.now()
        workload.desired = "Deleted"
        if workload.life.state(now) != "Deleting":
            self._scheduler.plan(workload, now, (0, "Deleting"), (self._seconds("delete"), GONE))
            call.ended.append(workload.id)

    def _suspend(self, workload: Workload, call: Call) -> None:
        state = self._changeable(workload, "suspended")
        if workload.desired != "Stopped":
            workload.desired = "Stopped"
            now = self._world.clock.now()
            if state != "Stopped":
                self._scheduler.plan(workload, now, (0, "Stopping"), (self._seconds("stop"), "Stopped"))

    def _resume(self, workload: Workload, call: Call) -> None:
        state = self._changeable(workload, "resumed")
        if state == "Stopping":
            raise Refused(400, "the workload is still stopping and cannot be resumed yet")
        workload.desired = "Running"
        if state == "Stopped":
            now = self._world.clock.now()
            self._scheduler.plan(workload, now, (0, "Resuming"), (self._seconds("resume"), "Pending"))

    def _changeable(self, workload: Workload, verb: str) -> str:
        state = workload.life.state(self._world.clock.now())
        if state in (*FINAL, "Deleting"):
            raise Refused(400, f"a workload that is {state} cannot be {verb}")
        return state

    def _seconds(self, action: str) -> float:
        return self._world.choices.number(f"runai.{action}_seconds")

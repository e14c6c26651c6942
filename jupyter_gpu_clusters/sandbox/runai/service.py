"""The service itself: its routes, who may call them, and what the frame wants to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

from starlette.routing import BaseRoute

from ..exchange import FAULT_HEADER
from ..service import BOOKED, Answer, Call, Refused, Route, Service
from ..world import World
from .actions import Actions
from .catalogue import Catalogue
from .choices import CHOICES
from .errors import SHAPES, shape_of
from .inventory import Inventory
from .logs import ClusterApi
from .organization import Organization, policy_handler
from .reading import Reading
from .scheduler import Scheduler
from .setup import Setup
from .submit import Submission
from .tokens import CLIENT_ID, Tokens
from .views import typed
from .workload import GONE, Run, Workload

_OPEN = ("/api/v1/token", "/api/v2/token")
_HOUR_S = 3600.0


class Runai(Service):
    """NVIDIA Run:ai: a control plane and the cluster API of its clusters below one prefix."""

    name = "runai"
    prefix = "/runai"
    choices = CHOICES
    shapes = SHAPES

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._lock = RLock()
        self._inventory = Inventory(world)
        self._tokens = Tokens(world)
        self._scheduler = Scheduler(world)
        catalogue = Catalogue(world, self._inventory)
        self._submission = Submission(world, self._inventory, catalogue, self._scheduler)
        self._organization = Organization(world, self._inventory, self._scheduler, self._tokens, self.prefix)
        self._setup = Setup(world, self._inventory, self._scheduler, self._tokens)
        self._cluster_api = ClusterApi(world, self._scheduler, self._settled, self._admit_reader, self.error)
        self._parts = (catalogue, self._organization, Actions(world, self._scheduler), Reading(world, self._scheduler))

    def routes(self) -> Sequence[Route]:
        """All operations."""
        return [
            Route("POST", "/api/v2/token", self._tokens.v2),
            Route("POST", "/api/v1/token", self._tokens.v1),
            Route("POST", "/api/v1/workloads/distributed", self._create, "submit"),
            Route("GET", "/api/v2/policy/distributed", policy_handler(self._inventory)),
            *(route for part in self._parts for route in part.routes()),
            *self._cluster_api.routes(),
        ]

    def extra_routes(self) -> Sequence[BaseRoute]:
        """The log stream over WebSocket."""
        return self._cluster_api.sockets()

    def answer(self, call: Call, route: Route | None) -> Answer:
        """As the frame does; a wrong method on a known path is 405."""
        if route is None:
            allowed = self._methods(call)
            if allowed:
                return self.error(Refused(405, "method not allowed", headers={"Allow": ", ".join(allowed)}))
        return super().answer(call, route)

    def _methods(self, call: Call) -> list[str]:
        segments = call.path.split("/")
        return sorted({route.method for route in self._table if route.match(segments) is not None})

    def label(self, call: Call) -> str:
        """The client id."""
        return self._tokens.client_of(call)

    def admit(self, call: Call, route: Route) -> None:
        """401 without a good token, 403 without the role."""
        if route.template in _OPEN:
            return
        role = self._admit_reader(call)
        if route.action in BOOKED and role == "viewer":
            raise Refused(403, "insufficient permissions: this service account may only read")

    def _admit_reader(self, call: Call) -> str:
        role = self._tokens.accounts[self._tokens.check(call.headers.get("authorization", ""))].role
        if role == "none":
            raise Refused(403, "insufficient permissions: this service account has no role")
        return role

    def error(self, refused: Refused) -> Answer:
        """In the named shape, or the usual one."""
        return self.shapes[shape_of(refused)](refused)

    def variables(self, url: str) -> Mapping[str, str]:
        """What clients read."""
        secret = self._tokens.accounts[CLIENT_ID].secret
        return {"RUNAI_URL": url + self.prefix, "RUNAI_CLIENT_ID": CLIENT_ID, "RUNAI_CLIENT_SECRET": secret}

    def account(self, url: str) -> tuple[Mapping[str, str], str]:
        """The same for an accounts file."""
        return {"base_url": url + self.prefix, "client_id": CLIENT_ID}, self._tokens.accounts[CLIENT_ID].secret

    def secrets(self) -> Sequence[str]:
        """The secrets of all service accounts."""
        return [account.secret for account in self._tokens.accounts.values()]

    def tick(self) -> None:
        """Let the scheduler catch up."""
        with self._lock:
            self._scheduler.advance(self.world.clock.now())

    @contextmanager
    def _settled(self) -> Iterator[None]:
        with self._lock:
            self._scheduler.advance(self.world.clock.now())
            yield

    def setup(self, what: Mapping[str, Any]) -> object:
        """See `Setup`."""
        with self._lock:
            return self._setup.do(what)

    def _create(self, call: Call) -> Answer:
        workload = self._submission.create(call)
        call.made.append(workload.id)
        call.note.update(name=workload.name, requestedName=workload.requested_name, project=workload.project.id)
        body = {**typed(self.world, workload), "actualPhase": "Creating"}
        self._scheduler.advance(self.world.clock.now())
        status = int(self.world.choices["runai.create_status"])
        return Answer.json(body, status, {} if status == 202 else {FAULT_HEADER: "old-status"})

    def alive(self) -> Sequence[Mapping[str, Any]]:
        """Workloads that are not gone, with the pods and GPUs that they hold."""
        now = self.world.clock.now()
        return [_alive(workload, now) for workload in self._scheduler.workloads.values() if not _is_gone(workload, now)]

    def bill(self) -> Mapping[str, Any]:
        """There is no price; GPU hours per workload."""
        now = self.world.clock.now()
        rows = [
            {"id": workload.id, "name": workload.name, "gpu_hours": _gpu_hours(workload, now)}
            for workload in self._scheduler.workloads.values()
        ]
        return {"currency": None, "total": 0, "gpu_hours": sum(row["gpu_hours"] for row in rows), "rows": rows}


def _is_gone(workload: Workload, now: float) -> bool:
    return workload.life.state(now) == GONE


def _alive(workload: Workload, now: float) -> dict[str, Any]:
    run = workload.run
    held = run is not None and run.pool is not None
    return {
        "id": workload.id,
        "name": workload.name,
        "project": workload.project.id,
        "type": workload.type,
        "phase": workload.phase(now),
        "pods": len(run.pods) if run is not None else 0,
        "gpus": sum(pod.gpus for pod in run.pods) if run is not None and held else 0.0,
    }


def _gpu_hours(workload: Workload, now: float) -> float:
    runs = [*workload.past_runs, *([workload.run] if workload.run is not None else [])]
    return sum(_held_hours(run, now) * sum(pod.gpus for pod in run.pods) for run in runs)


def _held_hours(run: Run, now: float) -> float:
    return 0.0 if run.placed_at is None else ((run.ended_at or now) - run.placed_at) / _HOUR_S

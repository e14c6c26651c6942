"""The cluster API: is it there, and logs while the workload runs, as a stream over WebSocket or as a download."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import anyio
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..service import Answer, Call, Refused, Route
from ..world import World
from .listing import flag, number
from .scheduler import Scheduler
from .workload import Workload

SECONDS_PER_LINE = 5.0
_MOST_STEPS = 5000
_LOOK_EVERY_S = 0.05
_PATH = "/cluster-api/api/v1/{project}/workloads/{type}/{framework}/{name}/logs"
_SEGMENTS = {"PyTorch": "pytorch", "MPI": "mpi", "TF": "tensorflow", "XGBoost": "xgboost", "JAX": "jax"}


@dataclass(frozen=True)
class _Wanted:
    """Which lines somebody asked for."""

    workload: Workload
    pod: str | None
    tail: int | None
    follow: bool


class ClusterApi:
    """Routes below ``/cluster-api``.

    Parameters
    ----------
    settle : brings everything up to the present moment, as a context in which nothing else changes.
    admit : raises `Refused` for a call that may not read.
    """

    def __init__(
        self,
        world: World,
        scheduler: Scheduler,
        settle: Callable[[], AbstractContextManager[None]],
        admit: Callable[[Call], object],
        error: Callable[[Refused], Answer],
    ) -> None:
        self._world, self._scheduler = world, scheduler
        self._settle, self._admit, self._error = settle, admit, error

    def routes(self) -> list[Route]:
        """The operations over plain HTTP."""
        return [
            Route("GET", "/cluster-api/status", lambda call: Answer.text("OK", media_type="text/plain")),
            Route("GET", _PATH, self._not_upgraded),
            Route("GET", f"{_PATH}/download", self._download),
        ]

    def sockets(self) -> list[WebSocketRoute]:
        """The log stream."""
        return [WebSocketRoute(_PATH, self._stream)]

    def _not_upgraded(self, call: Call) -> Answer:
        raise Refused(426, "logs are streamed over WebSocket", headers={"Upgrade": "websocket"})

    def _download(self, call: Call) -> Answer:
        wanted = self._wanted(call)
        return Answer.text("".join(f"{line}\n" for line in self._lines(wanted)), media_type="text/plain")

    def _wanted(self, call: Call) -> _Wanted:
        now = self._world.clock.now()
        found = [w for w in self._scheduler.workloads.values() if w.name == call.params["name"]]
        mine = [w for w in found if w.project.name == call.params["project"] and w.deleted_at is None]
        kind = call.params["type"] == self._world.choices["runai.log_type"]
        if not mine or not kind or _SEGMENTS.get(mine[0].framework) != call.params["framework"]:
            raise Refused(404, "there is no such workload")
        workload = mine[0]
        if not _is_served(workload, now):
            raise Refused(404, f"workload {workload.name} is not running")
        if flag(call, "previous"):
            raise Refused(404, "there is no previous container")
        pod = call.asked("pod")
        names = [p.name for p in workload.run.pods] if workload.run else []
        if pod is not None and pod not in names:
            raise Refused(404, f"there is no pod {pod}; there are {', '.join(names)}")
        roles = {p.role for p in workload.run.pods} if workload.run else set()
        if call.asked("container") not in (None, *roles):
            raise Refused(404, "there is no such container")
        tail = number(call, "tailLines", 0, 0, 2**31 - 1) if call.asked("tailLines") is not None else None
        return _Wanted(workload, pod, tail, flag(call, "follow") is not False)

    def _lines(self, wanted: _Wanted) -> list[str]:
        with self._settle():
            steps = self._steps(wanted.workload)
            first = max(0, steps - _MOST_STEPS)
            lines = [line for step in range(first, steps) for line in _at(wanted, step)]
        return lines if wanted.tail is None else lines[len(lines) - min(wanted.tail, len(lines)) :]

    def _steps(self, workload: Workload) -> int:
        """How many steps have been logged by now."""
        now = self._world.clock.now()
        began = workload.started_at(workload.run, now) if workload.run else None
        if began is None:
            return 0
        return len(workload.log) if workload.log is not None else int((now - began) / SECONDS_PER_LINE) + 1

    async def _stream(self, socket: WebSocket) -> None:
        call = _call(socket, self._world.clock.now())
        try:
            with self._settle():
                self._admit(call)
                wanted = self._wanted(call)
        except Refused as refused:
            answer = self._error(refused)
            await socket.send_denial_response(Response(answer.body, answer.status, media_type=answer.media_type))
            return
        await socket.accept()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_left, socket, tasks.cancel_scope)
            with suppress(WebSocketDisconnect):
                await self._send(socket, wanted)
            tasks.cancel_scope.cancel()

    async def _send(self, socket: WebSocket, wanted: _Wanted) -> None:
        lines, step = self._lines(wanted), self._steps(wanted.workload)
        while True:
            for place, line in enumerate(lines):
                await (socket.send_bytes(f"{line}\n".encode()) if place % 2 else socket.send_text(f"{line}\n"))
            with self._settle():
                running = _is_served(wanted.workload, self._world.clock.now())
                steps = self._steps(wanted.workload) if running else step
            lines = [line for n in range(step, steps) for line in _at(wanted, n)]
            step = steps
            if not running or not wanted.follow:
                await socket.close(1000)
                return
            if not lines:
                await anyio.sleep(_LOOK_EVERY_S)


def _is_served(workload: Workload, now: float) -> bool:
    return workload.life.state(now) in ("Running", "Degraded")


def _at(wanted: _Wanted, step: int) -> list[str]:
    workload = wanted.workload
    if workload.log is not None:
        return workload.log[step : step + 1]
    pods = [pod for pod in (workload.run.pods if workload.run else ()) if wanted.pod in (None, pod.name)]
    return [f"[{pod.name}] step {step} loss {4.0 / (1 + step):.4f}" for pod in pods]


async def _until_left(socket: WebSocket, scope: anyio.CancelScope) -> None:
    try:
        while True:
            await socket.receive_text()
    except (WebSocketDisconnect, KeyError):
        scope.cancel()


def _call(socket: WebSocket, at: float) -> Call:
    return Call(
        method="GET",
        path=socket.url.path,
        query={name: socket.query_params.getlist(name) for name in socket.query_params},
        headers={name.lower(): value for name, value in socket.headers.items()},
        body=b"",
        at=at,
        seq=0,
        params=dict(socket.path_params),
    )

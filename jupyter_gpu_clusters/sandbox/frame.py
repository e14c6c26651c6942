"""One sandbox: the services, the clock, the faults and the books behind one ASGI application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from random import Random
from threading import RLock
from typing import Any
from urllib.parse import parse_qs

import anyio
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from .books import Books
from .choices import Choices
from .clock import Clock
from .control import control_routes
from .delivery import deliver
from .exchange import Exchanges
from .faults import Fault, Faults
from .records import Records
from .scenarios import SCENARIOS
from .server import listen, served, url_of
from .service import Call, Service
from .services import SERVICES
from .world import ADDRESSES, World

_BODY_LIMIT = 8 * 1024 * 1024
_UNBOUND = "http://127.0.0.1"


class Sandbox:
    """All services in one process.

    Every method may be called from any thread while the sandbox serves from another one.

    Parameters
    ----------
    seed : makes ids, start-up times and random choices repeatable.
    speed : sandbox seconds per real second; 0 stands still until `advance`.
    start : where its clock begins, seconds since 1970; now when left out.
    scenarios : names out of `SCENARIOS`, played at once.
    choices : what to do where the contracts leave something open.
    services : which services; all known ones when left out.

    Raises
    ------
    ValueError : an unknown scenario or choice.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        speed: float = 1.0,
        start: float | None = None,
        scenarios: Sequence[str] = (),
        choices: Mapping[str, str] | None = None,
        services: Sequence[type[Service]] = SERVICES,
    ) -> None:
        known = [ADDRESSES, *(choice for service in services for choice in service.choices)]
        random = Random(seed)
        self.world = World(Clock(speed=speed, start=start), random, Choices(known, random), Books())
        self.faults = Faults()
        self._records = Records()
        self._exchanges = Exchanges(self.world, self.faults, self._records)
        self._lock = RLock()
        self._seq = count(1)
        self.url = _UNBOUND
        self.choose(choices or {})
        self.services: dict[str, Service] = {
            service.name: service(replace(self.world, random=Random(f"{seed}/{service.name}"))) for service in services
        }
        self.app: ASGIApp = Starlette(routes=[*control_routes(self), *self._mounts()])
        self.play(*scenarios)

    def _mounts(self) -> list[Mount]:
        mounts: list[Mount] = []
        for service in self.services.values():
            extra = list(service.extra_routes())
            if extra:
                mounts.append(Mount(service.prefix, routes=[*extra, Mount("", app=self._endpoint(service))]))
            else:
                mounts.append(Mount(service.prefix, app=self._endpoint(service)))
            mounts += [Mount(prefix, app=self._endpoint(service)) for prefix in service.more_prefixes]
        return mounts

    def _endpoint(self, service: Service) -> ASGIApp:
        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                body = await _read(Request(scope, receive))
            except ClientDisconnect:
                return
            if body is None:
                await Response("The body is too large.", 413)(scope, receive, send)
                return
            with self._lock:
                call = self._call(service, scope, body)
                route, faults = self._exchanges.take(service, call)
            waits = sum(f.seconds or 0.0 for f in faults if f.kind == "delay" and f.when == "before")
            if waits:
                await anyio.sleep(waits)
                call.at = self.world.clock.now()
            with self._lock:
                outcome = self._exchanges.carry_out(service, call, route, faults)
                outcome.answer.headers.setdefault("Date", self.world.clock.http_date(self.world.clock.now()))
            await deliver(outcome, scope, receive, send)

        return endpoint

    def _call(self, service: Service, scope: Scope, body: bytes) -> Call:
        raw = scope.get("raw_path") or scope["path"].encode()
        return Call(
            method=scope["method"],
            path=raw.split(b"?", 1)[0].decode("latin-1").removeprefix(service.prefix),
            query=parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True),
            headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
            body=body,
            at=self.world.clock.now(),
            seq=next(self._seq),
        )

    @contextmanager
    def serve(self, *, host: str = "127.0.0.1", port: int = 0, app: ASGIApp | None = None) -> Iterator[Sandbox]:
        """Serve on a real loopback port, from a thread, for the length of the block; `url` says where.

        ``app`` may be `self.app` inside a wrapper, for example one that validates.

        Raises
        ------
        ValueError : `host` is no loopback address.
        OSError : the port is taken.
        """
        sock = listen(host, port)
        self.url = url_of(sock)
        try:
            with served(app or self.app, sock):
                yield self
        finally:
            self.url = _UNBOUND

    def variables(self) -> dict[str, str]:
        """The environment variables that point clients to this sandbox."""
        found = {"SANDBOX_URL": self.url}
        for service in self.services.values():
            found.update(service.variables(self.url))
        return found

    def describe(self) -> dict[str, Any]:
        """What runs here."""
        return {
            "sandbox": True,
            "services": {service.name: self.url + service.prefix for service in self.services.values()},
            "clock": self.clock_state(),
            "choices": self.world.choices.describe(),
        }

    def books(self) -> dict[str, Any]:
        """Per service: ``entries``, ``alive`` and ``bill``; beside them the time and how many old entries are lost."""
        with self._lock:
            self._exchanges.settle(self.services.values())
            books = self.world.books
            return {
                "at": self.world.clock.now(),
                "dropped": books.dropped,
                "services": {
                    name: {"entries": books.of(name), "alive": list(service.alive()), "bill": dict(service.bill())}
                    for name, service in self.services.items()
                },
            }

    def requests(self) -> list[dict[str, Any]]:
        """Recorded requests, oldest first, secrets masked."""
        with self._lock:
            return self._records.all()

    def forget_requests(self) -> dict[str, Any]:
        """Empty the record of requests."""
        with self._lock:
            self._records.clear()
        return {}

    def fault(self, **fields: Any) -> str:
        """Switch a fault on; the fields are those of `Fault`.

        Raises
        ------
        ValueError : a field is wrong, or the shape is none of the service's.
        """
        fault = Fault.model_validate(fields)
        shapes = {shape for name in self.services for shape in self.shapes(name) if fault.service in ("*", name)}
        if fault.shape is not None and fault.shape not in shapes:
            raise ValueError(f"There is no error shape {fault.shape!r}; known: {', '.join(sorted(shapes))}.")
        with self._lock:
            return self.faults.add(fault)

    def clear_faults(self, fault_id: str | None = None) -> dict[str, Any]:
        """Switch one fault off, or all."""
        with self._lock:
            self.faults.clear(fault_id)
        return {}

    def shapes(self, service: str) -> list[str]:
        """Names of every error body the service knows."""
        return list(self.services[service].shapes)

    def advance(self, seconds: float) -> None:
        """Let time pass at once."""
        self.set_clock(advance_s=seconds)

    def clock_state(self) -> dict[str, float]:
        """Time, speed and skew."""
        clock = self.world.clock
        return {"now": clock.now(), "speed": clock.speed, "skew_s": clock.skew_s}

    def set_clock(
        self, *, advance_s: float | None = None, speed: float | None = None, skew_s: float | None = None
    ) -> dict[str, float]:
        """Jump forward, run faster or slower, or show a wrong time; the state afterwards.

        Raises
        ------
        ValueError : a negative jump or speed.
        """
        with self._lock:
            if speed is not None:
                self.world.clock.run_at(speed)
            if skew_s is not None:
                self.world.clock.skew_s = skew_s
            if advance_s is not None:
                self.world.clock.advance(advance_s)
            return self.clock_state()

    def choose(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Decide open points; the key ``*`` means every one that has a list of values.

        Raises
        ------
        ValueError : an unknown key or value.
        """
        wanted = dict(values)
        with self._lock:
            if "*" in wanted:
                every = wanted.pop("*")
                named = {key: every for key, known in self.world.choices.describe().items() if known["values"]}
                wanted = {**named, **wanted}
            self.world.choices.set(wanted)
            return self.world.choices.describe()

    def play(self, *names: str) -> dict[str, Any]:
        """Switch scenarios on.

        Raises
        ------
        ValueError : an unknown name.
        """
        unknown = [name for name in names if name not in SCENARIOS]
        if unknown:
            raise ValueError(f"There is no scenario {', '.join(unknown)}; known: {', '.join(SCENARIOS)}.")
        for name in names:
            scenario = SCENARIOS[name]
            self.choose(scenario.choices)
            for fault in scenario.faults:
                self.fault(**fault)
            if scenario.skew_s:
                self.set_clock(skew_s=scenario.skew_s)
        return {"playing": list(names)}

    def setup(self, service: str, **what: Any) -> Any:
        """Change the simulated world of one service (balance, keys, fates of nodes ...).

        Raises
        ------
        ValueError : unknown service or thing.
        """
        if service not in self.services:
            raise ValueError(f"There is no service {service!r}; known: {', '.join(self.services)}.")
        with self._lock:
            self._exchanges.settle([self.services[service]])
            return self.services[service].setup(what)


async def _read(request: Request) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _BODY_LIMIT:
            return None
    return bytes(body)

"""One request from arrival to answer: the service's work, the faults around it, the books and the record of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from .books import Entry
from .faults import Fault, Faults
from .records import Records
from .service import BOOKED, Answer, Call, Route, Service
from .transforms import transform
from .world import World

FAULT_HEADER = "X-Sandbox-Fault"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be sent: the answer, and the faults of the connection on the way."""

    answer: Answer
    faults: Sequence[Fault]

    @property
    def cut(self) -> Fault | None:
        """The fault that cuts the connection before any answer."""
        return next((fault for fault in self.faults if _cuts(fault)), None)

    def first(self, kind: str) -> Fault | None:
        """The first fault of a kind."""
        return next((fault for fault in self.faults if fault.kind == kind), None)


@dataclass(slots=True)
class Exchanges:
    """Takes calls one at a time; not thread-safe, the caller holds the lock."""

    world: World
    faults: Faults
    records: Records
    _late: list[tuple[float, Service, Call]] = field(default_factory=list)

    def take(self, service: Service, call: Call) -> tuple[Route | None, list[Fault]]:
        """The operation asked for and the faults that hit it; counts them."""
        route = service.find(call)
        faults = self.faults.take(service.name, call, route)
        call.faults = [fault.kind for fault in faults]
        call.key = service.label(call)
        return route, faults

    def carry_out(self, service: Service, call: Call, route: Route | None, faults: Sequence[Fault]) -> Outcome:
        """Work, unless a fault prevents it, and what the faults make of the answer."""
        self.settle([service])
        works = all(fault.lets_work for fault in faults)
        answer = service.answer(call, route) if works else Answer(500)
        self._accept_late(service, call, route, faults)
        for fault in faults:
            answer = transform(fault, answer, service, call)
        kinds = ",".join(fault.kind for fault in faults if fault.marked)
        if kinds:
            answer.headers[FAULT_HEADER] = kinds
        outcome = Outcome(answer, faults)
        status = None if outcome.cut else answer.status
        self._book(service, call, route, status=status, worked=works)
        self.records.add(service.name, call, status=status, secrets=service.secrets())
        return outcome

    def settle(self, services: Iterable[Service]) -> None:
        """Carry out what was accepted earlier and is due, then let the services catch up with the clock."""
        now = self.world.clock.now()
        due = sorted((item for item in self._late if item[0] <= now), key=lambda item: item[0])
        self._late = [item for item in self._late if item[0] > now]
        for moment, service, call in due:
            with self.world.clock.held_at(moment):
                service.tick()
                route = service.find(call)
                answer = service.answer(call, route)
                self._book(service, call, route, status=answer.status, worked=True)
        for service in services:
            service.tick()

    def _accept_late(self, service: Service, call: Call, route: Route | None, faults: Sequence[Fault]) -> None:
        late = next((fault for fault in faults if fault.kind == "commit_late"), None)
        if late is None or route is None:
            return
        service.expect(call, route)
        due = call.at + (1.0 if late.seconds is None else late.seconds)
        copy = replace(call, at=due, made=[], ended=[], note={"late": True, "accepted_seq": call.seq})
        self._late.append((due, service, copy))

    def _book(self, service: Service, call: Call, route: Route | None, *, status: int | None, worked: bool) -> None:
        if route is None or route.action not in BOOKED:
            return
        self.world.books.add(
            Entry(
                seq=call.seq,
                at=call.at,
                service=service.name,
                action=route.action,
                method=call.method,
                path=call.path,
                key=call.key,
                body_sha256=call.digest(),
                status=status,
                worked=worked,
                fault=",".join(call.faults) or None,
                made=list(call.made),
                ended=list(call.ended),
                note=dict(call.note),
            )
        )


def _cuts(fault: Fault) -> bool:
    late_without_answer = fault.kind == "commit_late" and fault.status is None and fault.body is None
    return fault.kind in ("drop_before", "drop_after") or late_without_answer

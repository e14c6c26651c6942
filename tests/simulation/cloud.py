"""The far side: a cloud that bills, with books of its own, and the ways in which its answers mislead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from jupyter_gpu_clusters.core.errors import ConflictError, ProviderError, TransportError
from jupyter_gpu_clusters.core.http_errors import LostAnswerError

Fate = Literal[
    "made", "answer_lost", "request_lost", "later", "much_later", "refused", "not_sent", "named_in_error", "mark_lost"
]
"""What becomes of one request to create a cluster."""

FATES: tuple[Fate, ...] = get_args(Fate)
LATER_S = {"later": 40.0, "much_later": 100_000.0}

ListFault = Literal[
    "all_empty", "list_empty", "list_part", "list_down", "list_stale", "list_drifts", "list_late", "get_404", "slow"
]
DeleteFault = Literal[
    "delete_later", "delete_ignored", "delete_partial", "delete_404", "delete_refused", "delete_unanswered"
]
Fault = ListFault | DeleteFault | Literal["get_down", "names_altered"]
"""A way in which the cloud misleads until it ceases."""

LIST_FAULTS: tuple[ListFault, ...] = get_args(ListFault)
DELETE_FAULTS: tuple[DeleteFault, ...] = get_args(DeleteFault)
FAULTS: tuple[Fault, ...] = (*LIST_FAULTS, *DELETE_FAULTS, "get_down", "names_altered")

STALE_S = 30.0
LISTED_AFTER_S = 200.0
DELETED_AFTER_S = 120.0
SLOW_S = 60.0
LATENCY_S = 0.1
FOREIGN = "foreign"


@dataclass
class Rented:
    """A cluster in the books. It bills until `ended_at`."""

    cluster_id: str
    name: str
    owner: str
    order_id: str
    made_at: float
    members: int
    deleting: bool = False
    ended_at: float | None = None

    def exists_at(self, moment: float) -> bool:
        """Whether it is there, and bills, at a moment."""
        return self.made_at <= moment and (self.ended_at is None or moment < self.ended_at)


@dataclass(frozen=True)
class Row:
    """A cluster as the cloud shows it."""

    cluster_id: str
    name: str
    members: int
    deleting: bool


@dataclass
class Request:
    """A request to create a cluster, as it arrived; its user wants it deleted at `ends_at` of the sender's clock."""

    owner: str
    order_id: str
    name: str
    base_name: str
    fate: Fate
    ends_at: datetime | None = None


@dataclass
class Cloud:
    """Books, requests and present faults."""

    loop: asyncio.AbstractEventLoop
    on_change: Callable[[], None] = lambda: None
    books: dict[str, Rented] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    faults: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    injected: int = 0
    pending: dict[str, Callable[[], None]] = field(default_factory=dict)
    _lists: int = 0

    @property
    def now(self) -> float:
        """The true time, in seconds."""
        return self.loop.time()

    def billing(self) -> list[Rented]:
        """What costs money now."""
        return [one for one in self.books.values() if one.exists_at(self.now)]

    def made_by(self, order_id: str) -> list[Rented]:
        """Everything that an order made, also what has ended."""
        return [one for one in self.books.values() if one.order_id == order_id]

    def latency(self) -> float:
        """How long an answer travels now."""
        return SLOW_S if "slow" in self.faults else LATENCY_S

    # Creating

    def create(self, request: Request, nodes: int) -> Row:
        """Carry out a request as its fate says."""
        fate = request.fate
        self.requests.append(request)
        self.on_change()
        if fate == "refused":
            raise ProviderError("No such image.", status=400, is_definite=True)
        if fate == "request_lost":
            raise LostAnswerError("The connection was cut.")
        name = request.base_name if fate == "mark_lost" else request.name
        if "names_altered" in self.faults:
            name = f"acct-{name}"
        if fate in LATER_S:
            self._do_later(f"create {request.order_id}", LATER_S[fate], lambda: self._make(request, name, nodes))
            raise LostAnswerError("The connection was cut.")
        row = self._make(request, name, nodes)
        if fate == "named_in_error":
            raise LostAnswerError("HTTP 502, which names a cluster.", ids=[row.cluster_id])
        if fate in ("answer_lost", "mark_lost"):
            raise LostAnswerError("The connection was cut.")
        return row

    def _make(self, request: Request, name: str, nodes: int) -> Row:
        made = self.add(request.owner, request.order_id, name, nodes)
        return self._row(made)

    def add(self, owner: str, order_id: str, name: str, nodes: int) -> Rented:
        """A new entry in the books."""
        number = f"c{len(self.books) + 1}"
        made = self.books[number] = Rented(number, name, owner, order_id, self.now, nodes)
        self.on_change()
        return made

    def _do_later(self, key: str, seconds: float, work: Callable[[], Any]) -> None:
        def do() -> None:
            if self.pending.pop(key, None) is not None:
                work()

        self.pending[key] = do
        self.loop.call_later(seconds, do)

    # Looking

    def list(self) -> tuple[list[Row], bool]:
        """What a listing shows now, and whether it says that it is complete."""
        self._lists += 1
        if "list_down" in self.faults:
            raise TransportError("HTTP 503.")
        moment = self.now - (STALE_S if "list_stale" in self.faults else 0.0)
        found = [one for one in self.books.values() if one.exists_at(moment) and one.cluster_id not in self.hidden]
        if "list_late" in self.faults:
            found = [one for one in found if self.now - one.made_at >= LISTED_AFTER_S]
        if self.faults & {"list_empty", "all_empty"}:
            found = []
        if "list_drifts" in self.faults and found:
            found.pop(self._lists % len(found))
        if "list_part" in self.faults:
            return [self._row(one) for one in found[: len(found) // 2]], False
        return [self._row(one) for one in found], True

    def get(self, cluster_id: str) -> Row | None:
        """What the route of one cluster shows; ``None`` is a 404."""
        if "get_down" in self.faults:
            raise TransportError("HTTP 503.")
        one = self.books.get(cluster_id)
        if self.faults & {"get_404", "all_empty"} or one is None or not one.exists_at(self.now):
            return None
        return self._row(one)

    @staticmethod
    def _row(one: Rented) -> Row:
        return Row(one.cluster_id, one.name, one.members, one.deleting)

    # Deleting

    def delete(self, cluster_id: str) -> None:
        """Carry out a request to delete as the faults say."""
        one = self.books.get(cluster_id)
        if "delete_refused" in self.faults:
            raise ConflictError("HTTP 412: it is being resized.", status=412, is_definite=True)
        if "delete_404" not in self.faults and one is not None and one.exists_at(self.now):
            self._work_on(one)
        if "delete_unanswered" in self.faults:
            raise LostAnswerError("The connection was cut.")
        if "delete_404" in self.faults or one is None:
            raise LookupError(cluster_id)

    def _work_on(self, one: Rented) -> None:
        if "delete_ignored" in self.faults:
            return
        if "delete_partial" in self.faults and one.members > 1:
            one.members -= 1
            return
        one.deleting = True
        if "delete_later" in self.faults:
            self._do_later(f"delete {one.cluster_id}", DELETED_AFTER_S, lambda: self.end(one))
        else:
            self.end(one)

    def end(self, one: Rented) -> None:
        """It is gone and bills no longer."""
        if one.ended_at is None:
            one.ended_at = self.now
            self.on_change()

    # Faults

    @property
    def is_faulty(self) -> bool:
        """Whether its answers mislead now, or something is under way."""
        return bool(self.faults or self.hidden or self.pending)

    def heal(self) -> None:
        """All faults cease, and what was under way is done."""
        self.faults.clear()
        self.hidden.clear()
        for work in list(self.pending.values()):
            work()

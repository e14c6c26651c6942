"""What a simulated service is made of: calls come in, answers go out, refusals have shapes."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError
from starlette.routing import BaseRoute

from .choices import Choice
from .world import World

M = TypeVar("M", bound=BaseModel)
Problem = tuple[str, str]
"""Dotted field name and what is wrong with it."""


@dataclass(slots=True)
class Call:
    """One request as a service sees it.

    ``path`` is what follows the service's prefix, still percent-encoded; ``headers`` have lower-case names; ``key`` is
    the label of the credential. The handler fills ``made``, ``ended`` and ``note`` for the books.
    """

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    body: bytes
    at: float
    seq: int
    params: Mapping[str, str] = field(default_factory=dict)
    faults: Sequence[str] = ()
    key: str = ""
    made: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    note: dict[str, Any] = field(default_factory=dict)

    def asked(self, name: str) -> str | None:
        """The last value of a query parameter."""
        values = self.query.get(name)
        return values[-1] if values else None

    def digest(self) -> str:
        """SHA-256 of the body bytes."""
        return hashlib.sha256(self.body).hexdigest()

    def parse(self, model: type[M]) -> M:
        """The JSON body as a strict model.

        Raises
        ------
        Refused : 422 with every problem; the service's `error` gives it the service's own shape.
        """
        try:
            return model.model_validate_json(self.body or b"null", strict=True)
        except ValidationError as exc:
            problems = [(".".join(map(str, e["loc"])), e["msg"]) for e in exc.errors(include_url=False)]
            raise Refused(422, "Validation error", problems=problems) from None


@dataclass(slots=True)
class Answer:
    """What a service answers; with `stream` the body is produced while it is sent."""

    status: int = 200
    body: bytes = b""
    media_type: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    stream: Callable[[], AsyncIterator[bytes]] | None = None

    @classmethod
    def json(cls, data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
        """A JSON body."""
        body = json.dumps(data, ensure_ascii=False).encode()
        return cls(status, body, "application/json", dict(headers or {}))

    @classmethod
    def text(cls, text: str, status: int = 200, media_type: str = "text/plain; charset=utf-8") -> Answer:
        """A text body, for example an HTML page."""
        return cls(status, text.encode(), media_type)


class Refused(Exception):
    """A service says no.

    Parameters
    ----------
    status : HTTP status.
    text : what the service says.
    code : the service's own word, if it has one.
    problems : fields and what is wrong with them.
    details : machine-readable extras, for example amounts.
    headers : extra headers, for example Retry-After.
    shape : a name out of the service's `shapes`; the usual one of that refusal when left out.
    """

    def __init__(
        self,
        status: int,
        text: str,
        *,
        code: str | None = None,
        problems: Iterable[Problem] = (),
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        shape: str | None = None,
    ) -> None:
        super().__init__(text)
        self.status, self.text, self.code, self.shape = status, text, code, shape
        self.problems, self.details, self.headers = list(problems), details, dict(headers or {})


Handler = Callable[[Call], Answer]
Shape = Callable[[Refused], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation.

    ``action`` is our word for it. Those in `BOOKED` go into the books; ``list`` marks the listing of clusters, pods or
    workloads; everything else is ``read``.
    """

    method: str
    template: str
    handler: Handler
    action: str = "read"

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """The path parameters, or `None` when the path is another one."""
        wanted = self.template.split("/")
        if len(wanted) != len(segments):
            return None
        params: dict[str, str] = {}
        for want, have in zip(wanted, segments, strict=True):
            if want.startswith("{") and have:
                params[want.strip("{}")] = have
            elif want != have:
                return None
        return params

    def rank(self) -> tuple[bool, ...]:
        """Fixed segments come before parameters."""
        return tuple(segment.startswith("{") for segment in self.template.split("/"))


BOOKED = frozenset({"create", "submit", "delete", "change"})


class Service(ABC):
    """One simulated service; see the package's docstring for how one is written."""

    name: ClassVar[str]
    prefix: ClassVar[str]
    more_prefixes: ClassVar[Sequence[str]] = ()
    choices: ClassVar[Sequence[Choice]] = ()
    shapes: ClassVar[Mapping[str, Shape]]
    """Every error body the contract knows, by a short name."""

    def __init__(self, world: World) -> None:
        self.world = world

    @cached_property
    def _table(self) -> list[Route]:
        return sorted(self.routes(), key=Route.rank)

    @abstractmethod
    def routes(self) -> Sequence[Route]:
        """All operations; asked once."""

    @abstractmethod
    def admit(self, call: Call, route: Route) -> None:
        """Check credential, scope and rate limit; raises `Refused`."""

    @abstractmethod
    def label(self, call: Call) -> str:
        """A name for the credential of a call that is safe to show; empty for none or a wrong one."""

    @abstractmethod
    def error(self, refused: Refused) -> Answer:
        """A refusal in its shape, or in the usual one for its status."""

    @abstractmethod
    def variables(self, url: str) -> Mapping[str, str]:
        """Environment variables that point a client here; `url` is the sandbox's own."""

    @abstractmethod
    def account(self, url: str) -> tuple[Mapping[str, str], str]:
        """Options of an account in the accounts file, and its secret."""

    @abstractmethod
    def secrets(self) -> Sequence[str]:
        """Texts that must never be recorded."""

    @abstractmethod
    def alive(self) -> Sequence[Mapping[str, Any]]:
        """Everything that exists and may cost, each with an ``id``."""

    @abstractmethod
    def bill(self) -> Mapping[str, Any]:
        """What it would bill by now: ``currency``, ``total`` and one row per thing, ended ones included."""

    def tick(self) -> None:
        """Catch up with the clock; called before every call and before the books are read."""

    def expect(self, call: Call, route: Route) -> None:
        """Work was accepted that is carried out later although its answer is an error (the fault ``commit_late``)."""

    def setup(self, what: Mapping[str, Any]) -> object:
        """Change the simulated world from outside (balance, keys, fates); the answer is JSON.

        Raises
        ------
        ValueError : nothing of that name can be set up here.
        """
        raise ValueError(f"{self.name} has nothing to set up, so not {', '.join(what)}.")

    def extra_routes(self) -> Sequence[BaseRoute]:
        """Starlette routes below the prefix that are no request with one answer (WebSockets); no faults, no books."""
        return ()

    def find(self, call: Call) -> Route | None:
        """The operation of a call, with ``call.params`` set; `None` when there is none."""
        segments = [unquote(segment) for segment in call.path.split("/")]
        for route in self._table:
            params = route.match(segments)
            if params is not None and route.method == call.method:
                call.params = params
                return route
        return None

    def answer(self, call: Call, route: Route | None) -> Answer:
        """Do the work and answer; refusals included."""
        try:
            if route is None:
                raise Refused(404, "Not Found")
            self.admit(call, route)
            return route.handler(call)
        except Refused as refused:
            return self.error(refused)

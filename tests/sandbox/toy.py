"""The smallest service that the frame can serve: a list of things that are made and removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from jupyter_gpu_clusters.sandbox import Answer, Call, Choice, Lifecycle, Refused, Route, Service, World

KEY = "toy key/with+odd&signs%"


class ThingBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    members: int = 1


class Toy(Service):
    name = "toy"
    prefix = "/toy/api"
    choices = (
        Choice("toy.names", "free", "whether a name may be used twice", ("free", "unique")),
        Choice("toy.start_seconds", "10", "how long a start takes", check=float),
    )
    shapes: ClassVar[Mapping[str, Any]] = {
        "envelope": lambda refused: Answer.json(
            {"error": refused.text, "problems": refused.problems}, refused.status, refused.headers
        ),
        "bare": lambda refused: Answer.json({"detail": refused.text}, refused.status, refused.headers),
    }

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.things: dict[str, Lifecycle] = {}

    def routes(self) -> Sequence[Route]:
        return [
            Route("GET", "/things", self.list_things, "list"),
            Route("POST", "/things", self.create, "create"),
            Route("DELETE", "/things/{thing}", self.delete, "delete"),
            Route("GET", "/things/{thing}", self.get),
        ]

    def label(self, call: Call) -> str:
        return "toy-key" if call.headers.get("x-key") == KEY else ""

    def admit(self, call: Call, route: Route) -> None:
        if not call.key:
            raise Refused(401, "Wrong key")

    def error(self, refused: Refused) -> Answer:
        return self.shapes[refused.shape or "envelope"](refused)  # type: ignore[no-any-return]

    def variables(self, url: str) -> Mapping[str, str]:
        return {"TOY_URL": url + self.prefix}

    def account(self, url: str) -> tuple[Mapping[str, str], str]:
        return {"base_url": url + self.prefix}, KEY

    def secrets(self) -> Sequence[str]:
        return [KEY]

    def alive(self) -> Sequence[Mapping[str, Any]]:
        return [{"id": name, "state": life.state(self.world.clock.now())} for name, life in self.things.items()]

    def bill(self) -> Mapping[str, Any]:
        return {"currency": "USD", "total": 0, "rows": []}

    def setup(self, what: Mapping[str, Any]) -> object:
        if set(what) != {"forget"}:
            return super().setup(what)
        self.things.pop(what["forget"])
        return {}

    def list_things(self, call: Call) -> Answer:
        page = int(call.asked("page") or 1)
        size = int(call.asked("size") or 100)
        now = self.world.clock.now()
        rows = [{"id": name, "status": life.state(now), "size": 4} for name, life in self.things.items()]
        return Answer.json({"total": len(rows), "rows": rows[(page - 1) * size : page * size]})

    def get(self, call: Call) -> Answer:
        if call.params["thing"] not in self.things:
            raise Refused(404, "No such thing")
        return Answer.json({"id": call.params["thing"]})

    def create(self, call: Call) -> Answer:
        body = call.parse(ThingBody)
        start = self.world.choices.number("toy.start_seconds")
        for _ in range(body.members):
            name = self.world.uuid()
            self.things[name] = Lifecycle(self.world.clock.now(), (0, "CREATING"), (start, "RUNNING"))
            call.made.append(name)
        return Answer.json({"ids": call.made}, 201)

    def delete(self, call: Call) -> Answer:
        if self.things.pop(call.params["thing"], None) is None:
            raise Refused(404, "No such thing")
        call.ended.append(call.params["thing"])
        return Answer.json({})

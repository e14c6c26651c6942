"""The service as the frame sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from json import dumps
from typing import Any, ClassVar
from urllib.parse import urlencode

from ..service import Answer, Call, Refused, Route, Service, Shape
from ..world import World
from .accounts import presented, sign_in
from .belongings import Belongings
from .books import alive, bill
from .catalogue import CURRENCY
from .choices import CHOICES
from .clusters import Clusters
from .errors import SHAPES, usual_shape
from .lookups import SIBLING_PREFIX, Lookups
from .route import TirRoute
from .setup import Setup
from .state import Tir

_HOST_PART = "/e2e/myaccount/"
_METHODS = ("GET", "POST", "PUT", "DELETE")


class E2E(Service):
    """E2E Networks TIR training clusters."""

    name = "e2e"
    prefix = f"{_HOST_PART}api/v1/gpu"
    more_prefixes = (SIBLING_PREFIX,)
    choices = CHOICES
    shapes: ClassVar[Mapping[str, Shape]] = SHAPES

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._tir = Tir(world)
        self._clusters = Clusters(self._tir)
        self._setup = Setup(self._tir, self._clusters)

    def routes(self) -> Sequence[Route]:
        """All operations."""
        return [*self._clusters.routes(), *Lookups(self._tir).routes(), *Belongings(self._tir).routes()]

    def label(self, call: Call) -> str:
        """The label of the pair of credentials that came with the call."""
        found = presented(call, self._tir.credentials)
        return found.label if found else ""

    def admit(self, call: Call, route: Route) -> None:
        """Credentials, rate, parameters, place and role, in this order."""
        credential = sign_in(call, self._tir.credentials, self._tir.now())
        limit = self.world.choices.number("e2e.rate_limit")
        if limit:
            credential.count(self._tir.now(), limit)
        if isinstance(route, TirRoute):
            route.check(call)
        self._tir.place(call)
        if credential.read_only and call.method != "GET":
            raise Refused(403, "Your role may only read.")

    def error(self, refused: Refused) -> Answer:
        """A refusal in its shape; what a body's model refuses is a 400 here."""
        if refused.status == 422 and refused.shape is None:
            problems = refused.problems
            refused = Refused(400, "Invalid request", problems=problems, headers=refused.headers)
        return self.shapes[refused.shape or usual_shape(refused)](refused)

    def find(self, call: Call) -> Route | None:
        """The operation; a path without its last slash is one only when chosen so."""
        served = self.world.choices["e2e.no_slash"] == "served" and not call.path.endswith("/")
        path = call.path
        if served:
            call.path = f"{path}/"
        route = super().find(call)
        call.path = path
        return route

    def answer(self, call: Call, route: Route | None) -> Answer:
        """The answer, with redirects for lost slashes, and rate headers when there is a limit."""
        answer = self._without_route(call) if route is None else super().answer(call, route)
        return self._with_rate(call, answer)

    def _without_route(self, call: Call) -> Answer:
        slashed = replace(call, path=f"{call.path}/", params={})
        chosen = self.world.choices["e2e.no_slash"]
        if not call.path.endswith("/") and chosen.startswith("redirect") and self.find(slashed):
            query = urlencode(call.query, doseq=True)
            before = "" if call.path.startswith(SIBLING_PREFIX) else self.prefix
            where = before + slashed.path + (f"?{query}" if query else "")
            return Answer(301 if chosen == "redirect" else 308, headers={"Location": where})
        others = [method for method in _METHODS if self.find(replace(call, method=method))]
        if others:
            refused = Refused(405, f'Method "{call.method}" not allowed.', headers={"Allow": ", ".join(others)})
            return self.error(refused)
        return self.error(Refused(404, "Not Found", shape="html"))

    def _with_rate(self, call: Call, answer: Answer) -> Answer:
        limit = self.world.choices.number("e2e.rate_limit")
        credential = presented(call, self._tir.credentials)
        if limit and credential is not None:
            now = self._tir.now()
            answer.headers["ratelimit-limit"] = f"{limit:g}"
            answer.headers["ratelimit-remaining"] = str(credential.remaining(now, limit))
            reset = self.world.clock.shown(credential.reset_at(now)).timestamp()
            answer.headers["ratelimit-reset"] = f"{reset:.0f}"
        return answer

    def variables(self, url: str) -> Mapping[str, str]:
        """Where the vendor's SDK looks; its host ends in ``/myaccount/``."""
        first = self._tir.credentials[0]
        return {
            "E2E_TIR_API_HOST": url + _HOST_PART,
            "E2E_TIR_API_KEY": first.api_key,
            "E2E_TIR_ACCESS_TOKEN": first.token,
            "E2E_TIR_PROJECT_ID": str(first.account.projects[0].id),
        }

    def account(self, url: str) -> tuple[Mapping[str, str], str]:
        """The secret has two halves, so it is JSON with the field names of the vendor's credential file."""
        first = self._tir.credentials[0]
        options = {"base_url": url + self.prefix, "project_id": str(first.account.projects[0].id)}
        return options, dumps({"api_key": first.api_key, "auth_token": first.token})

    def secrets(self) -> Sequence[str]:
        """Both halves of every credential."""
        return [half for one in self._tir.credentials for half in (one.api_key, one.token)]

    def alive(self) -> Sequence[Mapping[str, Any]]:
        """Clusters, file systems and reserved addresses."""
        return alive(self._tir)

    def bill(self) -> Mapping[str, Any]:
        """Everything that was ever charged."""
        return {"currency": CURRENCY, **bill(self._tir)}

    def setup(self, what: Mapping[str, Any]) -> object:
        """See `Setup`."""
        return self._setup.do(what)

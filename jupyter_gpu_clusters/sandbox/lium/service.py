"""The Lium renter API as one service of the sandbox."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..choices import Choice
from ..service import Answer, Call, Refused, Route, Service, Shape
from ..world import World
from .clusters import Clusters
from .errors import SHAPES, usual_shape
from .library import Library
from .market import Market
from .money import Money
from .pods import Pods
from .rents import Rents
from .setup import set_up
from .state import CHOICES, State
from .storage import Storage

_OPEN = frozenset({"/version", "/executors/{executor_uuid}/quote"})
_FIREWALL = re.compile(rb"http://\d{1,3}(\.\d{1,3}){3}|\.\./\.\./")
_FIREWALL_BYTES = 64 * 1024


class Lium(Service):
    """One market, its accounts and their pods."""

    name = "lium"
    prefix = "/lium/api"
    choices: ClassVar[Sequence[Choice]] = CHOICES
    shapes: ClassVar[Mapping[str, Shape]] = SHAPES

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.state = State(world)
        self._rents = Rents(self.state, self.error)

    def routes(self) -> Sequence[Route]:
        """Every operation of the contract."""
        state = self.state
        groups = (
            self._rents,
            Pods(state),
            Clusters(state),
            Market(state),
            Library(state),
            Storage(state),
            Money(state),
        )
        return [Route("GET", "/version", self._version), *(route for group in groups for route in group.routes())]

    def _version(self, call: Call) -> Answer:
        return Answer.json({"version": "1.42.0", "features": self.state.features()})

    def answer(self, call: Call, route: Route | None) -> Answer:
        """Every answer has a request id."""
        answer = super().answer(call, route)
        answer.headers.setdefault("X-Request-Id", self.world.hex(32))
        return answer

    def label(self, call: Call) -> str:
        """``account/key name``."""
        key = self.state.key_of(call)
        return f"{key.account.name}/{key.name}" if key else ""

    def admit(self, call: Call, route: Route) -> None:
        """The edge firewall, then the key; scopes of writes are checked where the pod is known."""
        if len(call.body) > _FIREWALL_BYTES or _FIREWALL.search(call.body):
            raise Refused(403, "Request blocked", shape="html")
        if route.template in _OPEN:
            return
        key = self.state.known_key(call)
        if route.method == "GET":
            key.need("read")

    def error(self, refused: Refused) -> Answer:
        """A refusal in its shape, with a request id."""
        refused.headers.setdefault("X-Request-Id", self.world.hex(32))
        return self.shapes[refused.shape or usual_shape(refused)](refused)

    def variables(self, url: str) -> Mapping[str, str]:
        """What the official client reads."""
        return {"LIUM_BASE_URL": url + self.prefix, "LIUM_API_KEY": self.state.keys[0].secret}

    def account(self, url: str) -> tuple[Mapping[str, str], str]:
        """Base URL, and the key."""
        return {"base_url": url + self.prefix}, self.state.keys[0].secret

    def secrets(self) -> Sequence[str]:
        """Every key."""
        return [key.secret for key in self.state.keys]

    def expect(self, call: Call, route: Route) -> None:
        """A rent that is carried out later holds its idempotency key from now on."""
        key = self.state.key_of(call)
        if key is not None and route.action == "create":
            self._rents.idempotency.expect(key.account, call)

    def tick(self) -> None:
        """The billing run: it ends pods of keys whose budget is reached and, if so chosen, of empty accounts."""
        now = self.state.now()
        limited = [
            key for key in self.state.keys if key.budget_usd is not None and self.state.spent(key) >= key.budget_usd
        ]
        empty = []
        if self.world.choices["lium.zero_balance"] == "delete":
            empty = [a for a in self.state.accounts.values() if self.state.balance(a) <= 0]
        if limited or empty:
            for pod in self.state.pods.values():
                if (pod.key in limited or pod.key.account in empty) and pod.removed_at(now) is None:
                    pod.remove(now, "budget" if pod.key in limited else "balance")

    def setup(self, what: Mapping[str, Any]) -> object:
        """See `set_up`."""
        return set_up(self.state, what)

    def alive(self) -> Sequence[Mapping[str, Any]]:
        """Every pod that listings show."""
        now = self.state.now()
        return [
            {
                "id": pod.id,
                "name": pod.name,
                "state": pod.state(now),
                "billing": pod.removed_at(now) is None and self._bills_now(pod.id, now),
                "price_per_hour": pod.price,
                "executor_id": pod.executor.id,
                "cluster_id": pod.cluster_id,
                "index": pod.index,
                "key": f"{pod.key.account.name}/{pod.key.name}",
                "customer_ref": pod.customer_ref,
                "removal_at": pod.removal_at,
                "host_key": pod.host_key,
                "created_at": pod.created,
            }
            for pod in self.state.pods.values()
            if pod.is_listed(now)
        ]

    def _bills_now(self, pod_id: str, now: float) -> bool:
        return self.state.cost(self.state.pods[pod_id], now + 1, now) > 0

    def bill(self) -> Mapping[str, Any]:
        """What all pods would cost by now, ended ones included."""
        now = self.state.now()
        rows = [
            {"id": pod.id, "cluster_id": pod.cluster_id, "total": round(self.state.cost(pod, now), 6)}
            for pod in self.state.pods.values()
        ]
        return {"currency": "USD", "total": round(sum(float(str(row["total"])) for row in rows), 6), "rows": rows}

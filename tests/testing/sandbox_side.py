"""The far side of a provider whose service is simulated: the sandbox, over a real port."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.testing import FarSide, Received
from jupyter_gpu_clusters.testing.far_side import Block
from tests.contracts.fixtures import CheckedSandbox

_ACTIONS: Mapping[Verb, str] = {Verb.CREATE: "create", Verb.SUBMIT: "submit", Verb.DELETE: "delete"}


class SandboxSide(FarSide):
    """One service of a sandbox. Faults are the sandbox's own, so requests and answers stay validated.

    `settle_s` is how long anything may take there, by the sandbox's clock; `no_writes` are paths to which something is
    posted that changes nothing.
    """

    loggers: ClassVar[Sequence[str]] = ("uvicorn",)
    settle_s: ClassVar[float]
    no_writes: ClassVar[Sequence[str]] = ()

    def __init__(self, sandbox: CheckedSandbox) -> None:
        self.sandbox = sandbox

    @property
    def books(self) -> Mapping[str, Any]:
        """The service's page of the books."""
        page: Mapping[str, Any] = self.sandbox.books()["services"][self.provider]
        return page

    def received(self) -> Sequence[Received]:
        """Every request that is no read, also where the books have no entry for it."""
        actions = {entry["seq"]: entry["action"] for entry in self.books["entries"]}
        rows = [row for row in self.sandbox.requests() if row["method"] != "GET" and row["path"] not in self.no_writes]
        return [Received(actions.get(row["seq"], "change"), _json(row["body"])) for row in rows]

    def settle(self) -> None:
        self.sandbox.advance(self.settle_s)

    @contextmanager
    def faults(self, *faults: Mapping[str, Any]) -> Iterator[None]:
        """Faults of the sandbox for the length of the block, however often they hit."""
        numbers = [self.sandbox.fault(**{"service": self.provider, "times": None, **fields}) for fields in faults]
        try:
            yield
        finally:
            for number in numbers:
                self.sandbox.clear_faults(number)

    def fault(self, **fields: Any) -> Block:
        """The same with one of them."""
        return self.faults(fields)

    def losing_answers(self, verb: Verb, *, after_work: bool) -> Block:
        kind = "drop_after" if after_work else "drop_before"
        return self.fault(kind=kind, action=_ACTIONS.get(verb, "change"))

    def delaying_answers(self, seconds: float) -> Block:
        return self.fault(kind="delay", seconds=seconds, action="create")

    def refusing_credential(self) -> Block:
        return self.fault(kind="status", status=401)

    def failing_listings(self) -> Block:
        return self.fault(kind="status", status=501, action="list")

    def hiding(self, cluster_id: str) -> Block:
        return self.fault(kind="hide_rows", action="list", ids=[cluster_id])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None

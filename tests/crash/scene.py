"""One service with its accounts, as one case needs it: what is there before, what the user writes, what goes wrong."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.request import Request, urlopen

from jupyter_gpu_clusters.sandbox import Sandbox
from jupyter_gpu_clusters.sandbox.services import SERVICES

from .cases import CUT, SENT, Case

LATE_S, MUCH_LATER_S = 7200.0, 10800.0
COLLEAGUE = "colleague"
THEIR_MARK = "0bad234567"
"""The mark of another journal, as it looks."""
_HELD_S = {"SIGKILL": 5.0}
_HELD_USUALLY_S = 1.0


@dataclass(frozen=True)
class Alive:
    """Something that the service has, under the id by which clients know it; ``size`` is its true number of nodes."""

    id: str
    name: str
    is_billed: bool
    size: int = 1


@dataclass(frozen=True)
class Making:
    """What one create or submit of ours made; `seq` is that of its request, also where it was carried out late."""

    seq: int
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Account:
    """How an account is written down."""

    options: Mapping[str, Any]
    secret: str | Mapping[str, str]


class Scene(ABC):
    """The far side of one case."""

    service: ClassVar[str]
    choices: ClassVar[Mapping[str, str]] = {}
    intent: ClassVar[str] = "fire"
    """The name of what is created or submitted."""

    def __init__(self, case: Case) -> None:
        self.case = case
        kind = next(one for one in SERVICES if one.name == self.service)
        self.sandbox = Sandbox(seed=case.number, speed=0, services=[kind], choices={"*": "random", **self.choices})
        self._stack = ExitStack()
        self._port = 0

    # The network

    def __enter__(self) -> Scene:
        self.plug_in()
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()

    def plug_in(self) -> None:
        """Listen; after `unplug` where it was before."""
        self._stack.enter_context(self.sandbox.serve(port=self._port))
        self._port = int(self.sandbox.url.rpartition(":")[2])
        self.url = self.sandbox.url

    def unplug(self) -> None:
        """Nobody listens any more."""
        self._stack.close()

    # Accounts

    @abstractmethod
    def accounts(self) -> Mapping[str, Account]:
        """Who resolves -> the account."""

    # What is written

    @abstractmethod
    def prepare(self) -> Sequence[str]:
        """Cells before the write; `settle` follows each."""

    @property
    @abstractmethod
    def write(self) -> str:
        """The cell of the write."""

    @abstractmethod
    def plant(self) -> None:
        """What others have from the beginning."""

    @abstractmethod
    def plant_alike(self) -> None:
        """A colleague makes something of the same name, under a mark of his own."""

    # What is there

    @abstractmethod
    def alive(self) -> list[Alive]:
        """All that exists."""

    @abstractmethod
    def made(self) -> list[Making]:
        """What each carried out create or submit of ours made, as client ids."""

    @abstractmethod
    def is_done(self, target: str) -> bool:
        """Whether the books show that the write (no create) took effect on its target."""

    def parts(self, target: str) -> Sequence[str]:
        """The ids by which requests name it."""
        return [target.rpartition("/")[2]]

    def entries(self) -> list[dict[str, Any]]:
        """Book entries of our own credentials."""
        books = self.sandbox.books()["services"][self.service]["entries"]
        return [entry for entry in books if COLLEAGUE not in entry["key"]]

    def last_seq(self) -> int:
        """The number of the last request that was booked."""
        return max((entry["seq"] for entry in self.entries()), default=0)

    def writes(self) -> list[str]:
        """Requests that may change something, in the record of all requests; tokens are none."""
        return [
            f"{row['method']} {row['path']}"
            for row in self.sandbox.requests()
            if row["method"] != "GET" and not row["path"].endswith("/token")
        ]

    def advance(self, seconds: float) -> None:
        """Let the sandbox's time pass."""
        self.sandbox.advance(seconds)

    def settle(self) -> None:
        """Let what was ordered come up."""
        self.advance(LATE_S)

    # What goes wrong

    @property
    @abstractmethod
    def action(self) -> str:
        """The sandbox's word for the write."""

    @abstractmethod
    def errors_with_id(self) -> list[dict[str, Any]]:
        """Edits that make of a good answer one that tells of errors and names an id all the same."""

    def fault(self, **fields: Any) -> str:
        """Switch a fault on."""
        return self.sandbox.fault(**{"service": self.service, "times": None, **fields})

    def arm(self, target: str | None) -> None:
        """What is wrong from just before the write: with its answer, and with listings of what it made or is about."""
        self._arm_answer()
        name, lists = self.case.fault, {"action": "list"}
        if name == "late listing":
            late = {"seconds": LATE_S / 2} if target is None else {"ids": list(self.parts(target))}
            self.fault(kind="hide_rows", **late, **lists)
        elif name == "member never listed":
            self.fault(kind="hide_rows", index=self.hidden_member, **lists)
        elif name == "page drift":
            self.fault(kind="page_drift", how=("skip", "repeat")[self.case.number % 2], **lists)
        if name in ("late listing", "member never listed") or (name == "page drift" and self.case.number % 4 < 2):
            self.fault(kind="mutate", ops=[{"op": "remove", "path": path} for path in self.totals], **lists)
        if self.case.step == SENT:
            held = _HELD_S.get(self.case.violence, _HELD_USUALLY_S)
            self.fault(kind="delay", when="after", seconds=held, action=self.action, times=1)
            if self.case.violence == CUT:
                self.fault(kind="drop_after", action=self.action)

    hidden_member: ClassVar[int] = 0

    def _arm_answer(self) -> None:
        faults: Mapping[str, dict[str, Any]] = {
            "dropped after work": {"kind": "drop_after"},
            "5xx after work": {"kind": "status_after", "status": 502},
            "errors and an id": {"kind": "mutate", "status": 201, "ops": self.errors_with_id()},
            "HTML under 200": {"kind": "html", "status": 200},
            "truncated": {"kind": "truncated"},
            "slow": {"kind": "slow_body", "seconds": 4.5},
            "commit later": {"kind": "commit_late", "seconds": LATE_S},
        }
        if self.case.fault in faults:
            self.fault(action=self.action, **faults[self.case.fault])
        if self.case.fault == "404 on routes" and self.action == "delete":
            self.fault(action="delete", kind="status", status=404)

    def arm_resolvers(self) -> None:
        """What is wrong from the violence on, for whoever looks."""
        if self.case.fault == "one empty list":
            once = {"action": "list", "times": 1, "skip": self.case.number % 2, **self.listed_place}
            self.fault(kind="empty_list", **once)
            self.fault(kind="mutate", ops=[{"op": "set", "path": path, "value": 0} for path in self.totals], **once)
        elif self.case.fault == "404 on routes":
            for action in ("list", "read"):
                self.fault(kind="status", status=404, action=action)

    listed_place: ClassVar[Mapping[str, Any]] = {}
    totals: ClassVar[Sequence[str]] = ()
    """Where a listing tells how much there is, so that an empty one does not betray itself."""

    def clear(self) -> None:
        """Nothing is wrong any more, and all that was to come late has come."""
        self.sandbox.clear_faults()
        self.advance(MUCH_LATER_S)

    @contextmanager
    def without_faults(self) -> Iterator[None]:
        """A colleague's request, which no fault is meant for."""
        kept = list(self.sandbox.faults.active())
        self.sandbox.clear_faults()
        try:
            yield
        finally:
            for fault in kept:
                self.sandbox.faults.add(fault)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """A request of somebody else's, straight to the service."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data=data, method=method, headers=dict(headers or {}))
        request.headers.setdefault("Content-type", "application/json")
        with urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"null")


def write_account(scene: Scene, config: Path, resolver: str) -> None:
    """The accounts file of one user, with secret files beside it."""
    folder = config / "jupyter_gpu_clusters"
    folder.mkdir(parents=True, exist_ok=True)
    account = scene.accounts()[resolver]
    parts = {"secret": account.secret} if isinstance(account.secret, str) else account.secret
    references = {}
    for name, text in parts.items():
        file = folder / f"{resolver.replace(' ', '-')}.{name}"
        file.touch(0o600)
        file.write_text(text)
        references[name] = f"file:{file}"
    secret = references["secret"] if isinstance(account.secret, str) else references
    table = {"provider": scene.service, "secret": secret, **account.options}
    lines = [f"[accounts.{scene.service}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    (folder / "accounts.toml").write_text("\n".join([*lines, ""]))


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)

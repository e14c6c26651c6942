"""Faults on demand: which requests they hit, and how often."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from .service import Call, Route

Kind = Literal[
    "delay",
    "drop_before",
    "drop_after",
    "cut_body",
    "slow_body",
    "status",
    "status_after",
    "html",
    "empty",
    "truncated",
    "retry_after",
    "redirect",
    "commit_late",
    "hide_rows",
    "empty_list",
    "page_drift",
    "mutate",
]
KINDS: dict[Kind, str] = {
    "delay": "the answer comes `seconds` late (real time); `when` says whether the work waits too",
    "drop_before": "the connection is cut, nothing was done",
    "drop_after": "the work is done, then the connection is cut without an answer",
    "cut_body": "the work is done, the connection is cut in the middle of the body",
    "slow_body": "the body trickles over `seconds` of real time",
    "status": "refused with `status` in `shape`, nothing was done",
    "status_after": "the work is done, then refused with `status` in `shape`",
    "html": "an HTML page under `status`; the work is done when it is below 400",
    "empty": "the work is done, the body is empty, under `status` or the true one",
    "truncated": "the work is done, a complete answer holds half of its JSON",
    "retry_after": "429 or `status` with Retry-After of `seconds`, as a number or (`date`) an HTTP date",
    "redirect": "`status` or 307 to the same path, on this origin or on `to`",
    "commit_late": "an error now (`status` in `shape`, or a cut connection without `status`), the work `seconds` later",
    "hide_rows": "listings lack what was made, for `seconds` after its making or for ever; `ids` or `index` pick",
    "empty_list": "a listing comes back empty",
    "page_drift": "later pages miss their first row (`how: skip`) or begin with the last row seen (`how: repeat`)",
    "mutate": "the answer is edited by `ops`",
}
_NOTHING_DONE = frozenset({"drop_before", "status", "retry_after", "redirect", "commit_late"})
UNMARKED = frozenset({"delay", "slow_body"})
"""Kinds that leave the answer as the contract has it."""


class Op(BaseModel):
    """One edit of an answer: `path` is a JSON pointer whose segment ``*`` means every member.

    ``set`` puts `value` (a new name adds a field), ``remove`` takes away, ``text`` writes a number as a string,
    ``number`` a string as a number, ``list`` wraps the value into a list.
    """

    model_config = ConfigDict(extra="forbid")

    op: Literal["set", "remove", "text", "number", "list"]
    path: str = Field(pattern=r"^(/[^/]*)*$")
    value: JsonValue = None


class Fault(BaseModel):
    """One fault; the first fields say which requests it hits.

    Attributes
    ----------
    path : below the service's prefix; a template (``/pods/{id}``) or a glob in which ``*`` also spans ``/``.
    action : create, submit, delete, change, list or read, as the service's own routes say.
    query : parameters that must have these values.
    skip : let that many matching requests pass first.
    times : how many requests are hit; `None` for all until the fault is removed.
    """

    model_config = ConfigDict(extra="forbid")

    service: str = "*"
    method: str = "*"
    path: str = "*"
    action: str = "*"
    query: dict[str, str] = Field(default_factory=dict)
    skip: int = Field(0, ge=0)
    times: int | None = Field(1, ge=1)

    kind: Kind
    status: int | None = Field(None, ge=100, le=599)
    shape: str | None = None
    text: str | None = None
    code: str | None = None
    details: dict[str, Any] | None = None
    body: JsonValue = None
    seconds: float | None = Field(None, ge=0)
    date: bool = False
    when: Literal["before", "after"] = "after"
    reset: bool = False
    to: str | None = None
    ids: list[str] | None = None
    index: int | None = None
    rows: str | None = None
    id_key: str = "id"
    how: Literal["skip", "repeat"] = "skip"
    ops: list[Op] = Field(default_factory=list)

    id: str = ""
    hits: int = 0
    memory: JsonValue = None

    @property
    def lets_work(self) -> bool:
        """Whether the service carries out what was asked."""
        if self.kind == "html":
            return (self.status or 200) < 400
        return self.kind not in _NOTHING_DONE

    @property
    def marked(self) -> bool:
        """Whether the answer may break the contract, and says so in ``X-Sandbox-Fault``."""
        return self.kind not in UNMARKED

    def meets(self, service: str, call: Call, route: Route | None) -> bool:
        """Whether this request is one it is meant for."""
        return (
            self.service in ("*", service)
            and self.method in ("*", call.method)
            and self.action in ("*", route.action if route else "read")
            and _path_meets(self.path, call.path)
            and all(call.asked(name) == value for name, value in self.query.items())
        )


def _path_meets(pattern: str, path: str) -> bool:
    if "{" not in pattern:
        return fnmatchcase(path, pattern)
    fixed = re.split(r"\{[^/{}]*\}", pattern)
    return re.fullmatch("[^/]+".join(map(re.escape, fixed)), path) is not None


class Faults:
    """The active faults, in the order in which they were set."""

    def __init__(self) -> None:
        self._active: list[Fault] = []
        self._count = 0

    def add(self, fault: Fault) -> str:
        """Switch one on; its id."""
        self._count += 1
        fault.id = f"fault-{self._count}"
        self._active.append(fault)
        return fault.id

    def clear(self, fault_id: str | None = None) -> None:
        """Switch one off, or all."""
        self._active = [fault for fault in self._active if fault_id not in (None, fault.id)]

    def take(self, service: str, call: Call, route: Route | None) -> list[Fault]:
        """Those that hit this request; each one is counted, and gone after its last hit."""
        hit = []
        for fault in [fault for fault in self._active if fault.meets(service, call, route)]:
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.hits += 1
            hit.append(fault)
            if fault.times is not None:
                fault.times -= 1
                if fault.times == 0:
                    self._active.remove(fault)
        return hit

    def active(self) -> Sequence[Fault]:
        """What may still hit."""
        return tuple(self._active)

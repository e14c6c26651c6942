"""The judge: the sandbox's books against what the client knows and shows, id by id and intent by intent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from jupyter_gpu_clusters.core import http  # noqa: F401  (some kinds of errors are defined there)
from jupyter_gpu_clusters.core.errors import GpuClustersError
from tests.kernel import Done

from .scene import Alive, Making

MIME = "application/vnd.jupyter-gpu-clusters+json"
_OPEN = ("open", "not_seen")


class Wrong(StrEnum):
    """What may never be."""

    DOUBLE = "double order"
    LOST = "lost order"
    FOREIGN = "foreign adoption"
    FALSE_DELETED = 'false "deleted"'
    RESOLVER_WROTE = "write by a resolver"
    TOUCHED = "touched what was there before"
    UNRESOLVED = "not resolved although the evidence is there"
    STACK = "a stack or an unexpected error"
    STUCK = "a cell that did not end"


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong, and what shows it."""

    kind: Wrong
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class Told:
    """What the client has on disk and has just shown: rows of the journal, and the lists of its last look."""

    orders: Sequence[Mapping[str, Any]] = ()
    clusters: Sequence[Mapping[str, Any]] = ()
    workloads: Sequence[Mapping[str, Any]] = ()
    shown: Sequence[Mapping[str, Any]] = ()

    @property
    def known(self) -> Sequence[Mapping[str, Any]]:
        """Everything that has a phase, the shown ones last."""
        return [*self.clusters, *self.workloads, *self.shown]

    @property
    def identity(self) -> str | None:
        """Of the usual account, which gave the first order."""
        return self.orders[0]["identity_key"] if self.orders else None

    def open_orders(self, verb: str) -> list[Mapping[str, Any]]:
        """Orders of a verb without a known outcome."""
        return [order for order in self.orders if order["verb"] == verb and order["state"] in _OPEN]


@dataclass(frozen=True)
class Truth:
    """What the service has at one moment.

    ``made`` is what each carried out order of ours made; ``theirs`` are ids of others; ``before`` is what was there
    before the write, ours and theirs, as it was; ``elsewhere`` numbers the requests sent as another identity.
    """

    alive: Sequence[Alive]
    made: Sequence[Making]
    before: Mapping[str, Alive] = field(default_factory=dict)
    theirs: Collection[str] = ()
    elsewhere: range = range(0)

    @property
    def ours(self) -> list[Alive]:
        """What our orders made and what is billed now."""
        return self._billed(self.made)

    @property
    def adoptable(self) -> list[Alive]:
        """Those of them that the usual account ordered."""
        return self._billed([making for making in self.made if making.seq not in self.elsewhere])

    def _billed(self, made: Sequence[Making]) -> list[Alive]:
        ids = {one for making in made for one in making.ids}
        return [one for one in self.alive if one.id in ids and one.is_billed]


@dataclass(frozen=True)
class Intent:
    """What the user asked for: the verb and, where it is about something that exists, its id."""

    verb: str
    name: str
    target: str | None = None
    makings: int = 1
    """How many orders may have made something in all, preparations included."""


def id_of(row: Mapping[str, Any]) -> str:
    """The far side's id of a cluster or workload row."""
    return str(row.get("workload_id") or row.get("cluster_id"))


def read_told(data: Path, shown: Sequence[Done]) -> Told:
    """The journal in a data directory, and what cells have shown."""
    folder = data / "jupyter_gpu_clusters"
    if not (folder / "journal.sqlite").exists():
        return Told(shown=shown_rows(shown))
    with closing(sqlite3.connect(folder / "journal.sqlite", timeout=20)) as db:
        read = {
            name: [
                {"identity_key": row[1], **json.loads(row[0])}
                for row in db.execute(f"SELECT {column}, identity FROM {name} ORDER BY rowid")
            ]
            for name, column in (("orders", "body"), ("clusters", "snapshot"), ("workloads", "snapshot"))
        }
    known = {order["order_id"] for order in read["orders"]}
    claims = [json.loads(file.read_text()) for file in sorted((folder / "intents").glob("*.json"))]
    orders = [*read["orders"], *(order for order in claims if order["order_id"] not in known)]
    return Told(orders, read["clusters"], read["workloads"], shown_rows(shown))


def shown_rows(cells: Sequence[Done]) -> list[Mapping[str, Any]]:
    """Clusters and workloads in results of cells."""
    rows: list[Mapping[str, Any]] = []
    for cell in cells:
        told = cell.result.get(MIME, {})
        value = told.get("value")
        if told.get("kind") in ("clusters", "workloads"):
            rows += value
        elif told.get("kind") in ("cluster", "workload"):
            rows.append(value)
    return rows


def always(intent: Intent, truth: Truth, told: Told) -> list[Violation]:
    """What must hold at every moment, whatever goes wrong."""
    return [
        *_doubles(intent, truth),
        *_lost(intent, truth, told),
        *_foreign(truth, told),
        *_false_ends(truth, told),
        *_touched(intent, truth),
    ]


def _doubles(intent: Intent, truth: Truth) -> list[Violation]:
    found = []
    if len(truth.made) > intent.makings:
        found.append(Violation(Wrong.DOUBLE, f"{len(truth.made)} orders made {[one.ids for one in truth.made]}"))
    if intent.verb == "scale":
        found += [
            Violation(Wrong.DOUBLE, f"{one.id} has {one.size} nodes; 3 were wanted")
            for one in truth.ours
            if one.id == intent.target and one.size > 3
        ]
    return found


def _lost(intent: Intent, truth: Truth, told: Told) -> list[Violation]:
    """Everything of ours that is billed is known by its id, or behind an open order, or in the list."""
    known = {id_of(row) for row in told.known} | {one for order in told.orders for one in order["remote_ids"]}
    if any(order["name"] == intent.name for verb in ("create", "submit") for order in told.open_orders(verb)):
        return []
    return [Violation(Wrong.LOST, f"nothing here knows of {one.id}") for one in truth.ours if one.id not in known]


def _foreign(truth: Truth, told: Told) -> list[Violation]:
    found = [
        Violation(Wrong.FOREIGN, f"order {order['order_id']} says it made {one}")
        for order in told.orders
        for one in order["remote_ids"]
        if one in truth.theirs
    ]
    found += [
        Violation(Wrong.FOREIGN, f"{id_of(row)} ({row['name']}) is shown as created here")
        for row in told.known
        if id_of(row) in truth.theirs and (row.get("created_here") or row.get("order_id"))
    ]
    return found


def _false_ends(truth: Truth, told: Told) -> list[Violation]:
    billed = {one.id for one in truth.alive if one.is_billed}
    return [
        Violation(Wrong.FALSE_DELETED, f"{id_of(row)} is {row['phase']}, billing {row.get('billing')}, and is billed")
        for row in told.known
        if id_of(row) in billed and (row["phase"] in _ended_words(row) or row.get("billing") == "no")
    ]


def _ended_words(row: Mapping[str, Any]) -> Collection[str]:
    return ("cancelled", "succeeded", "failed") if "workload_id" in row else ("deleted",)


def _touched(intent: Intent, truth: Truth) -> list[Violation]:
    now = {one.id: one for one in truth.alive}
    return [
        Violation(Wrong.TOUCHED, f"{one} was {before}, is {now.get(one)}")
        for one, before in truth.before.items()
        if one != intent.target and not _is_untouched(before, now.get(one))
    ]


def _is_untouched(before: Alive, now: Alive | None) -> bool:
    """Whether it is there as it was; a bill may only have begun meanwhile."""
    return now is not None and (now.name, now.size) == (before.name, before.size) and now.is_billed >= before.is_billed


def written(intent: Intent, requests: Sequence[str], parts: Collection[str]) -> list[Violation]:
    """Requests that looking sent: none, but the wish to delete that is on record (3.9: any later process resumes it).

    Parameters
    ----------
    parts : ids in paths of what the wish is about.
    """
    wished = parts if intent.verb == "delete" else ()
    return [
        Violation(Wrong.RESOLVER_WROTE, request)
        for request in requests
        if not (request.startswith("DELETE") and any(part in request for part in wished))
    ]


def abandoned(told: Told) -> list[Violation]:
    """Once a kernel that lives has ended its work, no order waits for it any more."""
    return [
        Violation(Wrong.UNRESOLVED, f"{order['verb']} {order['order_id']} waits for a sender that sends nothing")
        for order in told.orders
        if order["state"] == "open" and order["note"] is None
    ]


def refused_to_stack(cell: Done, what: str) -> list[Violation]:
    """An error of a cell must be one of ours, in words."""
    if cell.error is None or cell.error in _names(GpuClustersError):
        return []
    return [Violation(Wrong.STACK, f"{what} ended with {cell.error}: {' '.join(cell.error_lines)[-600:]}")]


def _names(kind: type) -> set[str]:
    return {kind.__name__}.union(*map(_names, kind.__subclasses__()))


def resolved(intent: Intent, truth: Truth, told: Told, *, is_done: bool) -> list[Violation]:
    """What must hold with the same account when nothing is wrong any more."""
    if intent.verb in ("create", "submit"):
        return _adopted(intent, truth, told)
    verb = JOURNAL_VERBS.get(intent.verb, intent.verb)
    left = [order for order in told.open_orders(verb) if order["identity_key"] == told.identity]
    if not is_done or not left or intent.verb in _UNREADABLE:
        return []
    return [Violation(Wrong.UNRESOLVED, f"{intent.verb} is done, its order is {left[0]['state']}: {left[0]['note']}")]


JOURNAL_VERBS = {"attach IP": "act", "schedule removal": "act"}
_UNREADABLE = ("attach IP", "delete")
"""What no read can confirm, and what is confirmed by `ended`."""


def _adopted(intent: Intent, truth: Truth, told: Told) -> list[Violation]:
    found = []
    for one in truth.adoptable:
        rows = [row for row in told.shown if id_of(row) == one.id]
        if not rows:
            found.append(Violation(Wrong.LOST, f"{one.id} is not in the list"))
        elif not all(row["created_here"] and row["name"] == intent.name for row in rows):
            found.append(Violation(Wrong.LOST, f"{one.id} is shown as {rows[0]['name']!r}, not as created here"))
        orders = [order for order in told.orders if one.id in order["remote_ids"] and order["state"] == "done"]
        if len(orders) != 1:
            states = [(order["verb"], order["state"], order["note"]) for order in told.orders]
            found.append(Violation(Wrong.UNRESOLVED, f"{one.id} exists; {len(orders)} orders are done: {states}"))
    return found


def attached(intent: Intent, truth: Truth, cell: Done) -> list[Violation]:
    """Running the same cell again shows what is there."""
    ids = [id_of(row) for row in shown_rows([cell])]
    if not truth.ours or len(truth.adoptable) < len(truth.ours) or ids == [one.id for one in truth.ours]:
        return []
    said = cell.error or ids
    return [Violation(Wrong.UNRESOLVED, f"the cell again: {said} {' '.join(cell.error_lines)[-400:]}")]


def ended(intent: Intent, truth: Truth, told: Told) -> list[Violation]:
    """After ending it again until it is gone: nothing of it is billed, and list and journal (of the account that
    ordered it) say so.
    """
    found = []
    if any(one.id == intent.target and one.is_billed for one in truth.alive):
        found.append(Violation(Wrong.UNRESOLVED, f"{intent.target} is still billed"))
    rows = [row for row in (*told.clusters, *told.workloads) if row["identity_key"] == told.identity]
    phases = {row["phase"] for row in (*rows, *told.shown) if id_of(row) == intent.target}
    if not phases <= {"deleted", "cancelled"}:
        found.append(Violation(Wrong.UNRESOLVED, f"{intent.target} is gone and shown as {', '.join(phases)}"))
    found += [
        Violation(Wrong.UNRESOLVED, f"the wish to delete is {order['state']}: {order['note']}")
        for order in told.open_orders("delete")
        if order["identity_key"] == told.identity
    ]
    return found

"""Two writers and a reader on one folder, killed again and again; then the folder is held against what they told."""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from jupyter_gpu_clusters.core.claims import claim_key
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Order, OrderState

from . import hands
from .children import CONTEXT
from .hands import Told, rank

HANDS = ("writer0", "writer1", "reader")


@dataclass
class Held:
    """One claim as its writer told it: certainly held from `since` until `until` (``None``: to the end)."""

    order: Order
    since: int
    until: int | None = None
    is_released: bool = False


@dataclass
class Story:
    """All that was told, and what is wrong with it."""

    writes: int = 0
    reads: int = 0
    busy: int = 0
    kills: int = 0
    violations: list[str] = field(default_factory=list)
    held: dict[str, Held] = field(default_factory=dict)

    def hear(self, told: Told) -> None:
        """Take down one report."""
        self.writes += told.kind in ("claimed", "recorded", "released")
        self.reads += told.kind == "rows"
        self.busy += told.kind == "busy"
        if told.kind == "failed":
            self.violations.append(told.text)
        if told.order is None:
            return
        held = self.held.setdefault(told.order.order_id, Held(told.order, told.at))
        held.order = told.order
        if told.kind == "releasing":
            held.until = told.at
        held.is_released = held.is_released or told.kind == "released"

    def __str__(self) -> str:
        found = len(self.violations)
        return (
            f"{self.writes} writes, {self.reads} reads, {self.kills} kills, {len(self.held)} claims, "
            f"{self.busy} times busy; violations: {found}"
        )


@dataclass
class Hand:
    """One process and the pipe on which it tells."""

    name: str
    process: ForkServerProcess
    pipe: Connection
    dies_at: float


class Violence:
    """The killer. `run` returns when the time is over and everybody is dead.

    Parameters
    ----------
    lives_s : a process lives for a time between these.
    prepare : what a hand of that name does first, in its own process.
    """

    def __init__(
        self,
        folder: Path,
        seed: int,
        *,
        lives_s: tuple[float, float] = (0.05, 1.2),
        prepare: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        self._folder = folder
        self._prepare = prepare or {}
        self._dice = random.Random(seed)
        self._lives_s = lives_s
        self.story = Story()

    def run(self, seconds: float) -> Story:
        """Kill and restart for so long, then judge."""
        living = [self._born(name) for name in HANDS]
        end = time.monotonic() + seconds
        try:
            while (now := time.monotonic()) < end:
                self._listen(living, within_s=min(0.05, end - now))
                for hand in [one for one in living if one.dies_at < now]:
                    living.remove(hand)
                    self._kill(hand)
                    living.append(self._born(hand.name))
        finally:
            for hand in living:
                self._kill(hand)
        judge(self._folder, self.story)
        return self.story

    def _born(self, name: str) -> Hand:
        mine, theirs = CONTEXT.Pipe(duplex=False)
        seed = self._dice.getrandbits(40)
        process = CONTEXT.Process(target=hands.work, args=(self._folder, name, seed, theirs, self._prepare.get(name)))
        process.start()
        theirs.close()
        return Hand(name, process, mine, time.monotonic() + self._dice.uniform(*self._lives_s))

    def _listen(self, living: list[Hand], *, within_s: float) -> None:
        for pipe in wait([hand.pipe for hand in living], timeout=within_s):
            assert isinstance(pipe, Connection)
            with contextlib.suppress(EOFError):
                self.story.hear(pipe.recv())

    def _kill(self, hand: Hand) -> None:
        hand.process.kill()
        hand.process.join(20)
        assert hand.process.exitcode is not None, f"{hand.name} does not die"
        if hand.process.exitcode != -9:
            self.story.violations.append(f"{hand.name} ended by itself ({hand.process.exitcode})")
        self.story.kills += 1
        with contextlib.suppress(EOFError), hand.pipe:
            while True:
                self.story.hear(hand.pipe.recv())
        hand.process.close()


def judge(folder: Path, story: Story) -> None:
    """What the folder holds now against what was told."""
    journal = Journal(folder)
    try:
        journal.restore_orders()
        story.violations += [
            *_broken(journal),
            *_held_by_two(story),
            *_lost(journal, story),
            *_went_back(journal),
            *(f"set aside: {path.name}" for path in folder.glob("*corrupt*")),
        ]
    finally:
        journal.close()


def _broken(journal: Journal) -> Iterator[str]:
    answer = journal.database.read(lambda c: [str(row[0]) for row in c.execute("PRAGMA integrity_check")])
    if answer != ["ok"]:
        yield f"integrity_check: {answer[:5]}"


def _held_by_two(story: Story) -> Iterator[str]:
    by_key: dict[str, list[Held]] = defaultdict(list)
    for held in story.held.values():
        by_key[claim_key(held.order)].append(held)
    for all_held in by_key.values():
        all_held.sort(key=lambda held: held.since)
        for earlier, later in itertools.pairwise(all_held):
            if earlier.until is None or earlier.until > later.since:
                yield f"{later.order.order_id} got {later.order.name} while {earlier.order.order_id} held it"


def _lost(journal: Journal, story: Story) -> Iterator[str]:
    live = {order.order_id: order for order in journal.claims.all()}
    opened = {order.order_id for order in journal.open_orders()}
    released = {path.stem for path in (journal.folder / "intents" / "released").glob("*.json")}
    for order_id, held in story.held.items():
        file, row = live.get(order_id), journal.order(order_id)
        if row is None:
            yield f"{order_id} has no row"
            continue
        if held.until is None and file is None:
            yield f"the claim of {order_id} is gone"
        if held.until is not None and file is None and order_id not in released:
            yield f"{order_id} was released without a record"
        if held.is_released and file is not None:
            yield f"the released {order_id} is held again"
        if file is not None and rank(file.state) < rank(held.order.state) and held.until is None:
            yield f"the file of {order_id} says {file.state} after {held.order.state}"
        if file is not None and file.state.is_open and order_id not in opened:
            yield f"the open order {order_id} is lost"
        if held.until is None and row.state.is_open and not held.order.state.is_open:
            yield f"the row of {order_id} says {row.state} after {held.order.state}"
        if row.state.is_open and (file is None or not file.state.is_open):
            yield f"the row of {order_id} is open, its file is not"


def _went_back(journal: Journal) -> Iterator[str]:
    """What is settled never becomes open again, what is "not seen" never just "open"."""
    rows: list[sqlite3.Row] = journal.database.read(
        lambda c: c.execute("SELECT object_id, after FROM transitions WHERE kind = 'order' ORDER BY seq").fetchall()
    )
    last: dict[str, OrderState] = {}
    for order_id, text in rows:
        state = OrderState(text.partition(" ")[2])
        before = last.get(order_id, OrderState.OPEN)
        if rank(state) < rank(before):
            yield f"{order_id} went from {before} to {state}"
        last[order_id] = state

"""The processes that get killed: two kinds, each with a journal of its own on the shared folder.

What a writer has made durable it tells on its pipe, after the fact; what it is about to give up it tells before.
So whatever was told is certain, wherever the kill falls.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

from jupyter_gpu_clusters.core.errors import JournalBusyError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Order, OrderState, Verb
from jupyter_gpu_clusters.core.processes import is_dead
from tests.core import make

NAMES = tuple(f"job{index}" for index in range(8))
RANK = {OrderState.OPEN: 0, OrderState.NOT_SEEN: 1}
"""How far an order has come; every state that is not here is an end."""

Kind = Literal["claimed", "recorded", "releasing", "released", "rows", "busy", "failed"]


@dataclass(frozen=True)
class Told:
    """What a process said, with the time that all processes of the machine share."""

    kind: Kind
    order: Order | None = None
    text: str = ""
    count: int = 0
    at: int = 0


Tell = Callable[[Told], None]


def rank(state: OrderState) -> int:
    """0 for open, 2 for an end."""
    return RANK.get(state, 2)


class Writer:
    """Claims names that others want too, carries orders on, gives names back."""

    def __init__(self, folder: Path, name: str, seed: int, tell: Tell) -> None:
        self._journal = Journal(folder)
        self._name = name
        self._dice = random.Random(seed)
        self._tell = tell
        self._seed = seed
        self._count = 0
        self._journal.restore_orders()
        self._mine = [order for order in self._journal.claims.all() if order.order_id.startswith(f"{name}-")]

    def step(self) -> None:
        """One random deed."""
        deed = self._dice.choice((self._claim, self._claim, self._carry_on, self._give_back, self._see))
        try:
            deed()
        except JournalBusyError as exc:
            self._tell(Told("busy", text=exc.message))

    def _claim(self) -> None:
        self._count += 1
        order = make.order(
            order_id=f"{self._name}-{self._seed:x}-{self._count}",
            name=self._dice.choice(NAMES),
            verb=self._dice.choice((Verb.CREATE, Verb.SUBMIT)),
            target_id="c1",
        )
        if self._journal.claims.claim(order).order_id != order.order_id:
            return
        self._mine.append(order)
        self._tell(Told("claimed", order))
        self._journal.put_order(order)
        self._tell(Told("recorded", order))

    def _carry_on(self) -> None:
        going_on = [order for order in self._mine if order.state.is_open]
        if not going_on:
            return
        order = self._dice.choice(going_on)
        state = self._dice.choice((OrderState.NOT_SEEN, OrderState.DONE))
        changed = order.model_copy(update={"state": state, "remote_ids": (order.order_id,)})
        self._journal.finish_order(changed)
        self._mine[self._mine.index(order)] = changed
        self._tell(Told("recorded", changed))

    def _give_back(self) -> None:
        if not self._mine:
            return
        order = self._mine.pop(self._dice.randrange(len(self._mine)))
        state = self._dice.choice((OrderState.REFUSED, OrderState.CLOSED)) if order.state.is_open else order.state
        ended = order.model_copy(update={"state": state})
        self._tell(Told("releasing", ended))
        try:
            self._journal.finish_order(ended) if state is not OrderState.DONE else self._journal.release(ended)
        except JournalBusyError:
            self._mine.append(order)
            raise
        self._tell(Told("released", ended))

    def _see(self) -> None:
        """Rows that have nothing to do with orders make the file grow and the log wrap."""
        cluster = make.cluster(cluster_id=f"c{self._dice.randrange(40)}", reason="x" * self._dice.randrange(3000))
        self._journal.put_cluster(make.IDENTITY, cluster)


class Reader:
    """Looks at the rows again and again: none goes back, every one can be read."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self._journal = Journal(folder)
        self._tell = tell
        self._seen: dict[str, OrderState] = {}

    def step(self) -> None:
        """One look at everything."""
        try:
            found = self._journal.open_orders()
            states = self._journal.database.read(
                lambda c: c.execute("SELECT order_id, state FROM orders ORDER BY rowid DESC LIMIT 300").fetchall()
            )
            self._journal.clusters([make.IDENTITY])
            files = list(self._journal.claims.all())
        except JournalBusyError as exc:
            self._tell(Told("busy", text=exc.message))
            return
        for order in files:
            if is_dead(order.sender) and not order.sender.startswith(f"{socket.gethostname()}/"):
                self._tell(Told("failed", text=f"{order.sender} of another host is called dead"))
        for order_id, word in states:
            now, before = OrderState(word), self._seen.get(order_id, OrderState.OPEN)
            if rank(now) < rank(before) or (not before.is_open and now is not before):
                self._tell(Told("failed", text=f"row of {order_id} went from {before} to {now}"))
            self._seen[order_id] = now
        self._tell(Told("rows", count=len(found) + len(files)))


def work(folder: Path, name: str, seed: int, pipe: Connection, prepare: Callable[[], None] | None = None) -> None:
    """Live until killed. Whatever goes wrong is told before the process ends."""
    if prepare is not None:
        prepare()

    def tell(told: Told) -> None:
        pipe.send(Told(told.kind, told.order, told.text, told.count, time.monotonic_ns()))

    try:
        hand = Writer(folder, name, seed, tell) if name.startswith("writer") else Reader(folder, tell)
        while True:
            hand.step()
    except Exception as exc:
        tell(Told("failed", text=f"{name}: {type(exc).__name__}: {exc}"))
        raise

"""The choices of one form's fields, looked up in the background.

A field says which list it shows; what the list depends on is read from the form when somebody has stopped changing it.
An answer is shown only by fields that still ask just that, so a late one never takes the place of a newer one. A list
that cannot be had says why and stops nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple, Protocol

from anyio import to_thread

from ..core import bridge
from ..core.choices import LookUp
from ..core.errors import GpuClustersError
from .html import fault_text
from .options import LOOKING, Outcome, options_of
from .shapes import Shape

PAUSE_S = 0.3
"""Lists are looked up when nothing was changed for so long."""

LOOK_UP_WITHIN_S = 60.0
"""How long one look-up may take."""

KEPT_FOR_S = 60.0
"""An answer serves other fields, and the same question again, for so long."""

_MOST_KEPT = 50
_MOST_AT_ONCE = 4


class Question(NamedTuple):
    """One look-up: for which account's time, which list, and (as JSON) the values it depends on."""

    epoch: int
    look_up: str
    given: str


class Chooser(Protocol):
    """A field that shows a list of choices."""

    shape: Shape
    asked: Question | None

    @property
    def is_open(self) -> bool:
        """Whether the field is still part of a form."""

    def show_choices(self, outcome: Outcome) -> None:
        """Show what came of the look-up, in place of what was shown."""


class ChoiceLists:
    """The look-ups of one form.

    Parameters
    ----------
    lock : the form's own, one that can be taken again; everything is done and shown under it.
    read : the spec as far as it is filled in, plain data; called under the lock.
    """

    def __init__(self, lock: AbstractContextManager[Any], read: Callable[[], Mapping[str, Any]]) -> None:
        self._lock = lock
        self._read = read
        self._slots = asyncio.Semaphore(_MOST_AT_ONCE)
        self._epoch = 0
        self._account: str | None = None
        self._known: Mapping[str, LookUp] = {}
        self._refusal: str | None = None
        self._fields: list[Chooser] = []
        self._running: dict[Question, Future[None]] = {}
        self._answers: dict[Question, tuple[float, Outcome]] = {}
        self._pause: Future[None] | None = None

    def use(self, account: str | None) -> None:
        """Look up for another account from now on; what is under way for the old one ends."""
        with self._lock:
            self._epoch += 1
            for future in [self._pause, *self._running.values()]:
                if future is not None:
                    future.cancel()
            self._pause = None
            self._running.clear()
            self._answers.clear()
            self._fields.clear()
            self._account, self._known, self._refusal = account, {}, None
            if account is not None:
                self._learn(account)

    def close(self) -> None:
        """End everything that is under way."""
        self.use(None)

    def add(self, field: Chooser) -> None:
        """A field that shows a list has come into the form."""
        with self._lock:
            self._fields.append(field)
            if self._refusal is not None:
                field.show_choices(Outcome(problem=self._refusal))
            elif self._pause is None:
                self.follow()

    def follow(self) -> None:
        """Something was filled in differently: ask again what depends on it, after a short pause."""
        with self._lock:
            if self._account is None or self._refusal is not None or not self._fields:
                return
            if self._pause is not None:
                self._pause.cancel()
            self._pause = bridge.start(self._after_pause, self._epoch)

    def try_again(self, field: Chooser) -> None:
        """Ask once more what `field` asked, also for the other fields that asked the same."""
        with self._lock:
            question = field.asked
            if question is None or question in self._running:
                return
            self._answers.pop(question, None)
            for other in self._fields:
                if other.asked == question:
                    other.asked = None
            self._ask_all(self._epoch)

    def _learn(self, account: str) -> None:
        try:
            self._known = bridge.service().look_ups(account)
        except GpuClustersError as exc:
            self._refusal = exc.message

    async def _after_pause(self, epoch: int) -> None:
        await asyncio.sleep(PAUSE_S)
        await to_thread.run_sync(self._ask_all, epoch)

    def _ask_all(self, epoch: int) -> None:
        with self._lock:
            if epoch != self._epoch:
                return
            self._pause = None
            self._fields = [field for field in self._fields if field.is_open]
            written = self._read()
            for field in self._fields:
                given = self._given(field.shape, written)
                question = Question(epoch, field.shape.look_up, json.dumps(given, sort_keys=True, default=str))
                if field.asked != question:
                    field.asked = question
                    self._ask(field, question, given)
            self._give_up()

    def _give_up(self) -> None:
        """End the look-ups that no field asks any more."""
        asked = {field.asked for field in self._fields}
        for question in [question for question in self._running if question not in asked]:
            self._running.pop(question).cancel()

    def _given(self, shape: Shape, written: Mapping[str, Any]) -> dict[str, Any]:
        """Of what is filled in the part that matters to a look-up, and nothing else."""
        known = self._known.get(shape.look_up, LookUp(title=""))
        given: dict[str, Any] = {}
        for path in dict.fromkeys((*shape.depends_on, *known.depends_on, *known.needs)):
            _copy(written, given, path.split("."))
        return given

    def _ask(self, field: Chooser, question: Question, given: Mapping[str, Any]) -> None:
        made_at, answer = self._answers.get(question, (0.0, LOOKING))
        if answer is not LOOKING and time.monotonic() - made_at <= KEPT_FOR_S:
            field.show_choices(answer)
            return
        field.show_choices(LOOKING)
        if question not in self._running:
            assert self._account is not None
            future = bridge.start(self._look_up, self._account, question, given)
            self._running[question] = future
            future.add_done_callback(partial(self._show_fault, question))

    async def _look_up(self, account: str, question: Question, given: Mapping[str, Any]) -> None:
        async with self._slots:
            try:
                async with asyncio.timeout(LOOK_UP_WITHIN_S):
                    listing = await bridge.service().choices(account, question.look_up, given)
                outcome = Outcome(options=options_of(listing))
            except GpuClustersError as exc:
                outcome = Outcome(problem=" ".join(part for part in (exc.message, exc.hint) if part))
            except TimeoutError:
                outcome = Outcome(problem=f"no answer within {LOOK_UP_WITHIN_S:.0f} s.")
        await to_thread.run_sync(self._arrive, question, outcome)

    def _arrive(self, question: Question, outcome: Outcome) -> None:
        with self._lock:
            if self._running.pop(question, None) is None:
                return
            if outcome.options is not None:
                self._answers[question] = (time.monotonic(), outcome)
                while len(self._answers) > _MOST_KEPT:
                    self._answers.pop(next(iter(self._answers)))
            self._show(question, outcome)

    def _show(self, question: Question, outcome: Outcome) -> None:
        for field in self._fields:
            if field.asked == question and field.is_open:
                field.show_choices(outcome)

    def _show_fault(self, question: Question, future: Future[None]) -> None:
        """A fault of ours must not leave a field that seems to look for ever."""
        if future.cancelled() or (fault := future.exception()) is None:
            return
        with self._lock:
            if self._running.pop(question, None) is not None:
                self._show(question, Outcome(problem=fault_text(fault)))


def _copy(source: Mapping[str, Any], target: dict[str, Any], keys: list[str]) -> None:
    """Copy the value at a path of mappings, if there is one."""
    key, *rest = keys
    value = source.get(key)
    if value is None:
        return
    if not rest:
        target[key] = value
    elif isinstance(value, Mapping):
        inner: dict[str, Any] = target.setdefault(key, {})
        _copy(value, inner, rest)

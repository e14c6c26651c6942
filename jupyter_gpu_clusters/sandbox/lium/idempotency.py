"""Idempotency keys of rents: replays, repeats that come too early, and answers that were never stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from ..service import Answer, Call, Refused
from .keys import Account

_KEPT_S = 24 * 3600.0
_LOCK_S = 300.0
_ROWS_KEPT = 10_000
REPLAYED = "Idempotent-Replayed"


@dataclass
class Row:
    """One key of one account; without an `answer` the first call has not stored one (yet)."""

    digest: str
    at: float
    seq: int
    answer: Answer | None = None

    def is_over(self, now: float) -> bool:
        """Whether the key may be used for something new."""
        return self.answer is not None and now >= self.at + _KEPT_S


class Idempotency:
    """The rows of all accounts. Stored ones expire after 24 h, the others never.

    Parameters
    ----------
    refuse : turns a refusal into the answer that is stored and replayed.
    """

    def __init__(self, refuse: Callable[[Refused], Answer]) -> None:
        self._refuse = refuse
        self._rows: dict[tuple[str, str], Row] = {}

    def expect(self, account: Account, call: Call) -> None:
        """A call was accepted and will be worked on later."""
        key = call.headers.get("idempotency-key")
        if key:
            self._rows.setdefault((account.id, key), Row(_digest(call), call.at, call.seq))

    def run(self, account: Account, call: Call, work: Callable[[], Answer], *, fragile: bool) -> Answer:
        """The first call's answer again, or the work; a `fragile` work that is refused leaves a row without an answer.

        Raises
        ------
        Refused : the key belongs to another body (422), or the first call is running or left no answer (409).
        """
        key = call.headers.get("idempotency-key")
        if key is None:
            return work()
        if not key:
            raise Refused(422, "Validation error", problems=[("Idempotency-Key", "must not be empty")])
        row = self._rows.get((account.id, key))
        if row is not None and row.is_over(call.at):
            row = None
        if row is not None and row.seq != call.seq:
            return _repeat(row, call)
        self._shrink(call.at)
        row = self._rows[account.id, key] = Row(_digest(call), call.at, call.seq)
        call.note["idempotency_key"] = key
        stored = "status_after" not in call.faults
        try:
            answer = work()
        except Refused as refused:
            answer = self._refuse(refused)
            stored = stored and not fragile
        row.answer = answer if stored else None
        return answer

    def _shrink(self, now: float) -> None:
        if len(self._rows) > _ROWS_KEPT:
            self._rows = {name: row for name, row in self._rows.items() if not row.is_over(now)}


def _repeat(row: Row, call: Call) -> Answer:
    call.note["repeats_seq"] = row.seq
    if row.digest != _digest(call):
        raise Refused(422, "This key was used with another request", code="idempotency_key_reused")
    if row.answer is not None:
        first = row.answer
        return Answer(first.status, first.body, first.media_type, {**first.headers, REPLAYED: "true"})
    if call.at < row.at + _LOCK_S:
        raise Refused(409, "The first request with this key is still running", code="idempotency_in_progress")
    raise Refused(
        409, "The first request may have rented; its answer was not stored", code="idempotency_outcome_unknown"
    )


def _digest(call: Call) -> str:
    return hashlib.sha256(call.path.encode() + b"\0" + call.body).hexdigest()

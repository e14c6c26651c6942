"""The plans that pages were shown and may send: in memory, few, for two minutes, each once.

A plan's exact request stays here, so a page sends what was planned and nothing else, and two tabs or two clicks
cannot send the same plan twice.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ..core.consent import VALID_FOR_S, Ask, question, what_to_ask
from ..core.errors import ConsentError
from ..core.models import Plan

MAX_PLANS = 200
_PLAN_AGAIN = "Look at the new plan and confirm it."


class PlanUsedError(ConsentError):
    """The plan was sent before, or is being sent now."""

    code = "plan_used"


class PlanExpiredError(ConsentError):
    """The plan is too old to be sent, or not known here."""

    code = "plan_expired"


@dataclass(slots=True)
class _Kept:
    """``plan`` is ``None`` once it was taken."""

    plan: Plan | None
    kept_at: float


class Plans:
    """Plans by id, each for 120 s of awake time.

    Parameters
    ----------
    clock : seconds that only grow; replaced in tests.
    limit : how many are kept; the oldest goes first.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, limit: int = MAX_PLANS) -> None:
        self._clock = clock
        self._limit = limit
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, plan: Plan) -> str:
        """Keep a plan; the id by which it can be sent."""
        self._drop_old()
        while len(self._kept) >= self._limit:
            self._kept.popitem(last=False)
        plan_id = secrets.token_urlsafe(16)
        self._kept[plan_id] = _Kept(plan, self._clock())
        return plan_id

    def take(self, plan_id: str, *, agreed: bool, words: str | None) -> Plan:
        """The plan, once, for somebody who agreed to it.

        Parameters
        ----------
        words : what was typed; a plan at an unknown price or for a committed term asks for its name.

        Raises
        ------
        PlanUsedError, PlanExpiredError : it cannot be sent any more.
        ConsentError : it was not agreed to; it can still be sent.
        """
        self._drop_old()
        kept = self._kept.get(plan_id)
        if kept is None:
            raise PlanExpiredError(
                f"This plan is older than {VALID_FOR_S:.0f} s or not known here; nothing was sent.", hint=_PLAN_AGAIN
            )
        if kept.plan is None:
            raise PlanUsedError(
                "This plan has been sent before; nothing was sent now.",
                hint="Look at the list: what it ordered may be there. To order once more, plan again.",
            )
        plan = kept.plan
        _require_agreement(plan, agreed, words)
        kept.plan = None
        return plan

    def _drop_old(self) -> None:
        oldest = self._clock() - VALID_FOR_S
        while self._kept and next(iter(self._kept.values())).kept_at < oldest:
            self._kept.popitem(last=False)


def asks_for_words(plan: Plan) -> bool:
    """Whether a tick is not enough: the price is unknown, or a whole term is paid."""
    return what_to_ask(plan) in (Ask.UNKNOWN_PRICE, Ask.COMMITMENT)


def _require_agreement(plan: Plan, agreed: bool, words: str | None) -> None:
    if what_to_ask(plan) is not Ask.NOTHING and not agreed:
        raise ConsentError(f"Not confirmed: {question(plan)}", hint=_PLAN_AGAIN)
    if asks_for_words(plan) and words != plan.name:
        raise ConsentError(f"To confirm this, type its name: {plan.name}", hint="Nothing was sent.")

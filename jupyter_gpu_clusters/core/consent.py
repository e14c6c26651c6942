"""Nothing that costs is done without the user having agreed to this plan at this price.

A consent is for one plan and lasts 120 s of awake time (``time.monotonic`` stands still in a suspended
laptop). Faces ask; the service checks, so no face can forget.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import assert_never

from .errors import ConsentError
from .models import Plan, utc_now

VALID_FOR_S = 120.0
PLAN_VALID_FOR = timedelta(minutes=15)
"""A price that was looked up longer ago may have risen: it is looked up, and asked for, again."""


class Ask(StrEnum):
    """How a plan must be confirmed."""

    NOTHING = "nothing"
    CONFIRM = "confirm"
    PRICE = "price"
    UNKNOWN_PRICE = "unknown_price"
    COMMITMENT = "commitment"


def what_to_ask(plan: Plan) -> Ask:
    """Known to be free and harmless: nothing. ``--yes`` never covers a committed term or an unknown price."""
    if plan.commitment is not None:
        return Ask.COMMITMENT
    if plan.is_free:
        return Ask.NOTHING if plan.confirm is None else Ask.CONFIRM
    return Ask.PRICE if plan.price_per_hour is not None else Ask.UNKNOWN_PRICE


def question(plan: Plan) -> str:
    """What the user agrees to, in one sentence."""
    ask = what_to_ask(plan)
    size = f" ({plan.nodes} nodes, {plan.gpus} GPUs)" if plan.nodes else ""
    what = f"{plan.action or plan.verb} {plan.name!r} on {plan.account}{size}"
    more = f" {plan.confirm}" if plan.confirm else ""
    match ask:
        case Ask.NOTHING:
            return f"{what}: free."
        case Ask.CONFIRM:
            return f"{what}?{more}"
        case Ask.PRICE:
            return f"{what} for {plan.price_per_hour} per hour until it is deleted?{more}"
        case Ask.UNKNOWN_PRICE:
            return f"{what} at a price that {plan.provider} does not tell?{more}"
        case Ask.COMMITMENT:
            return f"{what} for a committed term that costs {plan.commitment} in all, also if deleted early?{more}"
    assert_never(ask)


def agreement(plan: Plan) -> str | None:
    """The sentence to agree to before the plan may be sent; ``None`` when nothing is asked."""
    ask = what_to_ask(plan)
    match ask:
        case Ask.NOTHING:
            return None
        case Ask.CONFIRM:
            return f"I agree. {plan.confirm}"
        case Ask.PRICE:
            return f"I agree to pay {plan.price_per_hour} per hour until it is deleted"
        case Ask.UNKNOWN_PRICE:
            return "I agree although the price is unknown"
        case Ask.COMMITMENT:
            hourly = f" ({plan.price_per_hour} per hour)" if plan.price_per_hour is not None else ""
            return f"I agree to pay {plan.commitment} in all{hourly}, also if it is deleted early"
    assert_never(ask)


@dataclass(frozen=True, slots=True)
class Consent:
    """The user's yes to one plan. Made by `consent_to` after a face has asked."""

    plan: Plan
    given_at: float = field(default_factory=time.monotonic)


def consent_to(plan: Plan) -> Consent:
    """Record that the user has just agreed to `plan`."""
    return Consent(plan)


def require(plan: Plan, consent: Consent | None) -> None:
    """Refuse to go on without a fresh consent to exactly this plan.

    Raises
    ------
    ConsentError : none was given, it was for another plan or price, it is older than 120 s, or the plan than 15 min.
    """
    if what_to_ask(plan) is Ask.NOTHING:
        return
    if consent is None:
        raise ConsentError(
            f"Not confirmed: {question(plan)}", hint="Confirm the plan, or pass --yes for a known price."
        )
    if consent.plan is not plan:
        raise ConsentError("The confirmation was for another plan.", hint="Look at the new plan and confirm it.")
    if abs(utc_now() - plan.made_at) > PLAN_VALID_FOR:
        raise ConsentError("The plan is too old; prices may have changed.", hint="Make the plan again and confirm it.")
    if time.monotonic() - consent.given_at > VALID_FOR_S:
        raise ConsentError(
            f"The confirmation is older than {VALID_FOR_S:.0f} s; prices may have changed.",
            hint="Look at the plan again and confirm it.",
        )

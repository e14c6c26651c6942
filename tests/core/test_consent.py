from __future__ import annotations

import time
from datetime import timedelta
from decimal import Decimal

import pytest

from jupyter_gpu_clusters.core.consent import VALID_FOR_S, Ask, Consent, consent_to, question, require, what_to_ask
from jupyter_gpu_clusters.core.errors import ConsentError
from jupyter_gpu_clusters.core.models import Money, utc_now

from . import make

PRICE = Money(amount=Decimal("12.5"), currency="USD")


@pytest.mark.parametrize(
    ("changes", "ask", "words"),
    [
        ({"is_free": True}, Ask.NOTHING, "free"),
        ({"is_free": False, "price_per_hour": PRICE}, Ask.PRICE, "12.50 USD per hour"),
        ({"is_free": False}, Ask.UNKNOWN_PRICE, "does not tell"),
        ({"is_free": False, "price_per_hour": PRICE, "commitment": PRICE}, Ask.COMMITMENT, "also if deleted early"),
    ],
)
def test_what_must_be_asked(changes: dict[str, object], ask: Ask, words: str) -> None:
    plan = make.plan(**changes)
    assert what_to_ask(plan) is ask
    assert words in question(plan)


def test_a_free_plan_needs_no_consent() -> None:
    require(make.plan(), None)


def test_a_paid_plan_without_consent_is_refused() -> None:
    with pytest.raises(ConsentError, match=r"12\.50 USD"):
        require(make.plan(is_free=False, price_per_hour=PRICE), None)


def test_consent_is_for_this_very_plan() -> None:
    plan = make.plan(is_free=False, price_per_hour=PRICE)
    require(plan, consent_to(plan))
    dearer = plan.model_copy(update={"price_per_hour": Money(amount=Decimal(13), currency="USD")})
    with pytest.raises(ConsentError, match="another plan"):
        require(dearer, consent_to(plan))


def test_consent_grows_old() -> None:
    plan = make.plan(is_free=False, price_per_hour=PRICE)
    with pytest.raises(ConsentError, match="older than"):
        require(plan, Consent(plan, given_at=time.monotonic() - VALID_FOR_S - 1))


@pytest.mark.parametrize("passed", [timedelta(minutes=16), timedelta(hours=-25)])
def test_a_plan_of_long_ago_or_of_another_clock_is_asked_for_again(passed: timedelta) -> None:
    plan = make.plan(is_free=False, price_per_hour=PRICE, made_at=utc_now() - passed)
    with pytest.raises(ConsentError, match="prices may have changed"):
        require(plan, consent_to(plan))

"""The plans that pages may send: each once, for two minutes, and not too many."""

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.core.consent import VALID_FOR_S
from jupyter_gpu_clusters.core.errors import ConsentError
from jupyter_gpu_clusters.core.models import Money, Plan, Verb
from jupyter_gpu_clusters.server.plans import PlanExpiredError, Plans, PlanUsedError


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def plans(clock: Clock) -> Plans:
    return Plans(clock=clock, limit=3)


def _plan(**more: object) -> Plan:
    base: dict[str, object] = {
        "verb": Verb.CREATE,
        "provider": "p",
        "account": "a",
        "identity_key": "i",
        "spec_digest": "d",
    }
    return Plan.model_validate({**base, "name": "demo", "request": object(), "shown": {}, **more})


def _price(amount: str) -> Money:
    return Money.model_validate({"amount": amount, "currency": "USD"})


def test_a_plan_is_given_once(plans: Plans) -> None:
    plan = _plan(is_free=True)
    plan_id = plans.keep(plan)
    assert plans.take(plan_id, agreed=False, words=None) is plan
    with pytest.raises(PlanUsedError):
        plans.take(plan_id, agreed=True, words="demo")


def test_equal_plans_have_ids_of_their_own(plans: Plans) -> None:
    first, second = plans.keep(_plan(is_free=True)), plans.keep(_plan(is_free=True))
    assert first != second
    plans.take(first, agreed=True, words=None)
    plans.take(second, agreed=True, words=None)


def test_an_unknown_id_is_an_expired_plan(plans: Plans) -> None:
    with pytest.raises(PlanExpiredError):
        plans.take("x", agreed=True, words=None)


def test_a_plan_can_be_sent_until_its_time_is_over(plans: Plans, clock: Clock) -> None:
    early, late = plans.keep(_plan(is_free=True)), plans.keep(_plan(is_free=True))
    clock.now += VALID_FOR_S
    plans.take(early, agreed=True, words=None)
    clock.now += 0.001
    with pytest.raises(PlanExpiredError):
        plans.take(late, agreed=True, words=None)
    assert len(plans) == 0


def test_their_number_is_bounded_and_the_oldest_goes_first(plans: Plans) -> None:
    ids = [plans.keep(_plan(is_free=True)) for _ in range(5)]
    assert len(plans) == 3
    for plan_id in ids[:2]:
        with pytest.raises(PlanExpiredError):
            plans.take(plan_id, agreed=True, words=None)
    for plan_id in ids[2:]:
        plans.take(plan_id, agreed=True, words=None)


def test_a_price_needs_a_yes_and_a_refusal_does_not_use_the_plan_up(plans: Plans) -> None:
    plan_id = plans.keep(_plan(price_per_hour=_price("12")))
    with pytest.raises(ConsentError, match=r"12\.00 USD"):
        plans.take(plan_id, agreed=False, words="demo")
    plans.take(plan_id, agreed=True, words=None)


@pytest.mark.parametrize("more", [{}, {"commitment": _price("900"), "price_per_hour": _price("12")}])
def test_an_unknown_price_and_a_commitment_need_the_name_in_words(plans: Plans, more: dict[str, object]) -> None:
    plan_id = plans.keep(_plan(**more))
    for words in (None, "", "Demo", "demo "):
        with pytest.raises(ConsentError, match="type its name: demo"):
            plans.take(plan_id, agreed=True, words=words)
    with pytest.raises(ConsentError):
        plans.take(plan_id, agreed=False, words="demo")
    plans.take(plan_id, agreed=True, words="demo")


def test_ids_cannot_be_guessed(plans: Plans) -> None:
    assert all(len(plans.keep(_plan())) >= 20 for _ in range(3))

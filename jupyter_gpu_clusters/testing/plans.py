"""A plan checks everything, shows everything but secrets, and spends nothing."""

from __future__ import annotations

import json

import pytest

from jupyter_gpu_clusters.core.consent import question
from jupyter_gpu_clusters.core.errors import SpecError
from jupyter_gpu_clusters.core.models import Plan, Verb

from .base import ContractBase
from .schemas import nulls_in
from .searching import CONFIDED, found_in
from .world import NAME, World

_BAD_NAMES = ("", " ", "-", "a b", "Ünï", "x" * 300, "a/b", "../up", "a\nb", "q\"'$(id)")


def assert_sound(plan: Plan) -> None:
    """What holds for the plan of any write."""
    json.dumps(dict(plan.shown))
    assert plan.price_per_hour is None or plan.is_free or plan.price_per_hour.amount > 0, "0 is no price"
    assert plan.commitment is None or plan.commitment.amount > 0
    assert not (plan.is_free and plan.price_per_hour is not None and plan.price_per_hour.amount), "free at a price"
    assert question(plan)


class PlanContract(ContractBase):
    """`plan_cluster`."""

    async def test_a_plan_sends_no_write(self, world: World) -> None:
        plan = await world.planned(world.kernel())
        assert list(world.far_side.received()) == []
        assert dict(world.far_side.clusters()) == {}
        assert_sound(plan)
        assert plan.verb is Verb.CREATE
        assert (plan.name, plan.account, plan.provider) == (NAME, world.account, world.far_side.provider)
        assert plan.identity_key == (await world.provider().identity()).key
        assert plan.nodes > 0

    async def test_planning_again_plans_the_same(self, world: World) -> None:
        service = world.kernel()
        first, second = await world.planned(service), await world.planned(service)
        assert first.spec_digest == second.spec_digest
        assert dict(first.shown) == dict(second.shown)
        other = await world.planned(service, data=world.far_side.other_spec())
        assert other.spec_digest != first.spec_digest

    async def test_all_problems_are_told_at_once(self, world: World) -> None:
        spec, name, fields = world.far_side.impossible_spec()
        assert len(fields) > 1, "give at least two problems"
        failure = await world.fails(SpecError, world.planned(world.kernel(), name, spec))
        named = {problem.field.partition(".")[0] for problem in failure.problems}
        assert set(fields) <= named, failure.lines()
        assert list(world.far_side.received()) == []

    async def test_bad_names_are_refused_before_anything_is_sent(self, world: World) -> None:
        service = world.kernel()
        accepted = []
        for name in _BAD_NAMES:
            try:
                await world.planned(service, name)
            except SpecError as exc:
                named = {problem.field for problem in exc.problems}
            else:
                named = set()
            if "name" not in named:
                accepted.append(name)
        assert not accepted
        assert list(world.far_side.received()) == []

    async def test_secrets_of_the_spec_are_not_shown(self, world: World) -> None:
        plan = await world.planned(world.kernel(), data=world.far_side.secret_spec(CONFIDED))
        shown = json.dumps(dict(plan.shown)) + json.dumps(dict(plan.shown), ensure_ascii=False) + repr(plan)
        assert not found_in(shown + plan.model_dump_json(), [CONFIDED])

    async def test_nothing_that_was_not_asked_for_is_sent_as_null(self, world: World) -> None:
        await world.create(world.kernel())
        bodies = [one.body for one in world.made("create") if one.body is not None]
        if not bodies:
            pytest.skip(f"{world.account}: its books keep no bodies.")
        assert not list(nulls_in(bodies[0]))

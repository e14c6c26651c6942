"""What is not certain: found again, adopted, deleted on sight, closed, late, astray."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import orders, rows
from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import (
    ConflictError,
    LimitError,
    NameTakenError,
    NotFoundError,
    OutcomeUnknownError,
)
from jupyter_gpu_clusters.core.limits import AllLimits, read_limits
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, OrderState, utc_now
from jupyter_gpu_clusters.core.service import Service
from tests.until import until_async

from . import make
from .fake import FakeProvider, FakeSpec
from .worlds import World, create

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(FakeProvider, "marks", True)
    monkeypatch.setattr(rows, "GONE_AFTER", timedelta())
    made = World(tmp_path)
    yield made
    for service in made.opened:
        await service.aclose()


async def lost(world: World, *, is_hidden: bool) -> tuple[Service, str]:
    """A create whose answer was lost, and whose cluster the listing may not show; the service and the order's id."""
    service = world.kernel()
    world.books.after_work = world.books.lose_answer
    if is_hidden:
        world.books.hidden.add("c1")
    with pytest.raises(OutcomeUnknownError):
        await create(service)
    world.books.after_work = lambda: None
    (order,) = (await service.state()).orders
    return service, order.order_id


async def gone(service: Service, world: World, cluster: Cluster) -> None:
    """Delete it, and look until it is proven gone."""
    await service.delete(cluster)
    world.books.clusters.pop(cluster.cluster_id)
    await service.refresh()
    await service.refresh()
    assert (await service.state()).clusters == ()


async def test_what_carries_the_mark_is_adopted_under_the_name_that_was_asked_for(world: World) -> None:
    service, order_id = await lost(world, is_hidden=False)
    (cluster,) = (await service.refresh()).clusters
    assert (cluster.name, cluster.order_id, cluster.created_here) == ("demo", order_id, True)
    assert world.books.clusters["c1"].name != "demo"
    assert (await create(service)).attached
    assert world.books.creates == 1


async def test_what_is_not_seen_stays_open_and_blocks_its_name(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    (told,) = await service.recover()
    assert (told.kind, told.order.order_id, told.price_per_hour) == ("not seen", order_id, told.order.price_per_hour)
    assert told.price_per_hour is not None
    with pytest.raises(OutcomeUnknownError):
        await create(service)
    assert world.books.creates == 1


async def test_an_open_order_can_be_deleted_on_sight_by_whoever_sees_it(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    await service.delete_on_sight(order_id)
    await service.refresh()
    assert world.books.deletes == 0
    world.books.hidden.clear()
    other = world.kernel()
    await other.refresh()
    assert world.books.deletes == 0, "looking alone sends nothing"
    assert [one.kind for one in await other.recover()] == ["deleting"]
    assert world.books.deletes == 1


async def test_a_late_answer_of_the_sender_does_not_forget_the_wish_of_another_process(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    wished = await world.kernel().delete_on_sight(order_id)
    await service._orders._finish(wished.model_copy(update={"on_sight": False}), OrderState.OPEN, (), "later")
    (order,) = (await service.state()).orders
    assert order.on_sight


async def test_a_closed_order_that_made_something_after_all_alarms(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    closed = await service.close_order(order_id, "the console shows nothing")
    assert closed.state is OrderState.CLOSED
    second = await create(service)
    world.books.hidden.clear()
    state = await service.refresh()
    assert {c.cluster_id: c.created_here for c in state.clusters} == {"c1": True, second.cluster.cluster_id: True}
    (alarm,) = state.notices
    assert order_id in alarm
    assert "the console shows nothing" in alarm
    assert (await create(service)).cluster.cluster_id == second.cluster.cluster_id


async def test_the_user_can_say_which_cluster_an_order_made(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    world.books.clusters["x"] = make.cluster(cluster_id="x", name="renamed by the service")
    with pytest.raises(NotFoundError, match="lists no cluster 'y'"):
        await service.adopt(order_id, "y")
    cluster = await service.adopt(order_id, "x")
    assert (cluster.name, cluster.order_id) == ("demo", order_id)
    assert (await service.state()).orders == ()
    assert (await create(service)).cluster.cluster_id == "x"


async def test_what_another_order_made_cannot_be_adopted(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    other = await create(service, name="other")
    with pytest.raises(ConflictError, match="made it"):
        await service.adopt(order_id, other.cluster.cluster_id)


async def test_what_shows_again_after_it_was_deleted_is_deleted_again(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    await gone(service, world, cluster)
    asked = world.books.deletes
    world.books.clusters["c1"] = make.cluster(name=f"demo-{'x' * 10}")
    (again,) = (await service.refresh()).clusters
    assert again.phase is ClusterPhase.DELETING
    await service.recover()
    assert world.books.deletes == asked + 1


async def test_a_new_cluster_is_no_straggler_of_an_old_one(world: World) -> None:
    service = world.kernel()
    await gone(service, world, (await create(service)).cluster)
    asked = world.books.deletes
    second = await create(service)
    await service.recover()
    assert (second.attached, world.books.deletes) == (False, asked)


async def test_a_changed_project_hides_no_earlier_order_of_that_name(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    moved = world.kernel()
    world.provider.scope = "another"
    with pytest.raises(OutcomeUnknownError, match=order_id):
        await create(moved)
    assert not (await create(moved, name="another-name")).attached
    told = next(one for one in await moved.recover() if one.order.order_id == order_id)
    assert "another key, project or location" in told.note
    assert any("another key, project or location" in notice for notice in (await moved.state()).notices)
    assert order_id in {order.order_id for order in (await service.state()).orders}


async def test_a_new_key_that_shows_what_was_ordered_settles_it_and_attaches(world: World) -> None:
    _, order_id = await lost(world, is_hidden=False)
    moved = world.kernel()
    world.provider.scope = "another"
    (cluster,) = (await moved.refresh()).clusters
    assert (cluster.name, cluster.order_id, cluster.created_here) == ("demo", order_id, True)
    assert moved._journal.open_orders() == []
    again = await create(moved)
    assert (again.attached, again.cluster.cluster_id) == (True, "c1")
    with pytest.raises(NameTakenError, match="another spec"):
        await create(moved, 5)
    assert world.books.creates == 1


async def test_what_a_new_key_does_not_show_can_be_closed(world: World) -> None:
    cluster = (await create(world.kernel())).cluster
    moved = world.kernel()
    world.provider.scope = "another"
    world.books.hidden.add(cluster.cluster_id)
    assert any("may bill" in notice for notice in (await moved.state()).notices)
    (told,) = await moved.recover()
    assert (told.kind, told.order.order_id) == ("out of sight", cluster.order_id)
    with pytest.raises(OutcomeUnknownError, match="cannot be seen"):
        await create(moved)
    await moved.close_order(told.order.order_id, "deleted in the console")
    assert not (await create(moved)).attached


async def test_what_another_machine_made_under_that_name_needs_new(world: World) -> None:
    service = world.kernel()
    world.books.clusters["theirs"] = make.cluster(cluster_id="theirs", name="demo-ab12cdefgh")
    with pytest.raises(NameTakenError, match="theirs"):
        await create(service)
    assert world.books.creates == 0
    assert (await create(service, new=True)).cluster.created_here


async def test_what_is_ours_is_attached_to_although_another_machine_took_the_name_since(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    world.books.clusters["theirs"] = make.cluster(cluster_id="theirs", name="demo-ab12cdefgh")
    again = await create(service)
    assert (again.attached, again.cluster.cluster_id) == (True, cluster.cluster_id)


async def test_a_sender_of_another_host_is_given_up_after_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, order_id = await lost(world, is_hidden=True)
    order = service._journal.order(order_id)
    assert order is not None
    unanswered = order.model_copy(update={"note": None, "state": OrderState.OPEN, "sender": "elsewhere/x/y|1|1"})
    service._journal.finish_order(unanswered)
    world.books.hidden.clear()
    other = world.kernel()
    assert len((await other.refresh()).orders) == 1
    monkeypatch.setattr(orders, "SENDER_GIVEN_UP_AFTER_S", -1.0)
    assert (await other.refresh()).orders == ()


async def test_a_cluster_whose_time_is_over_is_deleted_by_whoever_watches(world: World) -> None:
    service = world.kernel()
    plan = await service.plan_create("fake", "demo", FakeSpec(), max_hours=1)
    assert "NO END TIME" in " ".join(plan.warnings)
    cluster = (await service.create(plan, consent=consent_to(plan))).cluster
    (shown,) = (await service.state()).clusters
    assert (shown.ends_at, "NO END TIME" in (shown.reason or "")) == (None, True)
    service._journal.set_timer(make.IDENTITY, cluster.cluster_id, utc_now() - timedelta(seconds=1))
    following = world.kernel().watch()

    async def is_deleted() -> bool:
        await anext(following)
        return world.books.deletes > 0

    await until_async(is_deleted)
    await following.aclose()


async def test_an_end_time_is_shown_when_a_server_keeps_it(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    await service.keep_end(cluster, 2)
    await service.refresh()
    assert await service.see_to_debts()
    (shown,) = (await service.state()).clusters
    assert shown.ends_at is not None
    assert timedelta(hours=1.9) < shown.ends_at - utc_now() < timedelta(hours=2.1)
    await gone(service, world, cluster)
    assert not await service.see_to_debts()


async def test_the_report_of_orphans_names_what_is_not_ours_and_what_was_never_seen(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    world.books.clusters["theirs"] = make.cluster(cluster_id="theirs", name="job")
    world.books.clusters["gift"] = make.cluster(cluster_id="gift", name="gift", is_free=True)
    report = await service.orphans()
    assert {one.ref: one.why for one in report.items} == {
        "theirs": "not created here",
        order_id: "ordered, and nothing of it is listed",
    }


async def limited(world: World, monkeypatch: pytest.MonkeyPatch, per_hour: str) -> Service:
    """A process whose accounts file sets a limit."""
    table, problems = read_limits({"per_hour": [per_hour]}, "limits")
    assert not problems
    service = world.kernel()
    settings = service._accounts.settings.model_copy(update={"limits": AllLimits(overall=table)})
    monkeypatch.setattr(type(service._accounts), "settings", property(lambda _: settings))
    return service


async def test_what_would_exceed_a_limit_is_told_in_the_plan_and_not_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await limited(world, monkeypatch, "15 USD")
    await create(service)
    plan = await service.plan_create("fake", "second", FakeSpec())
    assert "15.00 USD" in " ".join(plan.warnings)
    with pytest.raises(LimitError) as told:
        await service.create(plan, consent=consent_to(plan))
    assert "15.00 USD" in " ".join(told.value.lines())
    assert world.books.creates == 1
    assert (await service.state()).orders == ()
    assert (await create(service)).attached, "what is there already exceeds nothing"


async def test_an_order_without_an_answer_counts_against_the_limits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lost(world, is_hidden=True)
    service = await limited(world, monkeypatch, "15 USD")
    with pytest.raises(LimitError):
        await create(service, name="second")
    assert world.books.creates == 1


async def test_costs_run_from_the_order_until_it_is_proven_gone(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    (row,) = (await service.costs()).clusters
    assert (row.cluster, row.currency, row.per_hour_high, row.running) == ("demo", "USD", Decimal(10), 1)
    await gone(service, world, cluster)
    (ended,) = (await service.costs()).clusters
    assert (ended.per_hour_high, ended.running) == (Decimal(0), 0)
    assert ended.hours > 0


async def test_a_changed_key_makes_nothing_cost_twice(world: World) -> None:
    await create(world.kernel())
    moved = world.kernel()
    world.provider.scope = "another"
    await moved.refresh()
    (row,) = (await moved.costs()).clusters
    assert (row.running, row.per_hour_high) == (1, Decimal(10))


async def test_running_the_cell_again_does_not_take_back_a_wish_to_delete_on_sight(world: World) -> None:
    service, order_id = await lost(world, is_hidden=True)
    await service.delete_on_sight(order_id)
    world.books.hidden.clear()
    with pytest.raises(ConflictError, match="is being deleted"):
        await create(service)
    await service.recover()
    assert world.books.deletes == 1

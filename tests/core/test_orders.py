"""A write that must not happen twice, against a far side with books of its own."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import rows
from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import (
    ConflictError,
    ConsentError,
    JournalError,
    NameTakenError,
    OutcomeUnknownError,
    ProviderError,
    SettingsError,
    SpecError,
)
from jupyter_gpu_clusters.core.http_errors import LostAnswerError, NotSentError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Billing, Cluster, ClusterPhase, Order, OrderState
from tests.until import until_async

from .fake import FakeSpec
from .worlds import World, create

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    for service in made.opened:
        await service.aclose()


async def test_nothing_is_sent_without_consent(world: World) -> None:
    service = world.kernel()
    plan = await service.plan_create("fake", "demo", FakeSpec())
    with pytest.raises(ConsentError):
        await service.create(plan)
    assert world.books.creates == 0
    assert not (world.folder / "intents").exists()


async def test_a_name_is_needed(world: World) -> None:
    with pytest.raises(SpecError, match="no name"):
        await world.kernel().plan_create("fake", None, FakeSpec())


async def test_running_it_again_attaches(world: World) -> None:
    service = world.kernel()
    first, second = await create(service), await create(service)
    assert (first.attached, second.attached) == (False, True)
    assert first.cluster.cluster_id == second.cluster.cluster_id
    assert world.books.creates == 1


async def test_another_kernel_attaches_too(world: World) -> None:
    await create(world.kernel())
    assert (await create(world.kernel())).attached
    assert world.books.creates == 1


async def test_two_kernels_at_once_make_one_cluster(world: World) -> None:
    world.books.release = asyncio.Event()
    tasks = [asyncio.create_task(create(world.kernel())) for _ in range(3)]
    await asyncio.sleep(0.3)
    world.books.release.set()
    done = await asyncio.gather(*tasks)
    assert sorted(created.attached for created in done) == [False, True, True]
    assert len({created.cluster.cluster_id for created in done}) == 1
    assert world.books.creates == 1


async def test_another_spec_under_a_live_name_is_an_error_with_the_difference(world: World) -> None:
    service = world.kernel()
    await create(service, nodes=2)
    with pytest.raises(NameTakenError, match=r"nodes: 2 -> 3"):
        await create(service, nodes=3)
    with pytest.raises(NameTakenError, match="already"):
        await create(service, nodes=2, new=True)
    assert world.books.creates == 1


async def test_a_default_written_out_is_the_same_spec(world: World) -> None:
    service = world.kernel()
    plans = [await service.plan_create("fake", "demo", spec) for spec in (FakeSpec(), FakeSpec(nodes=1))]
    assert plans[0].spec_digest == plans[1].spec_digest


async def test_a_definite_refusal_frees_the_name(world: World) -> None:
    service = world.kernel()
    world.books.before_work = world.books.refuse
    with pytest.raises(ProviderError, match="no such image"):
        await create(service)
    assert (await service.state()).orders == ()
    world.books.before_work = lambda: None
    assert not (await create(service)).attached


async def test_a_lost_answer_stays_open_and_is_not_ordered_again(world: World) -> None:
    service = world.kernel()
    world.books.after_work = world.books.lose_answer
    world.books.hidden.add("c1")
    with pytest.raises(OutcomeUnknownError, match="connection was cut"):
        await create(service)
    world.books.after_work = lambda: None
    for kernel in (service, world.kernel()):
        with pytest.raises(OutcomeUnknownError, match="no known outcome"):
            await create(kernel)
    assert world.books.creates == 1
    assert [order.state for order in (await service.state()).orders] == [OrderState.NOT_SEEN]


async def test_a_lost_answer_is_adopted_when_the_listing_shows_the_mark(world: World) -> None:
    service = world.kernel()
    world.books.after_work = world.books.lose_answer
    with pytest.raises(OutcomeUnknownError):
        await create(service)
    world.books.after_work = lambda: None
    recovered = await service.recover()
    assert [item.order.state for item in recovered] == [OrderState.DONE]
    again = await create(service)
    assert (again.attached, again.cluster.cluster_id) == (True, "c1")
    assert world.books.creates == 1


async def test_recover_never_writes(world: World) -> None:
    service = world.kernel()
    world.books.before_work = world.books.lose_answer
    with pytest.raises(OutcomeUnknownError):
        await create(service)
    for _ in range(3):
        notes = await service.recover()
        assert notes[0].order.state is OrderState.NOT_SEEN
    assert (world.books.creates, world.books.deletes) == (1, 0)


async def test_the_user_can_close_what_is_not_seen_and_order_again(world: World) -> None:
    service = world.kernel()
    world.books.before_work = world.books.lose_answer
    with pytest.raises(OutcomeUnknownError):
        await create(service)
    world.books.before_work = lambda: None
    order = (await service.state()).orders[0]
    closed = await service.close_order(order.order_id, "I looked in the console")
    assert closed.note is not None
    assert "I looked in the console" in closed.note
    assert not (await create(service)).attached


async def test_an_interrupt_ends_the_wait_and_not_the_request(world: World) -> None:
    service = world.kernel()
    world.books.release = asyncio.Event()
    waiting = asyncio.create_task(create(service))
    await asyncio.sleep(0.3)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    world.books.release.set()
    again = await create(service)
    assert again.attached
    assert world.books.creates == 1


async def test_a_plan_made_under_another_identity_is_refused(world: World) -> None:
    service = world.kernel()
    plan = await service.plan_create("fake", "demo", FakeSpec())
    world.provider.scope = "another project"
    with pytest.raises(SettingsError, match="another service or project"):
        await service.create(plan, consent=consent_to(plan))
    assert world.books.creates == 0


async def test_a_full_disk_between_request_and_answer_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = world.kernel()

    def no_room(*_: object) -> None:
        raise JournalError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "finish_order", no_room)
        with pytest.raises(OutcomeUnknownError, match=r"cluster c1.*no room"):
            await create(service)
    recovered = await world.kernel().recover()
    assert recovered[0].order.verb == "create"
    assert world.books.creates == 1


async def test_no_durable_claim_no_request(world: World) -> None:
    (world.folder / "intents").write_text("in the way")
    with pytest.raises(JournalError, match="nothing was sent"):
        await create(world.kernel())
    assert world.books.creates == 0


async def test_an_unconfirmed_delete_is_a_wish_that_stays_until_there_is_proof(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    deleted = await service.delete(cluster)
    assert not deleted.is_gone
    state = await service.refresh()
    assert [c.phase for c in state.clusters] == [ClusterPhase.DELETING]
    assert [order.verb for order in state.orders] == ["delete"]
    del world.books.clusters["c1"]
    assert (await service.delete(cluster)).is_gone
    state = await service.refresh()
    assert (state.clusters, state.orders) == ((), ())
    assert not (await create(service)).attached


async def test_nothing_is_built_on_a_cluster_that_is_being_deleted(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    await service.delete(cluster)
    with pytest.raises(ConflictError, match="being deleted"):
        await create(service)
    with pytest.raises(ConflictError, match="being deleted"):
        await create(world.kernel())


async def test_an_interrupted_delete_is_recorded_all_the_same(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    del world.books.clusters["c1"]
    deleting = asyncio.create_task(service.delete(cluster))
    await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    deleting.cancel()
    await asyncio.gather(deleting, return_exceptions=True)

    async def is_recorded() -> bool:
        return (await service.state()).clusters == ()

    await until_async(is_recorded)


async def test_an_interrupt_while_the_intent_is_written_leaves_nothing_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = world.kernel()
    put_order = service._journal.put_order
    is_writing, may_go_on = threading.Event(), threading.Event()

    def slow(order: Order) -> None:
        is_writing.set()
        may_go_on.wait(10)
        put_order(order)

    monkeypatch.setattr(service._journal, "put_order", slow)
    creating = asyncio.create_task(create(service))
    await asyncio.to_thread(is_writing.wait, 10)
    creating.cancel()
    await asyncio.gather(creating, return_exceptions=True)
    may_go_on.set()

    async def is_free_again() -> bool:
        return service._journal.open_orders() == [] and list(service._journal.claims.all()) == []

    await until_async(is_free_again)
    assert world.books.creates == 0
    assert not (await create(service)).attached


async def test_a_digest_tells_nothing_about_a_short_secret(world: World) -> None:
    service = world.kernel()
    plan = await service.plan_create("fake", "demo", FakeSpec(nodes=2))
    plain = json.dumps(FakeSpec(nodes=2).model_dump(mode="json", exclude_defaults=True), sort_keys=True)
    assert plan.spec_digest != hashlib.sha256(plain.encode()).hexdigest()
    assert plan.spec_digest == (await world.kernel().plan_create("fake", "demo", FakeSpec(nodes=2))).spec_digest


async def test_a_watcher_of_another_process_carries_the_wish_out(world: World) -> None:
    service = world.kernel()
    cluster = (await create(service)).cluster
    await service.delete(cluster)
    asked = world.books.deletes
    del world.books.clusters["c1"]
    other = world.kernel()
    seen: list[Cluster] = [now async for now in other.watch_cluster(cluster)]
    assert seen[-1].phase is ClusterPhase.DELETED
    assert world.books.deletes > asked
    assert (await other.state()).orders == ()


async def test_what_vanished_without_our_wish_keeps_its_name_until_the_user_closes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "GONE_AFTER", timedelta())
    service = world.kernel()
    await create(service)
    world.books.clusters.clear()
    await service.refresh()
    (lost,) = (await service.refresh()).clusters
    assert (lost.phase, lost.billing) == (ClusterPhase.UNKNOWN, Billing.UNKNOWN)
    assert lost.vanished_at is not None
    with pytest.raises(OutcomeUnknownError, match="vanished without a delete from here"):
        await create(service)
    (told,) = await service.recover()
    assert (told.kind, told.price_per_hour) == ("vanished", lost.price_per_hour)
    await service.close_vanished(lost, "the console shows nothing")
    assert (await service.state()).clusters == ()
    assert not (await create(service)).attached


async def test_what_vanished_and_shows_again_is_as_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "GONE_AFTER", timedelta())
    service = world.kernel()
    cluster = (await create(service)).cluster
    world.books.hidden.add(cluster.cluster_id)
    await service.refresh()
    await service.refresh()
    world.books.hidden.clear()
    (back,) = (await service.refresh()).clusters
    assert (back.phase, back.vanished_at) == (cluster.phase, None)
    assert (await create(service)).attached


async def test_a_connection_that_never_came_to_be_closes_the_order(world: World) -> None:
    def not_sent() -> None:
        raise NotSentError("The service could not be reached; nothing was sent.")

    service = world.kernel()
    world.books.before_work = not_sent
    with pytest.raises(NotSentError):
        await create(service)
    assert (await service.state()).orders == ()


async def test_ids_named_in_a_lost_answer_are_kept_with_the_order(world: World) -> None:
    def half_said() -> None:
        raise LostAnswerError("a 502 that names a pod", ids=["pod-1"])

    service = world.kernel()
    world.books.after_work = half_said
    with pytest.raises(OutcomeUnknownError):
        await create(service)
    (order,) = (await service.state()).orders
    assert order.remote_ids == ("pod-1",)

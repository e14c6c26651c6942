"""A cluster is ordered once, recorded, and found again."""

from __future__ import annotations

import asyncio

from jupyter_gpu_clusters.core.consent import Ask, consent_to, what_to_ask
from jupyter_gpu_clusters.core.errors import ConsentError, NameTakenError, ProviderError
from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.core.provider import CreatesClusters

from .base import ContractBase
from .world import NAME, World


class CreateContract(ContractBase):
    """`create_cluster` where all goes well, or is refused."""

    async def test_a_create_sends_one_request_and_is_recorded(self, world: World) -> None:
        service = world.kernel()
        created = await world.create(service)
        cluster = created.cluster
        assert len(world.made("create")) == 1
        assert list(world.far_side.clusters()) == [cluster.cluster_id]
        assert (cluster.name, cluster.created_here, created.attached) == (NAME, True, False)
        assert cluster.order_id
        state = await service.state()
        assert state.orders == ()
        assert [known.cluster_id for known in state.clusters] == [cluster.cluster_id]

    async def test_a_created_cluster_is_listed_under_the_name_that_was_asked_for(self, world: World) -> None:
        service = world.kernel()
        created = (await world.create(service)).cluster
        listed = await world.a_cluster(service)
        assert (listed.cluster_id, listed.name, listed.created_here) == (created.cluster_id, NAME, True)
        assert listed.full_name == f"{world.account}/{NAME}"
        thing = world.far_side.clusters()[created.cluster_id]
        assert thing.nodes is None or listed.node_count == thing.nodes
        assert listed.price_per_hour is None or listed.is_free or listed.price_per_hour.amount > 0

    async def test_the_far_side_is_told_the_name_with_the_orders_mark(self, world: World) -> None:
        service = world.kernel()
        plan = await world.planned(service)
        created = (await service.create(plan, consent=consent_to(plan))).cluster
        name = world.far_side.clusters()[created.cluster_id].name
        if plan.marks_name:
            assert name.startswith(f"{NAME}-")
            assert created.order_id is not None
            assert created.order_id[:6] in name
        else:
            assert name == NAME

    async def test_running_it_again_attaches_in_any_kernel(self, world: World) -> None:
        service = world.kernel()
        first = await world.create(service)
        for kernel in (service, world.kernel()):
            again = await world.create(kernel)
            assert (again.attached, again.cluster.cluster_id) == (True, first.cluster.cluster_id)
        assert len(world.made("create")) == 1

    async def test_another_spec_under_a_live_name_is_refused(self, world: World) -> None:
        service = world.kernel()
        await world.create(service)
        await world.fails(NameTakenError, world.create(service, data=world.far_side.other_spec()))
        await world.fails(NameTakenError, world.create(service, new=True))
        assert len(world.made("create")) == 1

    async def test_what_costs_needs_consent(self, world: World) -> None:
        service = world.kernel()
        plan = await world.planned(service)
        if what_to_ask(plan) is not Ask.NOTHING:
            await world.fails(ConsentError, service.create(plan))
            assert world.made("create") == []

    async def test_a_definite_refusal_closes_the_order_and_frees_the_name(self, world: World) -> None:
        service = world.kernel()
        await world.planned(service)
        with world.far_side.refusing_writes(Verb.CREATE):
            failure = await world.fails(ProviderError, world.create(service))
        assert failure.is_definite
        assert (await service.state()).orders == ()
        assert dict(world.far_side.clusters()) == {}
        assert not (await world.create(service)).attached

    async def test_an_interrupt_ends_the_wait_and_not_the_request(self, world: World) -> None:
        service = world.kernel()
        plan = await world.planned(service)
        with world.far_side.delaying_answers(1.0):
            waiting = asyncio.create_task(service.create(plan, consent=consent_to(plan)))

            async def arrived() -> bool | None:
                return bool(world.made("create")) or None

            await world.until(arrived)
            waiting.cancel()
            await world.fails(asyncio.CancelledError, waiting)
        again = await world.create(service)
        assert again.attached
        assert list(world.far_side.clusters()) == [again.cluster.cluster_id]
        assert len(world.made("create")) == 1

    async def test_what_others_made_is_listed_as_not_made_here(self, world: World) -> None:
        world.able(CreatesClusters, "create")
        foreign = world.far_side.make_foreign("other")
        listed = {cluster.cluster_id: cluster for cluster in (await world.kernel().refresh()).clusters}
        assert foreign in listed
        assert not listed[foreign].created_here

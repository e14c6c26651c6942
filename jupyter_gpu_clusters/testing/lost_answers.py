"""An answer that never came: the order stays open until reading shows what it made. Nothing is ordered twice."""

from __future__ import annotations

from jupyter_gpu_clusters.core.errors import OutcomeUnknownError
from jupyter_gpu_clusters.core.models import OrderState, Verb

from .base import ContractBase
from .world import World


class LostAnswerContract(ContractBase):
    """`find_created`."""

    async def test_work_whose_answer_was_lost_is_found_and_adopted_by_reading(self, world: World) -> None:
        service = world.kernel()
        await world.planned(service)
        with world.far_side.losing_answers(Verb.CREATE, after_work=True):
            await world.fails(OutcomeUnknownError, world.create(service))
        made = list(world.far_side.clusters())
        assert len(made) == 1
        assert [order.state.is_open for order in (await service.state()).orders] == [True]
        writes = len(world.far_side.received())
        kernel = world.kernel()
        recovered = await kernel.recover()
        assert [one.order.state for one in recovered] == [OrderState.DONE]
        assert recovered[0].order.remote_ids == (made[0],)
        again = await world.create(kernel)
        assert (again.attached, again.cluster.cluster_id) == (True, made[0])
        assert len(world.far_side.received()) == writes, "recovering must only read"
        assert list(world.far_side.clusters()) == made

    async def test_what_was_never_made_is_not_seen_and_not_ordered_again(self, world: World) -> None:
        service = world.kernel()
        await world.planned(service)
        with world.far_side.losing_answers(Verb.CREATE, after_work=False):
            await world.fails(OutcomeUnknownError, world.create(service))
        writes = len(world.far_side.received())
        for _ in range(2):
            recovered = await service.recover()
            assert [one.order.state for one in recovered] == [OrderState.NOT_SEEN]
        await world.fails(OutcomeUnknownError, world.create(service))
        assert len(world.far_side.received()) == writes
        assert dict(world.far_side.clusters()) == {}
        await service.close_order(recovered[0].order.order_id, "I looked in the console.")
        assert not (await world.create(service)).attached

    async def test_somebody_elses_cluster_of_that_name_is_not_adopted(self, world: World) -> None:
        service = world.kernel()
        await world.planned(service)
        with world.far_side.losing_answers(Verb.CREATE, after_work=False):
            await world.fails(OutcomeUnknownError, world.create(service))
        foreign = world.far_side.make_foreign("demo")
        recovered = await service.recover()
        assert [one.order.state.is_open for one in recovered] == [True]
        assert foreign not in recovered[0].order.remote_ids
        listed = {cluster.cluster_id: cluster for cluster in (await service.refresh()).clusters}
        assert not listed[foreign].created_here

    async def test_a_second_one_is_told_from_the_first(self, world: World) -> None:
        service = world.kernel()
        first = (await world.create(service, "first")).cluster
        with world.far_side.losing_answers(Verb.CREATE, after_work=True):
            await world.fails(OutcomeUnknownError, world.create(service, "second"))
        recovered = await service.recover()
        assert [one.order.state for one in recovered] == [OrderState.DONE]
        assert recovered[0].order.remote_ids != (first.cluster_id,)
        assert set(world.far_side.clusters()) == {first.cluster_id, *recovered[0].order.remote_ids}

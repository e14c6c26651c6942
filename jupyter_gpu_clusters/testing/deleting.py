"""A cluster ends, and its cost with it: a wish that is recorded, repeated, and believed only with proof."""

from __future__ import annotations

from jupyter_gpu_clusters.core.errors import GpuClustersError, OutcomeUnknownError
from jupyter_gpu_clusters.core.models import ClusterPhase, Verb

from .base import ContractBase
from .world import NAME, World


class DeleteContract(ContractBase):
    """`delete_cluster`."""

    async def test_gone_is_said_only_when_it_is_gone_and_frees_the_name(self, world: World) -> None:
        service = world.kernel()
        cluster = (await world.create(service)).cluster
        assert len(world.made("create")) == 1
        world.far_side.settle()
        await world.end(service, cluster)
        assert dict(world.far_side.clusters()) == {}
        state = await service.refresh()
        assert state.orders == ()
        assert not [c for c in state.clusters if c.phase is not ClusterPhase.DELETED]
        again = await world.create(service)
        assert (again.attached, again.cluster.name) == (False, NAME)
        assert len(world.made("create")) == 2

    async def test_deleting_what_is_gone_is_calm(self, world: World) -> None:
        service = world.kernel()
        cluster = (await world.create(service)).cluster
        world.far_side.settle()
        await world.end(service, cluster)
        assert (await service.delete(cluster)).is_gone
        assert (await service.state()).orders == ()

    async def test_the_wish_is_recorded_until_there_is_proof(self, world: World) -> None:
        service = world.kernel()
        cluster = (await world.create(service)).cluster
        world.far_side.settle()
        deleted = await service.delete(cluster)
        state = await world.kernel().state()
        wishes = [order for order in state.orders if order.verb is Verb.DELETE]
        if deleted.is_gone:
            assert wishes == []
            return
        assert [wish.target_id for wish in wishes] == [cluster.cluster_id]
        assert [c.phase for c in state.clusters if c.cluster_id == cluster.cluster_id] == [ClusterPhase.DELETING]
        await world.end(world.kernel(), cluster)
        assert (await service.state()).orders == ()

    async def test_a_delete_whose_answer_was_lost_is_wished_on(self, world: World) -> None:
        service = world.kernel()
        cluster = (await world.create(service)).cluster
        world.far_side.settle()
        with world.far_side.losing_answers(Verb.DELETE, after_work=True):
            try:
                assert not (await service.delete(cluster)).is_gone
            except OutcomeUnknownError as exc:
                world.failures.append(exc)
        wishes = [order.target_id for order in (await service.state()).orders if order.verb is Verb.DELETE]
        assert wishes == [cluster.cluster_id]
        await world.end(world.kernel(), cluster)
        assert (await service.state()).orders == ()

    async def test_a_listing_that_fails_proves_no_delete(self, world: World) -> None:
        service = world.kernel()
        cluster = (await world.create(service)).cluster
        world.far_side.settle()
        with world.far_side.losing_answers(Verb.DELETE, after_work=False), world.far_side.failing_listings():
            try:
                assert not (await service.delete(cluster)).is_gone
            except GpuClustersError as exc:
                world.failures.append(exc)
        assert cluster.cluster_id in world.far_side.clusters()
        assert [order.verb for order in (await service.state()).orders] == [Verb.DELETE]

    async def test_nothing_else_is_touched(self, world: World) -> None:
        service = world.kernel()
        kept = (await world.create(service, "kept")).cluster
        cluster = (await world.create(service)).cluster
        world.far_side.settle()
        await world.end(service, cluster)
        assert list(world.far_side.clusters()) == [kept.cluster_id]

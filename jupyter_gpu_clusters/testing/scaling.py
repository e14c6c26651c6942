"""Another number of nodes."""

from __future__ import annotations

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import OutcomeUnknownError, SpecError
from jupyter_gpu_clusters.core.models import OrderState, Verb
from jupyter_gpu_clusters.core.provider import ScalesClusters

from .base import ContractBase
from .plans import assert_sound
from .world import World


class ScaleContract(ContractBase):
    """`ScalesClusters`."""

    async def test_a_cluster_grows_to_the_number_that_was_asked_for(self, world: World) -> None:
        world.able(ScalesClusters, "scale")
        service = world.kernel()
        cluster = await world.a_cluster(service)
        wanted = cluster.node_count + 1
        writes = len(world.far_side.received())
        plan = await service.plan_scale(cluster, wanted)
        assert len(world.far_side.received()) == writes
        assert_sound(plan)
        assert (plan.verb, plan.target_id) == (Verb.SCALE, cluster.cluster_id)
        await service.scale(plan, consent=consent_to(plan))
        assert len(world.far_side.received()) == writes + 1
        world.far_side.settle()
        assert world.far_side.clusters()[cluster.cluster_id].nodes == wanted
        state = await service.refresh()
        assert [c.node_count for c in state.clusters if c.cluster_id == cluster.cluster_id] == [wanted]
        assert state.orders == ()

    async def test_an_impossible_number_is_a_problem_of_the_spec(self, world: World) -> None:
        world.able(ScalesClusters, "scale")
        service = world.kernel()
        cluster = await world.a_cluster(service)
        writes = len(world.far_side.received())
        for nodes in (0, -1):
            await world.fails(SpecError, service.plan_scale(cluster, nodes))
        assert len(world.far_side.received()) == writes

    async def test_a_scale_whose_answer_was_lost_is_found_and_not_sent_again(self, world: World) -> None:
        world.able(ScalesClusters, "scale")
        service = world.kernel()
        cluster = await world.a_cluster(service)
        wanted = cluster.node_count + 1
        plan = await service.plan_scale(cluster, wanted)
        with world.far_side.losing_answers(Verb.SCALE, after_work=True):
            await world.fails(OutcomeUnknownError, service.scale(plan, consent=consent_to(plan)))
        writes = len(world.far_side.received())
        world.far_side.settle()
        recovered = await world.kernel().recover()
        assert [one.order.state for one in recovered] == [OrderState.DONE]
        assert len(world.far_side.received()) == writes
        assert world.far_side.clusters()[cluster.cluster_id].nodes == wanted

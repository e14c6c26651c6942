"""What a provider does to clusters in ways of its own."""

from __future__ import annotations

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import OutcomeUnknownError
from jupyter_gpu_clusters.core.models import Cluster, Plan, Verb
from jupyter_gpu_clusters.core.provider import ActsOnClusters
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec

from .base import ContractBase
from .plans import assert_sound
from .world import World


class ActionContract(ContractBase):
    """`ActsOnClusters`."""

    async def test_every_action_can_be_planned_without_sending_and_then_carried_out(self, world: World) -> None:
        provider = world.able(ActsOnClusters, "actions")
        service = world.kernel()
        cluster = await world.a_cluster(service)
        specs = world.far_side.action_specs()
        assert set(specs) == set(provider.actions), "the far side must know what each action can be asked for"
        for action in specs:
            writes = len(world.far_side.received())
            plan = await _planned(world, service, cluster, action)
            assert len(world.far_side.received()) == writes, f"planning {action} wrote something"
            assert_sound(plan)
            assert (plan.verb, plan.action, plan.target_id) == (Verb.ACT, action, cluster.cluster_id)
            acted = await service.act(plan, consent=consent_to(plan))
            assert acted.cluster_id == cluster.cluster_id
            assert len(world.far_side.received()) > writes, f"{action} sent nothing"
            assert (await service.state()).orders == (), action
            world.far_side.settle()

    async def test_an_action_whose_answer_was_lost_is_never_sent_again_by_itself(self, world: World) -> None:
        world.able(ActsOnClusters, "actions")
        service = world.kernel()
        cluster = await world.a_cluster(service)
        action = next(iter(world.far_side.action_specs()))
        plan = await _planned(world, service, cluster, action)
        with world.far_side.losing_answers(Verb.ACT, after_work=True):
            await world.fails(OutcomeUnknownError, service.act(plan, consent=consent_to(plan)))
        writes = len(world.far_side.received())
        recovered = await world.kernel().recover()
        assert [one.order.action for one in recovered] == [action]
        assert recovered[0].note
        assert len(world.far_side.received()) == writes


async def _planned(world: World, service: Service, cluster: Cluster, action: str) -> Plan:
    model = service.action_model(world.account, action)
    return await service.plan_action(cluster, action, build_spec(model, world.far_side.action_specs()[action]))

"""Work is started once, watched to its end, and ended when asked."""

from __future__ import annotations

import asyncio

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import OutcomeUnknownError
from jupyter_gpu_clusters.core.models import Cluster, Plan, Verb, Workload, WorkloadPhase
from jupyter_gpu_clusters.core.provider import RunsWorkloads, SuspendsWorkloads
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec

from .base import ContractBase
from .plans import assert_sound
from .world import World

_NAME = "train"
_RUNNING = WorkloadPhase.RUNNING
_WORD = "Frobnicating"


class WorkloadContract(ContractBase):
    """`RunsWorkloads` and `SuspendsWorkloads`."""

    async def test_a_workload_is_started_once_and_then_attached_to(self, world: World) -> None:
        service, cluster = await _cluster(world)
        plan = await _planned(world, service, cluster)
        assert_sound(plan)
        assert (plan.verb, plan.target_id) == (Verb.SUBMIT, cluster.cluster_id)
        assert dict(world.far_side.workloads()) == {}
        first = await service.submit(plan, consent=consent_to(plan))
        for kernel in (service, world.kernel()):
            plan = await _planned(world, kernel, cluster)
            again = await kernel.submit(plan, consent=consent_to(plan))
            assert (again.attached, again.workload.workload_id) == (True, first.workload.workload_id)
        assert list(world.far_side.workloads()) == [first.workload.workload_id]
        assert (first.workload.name, first.workload.created_here) == (_NAME, True)

    async def test_a_workload_is_listed_and_found(self, world: World) -> None:
        service, _, workload = await _running(world)
        state = await service.refresh()
        listed = [w for w in state.workloads if w.workload_id == workload.workload_id]
        assert [(w.name, w.phase, w.created_here) for w in listed] == [(_NAME, _RUNNING, True)]
        assert (await service.find_workload(_NAME)).workload_id == workload.workload_id

    async def test_a_workload_whose_answer_was_lost_is_found_and_adopted(self, world: World) -> None:
        service, cluster = await _cluster(world)
        plan = await _planned(world, service, cluster)
        with world.far_side.losing_answers(Verb.SUBMIT, after_work=True):
            await world.fails(OutcomeUnknownError, service.submit(plan, consent=consent_to(plan)))
        made = list(world.far_side.workloads())
        assert len(made) == 1
        kernel = world.kernel()
        recovered = await kernel.recover()
        assert [one.order.remote_ids for one in recovered] == [(made[0],)]
        plan = await _planned(world, kernel, cluster)
        assert (await kernel.submit(plan, consent=consent_to(plan))).attached
        assert list(world.far_side.workloads()) == made

    async def test_a_workload_that_was_never_started_is_not_seen(self, world: World) -> None:
        service, cluster = await _cluster(world)
        plan = await _planned(world, service, cluster)
        with world.far_side.losing_answers(Verb.SUBMIT, after_work=False):
            await world.fails(OutcomeUnknownError, service.submit(plan, consent=consent_to(plan)))
        recovered = await service.recover()
        assert [(one.order.state.is_open, one.order.remote_ids) for one in recovered] == [(True, ())]
        assert dict(world.far_side.workloads()) == {}

    async def test_a_workload_that_never_was_is_not_found_and_no_error(self, world: World) -> None:
        """The core asks for the empty id where an order has named none."""
        _, cluster = await _cluster(world)
        launcher = world.able(RunsWorkloads, "workloads").launcher(cluster)
        for workload_id in ("", world.far_side.unknown_id):
            answer = await launcher.get_workload(workload_id)
            assert answer.answer in ("absent", "cannot_tell")
            assert answer.item is None

    async def test_cancelling_ends_it_and_again_is_calm(self, world: World) -> None:
        service, _, workload = await _running(world)
        report = await service.cancel(workload)
        assert report.left_over == ()

        async def gone() -> bool | None:
            world.far_side.settle()
            return not world.far_side.workloads() or None

        await world.until(gone)
        await service.refresh()
        again = (await service.cancel(workload)).workload
        assert again.phase.is_final
        assert again.phase is not WorkloadPhase.SUCCEEDED

    async def test_the_log_of_a_workload_ends_with_it(self, world: World) -> None:
        service, cluster = await _cluster(world)
        spec, printed = world.far_side.short_workload()
        workload = await world.submit(service, cluster, spec)
        workload = await world.in_phase(service, workload, _RUNNING, WorkloadPhase.SUCCEEDED)

        pieces: list[str] = []

        async def read() -> None:
            async for chunk in service.stream_logs(workload, follow=True):
                pieces.append(chunk.text)

        async def spoke() -> bool | None:
            return bool(pieces) or reading.done() or None

        async def ended() -> bool | None:
            world.far_side.finish_workloads()
            return reading.done() or None

        reading = asyncio.create_task(read())
        try:
            await world.until(spoke)
            await world.until(ended)
        finally:
            reading.cancel()
        await reading
        assert printed in "".join(pieces)

    async def test_a_workload_that_ended_runs_again_when_asked_again(self, world: World) -> None:
        service, cluster = await _cluster(world)
        spec, _ = world.far_side.short_workload()
        first = await world.submit(service, cluster, spec)
        await world.in_phase(service, first, _RUNNING, WorkloadPhase.SUCCEEDED)
        world.far_side.finish_workloads()
        await world.in_phase(service, first, WorkloadPhase.SUCCEEDED)
        second = await world.submit(service, cluster, spec)
        assert second.workload_id != first.workload_id

    async def test_a_word_that_nobody_knows_is_no_end(self, world: World) -> None:
        service, _, workload = await _running(world)
        with world.far_side.using_unknown_words(_WORD):
            state = await service.refresh()
        seen = next(w for w in state.workloads if w.workload_id == workload.workload_id)
        assert seen.phase is WorkloadPhase.UNKNOWN
        assert _WORD.lower() in (seen.provider_state or "").lower()

    async def test_a_workload_rests_and_goes_on(self, world: World) -> None:
        world.able(SuspendsWorkloads, "suspend")
        service, _, workload = await _running(world)
        for _ in range(2):
            await service.suspend(workload)
            resting = await world.in_phase(service, workload, WorkloadPhase.STOPPED)
        assert not resting.phase.is_final
        for _ in range(2):
            await service.resume(resting)
            await world.in_phase(service, workload, _RUNNING)
        assert (await service.state()).orders == ()

    async def test_a_suspend_whose_answer_was_lost_is_settled_by_looking(self, world: World) -> None:
        world.able(SuspendsWorkloads, "suspend")
        service, _, workload = await _running(world)
        with world.far_side.losing_answers(Verb.SUSPEND, after_work=True):
            await world.fails(OutcomeUnknownError, service.suspend(workload))
        writes = len(world.far_side.received())
        world.far_side.settle()
        recovered = await world.kernel().recover()
        assert [one.order.state.is_open for one in recovered] == [False]
        assert len(world.far_side.received()) == writes


async def _cluster(world: World) -> tuple[Service, Cluster]:
    world.able(RunsWorkloads, "workloads")
    service = world.kernel()
    return service, await world.a_cluster(service)


async def _planned(world: World, service: Service, cluster: Cluster) -> Plan:
    model = world.able(RunsWorkloads, "workloads").workload_model
    return await service.plan_submit(cluster, _NAME, build_spec(model, world.far_side.long_workload()))


async def _running(world: World) -> tuple[Service, Cluster, Workload]:
    service, cluster = await _cluster(world)
    workload = await world.submit(service, cluster, world.far_side.long_workload(), _NAME)
    return service, cluster, await world.in_phase(service, workload, _RUNNING)

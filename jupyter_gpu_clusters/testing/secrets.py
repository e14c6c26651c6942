"""What a user wrote in confidence is nowhere to be read afterwards. (Secrets of accounts: `base`, in every test.)"""

from __future__ import annotations

from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.models import Verb
from jupyter_gpu_clusters.core.provider import RunsWorkloads

from .base import ContractBase
from .searching import CONFIDED, everything, found_in
from .world import World


class SecretContract(ContractBase):
    """The journal and the errors after orders that carry secrets."""

    async def test_secrets_of_a_cluster_are_in_no_file(self, world: World) -> None:
        service = world.kernel()
        await world.create(service, data=world.far_side.secret_spec(CONFIDED))
        world.far_side.settle()
        await service.refresh()
        _assert_clean(world)

    async def test_secrets_of_a_cluster_that_failed_are_in_no_error(self, world: World) -> None:
        service = world.kernel()
        spec = world.far_side.secret_spec(CONFIDED)
        with world.far_side.refusing_writes(Verb.CREATE):
            await world.fails(GpuClustersError, world.create(service, "refused", spec))
        with world.far_side.losing_answers(Verb.CREATE, after_work=True):
            await world.fails(GpuClustersError, world.create(service, "lost", spec))
        await service.recover()
        _assert_clean(world)

    async def test_secrets_of_a_workload_are_in_no_file(self, world: World) -> None:
        world.able(RunsWorkloads, "workloads")
        service = world.kernel()
        await world.submit(service, await world.a_cluster(service), world.far_side.secret_workload(CONFIDED))
        world.far_side.settle()
        await service.refresh()
        _assert_clean(world)

    async def test_secrets_of_a_workload_that_failed_are_in_no_error(self, world: World) -> None:
        world.able(RunsWorkloads, "workloads")
        service = world.kernel()
        cluster, spec = await world.a_cluster(service), world.far_side.secret_workload(CONFIDED)
        with world.far_side.refusing_writes(Verb.SUBMIT):
            await world.fails(GpuClustersError, world.submit(service, cluster, spec, "refused"))
        with world.far_side.losing_answers(Verb.SUBMIT, after_work=True):
            await world.fails(GpuClustersError, world.submit(service, cluster, spec, "lost"))
        await service.recover()
        _assert_clean(world)


def _assert_clean(world: World) -> None:
    leaks = {str(path): found_in(text, [CONFIDED]) for path, text in world.files().items()}
    assert len(leaks) > 1, "there is no journal to search"
    for exc in world.failures:
        leaks[repr(type(exc))] = found_in(everything(exc, with_variables=False), [CONFIDED])
    assert not {where: forms for where, forms in leaks.items() if forms}

"""What a dead kernel left open is gone on with as soon as the server starts, without anybody looking."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_gpu_clusters.core.models import Cluster
from jupyter_gpu_clusters.core.plans import plan_delete
from jupyter_gpu_clusters.server.app import GpuClustersApp

from .helpers import eventually
from .notebook import Notebook


@pytest.fixture
def doomed(notebook: Notebook, jp_asyncio_loop: asyncio.AbstractEventLoop) -> Cluster:
    """A cluster whose delete was wished for by a kernel that died before it was sent."""

    async def make() -> Cluster:
        service = notebook.service
        cluster = await notebook.create("doomed")
        identity = (await service._accounts.provider("local").identity()).key
        await service._orders.place(plan_delete(cluster, identity))
        return cluster

    return jp_asyncio_loop.run_until_complete(make())


async def test_a_wish_to_delete_is_carried_out(doomed: Cluster, notebook: Notebook, extension: GpuClustersApp) -> None:
    async def is_gone() -> bool:
        state = await notebook.service.state()
        return state.clusters == () and state.orders == ()

    await eventually(is_gone)


async def test_an_end_time_is_kept(notebook: Notebook, extension: GpuClustersApp) -> None:
    cluster = await notebook.create("timed")
    assert (await notebook.service.keep_end(cluster, 1)).ends_at is None

    async def is_kept() -> bool:
        return (await notebook.service.state()).clusters[0].ends_at is not None

    await eventually(is_kept)

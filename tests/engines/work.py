"""Submitting through the service, as every face does."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.models import Cluster, Workload
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.launch.spec import CommandSpec
from tests.until import until_async


async def submit(service: Service, cluster: Cluster, name: str = "train", **spec: Any) -> Workload:
    """A workload that uses no GPU unless `spec` says so: these machines have none."""
    wanted = CommandSpec.model_validate({"gpus_per_node": 0, **spec})
    plan = await service.plan_submit(cluster, name, wanted)
    return (await service.submit(plan, consent=consent_to(plan))).workload


async def look(service: Service, workload: Workload) -> Workload:
    """The workload, fresh."""
    await service.refresh(["lium"])
    return await service.find_workload(workload.workload_id)


async def finished(service: Service, workload: Workload, within_s: float = 60) -> Workload:
    """Its end."""

    async def final() -> Workload | None:
        now = await look(service, workload)
        return now if now.phase.is_final else None

    found = await until_async(final, within_s=within_s, every_s=0.2)
    assert found is not None
    return found


async def output(service: Service, workload: Workload, *, follow: bool = False) -> dict[int, bytes]:
    """Every rank's bytes; fails where something is missing or comes twice."""
    texts: dict[int, bytes] = {}
    async with asyncio.timeout(120):
        async for chunk in service.stream_logs(workload, follow=follow):
            assert chunk.offset == len(texts.get(chunk.rank, b"")), "a gap or something twice"
            texts[chunk.rank] = texts.get(chunk.rank, b"") + chunk.data
    return texts

"""The user's side in the tests: makes real clusters and workloads on this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from jupyter_gpu_clusters.core.models import Cluster, Workload
from jupyter_gpu_clusters.core.service import Service


@dataclass(frozen=True)
class Notebook:
    """A service of its own beside the server's, as a kernel has one."""

    service: Service

    async def create(self, name: str = "demo", nodes: int = 1) -> Cluster:
        """Create a local cluster."""
        spec = self.service.spec_model("local").model_validate({"nodes": nodes})
        return (await self.service.create(await self.service.plan_create("local", name, spec))).cluster

    async def run(self, cluster: Cluster, code: str, *, name: str = "train", **spec: object) -> Workload:
        """Start Python `code` on a cluster; every rank runs it."""
        model = self.service.workload_model("local")
        command = model.model_validate({"command": [sys.executable, "-c", code], **spec})
        plan = await self.service.plan_submit(cluster, name, command)
        return (await self.service.submit(plan)).workload

    async def finish(self, workload: Workload) -> Workload:
        """Wait for the end of a workload."""
        async for now in self.service.watch_workload(workload):
            workload = now
        return workload

    async def close(self) -> None:
        """Delete every cluster, then close the service."""
        for cluster in (await self.service.refresh()).clusters:
            await self.service.delete(cluster)
        await self.service.aclose()

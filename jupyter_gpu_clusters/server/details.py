"""``GET .../details`` and ``GET .../details/{kind}``: the provider's own tables about a cluster or a workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from ..core.models import Cluster, Workload
from ..core.provider import ShowsDetails
from ..core.service import Service
from .handler import GpuClustersHandler, LookingHandler
from .state import cluster_in, workload_in


class ClusterKindsHandler(GpuClustersHandler):
    """Which tables there are about a cluster."""

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str) -> None:
        """Answer with kind -> title; empty where the provider has none."""
        service = await self.service()
        self.answer(_kinds(service, cluster_in(await service.state(), account, cluster_id)))


class ClusterDetailsHandler(LookingHandler):
    """One table about a cluster."""

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str, kind: str) -> None:
        """Answer with the table as it is now."""
        service = await self.service()
        await self.answer_look(_details(service, cluster_in(await service.state(), account, cluster_id), kind))


class WorkloadKindsHandler(GpuClustersHandler):
    """Which tables there are about a workload."""

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str, workload_id: str) -> None:
        """Answer with kind -> title; empty where the provider has none."""
        service = await self.service()
        self.answer(_kinds(service, workload_in(await service.state(), account, cluster_id, workload_id)))


class WorkloadDetailsHandler(LookingHandler):
    """One table about a workload."""

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str, workload_id: str, kind: str) -> None:
        """Answer with the table as it is now."""
        service = await self.service()
        workload = workload_in(await service.state(), account, cluster_id, workload_id)
        await self.answer_look(_details(service, workload, kind))


def _kinds(service: Service, thing: Cluster | Workload) -> dict[str, Any]:
    kind = service.provider_class(thing.account)
    if not issubclass(kind, ShowsDetails):
        return {"kinds": {}}
    return {"kinds": dict(kind.cluster_details if isinstance(thing, Cluster) else kind.workload_details)}


async def _details(service: Service, thing: Cluster | Workload, kind: str) -> Mapping[str, Any]:
    return (await service.details(thing, kind)).model_dump(mode="json")

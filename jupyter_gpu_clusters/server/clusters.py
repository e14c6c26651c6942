"""``DELETE clusters/{account}/{cluster_id}``."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from .handler import GpuClustersHandler
from .requests import NoBody, parse_body
from .state import cluster_in, named_body


class ClusterHandler(GpuClustersHandler):
    """One cluster."""

    @authenticated
    @authorized
    async def delete(self, account: str, cluster_id: str) -> None:
        """End the cluster, its workloads and its cost; the page has asked before."""
        parse_body(NoBody, self.request.body)
        service = await self.service()
        deleted = await service.delete(cluster_in(await service.state(), account, cluster_id))
        self.answer({"cluster": named_body(deleted.cluster), "is_gone": deleted.is_gone, "note": deleted.note})

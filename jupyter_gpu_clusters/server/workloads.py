"""``POST workloads/{account}/{cluster_id}/{workload_id}/cancel``, ``suspend``, ``resume``, and ``GET .../logs``."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from .handler import GpuClustersHandler, LookingHandler
from .logs import read_logs
from .requests import LogQuery, NoBody, parse_body, parse_query
from .state import named_body, workload_in


class CancelHandler(GpuClustersHandler):
    """The end of one workload."""

    @authenticated
    @authorized
    async def post(self, account: str, cluster_id: str, workload_id: str) -> None:
        """End every process of the workload and say which would not go; the page has asked before."""
        parse_body(NoBody, self.request.body)
        service = await self.service()
        report = await service.cancel(workload_in(await service.state(), account, cluster_id, workload_id))
        self.answer({"workload": named_body(report.workload), "left_over": list(report.left_over)})


class SuspendHandler(GpuClustersHandler):
    """The rest of one workload."""

    @authenticated
    @authorized
    async def post(self, account: str, cluster_id: str, workload_id: str) -> None:
        """Let the workload give back what it holds; it can go on later."""
        parse_body(NoBody, self.request.body)
        service = await self.service()
        rested = await service.suspend(workload_in(await service.state(), account, cluster_id, workload_id))
        self.answer({"workload": named_body(rested)})


class ResumeHandler(GpuClustersHandler):
    """The end of that rest."""

    @authenticated
    @authorized
    async def post(self, account: str, cluster_id: str, workload_id: str) -> None:
        """Let a resting workload go on."""
        parse_body(NoBody, self.request.body)
        service = await self.service()
        resumed = await service.resume(workload_in(await service.state(), account, cluster_id, workload_id))
        self.answer({"workload": named_body(resumed)})


class LogsHandler(LookingHandler):
    """The output of one workload's ranks, one look at a time."""

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str, workload_id: str) -> None:
        """Answer with what there is now, never waiting for more."""
        query = parse_query(LogQuery, self.query())
        service = await self.service()
        self.parts.watcher.look(service)
        workload = workload_in(await service.state(), account, cluster_id, workload_id)
        await self.answer_look(read_logs(service, workload, query))

"""``POST workloads/{account}/{cluster_id}/{workload_id}/cancel`` and ``GET .../logs``."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from .handler import GpuClustersHandler
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


class LogsHandler(GpuClustersHandler):
    """The output of one workload's ranks, one look at a time."""

    _looking: asyncio.Task[dict[str, Any]] | None = None

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str, workload_id: str) -> None:
        """Answer with what there is now, never waiting for more."""
        query = parse_query(LogQuery, self.query())
        service = await self.service()
        self.parts.watcher.look(service)
        workload = workload_in(await service.state(), account, cluster_id, workload_id)
        self._looking = asyncio.create_task(read_logs(service, workload, query))
        await asyncio.wait([self._looking])
        if not self._looking.cancelled():
            self.answer(self._looking.result())

    def on_connection_close(self) -> None:
        """Nobody reads the answer any more: end the look."""
        if self._looking is not None:
            self._looking.cancel()

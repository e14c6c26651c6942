"""The extension: routes, start and end."""

from __future__ import annotations

from typing import Any

from jupyter_server.extension.application import ExtensionApp

from .clusters import ClusterHandler
from .events import Bus
from .handler import GpuClustersHandler, Parts
from .health import HealthHandler
from .owner import ServiceOwner
from .state import StateHandler
from .watcher import Watcher
from .workloads import CancelHandler, LogsHandler

_CLUSTER = r"/gpu-clusters/clusters/([^/]+)/([^/]+)"
_WORKLOAD = r"/gpu-clusters/workloads/([^/]+)/([^/]+)/([^/]+)"

ROUTES: tuple[tuple[str, type[GpuClustersHandler]], ...] = (
    (r"/gpu-clusters/health", HealthHandler),
    (r"/gpu-clusters/state", StateHandler),
    (_CLUSTER, ClusterHandler),
    (_WORKLOAD + "/cancel", CancelHandler),
    (_WORKLOAD + "/logs", LogsHandler),
)


class GpuClustersApp(ExtensionApp):
    """Ties the parts to one Jupyter server; Jupyter makes it and tells it when the server stops."""

    name = "jupyter_gpu_clusters"
    _parts: Parts | None = None

    def initialize_handlers(self) -> None:
        """Make the parts, start the heartbeat once the loop runs, add the routes."""
        server = self.serverapp
        assert server is not None
        assert server.event_logger is not None
        bus = Bus(server.event_logger)
        parts = self._parts = Parts(ServiceOwner(), bus, Watcher(bus, server.log))
        server.io_loop.add_callback(parts.watcher.start)
        routes: list[tuple[Any, ...]] = [(path, handler, {"parts": parts}) for path, handler in ROUTES]
        self.handlers.extend(routes)

    async def stop_extension(self) -> None:
        """End the watcher, then close the service."""
        if self._parts is not None:
            await self._parts.watcher.stop()
            await self._parts.owner.aclose()

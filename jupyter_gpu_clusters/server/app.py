"""The extension: routes, start and end."""

from __future__ import annotations

from typing import Any

from jupyter_server.extension.application import ExtensionApp

from .clusters import ClusterHandler
from .details import ClusterDetailsHandler, ClusterKindsHandler, WorkloadDetailsHandler, WorkloadKindsHandler
from .events import Bus
from .forms import AccountFormHandler, ActionsHandler, ChoicesHandler, ClusterFormHandler
from .handler import GpuClustersHandler, Parts
from .health import HealthHandler
from .owner import ServiceOwner
from .planning import PlansHandler, SendHandler
from .plans import Plans
from .recovery import (
    AdoptHandler,
    CloseClusterHandler,
    CloseOrderHandler,
    DeleteOrderHandler,
    OrphansHandler,
    RecoverHandler,
)
from .spent import Spent
from .state import StateHandler
from .watcher import Watcher
from .workloads import CancelHandler, LogsHandler, ResumeHandler, SuspendHandler

_ACCOUNT = r"/gpu-clusters/accounts/([^/]+)"
_CLUSTER = r"/gpu-clusters/clusters/([^/]+)/([^/]+)"
_ORDER = r"/gpu-clusters/orders/([^/]+)"
_WORKLOAD = r"/gpu-clusters/workloads/([^/]+)/([^/]+)/([^/]+)"

ROUTES: tuple[tuple[str, type[GpuClustersHandler]], ...] = (
    (r"/gpu-clusters/health", HealthHandler),
    (r"/gpu-clusters/state", StateHandler),
    (r"/gpu-clusters/recover", RecoverHandler),
    (r"/gpu-clusters/orphans", OrphansHandler),
    (_ORDER + "/close", CloseOrderHandler),
    (_ORDER + "/delete", DeleteOrderHandler),
    (_ORDER + "/adopt", AdoptHandler),
    (_ACCOUNT + "/form", AccountFormHandler),
    (_ACCOUNT + "/choices", ChoicesHandler),
    (r"/gpu-clusters/plans", PlansHandler),
    (r"/gpu-clusters/plans/([^/]+)/send", SendHandler),
    (_CLUSTER, ClusterHandler),
    (_CLUSTER + "/close", CloseClusterHandler),
    (_CLUSTER + "/form", ClusterFormHandler),
    (_CLUSTER + "/actions", ActionsHandler),
    (_CLUSTER + "/details", ClusterKindsHandler),
    (_CLUSTER + "/details/([^/]+)", ClusterDetailsHandler),
    (_WORKLOAD + "/cancel", CancelHandler),
    (_WORKLOAD + "/suspend", SuspendHandler),
    (_WORKLOAD + "/resume", ResumeHandler),
    (_WORKLOAD + "/logs", LogsHandler),
    (_WORKLOAD + "/details", WorkloadKindsHandler),
    (_WORKLOAD + "/details/([^/]+)", WorkloadDetailsHandler),
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
        owner = ServiceOwner()
        parts = self._parts = Parts(owner, bus, Watcher(bus, server.log, owner), Plans(), Spent())
        server.io_loop.add_callback(parts.watcher.start)
        routes: list[tuple[Any, ...]] = [(path, handler, {"parts": parts}) for path, handler in ROUTES]
        self.handlers.extend(routes)

    async def stop_extension(self) -> None:
        """End the watcher, then close the service."""
        if self._parts is not None:
            await self._parts.watcher.stop()
            await self._parts.owner.aclose()

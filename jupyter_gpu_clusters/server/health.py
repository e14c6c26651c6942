"""``GET health``: which version answers, and whether it can work."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from .. import __version__
from ..core.errors import GpuClustersError
from .handler import GpuClustersHandler
from .http_errors import body_of

# Of the answers and events together; it grows when a page made for the old ones would misread the new ones.
SCHEMA_VERSION = 1


class HealthHandler(GpuClustersHandler):
    """Says the versions, and what is wrong, if something is."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Answer always with 200; ``error`` tells why nothing else will work."""
        error = None
        try:
            await (await self.service()).state()
        except GpuClustersError as exc:
            error = body_of(exc).model_dump()
        self.answer({"version": __version__, "schema_version": SCHEMA_VERSION, "error": error})

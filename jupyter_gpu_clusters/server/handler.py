"""What all our handlers share: who may call, how answers and errors look."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from jupyter_server.base.handlers import APIHandler

from ..core.errors import GpuClustersError
from ..core.service import Service
from .events import Bus
from .http_errors import body_of, headers_of, status_of, where_it_failed
from .owner import ServiceOwner
from .plans import Plans
from .spent import Spent
from .watcher import Watcher

AUTH_RESOURCE = "gpu_clusters"


@dataclass(frozen=True)
class Parts:
    """What the handlers work with; one set for each server."""

    owner: ServiceOwner
    bus: Bus
    watcher: Watcher
    plans: Plans
    spent: Spent


class GpuClustersHandler(APIHandler):
    """Base of our handlers. They raise core errors; this class answers them."""

    auth_resource = AUTH_RESOURCE
    parts: Parts

    def initialize(self, parts: Parts) -> None:
        """Take the shared parts from the route."""
        self.parts = parts

    async def service(self) -> Service:
        """The service of this server.

        Raises
        ------
        SettingsError : the accounts file has mistakes.
        """
        return await self.parts.owner.service()

    def query(self) -> dict[str, str]:
        """The arguments of the query, decoded; of a repeated one the last."""
        return {name: self.get_query_argument(name) for name in self.request.query_arguments}

    def answer(self, body: Mapping[str, Any]) -> None:
        """Finish with a JSON body that no cache keeps."""
        self.answer_text(json.dumps(body))

    def answer_text(self, text: str) -> None:
        """The same with a body that is JSON text already."""
        self.set_header("Cache-Control", "no-store")
        self.finish(text)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer an exception with its status and a body of one shape."""
        error = kwargs["exc_info"][1]
        self.set_status(status_of(error))
        for name, value in headers_of(error).items():
            self.set_header(name, value)
        self.finish(body_of(error).model_dump_json())

    def log_exception(
        self, typ: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Log an unforeseen error with its stack and without its text, which may quote a secret."""
        if value is None or isinstance(value, GpuClustersError):
            return
        if status_of(value) == 500:
            self.log.error(
                "gpu-clusters failed in %s %s:\n%s", self.request.method, self.request.path, where_it_failed(value)
            )
        else:
            super().log_exception(typ, value, tb)


class LookingHandler(GpuClustersHandler):
    """A handler that only reads, so that its work ends with the wish for an answer."""

    _looking: asyncio.Task[Mapping[str, Any]] | None = None

    async def answer_look(self, look: Coroutine[Any, Any, Mapping[str, Any]]) -> None:
        """Answer with what `look` returns, unless the connection is closed meanwhile."""
        self._looking = asyncio.create_task(look)
        await asyncio.wait([self._looking])
        if not self._looking.cancelled():
            self.answer(self._looking.result())

    def on_connection_close(self) -> None:
        """Nobody reads the answer any more: end the look."""
        if self._looking is not None:
            self._looking.cancel()

"""A port of a machine as a port of this one."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import asyncssh

from ...core.errors import GpuClustersError, SettingsError

if TYPE_CHECKING:
    from .machines import Link

MAX_CONNECTIONS = 200
_PIECE_BYTES = 64 * 1024


class Forward:
    """Listens on 127.0.0.1 until it is closed; every connection goes over the machine's kept one."""

    def __init__(self, link: Link, name: str, port: int) -> None:
        self._link = link
        self._name = name
        self._port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def local_port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def open(self, local_port: int = 0) -> None:
        """Reach the machine, then listen; 0 takes a free port.

        Raises
        ------
        SettingsError : the local port is taken.
        GpuClustersError : the machine cannot be reached.
        """
        await self._link.connection(self._name)
        try:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", local_port)
        except OSError as exc:
            raise SettingsError(
                f"Port {local_port} of this machine cannot be used: {exc.strerror}.", hint="Name another --local-port."
            ) from exc

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= MAX_CONNECTIONS:
                await self._carry(reader, writer)
        except (GpuClustersError, asyncssh.Error, OSError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await self._link.opened(
            self._name, lambda connection: connection.open_connection("127.0.0.1", self._port)
        )
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, there_writer))
                group.create_task(_pump(there_reader, writer))
        finally:
            there_writer.close()

    async def aclose(self) -> None:
        """Listen no more, and end what is under way."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(
    source: asyncio.StreamReader | asyncssh.SSHReader[bytes], sink: asyncio.StreamWriter | asyncssh.SSHWriter[bytes]
) -> None:
    with contextlib.suppress(asyncssh.Error, OSError):
        while piece := await source.read(_PIECE_BYTES):
            sink.write(piece)
            await sink.drain()
    with contextlib.suppress(asyncssh.Error, OSError):
        sink.write_eof()

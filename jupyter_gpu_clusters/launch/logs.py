"""Output of the ranks of one workload: one reader per machine, merged by arrival."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ..core.errors import NotFoundError, TransportError
from ..core.models import LogChunk
from .control import Control
from .hosts import ByteReader, Host
from .planning import RankNode

SILENCE_S = 60.0
"""A reader says something at least every 10 s; after so long without a word the connection is dead."""

MAX_CHUNK_BYTES = 64 * 1024
QUEUED_CHUNKS = 16


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which output is wanted; see `Launcher.stream_logs`."""

    workload_id: str
    ranks: frozenset[int] | None
    offsets: Mapping[int, int]
    tail_lines: int | None
    follow: bool

    def as_json(self) -> dict[str, Any]:
        """As the reader on the machine takes it."""
        return {
            "ranks": None if self.ranks is None else sorted(self.ranks),
            "offsets": {str(rank): offset for rank, offset in self.offsets.items()},
            "tail": self.tail_lines,
            "follow": self.follow,
        }


@dataclass(frozen=True, slots=True)
class _Hello:
    """First word of a reader: whether its machine knows the workload, and how many ranks that has."""

    is_known: bool
    world: int | None


_Item = _Hello | LogChunk | Exception | None
"""What a reader puts into the queue; ``None`` is its good end."""


async def read_logs(control: Control, nodes: Sequence[RankNode], request: LogRequest) -> AsyncGenerator[LogChunk, None]:
    """Chunks as they come, each rank's in order and without a gap.

    Memory is bounded: readers wait while the caller is slow.

    Raises
    ------
    NotFoundError : no node knows the workload, or it has no such rank.
    TransportError : a machine could not be read (any more). Come back with the `end` of the last chunks.
    """
    queue: asyncio.Queue[_Item] = asyncio.Queue(QUEUED_CHUNKS)
    groups: dict[str, list[RankNode]] = {}
    for node in nodes:
        groups.setdefault(node.host.name, []).append(node)
    readers = [asyncio.create_task(_read_host(control, group, request, queue)) for group in groups.values()]
    try:
        async with aclosing(_merge(queue, len(readers), request)) as chunks:
            async for chunk in chunks:
                yield chunk
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)


async def _merge(queue: asyncio.Queue[_Item], readers: int, request: LogRequest) -> AsyncGenerator[LogChunk, None]:
    unheard = open_readers = readers
    is_known = False
    while open_readers:
        item = await queue.get()
        if isinstance(item, LogChunk):
            yield item
        elif isinstance(item, Exception):
            raise item
        elif item is None:
            open_readers -= 1
        else:
            unheard -= 1
            is_known |= item.is_known
            _check_ranks(request, item.world)
            if not unheard and not is_known:
                raise NotFoundError(f"No node of the cluster knows the workload {request.workload_id}.")


def _check_ranks(request: LogRequest, world: int | None) -> None:
    if world is not None and request.ranks and max(request.ranks) >= world:
        raise NotFoundError(f"The workload has no rank {max(request.ranks)}.", hint=f"Its ranks are 0 to {world - 1}.")


async def _read_host(
    control: Control, nodes: Sequence[RankNode], request: LogRequest, queue: asyncio.Queue[_Item]
) -> None:
    host = nodes[0].host
    try:
        stream = await control.open_log(host, [node.root for node in nodes], request.workload_id, request.as_json())
        async with stream as reader:
            while (item := await _read_frame(host, reader)) is not None:
                await queue.put(item)
        await queue.put(None)
    except Exception as exc:  # noqa: BLE001 (raised again by who reads the queue)
        await queue.put(exc)


async def _read_frame(host: Host, reader: ByteReader) -> _Hello | LogChunk | None:
    """The next frame that matters. Raises TransportError when the stream breaks off, is silent or makes no sense."""
    try:
        while True:
            async with asyncio.timeout(SILENCE_S):
                header = json.loads(await reader.readline())
                if "beat" in header:
                    continue
                if "end" in header:
                    return None
                if "world" in header:
                    return _Hello(bool(header["is_known"]), header["world"])
                return await _read_chunk(reader, header)
    except (ValueError, KeyError, TypeError, asyncio.IncompleteReadError) as exc:
        raise TransportError(f"The log reader on {host.name} broke off.", hint="Follow the logs again.") from exc
    except TimeoutError:
        raise TransportError(f"{host.name} has been silent for {SILENCE_S:.0f} s.") from None


async def _read_chunk(reader: ByteReader, header: Mapping[str, Any]) -> LogChunk:
    rank, offset, length = int(header["rank"]), int(header["offset"]), int(header["length"])
    if not 0 < length <= MAX_CHUNK_BYTES:
        raise ValueError(f"a frame of {length} bytes")
    data = await reader.readexactly(length)
    return LogChunk(rank=rank, offset=offset, end=offset + length, text=data.decode("utf-8", "replace"), data=data)

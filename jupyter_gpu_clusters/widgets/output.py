"""The last output of a workload, bounded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import aclosing

from anyio import CancelScope

from ..core.models import LogChunk, Workload
from ..core.service import Service

_MOST_CHUNKS = 1000


async def last_output(
    service: Service, workload: Workload, *, lines: int, ranks: Sequence[int] | None = None
) -> list[LogChunk]:
    """What the ranks (all by default) wrote last, `lines` each; of very much the last 1000 pieces."""

    async def read() -> list[LogChunk]:
        chunks: deque[LogChunk] = deque(maxlen=_MOST_CHUNKS)
        async with aclosing(service.stream_logs(workload, ranks=ranks, tail_lines=lines)) as stream:
            async for chunk in stream:
                chunks.append(chunk)
        return list(chunks)

    # A cancel scope of anyio cancels again and again; the reader's own process needs one cancel and time to end.
    reading = asyncio.create_task(read())
    try:
        return await asyncio.shield(reading)
    finally:
        reading.cancel()
        with CancelScope(shield=True):
            await asyncio.wait([reading])

"""One bounded look at the logs of a workload."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ..core.models import LogChunk, Workload
from ..core.service import Service
from .requests import LogQuery


async def read_logs(service: Service, workload: Workload, query: LogQuery) -> dict[str, Any]:
    """What the ranks have written since the caller's offsets, up to its limit.

    A rank the caller has no offset of begins with its last lines. The answer's offsets are those to come back
    with: nothing is missed and nothing comes twice.

    Returns
    -------
    body : ``chunks``, ``offsets`` (rank -> byte), ``has_more`` (come back at once), ``phase`` and ``is_final``
        (ended, and everything was delivered).
    """
    page = _Page(query)
    for look in _looks(service, workload, query):
        async with aclosing(look) as chunks:
            await page.fill(chunks)
    if not page.has_more:
        for rank in workload.ranks:
            page.offsets.setdefault(rank.rank, 0)
    return {
        "chunks": [chunk.model_dump(mode="json") for chunk in page.chunks],
        "offsets": {str(rank): offset for rank, offset in page.offsets.items()},
        "has_more": page.has_more,
        "phase": workload.phase.value,
        # The phase was known before the look, so a final one means that the ranks had written all they ever would.
        "is_final": workload.phase.is_final and not page.has_more,
    }


def _looks(service: Service, workload: Workload, query: LogQuery) -> list[AsyncGenerator[LogChunk, None]]:
    """One look from the caller's offsets and one at the ends of the ranks it does not know yet."""
    if not query.offsets:
        return [service.stream_logs(workload, tail_lines=query.tail)]
    looks = [service.stream_logs(workload, ranks=list(query.offsets), offsets=query.offsets)]
    new = [rank.rank for rank in workload.ranks if rank.rank not in query.offsets]
    if new:
        looks.append(service.stream_logs(workload, ranks=new, tail_lines=query.tail))
    return looks


class _Page:
    """What fits into one answer: whole chunks, at least one if there is any."""

    def __init__(self, query: LogQuery) -> None:
        self.chunks: list[LogChunk] = []
        self.offsets: dict[int, int] = dict(query.offsets)
        self.has_more = False
        self._room = query.limit

    async def fill(self, chunks: AsyncGenerator[LogChunk, None]) -> None:
        """Take chunks until one does not fit; that one comes first the next time."""
        if self.has_more:
            return
        async for chunk in chunks:
            size = chunk.end - chunk.offset
            if size > self._room and self.chunks:
                self.has_more = True
                return
            self.chunks.append(chunk)
            self.offsets[chunk.rank] = chunk.end
            self._room -= size

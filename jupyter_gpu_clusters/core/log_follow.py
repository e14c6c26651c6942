"""Output that goes on where it broke off: a lost connection costs a reader time, never a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from .errors import TransportError
from .models import LogChunk
from .retry import Limits, pause_s

PATIENCE = Limits(tries=8, first_pause_s=1.0, max_pause_s=30.0)
"""About a minute and a half without any output, in so many tries, before a reader is told."""

Reader = Callable[[Mapping[int, int] | None, int | None], AsyncGenerator[LogChunk, None]]
"""Opens the output from offsets (rank -> byte), or with the last so many lines of each rank."""


async def resumed(
    read: Reader, offsets: Mapping[int, int] | None, tail_lines: int | None, limits: Limits = PATIENCE
) -> AsyncGenerator[LogChunk, None]:
    """What `read` yields, opened again behind the last chunk of every rank when its connection breaks.

    A rank of which nothing has come by then is read from its beginning: better twice than never.

    Raises
    ------
    TransportError : it broke `limits.tries` times without a chunk between.
    """
    ends = dict(offsets or {})
    failures = 0
    while True:
        try:
            async with aclosing(read(ends or offsets, None if ends else tail_lines)) as chunks:
                async for chunk in chunks:
                    ends[chunk.rank] = chunk.end
                    failures = 0
                    yield chunk
            return
        except TransportError:
            failures += 1
            if failures >= limits.tries:
                raise
        await asyncio.sleep(pause_s(failures, limits))

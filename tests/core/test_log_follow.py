from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import pytest

from jupyter_gpu_clusters.core.errors import NotFoundError, TransportError
from jupyter_gpu_clusters.core.log_follow import resumed
from jupyter_gpu_clusters.core.models import LogChunk
from jupyter_gpu_clusters.core.retry import Limits

pytestmark = pytest.mark.anyio

QUICK = Limits(tries=3, first_pause_s=0.001, max_pause_s=0.001)
LOGS = {0: b"a0\na1\na2\n", 1: b"b0\nb1\nb2\n"}


class Line:
    """Output of two ranks over a connection that breaks after so many chunks, each time it is opened."""

    def __init__(self, *breaks: int | None) -> None:
        self.breaks = list(breaks)
        self.asked: list[tuple[dict[int, int], int | None]] = []
        self.error: Exception = TransportError("cut")

    async def read(self, offsets: Mapping[int, int] | None, tail: int | None) -> AsyncGenerator[LogChunk, None]:
        self.asked.append((dict(offsets or {}), tail))
        left = self.breaks.pop(0) if self.breaks else None
        for number in range(3):
            for rank, log in LOGS.items():
                start = number * 3
                if start < (offsets or {}).get(rank, 0):
                    continue
                if left == 0:
                    raise self.error
                left = None if left is None else left - 1
                data = log[start : start + 3]
                yield LogChunk(rank=rank, offset=start, end=start + 3, text=data.decode(), data=data)


async def gathered(line: Line, tail: int | None = None) -> dict[int, bytes]:
    texts = {0: b"", 1: b""}
    async for chunk in resumed(line.read, None, tail, QUICK):
        texts[chunk.rank] += chunk.data
    return texts


@pytest.mark.parametrize("cut", range(6))
async def test_every_byte_comes_once_wherever_the_connection_breaks(cut: int) -> None:
    line = Line(cut, 1, None)
    assert await gathered(line) == LOGS
    assert len(line.asked) == (3 if cut < 5 else 2)


async def test_it_goes_on_behind_the_last_chunk_and_not_at_the_tail_again() -> None:
    line = Line(1, None)
    await gathered(line, tail=10)
    assert line.asked == [({}, 10), ({0: 3}, None)]


async def test_it_gives_up_after_so_many_breaks_without_a_word_between() -> None:
    line = Line(2, 0, 0, 0)
    with pytest.raises(TransportError, match="cut"):
        await gathered(line)
    assert len(line.asked) == 3


async def test_other_errors_are_told_at_once() -> None:
    line = Line(1)
    line.error = NotFoundError("no such rank")
    with pytest.raises(NotFoundError):
        await gathered(line)
    assert len(line.asked) == 1

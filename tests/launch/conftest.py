from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .bench import Bench


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """Two nodes."""
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


@pytest.fixture
async def impatient(tmp_path: Path) -> AsyncIterator[Bench]:
    """Two nodes that give next to no grace, for ranks that would not use it."""
    bench = Bench(tmp_path, grace_s=0.2)
    yield bench
    await bench.close()

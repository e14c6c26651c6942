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

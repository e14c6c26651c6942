"""What every part of the suite stands on: the world of a test, searched for secrets at its end."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .far_side import FarSide
from .searching import Records
from .world import World


class ContractBase:
    """Fixtures; a subclass gives `far_side`."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop: the one that Jupyter uses."""
        return "asyncio"

    @pytest.fixture
    def far_side(self) -> FarSide:
        """The service under test; to be given by every subclass."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `far_side` that returns a FarSide.")

    @pytest.fixture
    async def world(
        self, far_side: FarSide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
    ) -> AsyncIterator[World]:
        """This user's machine; at its end nothing on it may show a secret of the account."""
        for variable in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"):
            monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
        records, root = Records(but=far_side.loggers), logging.getLogger()
        level = root.level
        root.addHandler(records)
        root.setLevel(logging.DEBUG)
        world = World(far_side, tmp_path)
        try:
            yield world
        finally:
            await world.aclose()
            root.setLevel(level)
            root.removeHandler(records)
        leaks = world.leaks(records.lines, world.files())
        assert not leaks, "a secret of the account can be seen in " + "; ".join(leaks)

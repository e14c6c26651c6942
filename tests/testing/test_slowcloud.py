"""The contract suite against a paid provider from outside the package, found by its entry point."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import registry
from jupyter_gpu_clusters.testing import FarSide, ProviderContract

from .slowcloud_side import SlowSide

PACKAGE = Path(__file__).parents[1] / "magics" / "slowcloud"


class TestSlowCloud(ProviderContract):
    @pytest.fixture
    def far_side(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FarSide]:
        monkeypatch.setenv("SLOWCLOUD_BOOKS", str(tmp_path / "books"))
        monkeypatch.syspath_prepend(str(PACKAGE))
        registry._known.cache_clear()
        yield SlowSide(tmp_path / "books")
        registry._known.cache_clear()

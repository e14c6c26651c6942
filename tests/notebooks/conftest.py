"""A copy of the notebooks for every test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .running import PLANTED, ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the notebooks, with Jupyter folders for this test alone and a secret in the environment."""
    for variable in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PLANTED_TOKEN", PLANTED)
    copy = shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns("__pycache__"))
    with tempfile.TemporaryDirectory() as runtime:  # kernels listen on sockets in there, whose paths must be short
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", runtime)
        yield Path(copy)

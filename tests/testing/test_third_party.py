"""The suite as somebody outside this project uses it: an installed provider, a test file, plain pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .spoilers import SPOILERS

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SLOWCLOUD = ROOT / "tests" / "magics" / "slowcloud"

_TESTS = """
import pytest

import spoilers
from jupyter_gpu_clusters.testing import FarSide, ProviderContract
from slowcloud_side import SlowSide


class TestSlowCloud(ProviderContract):
    @pytest.fixture
    def far_side(self, tmp_path, monkeypatch) -> FarSide:
        monkeypatch.setenv("SLOWCLOUD_BOOKS", str(tmp_path / "books"))
        return SlowSide(tmp_path / "books")


class TestSpoilt(TestSlowCloud):
    @pytest.fixture(autouse=True)
    def spoilt(self, request, monkeypatch):
        import slowcloud
        getattr(spoilers, request.function.__name__)(slowcloud.SlowCloud, monkeypatch)


class TestWithoutFarSide(ProviderContract):
    pass
"""


def run(folder: Path, *choice: str) -> subprocess.CompletedProcess[str]:
    """Plain pytest in a fresh interpreter, in a folder without any configuration of ours."""
    for name in ("slowcloud_side.py", "folder.py", "spoilers.py"):
        (folder / name).write_text((HERE / name).read_text().replace("from .folder", "from folder"))
    (folder / "test_slow.py").write_text(_TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    path = os.pathsep.join([str(ROOT), str(SLOWCLOUD)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", *choice],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_suite_runs_against_a_provider_found_by_its_entry_point(tmp_path: Path) -> None:
    done = run(tmp_path, "-k", "TestSlowCloud and (sends or attaches or adopted or carried)")
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
    assert " skipped" in done.stdout


def test_faults_of_a_provider_are_found(tmp_path: Path) -> None:
    names = [spoil.__name__ for spoil in SPOILERS]
    done = run(tmp_path, *(f"test_slow.py::TestSpoilt::{name}" for name in names))
    verdicts = [line.split("::")[2].partition(" ")[0] for line in done.stdout.splitlines() if "TestSpoilt::" in line]
    assert set(names) <= set(verdicts), done.stdout[-3000:]


def test_a_failure_shows_the_values_behind_it_and_a_missing_far_side_is_explained(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import slowcloud\nslowcloud.SlowCloud.title = ''\n")
    done = run(tmp_path, "-k", "registered and not Spoilt")
    assert done.returncode == 1
    assert "where '' = <class 'slowcloud.SlowCloud'>.title" in done.stdout, done.stdout[-3000:]
    assert "TestWithoutFarSide needs a fixture `far_side`" in done.stdout


def test_no_module_of_the_product_needs_pytest() -> None:
    program = (
        "import importlib, pkgutil, sys\n"
        "sys.modules['pytest'] = None\n"
        "import jupyter_gpu_clusters as package\n"
        "for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.', onerror=print):\n"
        "    if '.testing' not in found.name and not found.name.endswith('__main__'):\n"
        "        importlib.import_module(found.name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]

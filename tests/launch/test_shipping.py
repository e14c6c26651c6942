"""The supervisor as one file: what it may use, and that it is the same file everywhere."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from jupyter_gpu_clusters.launch import supervisor
from jupyter_gpu_clusters.launch.control import Control, key_of
from jupyter_gpu_clusters.launch.hosts import LocalHost
from jupyter_gpu_clusters.launch.planning import RankNode
from jupyter_gpu_clusters.launch.shipping import archive_name, build_archive

from .bench import SUPERVISOR_PYTHON

MODULES = sorted(Path(supervisor.__file__).parent.glob("*.py"))
NAMES = {module.stem for module in MODULES}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_every_module_is_python_3_8_and_uses_itself_and_the_standard_library_only(module: Path) -> None:
    tree = ast.parse(module.read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.level:
            assert (node.level, node.module in NAMES) == (1, True), "nothing of the package around it"
        elif isinstance(node, ast.ImportFrom):
            assert str(node.module).partition(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize("module", [m for m in MODULES if m.stem != "__init__"], ids=lambda module: module.stem)
def test_annotations_are_never_evaluated(module: Path) -> None:
    """They are written for today's Python, which only the future import makes harmless in 3.8."""
    source = module.read_text()
    assert "\nfrom __future__ import annotations\n" in source
    assert "get_type_hints" not in source
    assert "dataclass" not in source


def test_the_archive_holds_sources_only_and_says_nothing_about_where_it_was_built() -> None:
    with zipfile.ZipFile(io.BytesIO(build_archive())) as archive:
        assert {name for name in archive.namelist() if name != "__main__.py"} == {
            f"supervisor/{module.name}" for module in MODULES
        }
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_the_same_release_has_the_same_name_everywhere() -> None:
    code = "from jupyter_gpu_clusters.launch.shipping import archive_name; print(archive_name())"
    env = {**os.environ, "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"}
    assert (
        subprocess.check_output([sys.executable, "-c", code], env=env, text=True, timeout=60).strip() == archive_name()
    )


def test_the_archive_runs_where_there_is_nothing_but_a_python(tmp_path: Path) -> None:
    path = tmp_path / archive_name()
    path.write_bytes(build_archive())
    path.chmod(0o400)
    request = json.dumps({"roots": [str(tmp_path)], "id": None}) + "\n"
    answer = subprocess.run(
        [SUPERVISOR_PYTHON, "-I", "-S", str(path), "status"],
        input=request.encode(),
        stdout=subprocess.PIPE,
        cwd="/",
        env={},
        timeout=60,
        check=True,
    ).stdout
    assert json.loads(answer)["roots"] == {str(tmp_path): {"entries": [], "not_shown": 0, "problem": None}}
    assert list(tmp_path.iterdir()) == [path], "it writes nothing beside itself"


@pytest.mark.anyio
async def test_a_machine_gets_the_supervisor_once_and_again_when_it_has_lost_it(tmp_path: Path) -> None:
    node = RankNode(0, LocalHost(name="far away", is_local=False), str(tmp_path / "node"))
    control = Control(SUPERVISOR_PYTHON)
    archive = tmp_path / "node" / archive_name()
    for _ in range(2):
        assert (await control.look([node]))[key_of(node)].problem is None
        sent_at = archive.stat().st_mtime_ns
        assert (await control.look([node]))[key_of(node)].problem is None
        assert archive.stat().st_mtime_ns == sent_at
        archive.unlink()
    assert (await control.look([node]))[key_of(node)].problem is None
    assert archive.read_bytes() == build_archive()
    sent_at = archive.stat().st_mtime_ns
    assert (await Control(SUPERVISOR_PYTHON).look([node]))[key_of(node)].problem is None
    assert archive.stat().st_mtime_ns == sent_at, "another process of ours finds it there"


@pytest.mark.anyio
async def test_a_machine_without_python_is_told_by_name(tmp_path: Path) -> None:
    missing = tmp_path / "python3"
    missing.write_text("#!/bin/sh\nexit 127\n")
    missing.chmod(0o755)
    node = RankNode(0, LocalHost(name="node 7", is_local=False), str(tmp_path / "node"))
    checked = (await Control(str(missing)).check([node]))[0]
    assert checked.problem == (f"{missing} cannot be run on node 7. Install Python 3.8 or newer there, as python3.")

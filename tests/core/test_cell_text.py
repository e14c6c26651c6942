"""The cell that a form shows reads back as exactly what was filled in."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_gpu_clusters.core.cell_text import action_cell, create_cell, submit_cell
from jupyter_gpu_clusters.core.references import Masked, Reference
from jupyter_gpu_clusters.core.yaml_text import SpecText, load_yaml

TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["no", "017", "0o17", "1e3", "~", "", " ", "$HOME", "- x", "a: b", "# c", "a\nb\n", "\n", "a\n\n", "é😀"]
    ),
)
SCALARS = st.one_of(TEXTS, st.integers(), st.floats(allow_nan=False), st.booleans(), st.none())
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,12}", fullmatch=True)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def body_of(cell: str) -> SpecText:
    line, _, body = cell.partition("\n")
    assert line.startswith("%%")
    return load_yaml(body)


@settings(deadline=None)
@given(st.dictionaries(KEYS, DATA, min_size=1, max_size=6))
def test_any_data_comes_back_as_it_was(data: dict[str, Any]) -> None:
    read = body_of(create_cell("local", "demo", data))
    assert read.data == data
    assert read.variables == {}


def test_nothing_to_set_gives_the_line_form() -> None:
    assert create_cell("local", "demo", {}) == "%cluster_create local --name demo\n"


def test_account_and_name_are_quoted_where_needed() -> None:
    line = submit_cell("my account/demo", "a b", {"nodes": 2}).splitlines()[0]
    assert line == "%%workload_submit 'my account/demo' --name 'a b'"


def test_without_a_name_there_is_no_option() -> None:
    assert submit_cell("demo", None, {"nodes": 1}).splitlines()[0] == "%%workload_submit demo"


def test_masked_values_become_variables_and_are_not_written() -> None:
    cell = submit_cell("demo", "x", {"script": Masked("#!/bin/sh\nplanted"), "env": {"TOKEN": Masked("planted")}})
    assert "planted" not in cell
    assert body_of(cell).variables == {("script",): "script", ("env", "TOKEN"): "TOKEN"}
    assert "#   TOKEN = ..." in cell


def test_references_stay_references() -> None:
    written = {"env": {"A": Masked(Reference("notebook", "token")), "B": Masked(Reference("env", "HF_TOKEN"))}}
    cell = submit_cell("demo", "x", written)
    assert body_of(cell).variables == {("env", "A"): "token", ("env", "B"): "HF_TOKEN"}
    assert "#   HF_TOKEN = os.environ['HF_TOKEN']" in cell
    assert "token = " not in cell


def test_two_masked_values_of_one_name_get_two_variables() -> None:
    cell = create_cell("local", "x", {"a": {"env": Masked("1")}, "b": {"env": Masked("2")}})
    assert set(body_of(cell).variables.values()) == {"env", "env_2"}


def test_one_environment_variable_used_twice_is_set_once() -> None:
    reference = Masked(Reference("env", "HF_TOKEN"))
    cell = create_cell("local", "x", {"env": {"A": reference, "B": reference}})
    assert cell.count("HF_TOKEN = ") == 1


def test_names_that_are_no_python_names_still_get_a_variable() -> None:
    cell = create_cell("local", "x", {"env": {"9-lives": Masked("secret")}})
    assert body_of(cell).variables == {("env", "9-lives"): "_9_lives"}


def test_an_action_is_a_line_or_a_cell() -> None:
    assert action_cell("e2e/my train", "restart", {}) == "%cluster_action 'e2e/my train' restart\n"
    assert action_cell("e2e/train", "note", {"name": "x"}) == "%%cluster_action e2e/train note\nname: x\n"


def test_a_masked_value_beside_a_name_becomes_a_variable_of_that_name() -> None:
    written = {"variables": [{"name": "TOKEN", "value": Masked("planted")}, {"name": "B", "value": Masked("planted")}]}
    cell = submit_cell("runai/gpu", None, written)
    assert "planted" not in cell
    assert "  - name: TOKEN\n    value: $TOKEN\n  - name: B\n    value: $B\n" in cell

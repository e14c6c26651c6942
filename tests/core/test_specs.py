"""Reading YAML from a cell, checking it against a model, and telling what is wrong."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from jupyter_gpu_clusters.core.errors import SpecError
from jupyter_gpu_clusters.core.specs import (
    build_spec,
    describe_fields,
    field_names,
    load_yaml,
    nearest,
    read_option,
    read_scalar,
    unknown_field,
)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Disk(Strict):
    size_gib: float = Field(gt=0)
    kind: Literal["ssd", "hdd"] = "ssd"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Spec(Strict):
    image: str
    nodes: int = Field(1, ge=1, le=64, description="How many nodes.")
    gpus_per_node: Annotated[int, Field(ge=0)] | None = None
    env: dict[str, str] = Field(default_factory=dict, max_length=3)
    mode: Literal["spot", "on-demand"] = "spot"
    ports: int | list[int] = 22
    key: SecretStr | None = None
    disks: list[Disk] = Field(default_factory=list)
    spare: Disk | None = None
    preemptible: bool = False
    limit: Decimal | None = None
    until: datetime | None = None
    label: str = Field("", max_length=5, pattern="^[a-z]*$")
    odd: int | None = Field(None, alias="oddNumber")

    @field_validator("gpus_per_node")
    @classmethod
    def _even(cls, value: int | None) -> int | None:
        if value is not None and value % 2:
            raise ValueError("must be even")
        return value


def problems(body: str, **options: Any) -> list[str]:
    """Every problem of a body, as a person reads it."""
    with pytest.raises(SpecError) as caught:
        read(body, **options)
    return [str(problem) for problem in caught.value.problems] or [caught.value.message]


def read(body: str, **options: Any) -> Spec:
    text = load_yaml(body)
    return build_spec(Spec, text.data, text.lines, **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(word, word) for word in ("no", "yes", "on", "off", "017", "12:30", "2030-01-31", "1_000", "0b11", "+", ".")],
        *[("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("TRUE", True), ("tRUE", "tRUE")],
        *[("17", 17), ("-3", -3), ("0", 0), ("0o17", 15), ("0x1F", 31), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5)],
        *[("-.inf", float("-inf")), ("1" * 50, float("1" * 50)), ("1 2", "1 2"), ("17\n", "17\n")],
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: Any) -> None:
    found = read_scalar(text)
    assert found == value
    assert type(found) is type(value)


def test_yaml_body_gives_data_with_the_line_of_every_key_and_item() -> None:
    text = load_yaml("# note\nnodes: 2\nenv:\n  A: x\ndisks:\n  - size_gib: 1\n  - {size_gib: 2}\n")
    assert text.data == {"nodes": 2, "env": {"A": "x"}, "disks": [{"size_gib": 1}, {"size_gib": 2}]}
    assert text.lines[("nodes",)] == 2
    assert text.lines[("env", "A")] == 4
    assert text.lines[("disks", 1)] == 7


def test_first_line_shifts_all_lines() -> None:
    assert load_yaml("a: 1\nb: 2", first_line=10).lines == {(): 10, ("a",): 10, ("b",): 11}


def test_only_unquoted_dollar_names_are_variables() -> None:
    text = load_yaml("a: $x\nb: '$x'\nc: $x/y\nd: [$y, \"$y\"]\n")
    assert text.variables == {("a",): "x", ("d", 0): "y"}
    assert text.data["b"] == "$x"


@pytest.mark.parametrize("body", ["", "\n\n", "# only a comment\n", "---\n"])
def test_empty_body_is_an_error_that_says_what_to_write(body: str) -> None:
    with pytest.raises(SpecError, match="body is empty") as caught:
        load_yaml(body)
    assert "key: value" in (caught.value.hint or "")


def test_every_line_that_starts_with_a_tab_is_told() -> None:
    found = problems("nodes: 2\nenv:\n\tA: x\n\tB: y\nimage: z\n")
    assert found == [f"line {line}: there is a tab; YAML is indented with spaces only." for line in (3, 4)]


def test_tab_after_a_colon_is_told() -> None:
    assert problems("image: x\nnodes:\t2") == ["line 2: there is a tab; YAML is indented with spaces only."]


def test_tabs_inside_a_block_of_text_are_no_problem() -> None:
    assert load_yaml("script: |\n  if x\n  \tthen\n").data == {"script": "if x\n\tthen\n"}


@pytest.mark.parametrize(
    ("body", "line", "part"),
    [
        ("nodes 2", 1, "this is text without a ': '"),
        ("- nodes", 1, "this is a list"),
        ("image: x\nnodes: 1\nnodes: 2", 3, "nodes: is written twice (first on line 2)"),
        ("env:\n  A: x\n  A: y", 3, "env.A: is written twice"),
        ("image: a: b", 1, "a ': ' too many"),
        ("image: x\nnodes\nmode: spot", 2, "no ': ' between"),
        ("image: x\nnodes", 2, "no ': ' between a key and its value"),
        ("image: 'x\nnodes: 2\n", 1, "never closed"),
        ("ports: [1, 2\nimage: x", 1, "never closed"),
        ("image: @x", 1, "starts with '@' needs quotes"),
        ("image: *.txt", 1, "starts with '*' needs quotes"),
        ("image: x\n---\nimage: y", 2, "only one YAML document"),
        ("image: !!python/name:os.system", 1, "is not supported"),
        ("image: !mine x", 1, "is not supported"),
        ("disks: !!int x", 1, "is not supported"),
        ("? [a]\n: b", 1, "a key must be text"),
        ("image: x\nnodes: \x07", 2, "U+0007 is not allowed"),
        ("image: " + "[" * 2000, 1, "nested too deeply"),
        ("env:\n  A: x\n B: y", 3, "indentation does not match"),
    ],
)
def test_faults_of_syntax_are_told_in_plain_words_with_their_line(body: str, line: int, part: str) -> None:
    (found,) = problems(body)
    assert found.startswith(f"line {line}: ")
    assert part in found


def test_a_body_that_expands_itself_is_refused() -> None:
    assert "aliases are not supported" in problems("a: &a [x]\nb: [*a, *a]")[0]


def test_a_huge_body_is_refused_unread() -> None:
    with pytest.raises(SpecError, match="262,144 is the most"):
        load_yaml("a: " + "x" * 300_000)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_never_crashes(body: str) -> None:
    with contextlib.suppress(SpecError):
        assert isinstance(load_yaml(body).data, dict)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("ab #:-\n", max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", min_size=1), inner),
    )
)
def test_json_is_read_as_it_is(value: Any) -> None:
    assert load_yaml(json.dumps({"k": value})).data == {"k": value}


def test_all_problems_come_at_once_in_the_order_of_the_lines() -> None:
    body = """nodes: 0
gpu_per_node: 1
env:
  A: 3
mode: sport
ports: x
disks:
  - size_gib: 0
  - sizegib: 1
    kind: ssd
preemptible: no
"""
    assert problems(body) == [
        "image: is missing.",
        "line 1: nodes: must be at least 1, not 0.",
        "line 2: gpu_per_node: is not known here. Did you mean 'gpus_per_node'?",
        "line 4: env.A: must be text, not a number; put it in quotes.",
        "line 5: mode: must be one of 'spot', 'on-demand' (did you mean 'spot'?), not 'sport'.",
        "line 6: ports: must be a whole number or a list, not 'x'.",
        "line 8: disks[0].size_gib: must be more than 0, not 0.",
        "line 9: disks[1].size_gib: is missing.",
        "line 9: disks[1].sizegib: is not known here. Did you mean 'size_gib'?",
        "line 11: preemptible: must be true or false, not 'no'.",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nodes: two", "nodes: must be a whole number, not 'two'."),
        ("nodes: 1.5", "nodes: must be a whole number, not 1.5."),
        ("nodes: true", "nodes: must be a whole number, not true."),
        ("nodes: null", "nodes: must be a whole number, not empty."),
        ("nodes: 65", "nodes: must be at most 64, not 65."),
        ("nodes: [1]", "nodes: must be a whole number, not a list."),
        ("gpus_per_node: 3", "gpus_per_node: must be even."),
        ("gpus_per_node: -2", "gpus_per_node: must be at least 0, not -2."),
        ("env: [A]", "env: must be a mapping, not a list."),
        ("spare: big", "spare: must be a mapping, not 'big'."),
        ("spare: {kind: ssd}", "spare.size_gib: is missing."),
        ("spare: {size_gib: 1, kin: ssd}", "spare.kin: is not known here. Did you mean 'kind'?"),
        ("disks: 1", "disks: must be a list, not 1."),
        ("odd: 1", "odd: is not known here. Did you mean 'oddNumber'?"),
        ("zzz: 1", "zzz: is not known here. Known: image, nodes, gpus_per_node, env, mode, ports, key, disks, spare, "
         "preemptible, limit, until and more."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_in_plain_words(line: str, problem: str) -> None:
    assert problems(f"image: x\n{line}") == [f"line 2: {problem}"]


def test_what_may_be_secret_is_not_repeated() -> None:
    assert problems("image: x\nkey: [s3cret]") == ["line 2: key: must be text, not a list."]
    assert problems("image: x\nkey: 12345") == ["line 2: key: must be text, not a number; put it in quotes."]
    assert problems("image: x\nenv: {TOKEN: 12345}") == [
        "line 2: env.TOKEN: must be text, not a number; put it in quotes."
    ]
    hidden = problems("image: x\nnodes: s3cret", hidden=[("nodes",)])
    assert hidden == ["line 2: nodes: must be a whole number, not this text."]


def test_a_right_spec_is_built() -> None:
    text = load_yaml("image: '017'\nnodes: 2\nports: [1, 2]\ndisks: [{size_gib: 1}]\noddNumber: 3")
    spec = build_spec(Spec, text.data, text.lines)
    assert (spec.image, spec.nodes, spec.ports, spec.disks[0].size_gib, spec.odd) == ("017", 2, [1, 2], 1.0, 3)


def test_options_stay_text_where_the_field_takes_text() -> None:
    assert read_option(Spec, "image", "017") == "017"
    assert read_option(Spec, "image", "2") == "2"
    assert read_option(Spec, "mode", "no") == "no"
    assert read_option(Spec, "nodes", "2") == 2
    assert read_option(Spec, "preemptible", "true") is True
    assert read_option(Spec, "oddNumber", "3") == 3


def test_fields_are_described_with_type_limits_default_and_choices() -> None:
    described = {entry.name: entry for entry in describe_fields(Spec)}
    nodes = described["nodes"]
    assert (nodes.type_text, nodes.limits_text, nodes.default_text) == ("whole number", "1 to 64", "1")
    assert (nodes.required, nodes.description) == (False, "How many nodes.")
    assert described["image"].required
    assert described["gpus_per_node"].limits_text == "at least 0"
    assert described["env"].type_text == "mapping of text to text"
    assert described["env"].limits_text == "at most 3 entries"
    assert described["mode"].choices == ("spot", "on-demand")
    assert described["ports"].type_text == "whole number or list of whole number"
    assert described["key"].type_text == "secret text"
    assert described["disks[].size_gib"].limits_text == "more than 0"
    assert described["spare.kind"].default_text == "ssd"
    assert described["label"].limits_text == "at most 5 characters, matches ^[a-z]*$"
    assert described["preemptible"].default_text == "false"
    assert "oddNumber" in described
    assert field_names(Spec)[-1] == "oddNumber"


def test_enum_choices_are_described() -> None:
    class Painted(Strict):
        colour: Colour = Colour.RED

    (entry,) = describe_fields(Painted)
    assert (entry.choices, entry.default_text, entry.type_text) == (("red", "blue"), "red", "one of red, blue")


def test_nearest_name_is_found_or_none() -> None:
    assert nearest("node", ["nodes", "gpus"]) == "nodes"
    assert nearest("xyz", ["nodes", "gpus"]) is None
    assert unknown_field("x", []) == "is not known here."

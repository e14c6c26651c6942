from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from jupyter_gpu_clusters.launch.spec import CommandSpec


def problems(**fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        CommandSpec.model_validate(fields)
    return {".".join(map(str, error["loc"])): error["msg"] for error in caught.value.errors()}


@pytest.mark.parametrize("value", ["2", 2.0, True, 0, -1])
@pytest.mark.parametrize("field", ["nodes", "procs_per_node"])
def test_counts_are_whole_positive_numbers_and_nothing_like_them(field: str, value: object) -> None:
    assert field in problems(command=["true"], **{field: value})


def test_several_problems_are_reported_at_once() -> None:
    found = problems(command=["true"], nodes=0, gpus_per_node=-1, env={"1A": "x"}, wrkdir="x")
    assert set(found) == {"nodes", "gpus_per_node", "env", "wrkdir"}
    assert "'1A' is not a name for a variable" in found["env"]


def test_exactly_one_of_command_and_script() -> None:
    assert "either a command or a script" in problems()[""]
    assert "not both" in problems(command=["true"], script="true")[""]


@pytest.mark.parametrize("command", [[], [""], ["a\0b"], ["x" * 131072], "true"])
def test_a_command_that_no_kernel_would_take_is_refused(command: object) -> None:
    problems(command=command)


@pytest.mark.parametrize("name", ["A B", "A=B", "A\n", "", "é"])
def test_names_of_variables(name: str) -> None:
    assert "env" in problems(command=["true"], env={name: "x"})


def test_a_zero_byte_is_refused_wherever_text_goes() -> None:
    found = problems(command=["true"], workdir="a\0", sync="b\0", env={"A": "\0"})
    assert {location.split(".")[0] for location in found} == {"workdir", "sync", "env"}


def test_every_field_has_what_a_form_needs() -> None:
    fields = CommandSpec.model_json_schema()["properties"]
    assert all(field["title"] and field["description"] for field in fields.values())

"""From a line to typed arguments, all faults at once."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.magics.arguments import Arguments, ClusterWait, Create, Logs, Offers, Recover, Scale, Submit
from jupyter_gpu_clusters.magics.parsing import Parsed, parse


class ArrayScalar:
    """What an element of an array looks like: no shape, and a plain value inside."""

    shape = ()

    def __init__(self, value: int) -> None:
        self._value = value

    def item(self) -> int:
        return self._value


def read(model: type[Arguments], line: str, **names: Any) -> Parsed[Any]:
    return parse("magic", model, line, names)


def problems(model: type[Arguments], line: str, **names: Any) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(model, line, **names)
    return [str(problem) for problem in caught.value.problems]


def test_options_positionals_flags_and_short_forms() -> None:
    logs = read(Logs, "demo/train -f --rank 0 --tail=20 -o out").arguments
    assert (logs.workload, logs.follow, logs.rank, logs.tail, logs.output) == ("demo/train", True, 0, 20, "out")


@pytest.mark.parametrize("written", ["--procs-per-node 2", "--procs-per-node=2", "--procs-per-node '2'"])
def test_both_ways_to_give_a_value(written: str) -> None:
    assert read(Submit, f"demo {written}").arguments.procs_per_node == 2


def test_only_what_was_given_is_set() -> None:
    assert read(Submit, "demo --nodes 2").arguments.model_fields_set == {"cluster", "nodes"}


def test_env_is_repeated_and_keeps_text() -> None:
    line = "demo --env A=1 --env B= --env 'C=x y=z' --env=D=017 --env E=$seed"
    assert read(Submit, line, seed=7).arguments.env == {"A": "1", "B": "", "C": "x y=z", "D": "017", "E": "7"}


def test_several_positionals() -> None:
    assert read(Offers, "local other --min-nodes 2").arguments.accounts == ("local", "other")


def test_text_options_stay_text() -> None:
    assert read(Create, "local --name 017").arguments.name == "017"


def test_command_is_kept_raw() -> None:
    parsed = read(Submit, "demo --name x -- python 'a b' --name y")
    assert (parsed.arguments.name, parsed.command) == ("x", "python 'a b' --name y")


def test_unknown_create_options_are_fields_of_the_spec() -> None:
    parsed = read(Create, "local --nodes 2 --gpus-per-node=1 --spot --image '017' --size $n", n=3)
    assert parsed.fields == {"nodes": "2", "gpus_per_node": "1", "spot": True, "image": "017", "size": 3}
    assert parsed.hidden == {"size"}


def test_variables_keep_their_type() -> None:
    assert read(Submit, "$where --nodes=$n", where="demo", n=2).arguments.nodes == 2
    assert read(Submit, "demo --nodes $n", n=ArrayScalar(2)).arguments.nodes == 2
    assert problems(Submit, "demo --nodes $n", n="2") == ["--nodes: must be a whole number, not this text."]


def test_only_a_whole_unquoted_word_is_a_variable() -> None:
    arguments = read(Submit, "demo --workdir /data/$user --name '$x'").arguments
    assert (arguments.workdir, arguments.name) == ("/data/$user", "$x")


def test_missing_variable_is_named_with_the_nearest() -> None:
    assert problems(Submit, "demo --nodes $nods", nodes=2) == [
        "--nodes: there is no notebook variable 'nods'. Did you mean 'nodes'?"
    ]


def test_all_faults_of_a_line_come_at_once() -> None:
    assert problems(Scale, "--nods 2") == [
        "--nods: is not known here. Did you mean '--nodes'?",
        "CLUSTER: is missing.",
        "--nodes: is missing.",
    ]
    assert problems(Submit, "--procs-per-node two --env A --yes --yes --name") == [
        "--env: must be KEY=VALUE.",
        "--yes: is given twice.",
        "--name: needs a value: NAME.",
        "CLUSTER: is missing.",
        "--procs-per-node: must be a whole number, not 'two'.",
    ]


@pytest.mark.parametrize(
    ("model", "line", "problem"),
    [
        (ClusterWait, "demo other", "there is a word too many: 'other'."),
        (ClusterWait, "demo --timeout 0", "--timeout: must be more than 0, not 0."),
        (ClusterWait, "demo --timeout soon", "--timeout: must be a number, not 'soon'."),
        (ClusterWait, "demo -- ls", "--: this magic runs no command."),
        (ClusterWait, "demo -timeout 3", "-timeout: is not known here. Did you mean '--timeout'?"),
        (ClusterWait, "demo -o 1x", "--output: must be a name for a variable."),
        (ClusterWait, "demo -o class", "--output: must be a name for a variable."),
        (Submit, "demo --nodes 0", "--nodes: must be at least 1, not 0."),
        (Submit, "demo --wait=maybe", "--wait: must be true or false, not 'maybe'."),
        (Submit, "demo --env A=1 --env A=2", "--env: sets A twice."),
        (Logs, "w --tail -5", "--tail: must be at least 1, not -5."),
        (Create, "local --nodes 1 --nodes 2", "--nodes: is given twice."),
        (Recover, "x --close ''", "--close: must not be empty."),
    ],
)
def test_each_fault_names_the_word_and_what_is_right(model: type[Arguments], line: str, problem: str) -> None:
    assert problems(model, line) == [problem]


def test_values_of_variables_are_not_repeated_in_errors() -> None:
    (problem,) = problems(Submit, "demo --nodes $token", token="s3cret")
    assert "s3cret" not in problem


def test_half_of_a_character_is_told_in_words_and_not_repeated() -> None:
    expected = "holds half of a character (a lone surrogate); replace it."
    assert problems(Submit, "demo --env A=$x", x="s\ud800") == [f"--env: the variable 'x' {expected}"]


def test_a_number_without_a_limit_that_is_too_long_is_told_as_too_large() -> None:
    assert problems(Submit, "demo --nodes " + "9" * 44) == ["--nodes: is too large a number."]

"""Splitting a line as `shlex` does, knowing what was quoted."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.magics.words import command_arguments, split_command, split_words


@given(st.text("ab '\"\\ \t$|-=é", max_size=30))
def test_words_are_those_of_shlex(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        with pytest.raises(SettingsError):
            split_words(text)
    else:
        words = split_words(text)
        assert [word.text for word in words] == expected
        assert all(len(word.text) == len(word.bare) for word in words)


def test_quoted_characters_are_marked() -> None:
    (word,) = split_words(r"""a'b c'"d\""\|e""")
    assert word.text == 'ab cd"|e'
    assert word.bare == "a\0\0\0\0\0\0e"


def test_open_quote_is_named_with_its_place() -> None:
    with pytest.raises(SettingsError, match="The quote ' at \"'s a test\" is never closed"):
        split_words("it's a test")


@pytest.mark.parametrize(
    ("line", "before", "command"),
    [
        ("demo -- python a.py -- x", "demo ", "python a.py -- x"),
        ("demo --nodes 2", "demo --nodes 2", None),
        ("demo --", "demo ", ""),
        ("-- ls", "", "ls"),
        ("demo --name it's -- echo 'x y'", "demo --name it's ", "echo 'x y'"),
        ("demo a--b --c", "demo a--b --c", None),
    ],
)
def test_line_is_cut_at_the_first_standalone_dashes(line: str, before: str, command: str | None) -> None:
    assert split_command(line) == (before, command)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py --lr 0.1", ["python", "train.py", "--lr", "0.1"]),
        ("python -c 'print(1); print(2)'", ["python", "-c", "print(1); print(2)"]),
        (r"echo \| '$HOME' \$HOME \;", ["echo", "|", "$HOME", "$HOME", ";"]),
        ("echo 5$ a$ '' *.txt ~ {x}", ["echo", "5$", "a$", "", "*.txt", "~", "{x}"]),
    ],
)
def test_command_is_split_without_a_shell(text: str, expected: list[str]) -> None:
    assert command_arguments(text) == expected


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("a | b", ["|"]),
        ("a || b && c ; d & e", ["||", "&&", ";", "&"]),
        ("a > b < c 2>&1", [">", "<", ">", "&"]),
        ("echo $X ${Y} $(ls) $? `ls`", ["$X", "${", "$(", "$?", "`"]),
        ("curl http://x/?a=1&b=2", ["&"]),
    ],
)
def test_shell_signs_are_refused_and_the_way_out_is_named(text: str, signs: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        command_arguments(text)
    told = [problem.text.partition("'")[2].partition("'")[0] for problem in caught.value.problems]
    assert told == signs
    assert "--script" in (caught.value.hint or "")


def test_missing_command_is_told() -> None:
    with pytest.raises(SettingsError, match="no command after"):
        command_arguments("  ")

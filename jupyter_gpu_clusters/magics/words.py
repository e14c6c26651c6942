"""A magic's line as words, by the POSIX rules of `shlex`, remembering which characters were quoted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..core.errors import Problem, SettingsError

_SPACE = " \t\r\n"
_QUOTED = "\0"
_COMMAND_MARK = re.compile(r"(?:^|(?<=\s))--(?=\s|$)")
_SHELL_SIGNS = re.compile(r"\|\||&&|[|<>;&`]|\$(?:[A-Za-z_][A-Za-z0-9_]*|[{(?@*#0-9!$-])")


@dataclass(frozen=True, slots=True)
class Word:
    """One word: ``text`` as it is meant, ``bare`` the same with every quoted character replaced by NUL."""

    text: str
    bare: str

    def cut(self, start: int, end: int | None = None) -> Word:
        """A part of the word."""
        return Word(self.text[start:end], self.bare[start:end])


def split_command(line: str) -> tuple[str, str | None]:
    """The raw text before and after the first standalone ``--``; ``None`` where there is none."""
    found = _COMMAND_MARK.search(line)
    return (line, None) if found is None else (line[: found.start()], line[found.end() :].strip())


def split_words(text: str) -> list[Word]:
    """The words of `text`; their ``text`` is what ``shlex.split`` gives.

    Raises
    ------
    SettingsError : a quote that is never closed, or a backslash at the end.
    """
    splitter = _Splitter()
    position = 0
    while position < len(text):
        position = splitter.take(text, position)
    splitter.end_word()
    return splitter.words


def command_arguments(text: str) -> list[str]:
    """The argument list of a command that runs without a shell.

    Raises
    ------
    SettingsError : something unquoted that only a shell would understand; the hint names ``--script``.
    """
    words = split_words(text)
    if not words:
        raise SettingsError("There is no command after `--`.", hint="For example: -- python train.py")
    problems = [
        Problem("", f"{sign!r}{'' if sign == word.text else f' in {word.text!r}'} means something only to a shell.")
        for word in words
        for sign in dict.fromkeys(_SHELL_SIGNS.findall(word.bare))
    ]
    if problems:
        raise SettingsError(
            "The command after `--` runs without a shell.",
            problems=problems,
            hint="Put it in quotes to pass it on as it is, or add --script before `--` to run the text as a script.",
        )
    return [word.text for word in words]


class _Splitter:
    def __init__(self) -> None:
        self.words: list[Word] = []
        self.text: list[str] = []
        self.bare: list[str] = []
        self.is_open = False

    def take(self, text: str, position: int) -> int:
        """Read one character or one quoted stretch; the position after it."""
        char = text[position]
        if char in _SPACE:
            self.end_word()
            return position + 1
        self.is_open = True
        if char == "\\":
            if position + 1 == len(text):
                raise SettingsError("The line ends with a lone backslash.", hint="Write it twice, or remove it.")
            self.add(text[position + 1], is_quoted=True)
            return position + 2
        if char in "'\"":
            return self.take_quoted(text, position)
        self.add(char, is_quoted=False)
        return position + 1

    def take_quoted(self, text: str, start: int) -> int:
        """Read up to the closing quote; in double quotes a backslash protects only a quote or a backslash."""
        quote, position = text[start], start + 1
        while position < len(text) and text[position] != quote:
            if quote == '"' and text[position] == "\\" and text[position + 1 : position + 2] in ('"', "\\"):
                position += 1
            self.add(text[position], is_quoted=True)
            position += 1
        if position >= len(text):
            raise SettingsError(
                f"The quote {quote} at {text[start : start + 20]!r} is never closed.",
                hint=f"Close it, or write \\{quote} for the character itself.",
            )
        return position + 1

    def add(self, char: str, *, is_quoted: bool) -> None:
        """One character of the word under way."""
        self.text.append(char)
        self.bare.append(_QUOTED if is_quoted else char)

    def end_word(self) -> None:
        """Close the word under way, if one is."""
        if self.is_open:
            self.words.append(Word("".join(self.text), "".join(self.bare)))
        self.text, self.bare, self.is_open = [], [], False

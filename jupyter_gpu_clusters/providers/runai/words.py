"""Words of a command as Run:ai takes them: two texts, which it splits as a shell does, after which Kubernetes replaces
``$(NAME)`` and ``$$``. What is written here comes out as the very words.

That Run:ai splits like a shell is inferred from its examples; the rest is how Kubernetes works.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_REFERENCE = re.compile(r"\$(?=[$(])")
_FROM_FILE = 'f=$(mktemp) && printf %s "$0" > "$f" && chmod 700 "$f" && exec "$f"'
_BY_SHELL = 'exec "$(command -v bash || command -v sh)" -c "$0"'
SCRIPT = "<script>"
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})


def as_written(text: str) -> str:
    """A text that Kubernetes hands on unchanged, as a value of a variable or an argument."""
    return _REFERENCE.sub("$$", text)


def command_and_args(words: Sequence[str]) -> tuple[str, str | None]:
    """The two texts for a command; ``None`` where it has no arguments."""
    kept = [as_written(word) for word in words]
    return shlex.quote(kept[0]), shlex.join(kept[1:]) or None


def needs_quoting(words: Sequence[str]) -> bool:
    """Whether the words come out right only if the texts are split as a shell does."""
    return any(shlex.quote(as_written(word)) != word for word in words)


def script_words(script: str) -> list[str]:
    """The command that runs a script: as a program where its first line names one, else by bash or sh."""
    return ["sh", "-c", _FROM_FILE if script.startswith("#!") else _BY_SHELL, script]


def shown_words(command: str | None, args: str | None) -> tuple[str, ...]:
    """A command for lists. What follows ``-c`` of a shell is a script, which may hold anything, and is left out."""
    words = [*_split(command), *_split(args)]
    for place, word in enumerate(words):
        if word == "-c" and words[place - 1].rpartition("/")[2] in _SHELLS:
            return (*words[: place + 1], SCRIPT)
    return tuple(words)


def _split(text: str | None) -> list[str]:
    try:
        return shlex.split(text or "")
    except ValueError:
        return [text or ""]

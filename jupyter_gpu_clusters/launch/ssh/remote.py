"""What a command line looks like on the other side. Quoting happens here and nowhere else."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

_BEGIN = 'cd; printf "%s %s\\n" "$1" "$$"; shift; exec "$@"'
"""Where a login begins; then a line that tells our output from what a profile prints, with the process group's id
(sshd gives every command a session of its own); then the program in the shell's place."""

_END = 'kill -s KILL -- "-$1"'


def command_line(argv: Sequence[str], mark: str) -> bytes:
    """One line for the user's login shell, whatever it is, that runs `argv` byte for byte."""
    words = ["exec", "/bin/sh", "-c", _BEGIN, "sh", mark, *argv]
    return b" ".join(os.fsencode(shlex.quote(word)) if word != "exec" else b"exec" for word in words)


def ending_line(group: int) -> bytes:
    """One line that ends a process group."""
    return os.fsencode(shlex.join(["exec", "/bin/sh", "-c", _END, "sh", str(group)]))


def new_mark() -> str:
    """A word that nothing else prints."""
    return os.urandom(12).hex()

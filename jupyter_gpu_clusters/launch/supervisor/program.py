"""What the ranks run: found and checked before anything starts."""

from __future__ import annotations

import errno
import os
import shutil

from .messages import Json


class Refusal(Exception):
    """This node cannot run its part; the text says why."""


class Program:
    """A command or script and where it runs, the same for every rank of this node."""

    def __init__(self, start: Json, folder: str) -> None:
        """Put copied files and the script into their places in `folder`. Raises Refusal, OSError."""
        workdir = start["workdir"]
        if start["staged"]:
            copy = os.path.join(folder, "work")
            os.rename(start["staged"], copy)
            workdir = os.path.join(copy, workdir or "")
        self.workdir: str = os.path.normpath(workdir)
        self.argv: list[str] = start["command"] or write_script(folder, start["script"])
        check_workdir(self.workdir)
        check_program(self.argv[0], self.workdir, start["env"].get("PATH", os.defpath))


def write_script(folder: str, text: str) -> list[str]:
    """Put a script beside the logs; how to run it."""
    path = os.path.join(folder, "script")
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700), "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    if text.startswith("#!"):
        return [path]
    return [shutil.which("bash") or "/bin/sh", path]


def check_workdir(path: str) -> None:
    """Raises Refusal."""
    if not os.path.isdir(path):
        raise Refusal(f"the working directory {path} does not exist")
    if not os.access(path, os.X_OK):
        raise Refusal(f"the working directory {path} may not be entered")


def check_program(name: str, workdir: str, search_path: str) -> None:
    """Find the program as the kernel will, so that a typo starts nothing on any node. Raises Refusal."""
    if "/" not in name:
        places = (os.path.join(workdir, folder, name) for folder in search_path.split(os.pathsep))
        if not any(map(is_executable, places)):
            raise Refusal(f"the command {name!r} was not found in PATH")
        return
    path = os.path.join(workdir, name)
    if not os.path.exists(path):
        raise Refusal(f"the command {name!r} was not found")
    if not is_executable(path):
        raise Refusal(f"the command {name!r} is not an executable file")


def is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def why_not_spawned(name: str, exc: Exception) -> str:
    number = exc.errno if isinstance(exc, OSError) else None
    if number == errno.ENOENT:
        return f"{name!r}, or the interpreter its first line names, was not found"
    if number == errno.ENOEXEC:
        return f"{name!r} is neither a program nor a script with a first line like #!/bin/sh"
    if number == errno.E2BIG:
        return "its arguments and environment are too long together"
    return str(exc.strerror) if isinstance(exc, OSError) else str(exc)

"""Which files of a directory travel to the nodes, and how large they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from ..core.errors import Problem

MAX_BYTES = 1024**3
"""What is copied to every node at most. Data belongs on a shared file system or into the job's own download."""

MAX_FILES = 100_000

_RULE_FILES = (".gitignore", ".ignore")
_NEVER = frozenset({".git"})


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files under one directory; ``files`` are relative paths with ``/``."""

    directory: Path
    files: tuple[str, ...]
    size_bytes: int

    def __str__(self) -> str:
        return f"{len(self.files)} files, {self.size_bytes / 1024**2:.1f} MiB"


def collect(directory: Path) -> FileSet | Problem:
    """The files that the ignore rules leave, or what is wrong with the directory.

    Reads the directory tree; blocks for as long as that takes. Rules of a directory below win over those of one
    above. Symbolic links travel as links; sockets, pipes and devices stay behind.
    """
    if not directory.is_dir():
        return Problem("sync", f"{directory} is not a directory")
    files: list[str] = []
    size = 0
    try:
        for name, file_bytes in _walk(str(directory)):
            files.append(name)
            size += file_bytes
            if size > MAX_BYTES or len(files) > MAX_FILES:
                return Problem("sync", _too_much(directory))
    except OSError as exc:
        return Problem("sync", f"{exc.filename} cannot be read: {exc.strerror}")
    return FileSet(directory, tuple(files), size)


def _too_much(directory: Path) -> str:
    return (
        f"{directory} has more than {MAX_BYTES // 1024**2} MiB or {MAX_FILES} files to copy; "
        "leave out what is not needed with a .gitignore or .ignore file"
    )


def _walk(top: str) -> Iterator[tuple[str, int]]:
    """Relative path and bytes of every file that travels, in a stable order."""
    waiting: list[tuple[str, tuple[_Rules, ...]]] = [("", ())]
    while waiting:
        prefix, rules = waiting.pop()
        folder = os.path.join(top, prefix)
        rules += _rules_in(folder, prefix)
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        below = []
        for entry in entries:
            path = prefix + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name in _NEVER or _is_ignored(path + "/" * is_folder, rules):
                continue
            if is_folder:
                below.append((path + "/", rules))
                continue
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
                yield path, info.st_size
        waiting += reversed(below)


@dataclass(frozen=True, slots=True)
class _Rules:
    prefix: str
    spec: GitIgnoreSpec


def _rules_in(folder: str, prefix: str) -> tuple[_Rules, ...]:
    found = []
    for name in _RULE_FILES:
        path = Path(folder, name)
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            found.append(_Rules(prefix, GitIgnoreSpec.from_lines(lines)))
    return tuple(found)


def _is_ignored(path: str, rules: tuple[_Rules, ...]) -> bool:
    """What the last set of rules that speaks about the path says."""
    for rule in reversed(rules):
        verdict = rule.spec.check_file(path[len(rule.prefix) :]).include
        if verdict is not None:
            return verdict
    return False

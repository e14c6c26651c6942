"""Folders of workloads: ``ROOT/ID``, one for every node."""

from __future__ import annotations

import contextlib
import os
import re

WORKLOAD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
MAX_LISTED = 500
"""So many workloads of a root are listed, the newest."""


def claim(root: str, folder: str) -> str | None:
    """Make the folder; a reason where that cannot be. Raises FileExistsError where another start has made it.

    The root is never made: it goes with its cluster, and a late start must not bring it back.
    """
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        raise
    except FileNotFoundError:
        return f"the cluster's node folder {root} is gone"
    except OSError as exc:
        return f"the work folder {folder} could not be made: {exc.strerror}"
    return None


def is_gone(folder: str) -> bool:
    """Whether it was removed; one that only cannot be looked at now is not."""
    try:
        os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def folders_of(workload_id: str, roots: list[str]) -> list[str]:
    """Where a workload would be; nowhere, for an id that no start would have taken."""
    return [os.path.join(root, workload_id) for root in roots] if WORKLOAD_ID.fullmatch(workload_id) else []


def list_root(root: str) -> tuple[list[str], int]:
    """Folders of workloads, newest first, and how many were left out. Raises OSError when it cannot be read."""
    try:
        with os.scandir(root) as items:
            found = [(i.stat().st_mtime, i.path) for i in items if WORKLOAD_ID.fullmatch(i.name) and i.is_dir()]
    except FileNotFoundError:
        return [], 0
    found.sort(reverse=True)
    return [path for _, path in found[:MAX_LISTED]], max(0, len(found) - MAX_LISTED)


def all_ids(roots: list[str]) -> list[str]:
    """Ids of all workloads under the roots. Raises OSError when one cannot be read."""
    found = []
    for root in roots:
        with contextlib.suppress(FileNotFoundError):
            found += [name for name in os.listdir(root) if WORKLOAD_ID.fullmatch(name)]
    return found


def hostfile_path(folder: str) -> str:
    return os.path.join(folder, "hostfile")


def write_hostfile(folder: str, lines: list[str]) -> None:
    """One node a line, in rank order: ``ADDRESS slots=N``."""
    fd = os.open(hostfile_path(folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.writelines(line + "\n" for line in lines)


def log_path(folder: str, rank: int) -> str:
    return os.path.join(folder, f"rank-{rank}.log")


def log_sizes(folder: str) -> dict[int, int]:
    """Rank -> bytes of output so far."""
    found = {}
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            match = re.fullmatch(r"rank-(\d+)\.log", file.name)
            if match:
                found[int(match.group(1))] = file.stat().st_size
    return found

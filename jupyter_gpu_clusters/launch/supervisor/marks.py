"""How processes of a workload are found when nobody supervises them: by marks that they carry."""

from __future__ import annotations

import os
from collections.abc import Iterable

from .processes import HAS_PROC, Process, all_processes, read_proc

MARK = "JGC_WORKLOAD_ID"
NODE_MARK = "JGC_NODE_RANK"


def marked_processes(workload_ids: Iterable[str]) -> dict[tuple[str, int], list[Process]]:
    """Living processes that carry a workload's marks in their environment, by (workload, node); one look at /proc."""
    wanted = set(workload_ids)
    found: dict[tuple[str, int], list[Process]] = {}
    for process in all_processes() if wanted else []:
        values = dict(item.partition(b"=")[::2] for item in read_proc(process.pid, "environ").split(b"\0"))
        workload_id = values.get(MARK.encode(), b"").decode("ascii", "replace")
        node = values.get(NODE_MARK.encode(), b"").decode("ascii", "replace")
        if workload_id in wanted and node.isdigit():
            found.setdefault((workload_id, int(node)), []).append(process)
    return found


def all_marked(workload_ids: Iterable[str]) -> list[Process]:
    """The same for all nodes that are on this machine together."""
    return [process for processes in marked_processes(workload_ids).values() for process in processes]


def may_be_starting(workload_id: str) -> bool:
    """Whether a "start" of this workload runs, or what it left behind; yes, where that cannot be seen.

    Each has the id in its command line.
    """
    end_of_line = [b"start", workload_id.encode(), b""]
    others = (process.pid for process in all_processes() if process.pid != os.getpid())
    return not HAS_PROC or any(read_proc(pid, "cmdline").split(b"\0")[-3:] == end_of_line for pid in others)

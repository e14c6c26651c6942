"""The command "status": what this machine knows about workloads."""

from __future__ import annotations

import os
import socket

from .folder import folders_of, list_root, log_sizes
from .marks import marked_processes, may_be_starting
from .messages import Json
from .processes import is_running, named
from .state_file import StateFile
from .verdict import FINAL_PHASES


def command_status(request: Json) -> Json:
    """Everything this machine knows under the given roots, or of one workload there."""
    workload_id: str = request.get("id") or ""
    roots = {root: look_at(root, workload_id) for root in request["roots"]}
    add_left_over([entry for look in roots.values() for entry in look["entries"]])
    may_still_start = bool(workload_id) and may_be_starting(workload_id)
    return {"host": socket.gethostname(), "roots": roots, "may_still_start": may_still_start}


def look_at(root: str, workload_id: str) -> Json:
    """The workloads under one root; one of them, where an id is given."""
    try:
        folders, not_shown = (folders_of(workload_id, [root]), 0) if workload_id else list_root(root)
        entries = [entry for entry in map(describe, folders) if entry]
    except OSError as exc:
        return {"entries": [], "not_shown": 0, "problem": f"{root} cannot be read: {exc.strerror}"}
    return {"entries": entries, "not_shown": not_shown, "problem": None}


def describe(folder: str) -> Json | None:
    """What the folder of one workload says; None when there is no such folder."""
    if not os.path.isdir(folder):
        return None
    entry: Json = {"id": os.path.basename(folder), "state": None, "problem": None, "is_alive": False, "left_over": []}
    try:
        state = StateFile.read(folder)
        if not has_ended(state):
            entry["is_alive"] = is_supervised(entry["id"], state)
            if not entry["is_alive"]:
                # It may have written its last word and ended between our two looks.
                state = StateFile.read(folder)
        entry["state"] = state
    except (OSError, ValueError, KeyError) as exc:
        entry["problem"] = f"its state cannot be read: {exc}"
    entry["log_bytes"] = sum(log_sizes(folder).values())
    return entry


def has_ended(state: Json | None) -> bool:
    return state is not None and state["phase"] in FINAL_PHASES


def is_supervised(workload_id: str, state: Json | None) -> bool:
    """Whether somebody of ours still works on it. Before there is a state, that is the start."""
    if state is not None:
        return is_running(state["supervisor"])
    return may_be_starting(workload_id)


def is_over(entry: Json | None) -> bool:
    """Whether nothing more is to be expected from its supervisor."""
    return entry is None or bool(entry["problem"]) or has_ended(entry["state"]) or not entry["is_alive"]


def is_orphaned(entry: Json) -> bool:
    """Whether its supervisor is gone without a last word."""
    return entry["state"] is not None and not has_ended(entry["state"]) and not entry["is_alive"]


def add_left_over(entries: list[Json]) -> None:
    """Look for processes that outlived their supervisor, in one look for all entries."""
    orphaned = [entry for entry in entries if is_orphaned(entry)]
    marked = marked_processes(entry["id"] for entry in orphaned)
    for entry in orphaned:
        entry["left_over"] = named(marked.get((entry["id"], entry["state"]["node_index"]), []))

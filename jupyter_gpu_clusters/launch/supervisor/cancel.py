"""The commands "cancel" and "end-leftovers": end what runs, and say what could not be ended."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection

from .folder import all_ids, folders_of
from .marks import all_marked
from .messages import Json
from .processes import MAX_NAMED, is_still_there, named, signal_exactly, signal_processes, terminate
from .status import command_status, describe, is_over
from .sweep import KILL_S

PAUSE_S = 0.05


def command_cancel(workload_id: str, request: Json) -> Json:
    """Ask the supervisors to end it; where one is gone or does not answer, end its processes from here."""
    folders = folders_of(workload_id, request["roots"])
    ask_to_end(folders, request["wait_s"])
    entries = [entry for entry in map(describe, folders) if entry]
    for entry in entries:
        if entry["is_alive"] and entry["state"]:
            signal_exactly(entry["state"]["supervisor"], signal.SIGKILL)
    if entries:
        kill_marked([workload_id], request["grace_s"])
    answer = command_status({"roots": request["roots"], "id": workload_id})
    return {**answer, "left_over": left_over_of(workload_id, entries)}


def command_end_leftovers(request: Json) -> Json:
    """End whatever carries the marks of any workload under the roots, supervised or not."""
    workload_ids = all_ids(request["roots"])
    kill_marked(workload_ids, request["grace_s"])
    return {"left_over": named(all_marked(workload_ids))}


def ask_to_end(folders: list[str], wait_s: float) -> None:
    """Signal every supervisor once, as soon as it can be told, and wait until all have ended; bounded."""
    deadline = time.monotonic() + wait_s
    asked: set[str] = set()
    while time.monotonic() < deadline:
        entries = {folder: describe(folder) for folder in folders}
        if all(map(is_over, entries.values())):
            return
        for folder, entry in entries.items():
            if entry and entry["is_alive"] and entry["state"] and folder not in asked:
                asked.add(folder)
                signal_exactly(entry["state"]["supervisor"], signal.SIGUSR1)
        time.sleep(PAUSE_S)


def kill_marked(workload_ids: Collection[str], grace_s: float) -> None:
    """TERM, then KILL, whatever carries the workloads' marks; bounded. One look where there is nothing."""
    began = time.monotonic()
    living = all_marked(workload_ids)
    terminate(living, set())
    while living and time.monotonic() < began + grace_s + KILL_S:
        time.sleep(PAUSE_S)
        living = all_marked(workload_ids)
        if time.monotonic() >= began + grace_s:
            signal_processes(living, set(), signal.SIGKILL)


def left_over_of(workload_id: str, entries: list[Json]) -> list[str]:
    """What could not be ended: what carries the marks now, and what a supervisor reported and is still there."""
    found = named(all_marked([workload_id]))
    for entry in entries:
        reported = entry["state"]["left_over"] if entry["state"] else []
        found += [line for line in reported if line not in found and is_still_there(line)]
    return found[:MAX_NAMED]

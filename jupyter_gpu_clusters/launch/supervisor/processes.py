"""Processes of this machine: who lives, who is whose child, and signals that hit nobody else."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Iterable
from typing import Any, NamedTuple

from .messages import Json

HAS_PROC = os.path.exists("/proc/self/stat")
MAX_NAMED = 20

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)


class Process(NamedTuple):
    """A row of /proc; `started` is in clock ticks since boot, so pid and start together name one process."""

    pid: int
    parent: int
    group: int
    started: str
    name: str


def read_proc(pid: int, name: str) -> bytes:
    """A file of a process in /proc; empty where it has ended or is not ours to read."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def read_process(pid: int) -> Process | None:
    """The process, or None when it is gone. A zombie has ended: it is gone too."""
    head, _, tail = read_proc(pid, "stat").decode("utf-8", "replace").rpartition(")")
    fields = tail.split()
    if not fields or fields[0] in "ZX":
        return None
    return Process(pid, int(fields[1]), int(fields[2]), fields[19], head.partition("(")[2])


def all_processes() -> list[Process]:
    if not HAS_PROC:
        return []
    found = (read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process is not None]


def descendants_of(pid: int) -> list[Process]:
    """All living processes below `pid`. Complete for a sub-reaper: what loses its parent is given to it."""
    children: dict[int, list[Process]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += [process.pid for process in below]
    return found


def named(processes: Iterable[Process]) -> list[str]:
    """``host:pid name`` of each, bounded."""
    host = socket.gethostname()
    return [f"{host}:{process.pid} {process.name}" for process in processes][:MAX_NAMED]


def is_still_there(line: str) -> bool:
    """Whether the process that `named` has told still lives."""
    where, _, name = line.partition(" ")
    process = read_process(int(where.rpartition(":")[2]))
    return process is not None and process.name == name


def start_of(pid: int) -> str:
    """When the process started, in the system's own unit; empty when it has ended."""
    if HAS_PROC:
        process = read_process(pid)
        return process.started if process else ""
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], stdout=subprocess.PIPE, timeout=5)
    state, _, started = answer.stdout.decode("ascii", "replace").strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()


def boot_id() -> str:
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
    return ""


def identity(pid: int) -> Json:
    """What names this process and, even after a restart of the machine, no other."""
    return {"pid": pid, "start": start_of(pid), "boot": boot_id()}


def is_running(who: Any) -> bool:
    """Whether exactly the process of this `identity` still lives."""
    if not isinstance(who, dict) or not isinstance(who.get("pid"), int) or not who.get("start"):
        return False
    return bool(who.get("boot") == boot_id() and start_of(who["pid"]) == who["start"])


def signal_exactly(who: Json, number: int) -> None:
    """Signal the process if it is still the same one; with a pidfd a re-used pid can never be hit."""
    with contextlib.suppress(ProcessLookupError):
        if not hasattr(os, "pidfd_open"):
            if is_running(who):
                os.kill(who["pid"], number)
            return
        handle = os.pidfd_open(who["pid"])
        try:
            if is_running(who):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def signal_processes(processes: Iterable[Process], groups: set[int], number: int) -> None:
    """Signal whole groups of ours once each, and everything outside of them one by one."""
    for group in {process.group for process in processes} & groups:
        with contextlib.suppress(OSError):
            os.killpg(group, number)
    for process in processes:
        if process.group not in groups:
            with contextlib.suppress(OSError):
                os.kill(process.pid, number)


def terminate(processes: Iterable[Process], groups: set[int]) -> None:
    """Ask to end; what is stopped is woken, so that it can."""
    for number in (signal.SIGTERM, signal.SIGCONT):
        signal_processes(processes, groups, number)


def become_subreaper() -> None:
    """Orphans of our ranks become our children instead of init's, so nothing escapes by ``setsid``."""
    if HAS_PROC:
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends, which must still be `parent`."""
    if HAS_PROC:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(127)

"""Who is who among processes: an identity that a re-used process id cannot fake.

Only "dead" can be proven, and only on the machine where the process ran; everything else is "cannot tell".
"""

from __future__ import annotations

import functools
import os
import socket
import subprocess
from pathlib import Path


@functools.cache
def _machine() -> str:
    """Host name and, on Linux, boot, pid namespace and installation: within these a pid means one thing."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot = namespace = ""
    return f"{socket.gethostname()}/{boot}/{namespace}/{_installation()}"


def _installation() -> str:
    """What tells two machines of one name apart (machine-id(5)); empty where the system has none."""
    try:
        return Path("/etc/machine-id").read_text().strip()
    except OSError:
        return ""


def start_time(pid: int) -> str | None:
    """When `pid` started, in the system's own unit; ``None`` when it is not running (a zombie is not)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _start_time_by_ps(pid)
    except ProcessLookupError:
        return None
    state, started = fields[0], fields[19]
    return None if state in "ZX" else started


def _start_time_by_ps(pid: int) -> str | None:
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=5)
    state, _, started = answer.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()


@functools.lru_cache(maxsize=4)
def _identity_of(pid: int) -> str:
    return f"{_machine()}|{pid}|{start_time(pid)}"


def this_process() -> str:
    """The identity of the calling process; a child made by ``fork`` has another."""
    return _identity_of(os.getpid())


def is_dead(process: str) -> bool:
    """Whether `process` has certainly ended. False also means "cannot tell"."""
    machine, _, rest = process.partition("|")
    pid, _, started = rest.partition("|")
    here = _machine()
    host, boot, _, installation = (machine.split("/") + [""] * 3)[:4]
    own_host, own_boot, _, own_installation = here.split("/")
    if not pid.isdigit() or host != own_host or installation != own_installation:
        return False
    if boot != own_boot:
        return installation != ""
    return machine == here and start_time(int(pid)) != started

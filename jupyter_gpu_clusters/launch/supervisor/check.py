"""The command "check": what a node has, before anything is started on it. Measures; who asked decides."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import time

from .messages import Json

NVIDIA_SMI_TIMEOUT_S = 15.0
_SIOCGIFADDR = 0x8915


def command_check(request: Json) -> Json:
    """GPUs that can be used, free bytes, the clock, the overlay's own address, active InfiniBand ports."""
    root = os.path.abspath(request["root"])
    gpus, gpu_problem = count_gpus()
    return {
        "host": socket.gethostname(),
        "time": time.time(),
        "gpus": gpus,
        "gpu_problem": gpu_problem,
        "free_bytes": free_bytes(root),
        "address": address_of(request["interface"]) if request["interface"] else None,
        "infiniband_ports": active_ports(),
    }


def count_gpus() -> tuple[int, str | None]:
    """How many GPUs the driver lists, and why that may be none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0, "nvidia-smi is not there"
    try:
        done = subprocess.run(
            [program, "-L"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=NVIDIA_SMI_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError) as exc:
        return 0, f"nvidia-smi does not answer ({type(exc).__name__})"
    text = done.stdout.decode("utf-8", "replace")
    count = len(re.findall(r"^GPU \d+:", text, re.MULTILINE))
    if count and done.returncode == 0:
        return count, None
    said = text.strip().splitlines() or [f"exit code {done.returncode}"]
    return 0, f"nvidia-smi says: {said[0][:200]}"


def free_bytes(path: str) -> int:
    """What an ordinary user may still write on the file system of `path`, or of the nearest folder that is there."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def address_of(interface: str) -> str | None:
    """The IPv4 address of a network interface; ``None`` where it has none, or is not there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])


def active_ports() -> int:
    """InfiniBand or RoCE ports that are up."""
    root = "/sys/class/infiniband"
    count = 0
    for device in os.listdir(root) if os.path.isdir(root) else []:
        ports = os.path.join(root, device, "ports")
        for port in os.listdir(ports) if os.path.isdir(ports) else []:
            try:
                with open(os.path.join(ports, port, "state")) as file:
                    count += "ACTIVE" in file.read()
            except OSError:
                continue
    return count

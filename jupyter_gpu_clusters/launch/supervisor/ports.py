"""Which ports a workload uses, worked out so that parallel workloads stay out of each other's way."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import socket


def control_ports(workload_id: str) -> list[int]:
    """Where to look for a workload's hub, in order; known to all nodes without asking."""
    digest = hashlib.sha256(b"control" + workload_id.encode()).digest()
    return [20000 + int.from_bytes(digest[i : i + 2], "big") % 10000 for i in range(0, 16, 2)]


def ephemeral_ports() -> range:
    """Ports the system hands out to outgoing connections: one of those may be taken at any moment."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            first, last = file.read().split()
        return range(int(first), int(last) + 1)
    except (OSError, ValueError):
        return range(32768, 65536)


class MasterPort:
    """A port for the ranks' rendezvous that no other workload of this user gets while this one lives."""

    CANDIDATES = range(10000, 20000)

    def __init__(self, workload_id: str) -> None:
        """Raises OSError when none can be reserved."""
        self._fd = self._open_locks()
        self.port = self._reserve(workload_id)

    @staticmethod
    def _open_locks() -> int:
        """One small file per user; each byte of it stands for the port with that number."""
        folder = f"/tmp/jupyter-gpu-clusters-{os.getuid()}"
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        info = os.lstat(folder)
        if info.st_uid != os.getuid() or (info.st_mode & 0o170022) != 0o040000:
            raise OSError(errno.EPERM, f"{folder} is not a folder that only this user can write")
        return os.open(os.path.join(folder, "master-ports"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def _reserve(self, workload_id: str) -> int:
        taken = ephemeral_ports()
        ports = [port for port in self.CANDIDATES if port not in taken] or list(self.CANDIDATES)
        first = int.from_bytes(hashlib.sha256(b"master" + workload_id.encode()).digest()[:4], "big")
        for step in range(min(500, len(ports))):
            port = ports[(first + step) % len(ports)]
            if self._lock(port):
                return port
        raise OSError(errno.EADDRINUSE, f"no free port between {ports[0]} and {ports[-1]}")

    def _lock(self, port: int) -> bool:
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError as exc:
            if exc.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
                return True
            except OSError:
                fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, port)
                return False

"""Runs one workload's ranks on one node, detached, until they have ended; and answers for it afterwards.

This is one file on purpose: it is copied to nodes that have nothing but a Python (3.8 or newer) and must then
work by itself. Standard library only, nothing of this package is imported, and the syntax is Python 3.8's.

::

    supervisor.py start ID       start document on stdin; answers when all nodes run it, or none does
    supervisor.py status         {"roots": [...], "id": null | ID} on stdin; what this machine knows
    supervisor.py cancel ID      {"roots": [...], "wait_s": s} on stdin; ends it, says what is left
    supervisor.py read-log ID    {"roots": [...], "follow": ...} on stdin; frames of output on stdout

How a start goes. ``start`` claims the folder ``ROOT/ID`` by making it, and leaves a *node* process behind, in its
own session. Node 0's process is also the *hub*: it listens on a control port that all nodes can work out from the
id, the others join it (both sides prove that they know the workload's token). When all have reported "ready", the
hub reserves the master port and says "go"; when all ranks are spawned it says "started". Any refusal on the way,
or a node that does not report in time, ends the start on all nodes. From then on every exit code goes to the hub;
the first that is not 0 ends all nodes. A lost control connection is a lost node. The hub's final word is written
by every node into its own state file.

Sections: processes, state file, logs, environment, ports, control connections, hub, program, node, the four commands.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import hmac
import json
import os
import re
import resource
import select
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Dict, NamedTuple, NoReturn  # noqa: UP035

Json = Dict[str, Any]  # noqa: UP006

FINAL_PHASES = ("succeeded", "failed", "cancelled")
WORKLOAD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
MARK = "JGC_WORKLOAD_ID"
NODE_MARK = "JGC_NODE_RANK"
MAX_REASON_CHARS = 300
MAX_LEFT_OVER = 20
MAX_LISTED = 500
"""A status without an id shows so many workloads of a root, the newest."""


def now() -> str:
    moment = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1e6):06d}+00:00"


def shortened(text: str) -> str:
    return text if len(text) <= MAX_REASON_CHARS else text[: MAX_REASON_CHARS - 3] + "..."


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


# --- Processes ------------------------------------------------------------------------------------------------------

HAS_PROC = os.path.exists("/proc/self/stat")


class Process(NamedTuple):
    """A row of /proc; `started` is in clock ticks since boot, so pid and start together name one process."""

    pid: int
    parent: int
    group: int
    started: str
    name: str


def read_process(pid: int) -> Process | None:
    """The process, or None when it is gone. A zombie has ended: it is gone too."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    if fields[0] in "ZX":
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


def marked_processes(workload_ids: Iterable[str]) -> dict[tuple[str, int], list[Process]]:
    """Living processes that carry a workload's marks in their environment, by (workload, node); one look at /proc."""
    wanted = set(workload_ids)
    found: dict[tuple[str, int], list[Process]] = {}
    for process in all_processes() if wanted else []:
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                values = dict(item.partition(b"=")[::2] for item in file.read().split(b"\0"))
        except OSError:
            continue
        workload_id = values.get(MARK.encode(), b"").decode("ascii", "replace")
        node = values.get(NODE_MARK.encode(), b"").decode("ascii", "replace")
        if workload_id in wanted and node.isdigit():
            found.setdefault((workload_id, int(node)), []).append(process)
    return found


def named(processes: Iterable[Process]) -> list[str]:
    """``host:pid name`` of each, bounded."""
    host = socket.gethostname()
    return [f"{host}:{process.pid} {process.name}" for process in processes][:MAX_LEFT_OVER]


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
    return {"pid": pid, "start": start_of(pid), "boot": boot_id()}


def is_running(who: Any) -> bool:
    """Whether exactly this process still lives."""
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


PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Orphans of our ranks become our children instead of init's, so nothing escapes by ``setsid``."""
    if HAS_PROC:
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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


# --- State file -----------------------------------------------------------------------------------------------------


class StateFile:
    """Two slots of fixed size, written in place by turns.

    The space is really written and synced before anything runs, so a disk that fills up later cannot lose an exit
    code; and a write that is cut in the middle leaves the other slot, with the state before it.
    """

    NAME = "state"
    HEADER = struct.Struct(">8sQQII")
    MAGIC = b"JGCstate"

    def __init__(self, fd: int, slot_bytes: int) -> None:
        self.fd = fd
        self.slot_bytes = slot_bytes
        self.seq = 0

    @classmethod
    def create(cls, folder: str, payload_bytes: int) -> StateFile:
        """Raises OSError where the space cannot be had."""
        slot_bytes = (payload_bytes + cls.HEADER.size + 4095) // 4096 * 4096
        path = os.path.join(folder, cls.NAME)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(fd, bytes(2 * slot_bytes))
            os.fsync(fd)
            sync_folder(folder)
        except OSError:
            os.close(fd)
            os.unlink(path)
            raise
        return cls(fd, slot_bytes)

    def write(self, state: Json) -> None:
        """Raises OSError; ValueError for a state that outgrew its slot."""
        payload = json.dumps(state, separators=(",", ":")).encode()
        if len(payload) + self.HEADER.size > self.slot_bytes:
            raise ValueError(f"the state has {len(payload)} bytes, its slot {self.slot_bytes}")
        seq = self.seq + 1
        check = zlib.crc32(payload, zlib.crc32(struct.pack(">Q", seq)))
        slot = self.HEADER.pack(self.MAGIC, seq, self.slot_bytes, len(payload), check) + payload
        if os.pwrite(self.fd, slot, seq % 2 * self.slot_bytes) != len(slot):
            raise OSError(errno.EIO, "the state was written only in part")
        os.fsync(self.fd)
        self.seq = seq

    @classmethod
    def read(cls, folder: str) -> Json | None:
        """The newest whole state; None when there is none yet. Raises OSError; ValueError where no slot is valid."""
        try:
            with open(os.path.join(folder, cls.NAME), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        half = len(data) // 2
        slots = [slot for slot in (cls._parse(data[:half]), cls._parse(data[half:])) if slot]
        if slots:
            return max(slots, key=lambda slot: slot[0])[1]
        if data.strip(b"\0"):
            raise ValueError("no slot of the state file is valid")
        return None

    @classmethod
    def _parse(cls, slot: bytes) -> tuple[int, Json] | None:
        if len(slot) < cls.HEADER.size:
            return None
        magic, seq, slot_bytes, length, check = cls.HEADER.unpack_from(slot)
        payload = slot[cls.HEADER.size : cls.HEADER.size + length]
        if magic != cls.MAGIC or slot_bytes != len(slot) or len(payload) != length:
            return None
        if zlib.crc32(payload, zlib.crc32(struct.pack(">Q", seq))) != check:
            return None
        state = json.loads(payload.decode())
        return (seq, state) if isinstance(state, dict) else None


def sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# --- Logs -----------------------------------------------------------------------------------------------------------


def log_path(folder: str, rank: int) -> str:
    return os.path.join(folder, f"rank-{rank}.log")


class RankLog:
    """One rank's output file. What does not fit on the disk is dropped and counted; the rank never notices.

    As soon as there is room again, a line in the file says how much is missing at that place.
    """

    RETRY_S = 0.5
    ROOM_BYTES = 64 * 1024

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        self.lost_bytes = 0
        self._gap_bytes = 0
        self._gap_cause = ""
        self._next_try = 0.0
        self._is_at_line_start = True

    @property
    def has_gap(self) -> bool:
        return self._gap_bytes > 0

    def write(self, data: bytes) -> None:
        if self._gap_bytes and not self.mark_gap():
            self._lose(len(data), self._gap_cause)
            return
        view = memoryview(data)
        try:
            while view:
                count = os.write(self.fd, view)
                self._is_at_line_start = view[count - 1] == 10
                view = view[count:]
        except OSError as exc:
            self._lose(len(view), os.strerror(exc.errno or errno.EIO))

    def mark_gap(self, is_last_call: bool = False) -> bool:
        """Write the line that marks the gap, where there is room for it and some output after it."""
        if not is_last_call and (time.monotonic() < self._next_try or not self._has_room()):
            return False
        self._next_try = time.monotonic() + self.RETRY_S
        start = "" if self._is_at_line_start else "\n"
        line = f"{start}[... {self._gap_bytes} bytes of output lost: {self._gap_cause}]\n".encode()
        size = os.fstat(self.fd).st_size
        try:
            if os.write(self.fd, line) < len(line):
                os.ftruncate(self.fd, size)
                return False
        except OSError:
            return False
        self._gap_bytes = 0
        self._is_at_line_start = True
        return True

    def _has_room(self) -> bool:
        disk = os.fstatvfs(self.fd)
        return disk.f_bavail * disk.f_frsize >= self.ROOM_BYTES

    def _lose(self, count: int, cause: str) -> None:
        self.lost_bytes += count
        self._gap_bytes += count
        self._gap_cause = cause

    def close(self) -> None:
        os.close(self.fd)


class Reserve:
    """A file of zeros that is given back at the end, so that gaps can be marked although the disk stayed full."""

    def __init__(self, folder: str, ranks: int) -> None:
        self._path = os.path.join(folder, "reserve")
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(fd, bytes(8192 * ranks))
            os.fsync(fd)
        finally:
            os.close(fd)

    def release(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._path)


# --- Environment ----------------------------------------------------------------------------------------------------


def rank_environment(start: Json, local_rank: int, master_port: int, workdir: str) -> dict[str, str]:
    """The whole environment of one rank: the document's, and over it who is who.

    Without ``procs_per_node`` also torchrun's defaults (``PET_`` and the name of its option), so that a bare
    ``torchrun train.py`` does the right thing; with it never, for then each rank is one process by itself.
    """
    procs = start["procs_per_node"]
    node = start["node_index"]
    topology = {
        "MASTER_ADDR": start["master_addr"],
        "MASTER_PORT": master_port,
        "NNODES": start["nodes"],
        "NODE_RANK": node,
        "NPROC_PER_NODE": procs or start["gpus"] or 1,
    }
    if procs is None:
        topology.update({"PET_" + name: value for name, value in list(topology.items())})
    else:
        topology.update(
            WORLD_SIZE=start["nodes"] * procs,
            RANK=node * procs + local_rank,
            LOCAL_RANK=local_rank,
            LOCAL_WORLD_SIZE=procs,
        )
    env = {"PYTHONUNBUFFERED": "1", **start["env"], "PWD": workdir}
    if procs is not None:
        env = {name: value for name, value in env.items() if not name.startswith("PET_")}
    env.update({name: str(value) for name, value in topology.items()})
    env.update({MARK: start["workload_id"], NODE_MARK: str(node)})
    return env


# --- Ports ----------------------------------------------------------------------------------------------------------


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


# --- Control connections --------------------------------------------------------------------------------------------


class Channel:
    """JSON messages, one a line, over a socket between two supervisors of one workload."""

    SEND_TIMEOUT_S = 10.0
    MAX_LINE_BYTES = 64 * 1024

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.early: deque[Json] = deque()
        self._buffer = b""
        sock.settimeout(self.SEND_TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # A machine that vanishes without a word is noticed within about 30 s.
        for option, value in (
            ("TCP_KEEPIDLE", 10),
            ("TCP_KEEPINTVL", 5),
            ("TCP_KEEPCNT", 4),
            ("TCP_USER_TIMEOUT", 30000),
        ):
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)

    def send(self, message: Json) -> None:
        """A failure is noticed at the next `receive`."""
        with contextlib.suppress(OSError):
            self.sock.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> list[Json] | None:
        """The messages that have come, at least one read's worth; None when the other side is gone."""
        try:
            data = self.sock.recv(65536)
            self._buffer += data
            *lines, self._buffer = self._buffer.split(b"\n")
            messages = [json.loads(line.decode()) for line in lines]
        except (OSError, ValueError):
            return None
        if not data or len(self._buffer) > self.MAX_LINE_BYTES or not all(isinstance(m, dict) for m in messages):
            return None
        return messages

    def receive_one(self) -> Json:
        """Wait for one message. Raises OSError when none comes."""
        while not self.early:
            messages = self.receive()
            if messages is None:
                raise ConnectionError("the other side does not speak our protocol")
            self.early.extend(messages)
        return self.early.popleft()

    def close(self) -> None:
        self.sock.close()


def proof(start: Json, side: str, node: Any, nonce: Any) -> str:
    """What only somebody with the workload's token can say, without saying the token."""
    words = json.dumps([start["workload_id"], side, node, nonce]).encode()
    return hmac.new(start["token"].encode(), words, hashlib.sha256).hexdigest()


def is_proof(claimed: Any, expected: str) -> bool:
    return isinstance(claimed, str) and hmac.compare_digest(claimed.encode(), expected.encode())


def dial(start: Json, port: int, patience_s: float) -> Channel:
    """Connect to the hub, which has to speak first, within `patience_s`. Raises OSError when it is not there."""
    channel = Channel(socket.create_connection((start["master_addr"], port), timeout=patience_s))
    try:
        channel.sock.settimeout(patience_s)
        node, nonce = start["node_index"], os.urandom(16).hex()
        theirs = channel.receive_one().get("nonce")
        channel.sock.settimeout(Channel.SEND_TIMEOUT_S)
        channel.send({"node": node, "nonce": nonce, "proof": proof(start, "node", node, theirs)})
        if not is_proof(channel.receive_one().get("proof"), proof(start, "hub", node, nonce)):
            raise ConnectionError("that is not the hub of this workload")
    except OSError:
        channel.close()
        raise
    return channel


# --- Hub ------------------------------------------------------------------------------------------------------------


class Hub:
    """Node 0's second part: sees everything in one order, decides, and tells all nodes."""

    HANDSHAKE_S = 5.0
    MAX_STRANGERS = 64
    LINGER_S = 3.0
    """After a refusal, how long nodes that have not joined yet are waited for, to tell them."""

    def __init__(self, start: Json, node: Node) -> None:
        self.start = start
        self.node = node
        self.total: int = start["nodes"]
        self.channels: dict[int, Channel] = {}
        self.joined: set[int] = {0}
        self.ready: set[int] = set()
        self.spawned: set[int] = set()
        self.done: set[int] = set()
        self.lost: set[int] = set()
        self.codes: list[int | None] = [None] * (self.total * (start["procs_per_node"] or 1))
        self.failure: Json | None = None
        self.verdict: Json | None = None
        self.is_started = False
        self.is_closed = False
        self.deadline = time.monotonic() + start["start_timeout_s"]
        self._strangers: dict[Channel, tuple[str, float]] = {}
        self._server: socket.socket | None = None
        self._master_port: MasterPort | None = None

    def open(self) -> None:
        """Listen on the first control port that is free. Raises OSError when none is."""
        address = self.start["master_addr"]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for port in control_ports(self.start["workload_id"]):
            try:
                self._server = socket.create_server((address, port), family=family, backlog=max(64, self.total))
            except OSError as exc:
                problem = exc
            else:
                self.node.watch(self._server, self._accept)
                return
        raise OSError(problem.errno, f"no control port could be opened on {address}: {problem.strerror}")

    def _accept(self, server: socket.socket) -> None:
        try:
            channel = Channel(server.accept()[0])
        except OSError:
            return
        if len(self._strangers) >= self.total + self.MAX_STRANGERS:
            channel.close()
            return
        nonce = os.urandom(16).hex()
        self._strangers[channel] = (nonce, time.monotonic() + self.HANDSHAKE_S)
        self.node.watch(channel.sock, lambda _: self._greet(channel))
        channel.send({"nonce": nonce})

    def _greet(self, channel: Channel) -> None:
        nonce, _ = self._strangers.pop(channel)
        self.node.unwatch(channel.sock)
        messages = channel.receive()
        hello = messages[0] if messages else {}
        node = hello.get("node")
        is_member = is_proof(hello.get("proof"), proof(self.start, "node", node, nonce))
        if not is_member or not isinstance(node, int) or not 0 < node < self.total or node in self.joined:
            channel.close()
            return
        channel.send({"proof": proof(self.start, "hub", node, hello.get("nonce"))})
        self.joined.add(node)
        self.channels[node] = channel
        self.node.watch(channel.sock, lambda _: self._hear(node, channel))
        if self.verdict:
            channel.send({"type": "end", "verdict": self.verdict})

    def _hear(self, node: int, channel: Channel) -> None:
        messages = channel.receive()
        for message in messages or ():
            self.receive(node, message)
        if messages is None:
            self.node.unwatch(channel.sock)
            channel.close()
            del self.channels[node]
            self.lost.add(node)
            self._end("failed", f"node {node} was lost: its control connection broke")
            self._settle()

    def _tell_all(self, message: Json) -> None:
        self.node.inbox.append(message)
        for channel in self.channels.values():
            channel.send(message)

    def receive(self, node: int, message: Json) -> None:
        """One message of a node; its order of arrival here is the order of events."""
        kind = message.get("type")
        if kind == "ready":
            self.ready.add(node)
            self._go_when_ready()
        elif kind == "refused":
            self._end("failed", f"node {node}: {message.get('reason')}")
        elif kind == "spawned":
            self.spawned.add(node)
            self._start_when_spawned()
        elif kind == "exit":
            self._note_exit(node, int(message["rank"]), int(message["code"]))
        elif kind == "stop":
            self._end(message["phase"], message["reason"])
        elif kind == "done":
            self.done.add(node)
        self._settle()

    def _go_when_ready(self) -> None:
        if len(self.ready) < self.total or self.verdict:
            return
        try:
            self._master_port = MasterPort(self.start["workload_id"])
        except OSError as exc:
            self._end("failed", f"node 0: a master port could not be reserved: {exc.strerror}")
        else:
            self._tell_all({"type": "go", "master_port": self._master_port.port})

    def _start_when_spawned(self) -> None:
        if len(self.spawned) == self.total and not self.verdict:
            self.is_started = True
            self._tell_all({"type": "started"})
            self._judge()

    def _note_exit(self, node: int, rank: int, code: int) -> None:
        self.codes[rank] = code
        if code and self.failure is None:
            self.failure = {"rank": rank, "node": node, "code": code}
        self._judge()

    def _judge(self) -> None:
        """End everybody for the first failing rank; not before the start is over, which has its own answer."""
        if self.failure and self.is_started:
            rank, node, code = self.failure["rank"], self.failure["node"], self.failure["code"]
            self._end("failed", f"rank {rank} on node {node} {how_it_ended(code)}", rank, code)

    def _end(self, phase: str, reason: str, rank: int | None = None, code: int | None = None) -> None:
        if self.verdict or (self.is_started and None not in self.codes and not self.failure):
            return
        self.verdict = {
            "phase": phase,
            "reason": shortened(reason),
            "first_failed_rank": rank,
            "exit_code": code,
            "never_started": not self.is_started,
        }
        self.deadline = time.monotonic() + (self.LINGER_S if phase == "failed" else 0.0)
        self._tell_all({"type": "end", "verdict": self.verdict})

    def tick(self) -> None:
        """What time brings: strangers who say nothing, nodes that never report."""
        moment = time.monotonic()
        for channel in [c for c, (_, until) in self._strangers.items() if until < moment]:
            del self._strangers[channel]
            self.node.unwatch(channel.sock)
            channel.close()
        if moment > self.deadline:
            if not self.is_started and not self.verdict:
                silent = sorted(set(range(self.total)) - (self.spawned if self._master_port else self.ready))
                self._end("failed", "no answer in time from node " + ", ".join(map(str, silent)))
                self.deadline = moment
            self._settle()

    def _settle(self) -> None:
        """The final word, once every node that can be heard has nothing left."""
        over = self.done | self.lost
        if self.verdict and not self.is_started and time.monotonic() > self.deadline:
            over |= set(range(self.total)) - self.joined
        if self.is_closed or len(over) < self.total:
            return
        self.is_closed = True
        success = {"phase": "succeeded", "exit_code": 0}
        final = self.verdict or success
        self.node.conclude(final)
        for channel in self.channels.values():
            channel.send({"type": "final", "verdict": final})


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        return "was killed by " + signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"


# --- Program --------------------------------------------------------------------------------------------------------


class Refusal(Exception):
    """This node cannot run its part; the text says why."""


def write_script(folder: str, text: str) -> list[str]:
    """Put a script beside the logs; how to run it."""
    path = os.path.join(folder, "script")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
    try:
        write_all(fd, text.encode("utf-8", "surrogateescape"))
    finally:
        os.close(fd)
    if text.startswith("#!"):
        return [path]
    return [shutil.which("bash") or "/bin/sh", path]


def check_program(name: str, workdir: str, search_path: str) -> None:
    """Find the program as the kernel will, so that a typo starts nothing on any node. Raises Refusal."""
    if not os.path.isdir(workdir):
        raise Refusal(f"the working directory {workdir} does not exist")
    if not os.access(workdir, os.X_OK):
        raise Refusal(f"the working directory {workdir} may not be entered")
    if "/" not in name:
        places = [os.path.join(workdir, folder, name) for folder in search_path.split(os.pathsep)]
        if not any(os.path.isfile(place) and os.access(place, os.X_OK) for place in places):
            raise Refusal(f"the command {name!r} was not found in PATH")
        return
    path = os.path.join(workdir, name)
    if not os.path.exists(path):
        raise Refusal(f"the command {name!r} was not found")
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise Refusal(f"the command {name!r} is not an executable file")


def why_not_spawned(name: str, exc: Exception) -> str:
    number = exc.errno if isinstance(exc, OSError) else None
    if number == errno.ENOENT:
        return f"{name!r}, or the interpreter its first line names, was not found"
    if number == errno.ENOEXEC:
        return f"{name!r} is neither a program nor a script with a first line like #!/bin/sh"
    if number == errno.E2BIG:
        return "its arguments and environment are too long together"
    return str(exc.strerror) if isinstance(exc, OSError) else str(exc)


# --- Node -----------------------------------------------------------------------------------------------------------


class Rank:
    """One process of the workload on this node."""

    def __init__(self, number: int, local: int, log: RankLog) -> None:
        self.number = number
        self.local = local
        self.log = log
        self.pid: int | None = None
        self.started = ""
        self.code: int | None = None
        self.was_ended = False
        self.pipe: int | None = None

    def snapshot(self) -> Json:
        return {
            "rank": self.number,
            "pid": self.pid,
            "start": self.started,
            "exit_code": self.code,
            "was_ended": self.was_ended,
            "lost_bytes": self.log.lost_bytes,
        }


class Node:
    """The detached process of one node: starts its ranks, collects output and exit codes, ends what is left."""

    READ_BYTES = 1024 * 1024
    KILL_S = 3.0
    """How long after KILL a process may still be there before it is reported as left over."""
    SAVE_S = 0.1
    """Between two states that only time and output changed; each costs a sync of the disk."""

    def __init__(self, start: Json, folder: str, refusal: str | None, answer: Callable[[Json], None]) -> None:
        self.start = start
        self.index: int = start["node_index"]
        self.folder = folder
        self.refusal = refusal
        self.answer = answer
        self.inbox: deque[Json] = deque()
        self.hub = Hub(start, self) if self.index == 0 else None
        self.link: Channel | None = None
        self.final: Json | None = None
        self.verdict: Json | None = None
        self.ranks: list[Rank] = []
        self.phase = "pending"
        self.started_at: str | None = None
        self.left_over: list[str] = []
        self.state: StateFile | None = None
        self.reserve: Reserve | None = None
        self.workdir = "/"
        self.program: list[str] = []
        self.is_spawned = False
        self._me = identity(os.getpid())
        self._asked: Json | None = None
        self._selector = selectors.DefaultSelector()
        self._has_termed = False
        self._sweep_began: float | None = None
        self._swept_at: float | None = None
        self._next_sweep = 0.0
        self._next_save = 0.0
        self._is_done = False
        self._saved: Json | None = None
        self._open_files = resource.getrlimit(resource.RLIMIT_NOFILE)

    # The life of a node, in order.

    def run(self) -> None:
        self._catch_signals()
        become_subreaper()
        if self.refusal is None:
            try:
                self._prepare()
            except Refusal as exc:
                self.refusal = str(exc)
            except OSError as exc:
                self.refusal = f"the work folder {self.folder} could not be prepared: {exc.strerror}"
        self._join()
        while self.final is None:
            self._turn()

    def _catch_signals(self) -> None:
        """USR1 is the user's cancel; TERM is somebody else's wish (a machine that goes down), which is a failure."""
        wake_read, wake_write = os.pipe()
        for fd in (wake_read, wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self.watch(wake_read, lambda fd: os.read(fd, 4096))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGUSR1, lambda *_: self._ask("cancelled", "cancelled by the user"))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, _: self._ask("failed", self._stopped_by(got)))
        for number in (signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def _stopped_by(self, number: int) -> str:
        return f"the supervisor on node {self.index} was told to stop ({signal.Signals(number).name})"

    def _ask(self, phase: str, reason: str) -> None:
        self._asked = self._asked or {"type": "stop", "phase": phase, "reason": reason}

    def _prepare(self) -> None:
        """Everything that can fail before anything runs."""
        procs = self.start["procs_per_node"] or 1
        world = self.start["nodes"] * procs
        about = len(json.dumps(self.start["about"]))
        self.state = StateFile.create(self.folder, 16384 + about + 256 * procs + (8 * world if self.hub else 0))
        self._save()
        self.reserve = Reserve(self.folder, procs)
        first = self.index * procs
        self._raise_open_files(2 * procs + self.start["nodes"] + 64)
        for local in range(procs):
            log = RankLog(log_path(self.folder, first + local))
            self.ranks.append(Rank(first + local, local, log))
        self._place_files()

    def _raise_open_files(self, count: int) -> None:
        soft, hard = self._open_files
        unlimited = resource.RLIM_INFINITY
        if soft != unlimited and soft < count:
            wanted = count if hard == unlimited else min(count, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

    def _place_files(self) -> None:
        workdir = self.start["workdir"]
        if self.start["staged"]:
            copy = os.path.join(self.folder, "work")
            os.rename(self.start["staged"], copy)
            workdir = os.path.join(copy, workdir or "")
        self.workdir = os.path.normpath(workdir)
        self.program = self.start["command"] or write_script(self.folder, self.start["script"])
        check_program(self.program[0], self.workdir, self.start["env"].get("PATH", os.defpath))

    def _join(self) -> None:
        if self.hub:
            if self.start["nodes"] > 1:
                try:
                    self.hub.open()
                except OSError as exc:
                    self.refusal = self.refusal or exc.strerror
        else:
            self.link = self._connect()
            if self.link is None:
                self._give_up()
                return
            self.watch(self.link.sock, self._hear_hub)
            self.inbox.extend(self.link.early)
        if self.refusal is None:
            self._send({"type": "ready"})
        else:
            self._send({"type": "refused", "reason": self.refusal})

    def _connect(self) -> Channel | None:
        """Find the hub among strangers; one that is silent costs little at first, a hub that is slow is found later."""
        began = time.monotonic()
        while time.monotonic() < began + self.start["start_timeout_s"] and not self._asked:
            patience_s = min(0.5 + time.monotonic() - began, 5.0)
            for port in control_ports(self.start["workload_id"]):
                with contextlib.suppress(OSError):
                    return dial(self.start, port, patience_s)
            time.sleep(0.05)
        return None

    def _give_up(self) -> None:
        silence = f"could not reach node 0 ({self.start['master_addr']}) on its control ports"
        reason = f"node {self.index}: {self.refusal or silence}"
        asked = self._asked or {"phase": "failed", "reason": reason}
        self.conclude({"phase": asked["phase"], "reason": shortened(asked["reason"]), "never_started": True})

    # Messages.

    def _send(self, message: Json) -> None:
        if self.hub:
            self.hub.receive(0, message)
        elif self.link:
            self.link.send(message)

    def _hear_hub(self, _: Any) -> None:
        assert self.link
        messages = self.link.receive()
        self.inbox.extend(messages or ())
        if messages is None:
            self.unwatch(self.link.sock)
            self.link.close()
            self.link = None
            self.inbox.append({"type": "hub lost"})

    def _receive(self, message: Json) -> None:
        kind = message.get("type")
        if kind == "go":
            self._spawn_all(int(message["master_port"]))
        elif kind == "started":
            self.phase = "running"
            self._save()
            self.answer({"outcome": "started", "reason": None})
        elif kind == "end":
            self._begin_end(message["verdict"])
        elif kind == "final":
            self.conclude(message["verdict"])
        elif kind == "hub lost":
            lost = "node 0 was lost: the control connection to it broke"
            never = self.phase == "pending"
            self._begin_end({"phase": "failed", "reason": lost, "never_started": never})
            if self._is_done:
                self._conclude_alone()

    def conclude(self, verdict: Json) -> None:
        """Write the final state; nothing of the workload is left on this node."""
        if self.final is not None:
            return
        self._finish_logs()
        self.final = verdict
        self.phase = verdict["phase"]
        self.verdict = verdict
        self._save_final()
        if self.state is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        if verdict.get("never_started"):
            self.answer({"outcome": "refused", "reason": verdict["reason"], "phase": verdict["phase"]})

    def _conclude_alone(self) -> None:
        assert self.verdict
        self.conclude(self.verdict)

    # Starting.

    def _spawn_all(self, master_port: int) -> None:
        if self.verdict:
            return
        self.started_at = now()
        for rank in self.ranks:
            try:
                self._spawn(rank, master_port)
            except (OSError, subprocess.SubprocessError) as exc:
                reason = f"rank {rank.number} could not be started: {why_not_spawned(self.program[0], exc)}"
                self._send({"type": "refused", "reason": reason})
                return
        self.is_spawned = True
        self._save()
        self._send({"type": "spawned"})

    def _spawn(self, rank: Rank, master_port: int) -> None:
        read_end, write_end = os.pipe()
        with contextlib.suppress(OSError):
            fcntl.fcntl(write_end, getattr(fcntl, "F_SETPIPE_SZ", 1031), self.READ_BYTES)
        try:
            process = subprocess.Popen(
                self.program,
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                cwd=self.workdir,
                env=rank_environment(self.start, rank.local, master_port, self.workdir),
                start_new_session=True,
                preexec_fn=self._in_child,
            )
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        process.returncode = 0  # The exit code is collected in _reap; Popen shall not wait for it.
        rank.pid, rank.started = process.pid, start_of(process.pid)
        rank.pipe = read_end
        os.set_blocking(read_end, False)
        self.watch(read_end, lambda _: self._read(rank))

    def _in_child(self) -> None:
        """Between fork and exec: no rank outlives its supervisor unseen, and none inherits its settings."""
        if HAS_PROC:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != self._me["pid"]:
                os._exit(127)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_NOFILE, self._open_files)

    # Running.

    def watch(self, thing: Any, callback: Callable[[Any], Any]) -> None:
        self._selector.register(thing, selectors.EVENT_READ, callback)

    def unwatch(self, thing: Any) -> None:
        self._selector.unregister(thing)

    def _turn(self) -> None:
        """One round of the only loop: whatever came, then whatever time brings."""
        pause = 0.0 if self.inbox else 0.02 if self._sweep_began is not None else 0.5
        for key, _ in self._selector.select(pause):
            # A callback before may have closed this one, and its number may stand for another file by now.
            if self._selector.get_map().get(key.fd) is key:
                key.data(key.fileobj)
        if self._asked and not self._asked.get("is_sent"):
            self._asked["is_sent"] = True
            self._send(self._asked)
        self._reap()
        if self.hub:
            self.hub.tick()
        while self.inbox and self.final is None:
            self._receive(self.inbox.popleft())
        if self.final is None:
            self._mark_gaps()
            if time.monotonic() >= self._next_save:
                self._save()
            self._end_leftovers()

    def _read(self, rank: Rank) -> None:
        assert rank.pipe is not None
        try:
            data = os.read(rank.pipe, self.READ_BYTES)
        except BlockingIOError:
            return
        if data:
            rank.log.write(data)
        else:
            self._close_pipe(rank)

    def _close_pipe(self, rank: Rank) -> None:
        if rank.pipe is not None:
            self.unwatch(rank.pipe)
            os.close(rank.pipe)
            rank.pipe = None

    def _reap(self) -> None:
        """Collect who has ended: ranks, and orphans that became our children."""
        by_pid = {rank.pid: rank for rank in self.ranks if rank.code is None}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            rank = by_pid.get(pid)
            if rank is not None:
                rank.code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                rank.was_ended = self.verdict is not None
                self._send({"type": "exit", "rank": rank.number, "code": rank.code})

    def _mark_gaps(self) -> None:
        for rank in self.ranks:
            if rank.log.has_gap:
                rank.log.mark_gap()

    # Ending.

    def _begin_end(self, verdict: Json) -> None:
        if self.verdict is None:
            self.verdict = verdict
            self.phase = "stopping"
            self._sweep_began = time.monotonic()
            self._next_sweep = 0.0

    def _end_leftovers(self) -> None:
        """TERM, and KILL after the grace, for all that is left once the ranks are over or have to be."""
        is_natural_end = self.is_spawned and all(rank.code is not None for rank in self.ranks)
        if self._is_done or not (self.verdict or is_natural_end):
            return
        moment = time.monotonic()
        if self._sweep_began is None:
            self._sweep_began = moment
        if self._swept_at is None:
            if moment < self._next_sweep or not self._sweep(moment - self._sweep_began):
                return
            self._swept_at = moment
        if all(rank.pipe is None for rank in self.ranks) or moment > self._swept_at + 1.0:
            self._is_done = True
            self._save()
            if self.link is None and self.hub is None:
                self._conclude_alone()
            else:
                self._send({"type": "done"})

    def _sweep(self, elapsed_s: float) -> bool:
        """One pass over what still lives. True when nothing does, or nothing more can be done about it."""
        self._next_sweep = time.monotonic() + 0.05
        self._reap()
        unreaped = {rank.pid for rank in self.ranks if rank.pid and rank.code is None}
        living = self._living()
        if not living and not unreaped:
            return True
        grace = self.start["grace_s"]
        groups = {rank.pid for rank in self.ranks if rank.pid}
        if elapsed_s < grace:
            # Once, and not to what appears later: that may be a rank's helper for saving its work.
            if not self._has_termed:
                terminate(living, groups)
            self._has_termed = True
        elif elapsed_s < grace + self.KILL_S:
            signal_processes(living, groups, signal.SIGKILL)
        else:
            self.left_over = named(living)
            return True
        return False

    def _living(self) -> list[Process]:
        if HAS_PROC:
            return descendants_of(self._me["pid"])
        running = [rank.pid for rank in self.ranks if rank.pid and rank.code is None]
        return [Process(pid, self._me["pid"], pid, "", self.program[0]) for pid in running]

    def _finish_logs(self) -> None:
        if self.reserve:
            self.reserve.release()
        for rank in self.ranks:
            self._close_pipe(rank)
            if rank.log.has_gap:
                rank.log.mark_gap(is_last_call=True)
            rank.log.close()

    # State.

    def _snapshot(self) -> Json:
        verdict = self.verdict or {}
        return {
            "version": 1,
            "about": self.start["about"],
            "node_index": self.index,
            "phase": self.phase,
            "reason": verdict.get("reason"),
            "first_failed_rank": verdict.get("first_failed_rank"),
            "exit_code": verdict.get("exit_code"),
            "never_started": bool(verdict.get("never_started")),
            "started_at": self.started_at,
            "finished_at": None,
            "supervisor": self._me,
            "ranks": [rank.snapshot() for rank in self.ranks],
            "exit_codes": self.hub.codes[:] if self.hub else None,
            "left_over": self.left_over,
        }

    def _save(self) -> None:
        """Write the state if it changed. One that cannot be written now is tried again at the next round."""
        state = self._snapshot()
        if self.state is None or state == self._saved:
            return
        self._next_save = time.monotonic() + self.SAVE_S
        with contextlib.suppress(OSError):
            self.state.write(state)
            self._saved = state

    def _save_final(self) -> None:
        """The slot exists, so this needs no space; a file system that fails all the same gets ten minutes."""
        state = {**self._snapshot(), "finished_at": now()}
        deadline = time.monotonic() + 600
        while self.state is not None and time.monotonic() < deadline:
            try:
                self.state.write(state)
                return
            except OSError:
                time.sleep(1.0)


# --- The command "start" --------------------------------------------------------------------------------------------


def command_start(workload_id: str, start: Json) -> Json:
    """Claim, leave the node process behind, wait for its word."""
    if start["workload_id"] != workload_id or not WORKLOAD_ID.fullmatch(workload_id):
        raise ValueError(f"{workload_id!r} cannot be the id of this workload")
    folder = os.path.join(start["root"], workload_id)
    try:
        refusal = claim(start["root"], folder)
    except FileExistsError:
        if start["staged"]:
            shutil.rmtree(start["staged"], ignore_errors=True)
        return {"outcome": "exists", "reason": "this workload was started before", "entry": describe(folder)}
    ear, mouth = os.pipe()
    detach(lambda: live(start, folder, refusal, mouth))
    os.close(mouth)
    answer = wait_for_word(ear, start["start_timeout_s"] + start["grace_s"] + Node.KILL_S + 10)
    if start["staged"] and answer["outcome"] == "refused":
        shutil.rmtree(start["staged"], ignore_errors=True)
    return {**answer, "entry": describe(folder)}


def claim(root: str, folder: str) -> str | None:
    """Make the folder; a reason where that cannot be. Raises FileExistsError where another start has made it."""
    try:
        if not os.path.isdir(root):
            os.makedirs(root, 0o700, exist_ok=True)
    except OSError as exc:
        return f"the folder {root} could not be made: {exc.strerror}"
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        raise
    except OSError as exc:
        return f"the work folder {folder} could not be made: {exc.strerror}"
    return None


def detach(work: Callable[[], None]) -> None:
    """Run `work` in a process that no terminal, session or parent of ours can end."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    try:
        work()
    finally:
        os._exit(0)


def live(start: Json, folder: str, refusal: str | None, mouth: int) -> None:
    """All of the node process. A fault of ours is written down beside the state, since nobody is listening."""

    def answer(word: Json) -> None:
        with contextlib.suppress(OSError):
            write_all(mouth, json.dumps(word).encode() + b"\n")

    try:
        Node(start, folder, refusal, answer).run()
    except BaseException:
        import traceback

        with contextlib.suppress(OSError), open(os.path.join(folder, "supervisor-error.txt"), "w") as file:
            traceback.print_exc(file=file)
        raise


def wait_for_word(ear: int, timeout_s: float) -> Json:
    deadline = time.monotonic() + timeout_s
    data = b""
    while not data.endswith(b"\n"):
        ready, _, _ = select.select([ear], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return {"outcome": "unknown", "reason": f"the supervisor gave no answer within {timeout_s:.0f} s"}
        piece = os.read(ear, 65536)
        if not piece:
            return {"outcome": "unknown", "reason": "the supervisor ended without an answer"}
        data += piece
    word: Json = json.loads(data.splitlines()[0].decode())
    return word


# --- The command "status" -------------------------------------------------------------------------------------------


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


def log_sizes(folder: str) -> dict[int, int]:
    """Rank -> bytes of output so far."""
    found = {}
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            match = re.fullmatch(r"rank-(\d+)\.log", file.name)
            if match:
                found[int(match.group(1))] = file.stat().st_size
    return found


def has_ended(state: Json | None) -> bool:
    return state is not None and state["phase"] in FINAL_PHASES


def is_supervised(workload_id: str, state: Json | None) -> bool:
    """Whether somebody of ours still works on it. Before there is a state, that is the start."""
    if state is not None:
        return is_running(state["supervisor"])
    return not HAS_PROC or is_start_under_way(workload_id)


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


def list_root(root: str) -> tuple[list[str], int]:
    """Folders of workloads, newest first, and how many were left out. Raises OSError when it cannot be read."""
    try:
        with os.scandir(root) as items:
            found = [(i.stat().st_mtime, i.path) for i in items if WORKLOAD_ID.fullmatch(i.name) and i.is_dir()]
    except FileNotFoundError:
        return [], 0
    found.sort(reverse=True)
    return [path for _, path in found[:MAX_LISTED]], max(0, len(found) - MAX_LISTED)


def is_start_under_way(workload_id: str) -> bool:
    """Whether a "start" of this workload runs, or what it left behind; each has the id in its command line."""
    for process in all_processes():
        try:
            with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if process.pid != os.getpid() and words[-3:] == [b"start", workload_id.encode(), b""]:
            return True
    return False


def command_status(request: Json) -> Json:
    """Everything this machine knows under the given roots, or of one workload there."""
    roots: Json = {}
    entries: list[Json] = []
    for root in request["roots"]:
        not_shown, problem, found = 0, None, []
        try:
            if request.get("id"):
                folders = folders_of(request["id"], [root])
            else:
                folders, not_shown = list_root(root)
            found = [entry for entry in map(describe, folders) if entry]
        except OSError as exc:
            problem = f"{root} cannot be read: {exc.strerror}"
        roots[root] = {"entries": found, "not_shown": not_shown, "problem": problem}
        entries += found
    add_left_over(entries)
    may_still_start = bool(request.get("id")) and (not HAS_PROC or is_start_under_way(request["id"]))
    return {"host": socket.gethostname(), "roots": roots, "may_still_start": may_still_start}


def folders_of(workload_id: str, roots: list[str]) -> list[str]:
    """Where a workload would be; nowhere, for an id that no start would have taken."""
    return [os.path.join(root, workload_id) for root in roots] if WORKLOAD_ID.fullmatch(workload_id) else []


# --- The command "cancel" -------------------------------------------------------------------------------------------


def command_cancel(workload_id: str, request: Json) -> Json:
    """Ask the supervisors to end it; where one is gone or does not answer, end its processes from here."""
    folders = folders_of(workload_id, request["roots"])
    ask_to_end(folders, request["wait_s"])
    entries = [entry for entry in map(describe, folders) if entry]
    for entry in entries:
        if entry["is_alive"] and entry["state"]:
            signal_exactly(entry["state"]["supervisor"], signal.SIGKILL)
    if entries:
        kill_marked(workload_id, request["grace_s"])
    answer = command_status({"roots": request["roots"], "id": workload_id})
    return {**answer, "left_over": left_over_of(workload_id, entries)}


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
        time.sleep(0.05)


def kill_marked(workload_id: str, grace_s: float) -> None:
    """TERM, then KILL, whatever carries the workload's marks; bounded."""
    began = time.monotonic()
    terminate(all_marked(workload_id), set())
    while time.monotonic() < began + grace_s + Node.KILL_S:
        living = all_marked(workload_id)
        if not living:
            return
        if time.monotonic() >= began + grace_s:
            signal_processes(living, set(), signal.SIGKILL)
        time.sleep(0.05)


def all_marked(workload_id: str) -> list[Process]:
    return [process for processes in marked_processes([workload_id]).values() for process in processes]


def left_over_of(workload_id: str, entries: list[Json]) -> list[str]:
    """What could not be ended: what carries the marks now, and what a supervisor reported and is still there."""
    found = named(all_marked(workload_id))
    for entry in entries:
        reported = entry["state"]["left_over"] if entry["state"] else []
        found += [line for line in reported if line not in found and is_still_there(line)]
    return found[:MAX_LEFT_OVER]


def is_still_there(line: str) -> bool:
    where, _, name = line.partition(" ")
    process = read_process(int(where.rpartition(":")[2]))
    return process is not None and process.name == name


# --- The command "read-log" -----------------------------------------------------------------------------------------


class LogReader:
    """Reads one rank's log in pieces that end with a line, or, where a line is slow to end, with a whole character."""

    PIECE_BYTES = 64 * 1024
    PATIENCE_S = 0.4

    def __init__(self, rank: int, folder: str, offset: int) -> None:
        self.rank = rank
        self.position = offset
        self._fd = os.open(log_path(folder, rank), os.O_RDONLY)
        self._size_before = os.fstat(self._fd).st_size
        self._waiting: tuple[int, float] = (-1, 0.0)

    def read(self, is_followed: bool, is_over: bool) -> bytes:
        """The next piece, empty when there is none (yet). Its first byte is at `position`, which moves on.

        Without following, only what was there at the beginning is read, so that a flood has an end.
        """
        room = self.PIECE_BYTES if is_followed else max(0, self._size_before - self.position)
        data = os.pread(self._fd, min(room, self.PIECE_BYTES), self.position)
        piece = data[: self._cut(data, is_followed, is_over)]
        self.position += len(piece)
        return piece

    def _cut(self, data: bytes, is_followed: bool, is_over: bool) -> int:
        line_end = data.rfind(b"\n") + 1
        is_full = len(data) == self.PIECE_BYTES
        if line_end or not data:
            return line_end
        if is_over and not is_full:
            return len(data)
        if is_followed and not is_full and self._may_wait():
            return 0
        return whole_characters(data)

    def _may_wait(self) -> bool:
        """Whether the line that begins at `position` may still get its end."""
        if self._waiting[0] != self.position:
            self._waiting = (self.position, time.monotonic() + self.PATIENCE_S)
        return time.monotonic() < self._waiting[1]

    def start_at_tail(self, lines: int) -> None:
        """Move to the last so many lines."""
        self.position = tail_position(self._fd, lines)


def whole_characters(data: bytes) -> int:
    """Length of `data` without an UTF-8 character that is cut at its end."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1
        return len(data) - back if needed > back else len(data)
    return len(data)


def tail_position(fd: int, lines: int) -> int:
    """Where the last `lines` lines begin; an unfinished last line counts as one."""
    position = size = os.fstat(fd).st_size
    if lines <= 0 or size == 0:
        return size
    missing = lines + (os.pread(fd, 1, size - 1) == b"\n")
    while position > 0:
        begin = max(0, position - 65536)
        block = os.pread(fd, position - begin, begin)
        if block.count(b"\n") < missing:
            missing -= block.count(b"\n")
            position = begin
            continue
        at = len(block)
        for _ in range(missing):
            at = block.rfind(b"\n", 0, at)
        return begin + at + 1
    return 0


class LogFeed:
    """Answers "read-log": frames of ``{"rank", "offset", "length"}`` and then so many bytes, until all is told.

    The reader that left is noticed: by its closed stdin, or by a pipe that breaks.
    """

    POLL_S = 0.05
    BEAT_S = 10.0

    def __init__(self, workload_id: str, request: Json) -> None:
        self.request = request
        self.folders = folders_of(workload_id, request["roots"])
        self.readers: dict[int, LogReader] = {}
        self.out = sys.stdout.buffer
        self._next_look = 0.0
        self._was_over = False
        self._is_first_look = True

    def run(self) -> None:
        entries = [describe(folder) for folder in self.folders]
        self.frame({"is_known": any(entries), "world": self._world(entries)})
        quiet_since = time.monotonic()
        while True:
            is_over = self._is_over()
            self._find_logs()
            if self._copy_round(is_over):
                quiet_since = time.monotonic()
                continue
            if is_over or not self.request["follow"]:
                break
            self.out.flush()
            if select.select([0], [], [], self.POLL_S)[0] and not os.read(0, 4096):
                return
            if time.monotonic() > quiet_since + self.BEAT_S:
                quiet_since = time.monotonic()
                self.frame({"beat": True})
        self.frame({"end": True})
        self.out.flush()

    @staticmethod
    def _world(entries: list[Json | None]) -> int | None:
        about = next((entry["state"]["about"] for entry in entries if entry and entry["state"]), None)
        return about["nodes"] * (about["procs_per_node"] or 1) if about else None

    def frame(self, header: Json, data: bytes = b"") -> None:
        self.out.write(json.dumps(header).encode() + b"\n" + data)

    def _is_over(self) -> bool:
        """Looked at before the logs are read, so that what is read after a "yes" is all there is."""
        if not self._was_over and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + 0.2
            entries = [describe(folder) for folder in self.folders]
            self._was_over = all(map(is_over, entries))
        return self._was_over

    def _find_logs(self) -> None:
        """Logs there are; all of a node's appear before anything runs."""
        wanted, tail = self.request["ranks"], self.request["tail"]
        for folder in self.folders:
            for rank in log_sizes(folder):
                if rank in self.readers or (wanted is not None and rank not in wanted):
                    continue
                offset = self.request["offsets"].get(str(rank))
                self.readers[rank] = LogReader(rank, folder, offset or 0)
                if offset is None and tail is not None and self._is_first_look:
                    self.readers[rank].start_at_tail(tail)
        self._is_first_look = False

    def _copy_round(self, is_over: bool) -> bool:
        """One piece of every rank, so that none waits for another."""
        has_moved = False
        for reader in self.readers.values():
            offset = reader.position
            piece = reader.read(self.request["follow"], is_over)
            if piece:
                has_moved = True
                self.frame({"rank": reader.rank, "offset": offset, "length": len(piece)}, piece)
        return has_moved


# --- Entry ----------------------------------------------------------------------------------------------------------


def read_request() -> Json:
    """One line of JSON on stdin, which may stay open behind it."""
    data = b""
    while not data.endswith(b"\n"):
        piece = os.read(0, 1 << 20)
        if not piece:
            raise ValueError("the request on stdin was cut off")
        data += piece
    request: Json = json.loads(data.decode())
    return request


def main(words: list[str]) -> int:
    command, workload_id = words[0], words[1] if len(words) > 1 else ""
    if command == "read-log":
        with contextlib.suppress(BrokenPipeError):
            LogFeed(workload_id, read_request()).run()
        return 0
    if command == "status":
        answer = command_status(read_request())
    elif command == "start":
        answer = command_start(workload_id, read_request())
    elif command == "cancel":
        answer = command_cancel(workload_id, read_request())
    else:
        raise ValueError(f"unknown command {command!r}")
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def run() -> NoReturn:
    status = main(sys.argv[1:])
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    # Without the interpreter's own flush at exit, which would complain about a reader that has left.
    os._exit(status)


if __name__ == "__main__":
    run()

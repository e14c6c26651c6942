"""Real SSH servers for tests: one on loopback, or machines in network namespaces."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.models import SshTarget
from tests.until import until

HERE = Path(__file__).parent
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
_UP_S = 60


def need(*programs: str, root: bool = False) -> None:
    """Skip where an engine's programs are missing; with ``CI=true`` that is a failure."""
    missing = [name for name in programs if shutil.which(name, path=PATH) is None]
    reason = f"missing: {', '.join(missing)}; `bash .ci/system-packages` installs it" if missing else ""
    if root and os.getuid() != 0:
        reason = reason or "network namespaces need root"
    if not reason:
        return
    if os.environ.get("CI") == "true" and missing:
        pytest.fail(reason)
    pytest.skip(reason)


_turn = count()


def ports() -> int:
    """The first of ten loopback ports that nobody has; workers that run side by side look in places of their own."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        first = 13_000 + 800 * (worker % 8) + 10 * (next(_turn) % 80)
        if all(map(_is_free, range(first, first + 10))):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def bring_up(script: str, *arguments: object, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Run an ``up`` script; the variables it prints."""
    done = subprocess.run(
        [HERE / script, *map(str, arguments)],
        env={**os.environ, "PATH": PATH, **(env or {})},
        capture_output=True,
        text=True,
        timeout=_UP_S,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def take_down(script: str, *arguments: object) -> None:
    """Run a ``down`` script."""
    env = {**os.environ, "PATH": PATH}
    subprocess.run([HERE / script, *map(str, arguments)], env=env, capture_output=True, timeout=_UP_S, check=False)


@dataclass
class Sshd:
    """A running server on loopback. `home` is where a login begins."""

    folder: Path
    port: int
    user: str
    key: Path
    fingerprint: str
    home: Path
    extra: str = ""

    def target(self, identity: str = "machine/1") -> SshTarget:
        """Where it is."""
        return SshTarget(name="node-0", host="127.0.0.1", port=self.port, user=self.user, identity=identity)

    @property
    def pid(self) -> int:
        """The listening process; 0 when there is none."""
        file = self.folder / "run" / "sshd.pid"
        return int(file.read_text()) if file.exists() else 0

    def children(self) -> list[int]:
        """The processes that serve connections."""
        if self.pid == 0:
            return []
        found = subprocess.run(["pgrep", "-P", str(self.pid)], capture_output=True, text=True, check=False)
        return [int(line) for line in found.stdout.split()]

    def cut(self) -> None:
        """Kill whoever serves a connection; programs that run for it go on, as with a cut network."""
        for pid in self.children():
            for one in [*_below(pid), pid]:
                if _name(one).startswith("sshd"):
                    os.kill(one, signal.SIGKILL)

    def stop(self) -> None:
        """End the server and its connections."""
        self.cut()
        take_down("sshd-down.sh", self.folder)

    def start(self, *, new_host_key: bool = False) -> None:
        """Start it again on the same port."""
        if new_host_key:
            for name in ("host_ed25519", "host_ed25519.pub"):
                (self.folder / "etc" / name).unlink()
        bring_up("sshd-up.sh", self.folder, self.port, env={"SSHD_EXTRA": self.extra})


def _below(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    children = [int(line) for line in found.stdout.split()]
    return [*children, *(one for child in children for one in _below(child))]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@contextmanager
def running_sshd(folder: Path, *, extra: str = "") -> Iterator[Sshd]:
    """A server on a free port, gone afterwards."""
    need("sshd", "ssh-keygen", "ss", "pgrep")
    told = bring_up("sshd-up.sh", folder, ports(), env={"SSHD_EXTRA": extra})
    server = Sshd(
        folder,
        int(told["SSH_PORT"]),
        told["SSH_USER"],
        Path(told["SSH_KEY"]),
        told["SSH_HOST_FINGERPRINT"],
        Path(told["SSH_REMOTE_HOME"]),
        extra,
    )
    try:
        yield server
    finally:
        server.stop()


@dataclass
class Machine:
    """A bare machine in namespaces of its own: network, host name, process ids."""

    index: int
    port: int
    home: Path
    overlay_address: str
    namespace: str
    pid_file: Path

    def kill(self) -> None:
        """Pull its plug: all that runs there ends at once."""
        pid = int(self.pid_file.read_text())
        os.kill(pid, signal.SIGKILL)
        until(lambda: _name(pid) == "" or Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX")


@dataclass
class Machines:
    """Bare machines on one overlay; `key` opens all of them."""

    folder: Path
    key: Path
    user: str
    interface: str
    nodes: list[Machine]

    def target(self, index: int) -> SshTarget:
        """Where one is."""
        node = self.nodes[index]
        name = f"node-{index}"
        return SshTarget(
            name=name, host="127.0.0.1", port=node.port, user=self.user, identity=f"netns/{name}", node_index=index
        )

    def cut_off(self, index: int) -> None:
        """Take one off the overlay; SSH to it still works."""
        lan = self.nodes[index].namespace.rpartition("-")[0] + "-lan"
        command = ["ip", "-n", lan, "link", "set", f"p{index + 1}", "down"]
        subprocess.run(command, env={"PATH": PATH}, check=True, timeout=20)

    @property
    def addresses(self) -> str:
        """For the sandbox's choice ``nodes.addresses``."""
        return ",".join(f"{self.user}@127.0.0.1:{node.port}" for node in self.nodes)


@contextmanager
def running_machines(folder: Path, size: int) -> Iterator[Machines]:
    """So many machines, gone afterwards."""
    need("sshd", "ssh-keygen", "ss", "ip", "unshare", "socat", root=True)
    told = bring_up("netns-cluster-up.sh", folder, size, env={"CLUSTER_PORT": str(ports())})
    nodes = [
        Machine(
            index,
            int(told[f"NODE{index + 1}_SSH_PORT"]),
            Path(told[f"NODE{index + 1}_HOME"]),
            told[f"NODE{index + 1}_OVERLAY_ADDRESS"],
            told[f"NODE{index + 1}_NETNS"],
            folder / "run" / f"node{index + 1}.pid",
        )
        for index in range(size)
    ]
    try:
        yield Machines(folder, Path(told["SSH_KEY"]), told["SSH_USER"], told["CLUSTER_IFNAME"], nodes)
    finally:
        take_down("netns-cluster-down.sh", folder, "--purge")

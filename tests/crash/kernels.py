"""Real kernels, forked by the nursery, driven by a client as a front end does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from jupyter_gpu_clusters.core.processes import start_time
from tests import kernel
from tests.until import until

ROOT = Path(__file__).parents[2]
_START_S = 60.0


class Nursery:
    """Forks kernels until it is closed; may be asked from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )

    def born(self, wanted: Mapping[str, Any]) -> int:
        """The process id of a new kernel."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(wanted) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it; the kernels are ended by those who asked for them."""
        self._process.communicate()


class Kernel(kernel.Kernel):
    """One kernel process and one client."""

    def __init__(self, nursery: Nursery, *, env: Mapping[str, str], folder: Path, name: str) -> None:
        # Sockets in the file system: nobody else can take them between the choice and the kernel's start.
        file, _ = write_connection_file(str(folder / f"{name}.json"), transport="ipc", ip=str(folder / f"{name}.s"))
        wanted = {"connection": file, "folder": str(folder), "log": str(folder / f"{name}.log"), "env": dict(env)}
        self.pid = nursery.born(wanted)
        self._log = folder / f"{name}.log"
        self.client: BlockingKernelClient = BlockingKernelClient()
        self.client.load_connection_file(file)
        self.client.start_channels(hb=False)
        try:
            until(lambda: self.client.get_iopub_msg(timeout=_START_S)["msg_type"] == "iopub_welcome")
        except Empty:
            raise AssertionError(f"the kernel did not start: {self._log.read_text()[-2000:]}") from None

    def is_alive(self) -> bool:
        """Whether its process runs."""
        return start_time(self.pid) is not None

    def kill(self) -> None:
        """SIGKILL, and wait until nothing is left of it."""
        if self.is_alive():
            os.kill(self.pid, signal.SIGKILL)
        until(lambda: not self.is_alive(), every_s=0.005)

    def interrupt(self) -> None:
        """What Kernel > Interrupt does."""
        os.kill(self.pid, signal.SIGINT)

    def close(self) -> None:
        """End this kernel and no other."""
        self.client.stop_channels()
        self.kill()

    def begin(self, code: str) -> str:
        """Send a cell without waiting; the id to `finish` it with."""
        return str(self.client.execute(code))

    def is_over(self, message_id: str, done: kernel.Done) -> bool:
        """Take what has come of a cell into `done`; whether the cell has ended."""
        while self.client.iopub_channel.msg_ready():
            message = self.client.get_iopub_msg(timeout=1)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return True
            kernel._note(done, message["msg_type"], message["content"])
        return False

    def finish(self, message_id: str, done: kernel.Done, *, within_s: float) -> kernel.Done:
        """Wait for the end of a cell."""
        until(lambda: self.is_over(message_id, done), within_s=within_s, every_s=0.01)
        self.client.get_shell_msg(timeout=within_s)
        return done

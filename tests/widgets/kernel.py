"""A real kernel and everything it says, as a front end hears it."""

from __future__ import annotations

import json
import os
import queue
import tempfile
import time
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

ROOT = Path(__file__).absolute().parents[2]


class Kernel:
    """One ipykernel in a process of its own, with this checkout on its path.

    Parameters
    ----------
    environment : more variables for the process.

    Notes
    -----
    ``heard`` has every message of the kernel's public channel so far, with the time it arrived in
    ``heard_at`` (seconds, monotonic).
    """

    def __init__(self, **environment: str) -> None:
        self.manager = KernelManager(kernel_name="python3", transport="ipc", ip=_socket_path())
        self.manager.start_kernel(env={**os.environ, "PYTHONPATH": str(ROOT), **environment})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.heard: list[dict[str, Any]] = []
        self.heard_at: list[float] = []

    def run(self, code: str, *, allow_stdin: bool = True, within_s: float = 60.0) -> str:
        """Run a cell to its end; the id of the request. Fails the test when the cell fails."""
        request: str = self.client.execute(code, allow_stdin=allow_stdin)
        deadline = time.monotonic() + within_s
        while not any(is_idle(message, request) for message in self.heard):
            assert time.monotonic() < deadline, f"the cell did not end within {within_s} s"
            self.listen()
        errors = [m["content"]["traceback"] for m in self.of(request) if m["msg_type"] == "error"]
        assert not errors, "\n".join(errors[0])
        return request

    def listen(self, for_s: float = 0.1) -> None:
        """Take in what the kernel has said."""
        try:
            message = self.client.get_iopub_msg(timeout=for_s)
        except queue.Empty:
            return
        self.heard.append(message)
        self.heard_at.append(time.monotonic())

    def of(self, request: str) -> list[dict[str, Any]]:
        """What was said in answer to one request."""
        return [message for message in self.heard if message["parent_header"].get("msg_id") == request]

    def value(self, expression: str) -> Any:
        """The value of an expression in the kernel, as JSON data."""
        request = self.run(f"import json as _json; print(_json.dumps({expression}))")
        text = "".join(m["content"]["text"] for m in self.of(request) if m["msg_type"] == "stream")
        return json.loads(text)

    def tell(self, comm_id: str, data: dict[str, Any]) -> None:
        """Send what a front end sends when somebody touches a widget."""
        message = self.client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
        self.client.shell_channel.send(message)

    def complaints(self) -> list[str]:
        """Everything written to the standard error of the kernel."""
        streams = [m["content"] for m in self.heard if m["msg_type"] == "stream"]
        return [content["text"] for content in streams if content["name"] == "stderr"]

    def close(self) -> None:
        """Shut the kernel down as Jupyter does, and take in its last words."""
        self.manager.shutdown_kernel()
        self.listen(0.5)
        self.client.stop_channels()
        self.manager.cleanup_resources()


def is_idle(message: dict[str, Any], request: str) -> bool:
    """Whether a message says that the kernel has done a request."""
    is_mine = message["parent_header"].get("msg_id") == request
    return bool(is_mine and message["msg_type"] == "status" and message["content"]["execution_state"] == "idle")


def _socket_path() -> str:
    """Not in the test's own folder: a Unix socket's path must be short."""
    return str(Path(tempfile.gettempdir()) / f"jgc-{os.getpid()}-{os.urandom(3).hex()}")

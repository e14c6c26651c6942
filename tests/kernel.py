"""A real kernel, driven as a front end does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

_START_S = 60.0
_ANSWER_S = 60.0


@dataclass
class Done:
    """What one cell did."""

    text: str = ""
    error: str | None = None
    error_lines: list[str] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    displays: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    took_s: float = 0.0

    def require(self) -> Done:
        """Fail the test if the cell failed."""
        assert self.error is None, "\n".join(self.error_lines)
        return self


class Kernel:
    """One kernel process and one client, over sockets of their own: ports may be taken by others meanwhile."""

    def __init__(self, *, env: Mapping[str, str], folder: Path) -> None:
        self._sockets = TemporaryDirectory(prefix="k")
        self.manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/s")
        self.manager.start_kernel(env=dict(env), cwd=str(folder))
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=_START_S)

    def close(self) -> None:
        """End this kernel and no other."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self._sockets.cleanup()

    def interrupt(self) -> None:
        """What Kernel > Interrupt does."""
        self.manager.interrupt_kernel()

    def complete(self, code: str) -> list[str]:
        """The matches at the end of `code`, as whole words."""
        content = self.client.complete(code, reply=True, timeout=_ANSWER_S)["content"]
        assert content["status"] == "ok"
        return list(content["matches"])

    def inspect(self, code: str) -> str:
        """The help a front end shows for the end of `code`."""
        content = self.client.inspect(code, reply=True, timeout=_ANSWER_S)["content"]
        return str(content["data"].get("text/plain", ""))

    def run(
        self,
        code: str,
        *,
        allow_stdin: bool = False,
        answer: str | None = None,
        on_output: Callable[[Done], None] = lambda _: None,
    ) -> Done:
        """Run a cell to its end.

        Parameters
        ----------
        allow_stdin : whether the kernel may ask; the question is answered with `answer`.
        on_output : called after every message, for example to interrupt.
        """
        began = time.monotonic()
        message_id = self.client.execute(code, allow_stdin=allow_stdin)
        done = Done()
        while time.monotonic() - began < _ANSWER_S:
            if allow_stdin and self.client.stdin_channel.msg_ready():
                self.client.stdin_channel.get_msg(timeout=1)
                self.client.input(answer or "")
            if not self.client.iopub_channel.msg_ready():
                time.sleep(0.01)
                continue
            message = self.client.get_iopub_msg(timeout=1)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            content = message["content"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                done.took_s = time.monotonic() - began
                self.client.get_shell_msg(timeout=_ANSWER_S)
                return done
            _note(done, message["msg_type"], content)
            on_output(done)
        raise AssertionError(f"the cell did not end within {_ANSWER_S} s: {code}")


def _note(done: Done, kind: str, content: dict[str, Any]) -> None:
    match kind:
        case "stream":
            done.text += content["text"]
        case "error":
            done.error, done.error_lines = content["ename"], content["traceback"]
        case "execute_result":
            done.result = content["data"]
        case "display_data":
            done.displays.append(content["data"])
        case "update_display_data":
            done.updates.append(content["data"])

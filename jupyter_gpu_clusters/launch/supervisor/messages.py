"""What is said between processes: JSON objects, one a line."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any, Dict  # noqa: UP035

Json = Dict[str, Any]  # noqa: UP006


def encode(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


def read_message(fd: int, timeout_s: float | None = None) -> Json:
    """The next message of a pipe, which may stay open behind it.

    Raises EOFError where the pipe ends before, TimeoutError where it is silent for too long.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    data = b""
    while not data.endswith(b"\n"):
        left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([fd], [], [], left_s)[0]:
            raise TimeoutError("no message came in time")
        piece = os.read(fd, 1 << 20)
        if not piece:
            raise EOFError("the message was cut off")
        data += piece
    message: Json = json.loads(data.splitlines()[0].decode())
    return message

"""Control connections between the nodes of one workload."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .messages import Json, encode
from .ports import control_ports

KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 30000}
"""A machine that vanishes without a word is noticed within about 30 s."""


class Channel:
    """Messages over a socket between two supervisors of one workload."""

    SEND_TIMEOUT_S = 10.0
    MAX_LINE_BYTES = 64 * 1024

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.early: deque[Json] = deque()
        self._buffer = b""
        sock.settimeout(self.SEND_TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)

    def send(self, message: Json) -> None:
        """A failure is noticed at the next `receive`."""
        with contextlib.suppress(OSError):
            self.sock.sendall(encode(message))

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


def make_nonce() -> str:
    """What a proof has to be about, so that an overheard one is worth nothing."""
    return os.urandom(16).hex()


def proof(start: Json, side: str, node: Any, nonce: Any) -> str:
    """What only somebody with the workload's token can say, without saying the token."""
    words = json.dumps([start["workload_id"], side, node, nonce]).encode()
    return hmac.new(start["token"].encode(), words, hashlib.sha256).hexdigest()


def is_proof(claimed: Any, expected: str) -> bool:
    return isinstance(claimed, str) and hmac.compare_digest(claimed.encode(), expected.encode())


def find_hub(start: Json, is_given_up: Callable[[], bool]) -> Channel | None:
    """Find the hub among strangers; one that is silent costs little at first, a hub that is slow is found later."""
    began = time.monotonic()
    while time.monotonic() < began + start["start_timeout_s"] and not is_given_up():
        patience_s = min(0.5 + time.monotonic() - began, 5.0)
        for port in control_ports(start["workload_id"]):
            with contextlib.suppress(OSError):
                return dial(start, port, patience_s)
        time.sleep(0.05)
    return None


def dial(start: Json, port: int, patience_s: float) -> Channel:
    """Connect to the hub, which has to speak first, within `patience_s`. Raises OSError when it is not there."""
    channel = Channel(socket.create_connection((start["master_addr"], port), timeout=patience_s))
    try:
        channel.sock.settimeout(patience_s)
        node, nonce = start["node_index"], make_nonce()
        theirs = channel.receive_one().get("nonce")
        channel.sock.settimeout(Channel.SEND_TIMEOUT_S)
        channel.send({"node": node, "nonce": nonce, "proof": proof(start, "node", node, theirs)})
        if not is_proof(channel.receive_one().get("proof"), proof(start, "hub", node, nonce)):
            raise ConnectionError("that is not the hub of this workload")
    except OSError:
        channel.close()
        raise
    return channel

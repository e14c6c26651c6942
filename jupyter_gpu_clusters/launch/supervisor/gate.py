"""Who may join: the hub's control port."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from .channel import Channel, is_proof, make_nonce, proof
from .loop import Loop
from .messages import Json
from .ports import control_ports


class Gate:
    """Listens, and lets in nodes that know the workload's token, each once."""

    HANDSHAKE_S = 5.0
    MAX_STRANGERS = 64

    def __init__(self, start: Json, loop: Loop, admit: Callable[[int, Channel], None]) -> None:
        self.joined: set[int] = {0}
        self._start = start
        self._loop = loop
        self._admit = admit
        self._total: int = start["nodes"]
        self._strangers: dict[Channel, tuple[str, float]] = {}

    def open(self) -> None:
        """Listen on the first control port that is free. Raises OSError when none is."""
        address = self._start["master_addr"]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for port in control_ports(self._start["workload_id"]):
            try:
                server = socket.create_server((address, port), family=family, backlog=max(64, self._total))
            except OSError as exc:
                problem = exc
            else:
                self._loop.watch(server, self._accept)
                return
        raise OSError(problem.errno, f"no control port could be opened on {address}: {problem.strerror}")

    def _accept(self, server: socket.socket) -> None:
        try:
            channel = Channel(server.accept()[0])
        except OSError:
            return
        if len(self._strangers) >= self._total + self.MAX_STRANGERS:
            channel.close()
            return
        nonce = make_nonce()
        self._strangers[channel] = (nonce, time.monotonic() + self.HANDSHAKE_S)
        self._loop.watch(channel.sock, lambda _: self._greet(channel))
        channel.send({"nonce": nonce})

    def _greet(self, channel: Channel) -> None:
        nonce, _ = self._strangers.pop(channel)
        self._loop.unwatch(channel.sock)
        messages = channel.receive()
        hello = messages[0] if messages else {}
        node = hello.get("node")
        is_member = is_proof(hello.get("proof"), proof(self._start, "node", node, nonce))
        if not is_member or not isinstance(node, int) or not 0 < node < self._total or node in self.joined:
            channel.close()
            return
        channel.send({"proof": proof(self._start, "hub", node, hello.get("nonce"))})
        self.joined.add(node)
        self._admit(node, channel)

    def send_away_silent(self) -> None:
        """Close connections of strangers who have said nothing for too long."""
        moment = time.monotonic()
        for channel in [c for c, (_, until) in self._strangers.items() if until < moment]:
            del self._strangers[channel]
            self._loop.unwatch(channel.sock)
            channel.close()

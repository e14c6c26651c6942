"""Where all nodes' news come together, and what follows from them."""

from __future__ import annotations

import time
from collections.abc import Callable

from .channel import Channel
from .gate import Gate
from .loop import Loop
from .messages import Json
from .ports import MasterPort
from .verdict import how_it_ended, make_verdict


class Hub:
    """Node 0's second part: sees everything in one order, decides, and tells all nodes.

    Its own node is told by `tell_own`, and hears the final word, by `conclude`, before all others do.
    """

    LINGER_S = 3.0
    """After a refusal, how long nodes that have not joined yet are waited for, to tell them."""

    def __init__(
        self, start: Json, loop: Loop, tell_own: Callable[[Json], None], conclude: Callable[[Json], None]
    ) -> None:
        self.gate = Gate(start, loop, self._admit)
        self.codes: list[int | None] = [None] * (start["nodes"] * (start["procs_per_node"] or 1))
        self._start = start
        self._loop = loop
        self._tell_own = tell_own
        self._conclude = conclude
        self._nodes = set(range(start["nodes"]))
        self._channels: dict[int, Channel] = {}
        self._ready: set[int] = set()
        self._spawned: set[int] = set()
        self._over: set[int] = set()
        self._failure: Json | None = None
        self._verdict: Json | None = None
        self._is_started = False
        self._is_closed = False
        self._deadline = time.monotonic() + start["start_timeout_s"]
        self._master_port: MasterPort | None = None

    def _admit(self, node: int, channel: Channel) -> None:
        self._channels[node] = channel
        self._loop.watch(channel.sock, lambda _: self._hear(node, channel))
        if self._verdict:
            channel.send({"type": "end", "verdict": self._verdict})

    def _hear(self, node: int, channel: Channel) -> None:
        messages = channel.receive()
        for message in messages or ():
            self.receive(node, message)
        if messages is None:
            self._loop.unwatch(channel.sock)
            channel.close()
            del self._channels[node]
            self._over.add(node)
            self._end(make_verdict("failed", f"node {node} was lost: its control connection broke"))
            self._settle()

    def _tell_all(self, message: Json) -> None:
        self._tell_own(message)
        for channel in self._channels.values():
            channel.send(message)

    def receive(self, node: int, message: Json) -> None:
        """One message of a node; its order of arrival here is the order of events."""
        kind = message.get("type")
        if kind == "ready":
            self._ready.add(node)
            self._go_when_ready()
        elif kind == "refused":
            self._end(make_verdict("failed", f"node {node}: {message.get('reason')}"))
        elif kind == "spawned":
            self._spawned.add(node)
            self._start_when_spawned()
        elif kind == "exit":
            self._note_exit(node, int(message["rank"]), int(message["code"]))
        elif kind == "stop":
            self._end(make_verdict(message["phase"], message["reason"]))
        elif kind == "done":
            self._over.add(node)
        self._settle()

    def _go_when_ready(self) -> None:
        if self._ready != self._nodes or self._verdict:
            return
        try:
            self._master_port = MasterPort(self._start["workload_id"])
        except OSError as exc:
            self._end(make_verdict("failed", f"node 0: a master port could not be reserved: {exc.strerror}"))
        else:
            self._tell_all({"type": "go", "master_port": self._master_port.port})

    def _start_when_spawned(self) -> None:
        if self._spawned == self._nodes and not self._verdict:
            self._is_started = True
            self._tell_all({"type": "started"})
            self._judge()

    def _note_exit(self, node: int, rank: int, code: int) -> None:
        self.codes[rank] = code
        if code and self._failure is None:
            reason = f"rank {rank} on node {node} {how_it_ended(code)}"
            self._failure = make_verdict("failed", reason, rank=rank, exit_code=code)
        self._judge()

    def _judge(self) -> None:
        """End everybody for the first failing rank; not before the start is over, which has its own answer."""
        if self._failure and self._is_started:
            self._end(self._failure)

    def _end(self, verdict: Json) -> None:
        """The first verdict stands; and when all ranks have succeeded, it is too late for any."""
        if self._verdict or (self._is_started and None not in self.codes and not self._failure):
            return
        self._verdict = {**verdict, "never_started": not self._is_started}
        self._deadline = time.monotonic() + (self.LINGER_S if verdict["phase"] == "failed" else 0.0)
        self._tell_all({"type": "end", "verdict": self._verdict})

    def tick(self) -> None:
        """What time brings: strangers who say nothing, nodes that never report."""
        self.gate.send_away_silent()
        moment = time.monotonic()
        if moment > self._deadline:
            if not self._is_started and not self._verdict:
                silent = sorted(self._nodes - (self._spawned if self._master_port else self._ready))
                reason = "no answer in time from node " + ", ".join(map(str, silent))
                self._end(make_verdict("failed", reason))
                self._deadline = moment
            self._settle()

    def _settle(self) -> None:
        """The final word, once every node that can be heard has nothing left."""
        over = self._over
        if self._verdict and not self._is_started and time.monotonic() > self._deadline:
            over = over | (self._nodes - self.gate.joined)
        if self._is_closed or over != self._nodes:
            return
        self._is_closed = True
        final = self._verdict or make_verdict("succeeded", None, exit_code=0)
        self._conclude(final)
        for channel in self._channels.values():
            channel.send({"type": "final", "verdict": final})

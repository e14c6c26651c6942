"""The detached process of one node."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .channel import Channel, find_hub
from .environment import rank_environment
from .folder import hostfile_path, is_gone, log_path, write_hostfile
from .hub import Hub
from .loop import Loop
from .messages import Json
from .processes import become_subreaper, identity
from .program import Program, Refusal, why_not_spawned
from .rank import Rank, collect_ended, raise_open_files
from .rank_log import RankLog, Reserve
from .record import Record
from .sweep import Sweep
from .verdict import make_verdict

FOLDER_LOOK_S = 2.0
"""So often a node looks whether its folder is still there."""


class Node:
    """Starts its ranks, collects output and exit codes, ends what is left.

    `refusal` is why this node cannot run its part, if that is known already; `answer` tells who waits for the start.
    """

    def __init__(self, start: Json, folder: str, refusal: str | None, answer: Callable[[Json], None]) -> None:
        self.start = start
        self.index: int = start["node_index"]
        self.folder = folder
        self.refusal = refusal
        self.answer = answer
        self.phase = "pending"
        self.verdict: Json | None = None
        self.ranks: list[Rank] = []
        self.loop = Loop()
        self.inbox: deque[Json] = deque()
        self.hub = Hub(start, self.loop, self.inbox.append, self._conclude) if self.index == 0 else None
        self.link: Channel | None = None
        self.program: Program | None = None
        self.record: Record | None = None
        self.reserve: Reserve | None = None
        self.sweep: Sweep | None = None
        self.started_at: str | None = None
        self.is_spawned = False
        self.is_done = False
        self.is_concluded = False
        self._open_files = (0, 0)
        self._me = identity(os.getpid())
        self._wish: Json | None = None
        self._is_wish_sent = False
        self._next_folder_look = 0.0

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
        while not self.is_concluded:
            self._turn()

    def _catch_signals(self) -> None:
        """USR1 is the user's cancel; TERM is somebody else's wish (a machine that goes down), which is a failure."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGUSR1, lambda *_: self._wish_end("cancelled", "cancelled by the user"))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, _: self._wish_end("failed", self._stopped_by(got)))
        for number in (signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def _stopped_by(self, number: int) -> str:
        return f"the supervisor on node {self.index} was told to stop ({signal.Signals(number).name})"

    def _wish_end(self, phase: str, reason: str) -> None:
        self._wish = self._wish or {"type": "stop", "phase": phase, "reason": reason}

    def _has_wish(self) -> bool:
        """Whether the end is wished for; to remove the folder, as with its whole cluster, is such a wish."""
        if self.record and time.monotonic() >= self._next_folder_look:
            self._next_folder_look = time.monotonic() + FOLDER_LOOK_S
            if is_gone(self.folder):
                self._wish_end("failed", f"the work folder {self.folder} on node {self.index} was removed")
        return self._wish is not None

    def _prepare(self) -> None:
        """Everything that can fail before anything runs. Raises Refusal, OSError."""
        procs = self.start["procs_per_node"] or 1
        world = self.start["nodes"] * procs
        about_bytes = len(json.dumps(self.start["about"]))
        self.record = Record(self.folder, 16384 + about_bytes + 256 * procs + (8 * world if self.hub else 0))
        self._save()
        self.reserve = Reserve(self.folder, procs)
        self._open_files = raise_open_files(2 * procs + self.start["nodes"] + 64)
        for local in range(procs):
            number = self.index * procs + local
            self.ranks.append(Rank(number, local, RankLog(log_path(self.folder, number)), self.loop))
        write_hostfile(self.folder, self.start["hosts"])
        self.program = Program(self.start, self.folder)

    def _join(self) -> None:
        """Become part of the workload, and say whether this node can run its part."""
        if self.hub and self.start["nodes"] > 1:
            try:
                self.hub.gate.open()
            except OSError as exc:
                self.refusal = self.refusal or exc.strerror
        elif self.hub is None:
            self.link = find_hub(self.start, self._has_wish)
            if self.link is None:
                self._give_up()
                return
            self.loop.watch(self.link.sock, self._hear_hub)
            self.inbox.extend(self.link.early)
        if self.refusal is None:
            self._send({"type": "ready"})
        else:
            self._send({"type": "refused", "reason": self.refusal})

    def _give_up(self) -> None:
        silence = f"could not reach node 0 ({self.start['master_addr']}) on its control ports"
        failure = {"phase": "failed", "reason": f"node {self.index}: {self.refusal or silence}"}
        why = self._wish or failure
        self._conclude(make_verdict(why["phase"], why["reason"], never_started=True))

    def _turn(self) -> None:
        """One round of the only loop: whatever came, then whatever time brings."""
        self.loop.wait(self._pause_s())
        if self._has_wish() and self._wish and not self._is_wish_sent:
            self._is_wish_sent = True
            self._send(self._wish)
        for rank in collect_ended(self.ranks):
            rank.was_ended = self.verdict is not None
            self._send({"type": "exit", "rank": rank.number, "code": rank.code})
        if self.hub:
            self.hub.tick()
        while self.inbox and not self.is_concluded:
            self._receive(self.inbox.popleft())
        if not self.is_concluded:
            self._tend()

    def _pause_s(self) -> float:
        if self.inbox:
            return 0.0
        return 0.02 if self.sweep and not self.is_done else 0.5

    def _tend(self) -> None:
        for rank in self.ranks:
            rank.log.mark_gap()
        if self.record and self.record.is_due:
            self._save()
        self._end_what_is_left()

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
            self.loop.unwatch(self.link.sock)
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
            self._conclude(message["verdict"])
        elif kind == "hub lost":
            self._go_on_alone()

    def _spawn_all(self, master_port: int) -> None:
        if self.verdict:
            return
        assert self.program
        self.started_at = now()
        for rank in self.ranks:
            hostfile = hostfile_path(self.folder)
            env = rank_environment(self.start, rank.local, master_port, self.program.workdir, hostfile)
            try:
                rank.spawn(self.program, env, self._open_files)
            except (OSError, subprocess.SubprocessError) as exc:
                reason = f"rank {rank.number} could not be started: {why_not_spawned(self.program.argv[0], exc)}"
                self._send({"type": "refused", "reason": reason})
                return
        self.is_spawned = True
        self._save()
        self._send({"type": "spawned"})

    # Ending.

    def _begin_end(self, verdict: Json) -> None:
        if self.verdict is None:
            self.verdict = verdict
            self.phase = "stopping"

    def _end_what_is_left(self) -> None:
        """Once the ranks are over or have to be."""
        is_natural_end = self.is_spawned and not any(rank.is_running for rank in self.ranks)
        if self.is_done or not (self.verdict or is_natural_end):
            return
        self.sweep = self.sweep or Sweep(self.start["grace_s"])
        if not self.sweep.advance(self.ranks):
            return
        self.is_done = True
        self._save()
        if self.hub or self.link:
            self._send({"type": "done"})
        elif self.verdict:
            self._conclude(self.verdict)

    def _go_on_alone(self) -> None:
        """Without node 0 nobody else can say a final word."""
        reason = "node 0 was lost: the control connection to it broke"
        self._begin_end(make_verdict("failed", reason, never_started=self.phase == "pending"))
        if self.is_done and self.verdict:
            self._conclude(self.verdict)

    def _conclude(self, verdict: Json) -> None:
        """Write the final state; nothing of the workload is left on this node."""
        if self.is_concluded:
            return
        self._close_logs()
        self.is_concluded = True
        self.verdict = verdict
        self.phase = verdict["phase"]
        if self.record:
            self.record.save_final({**self._snapshot(), "finished_at": now()})
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        if verdict.get("never_started"):
            self.answer({"outcome": "refused", "reason": verdict["reason"], "phase": verdict["phase"]})

    def _close_logs(self) -> None:
        if self.reserve:
            self.reserve.release()
        for rank in self.ranks:
            rank.close()

    # State.

    def _save(self) -> None:
        if self.record:
            self.record.save(self._snapshot())

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
            "left_over": self.sweep.left_over if self.sweep else [],
        }


def now() -> str:
    moment = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1e6):06d}+00:00"

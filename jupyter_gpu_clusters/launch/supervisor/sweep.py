"""Ending what is left of a workload on one node."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

from .processes import HAS_PROC, Process, descendants_of, named, signal_processes, terminate
from .rank import Rank

KILL_S = 3.0
"""How long after KILL a process may still be there before it is reported as left over."""


class Sweep:
    """TERM, and KILL after the grace, for ranks and all that came from them; bounded."""

    PAUSE_S = 0.05
    DRAIN_S = 1.0
    """How long after the end of all processes their last output is waited for."""

    def __init__(self, grace_s: float) -> None:
        self.left_over: list[str] = []
        self._kill_at = time.monotonic() + grace_s
        self._next_pass = 0.0
        self._has_termed = False
        self._swept_at: float | None = None

    def advance(self, ranks: Sequence[Rank]) -> bool:
        """Do what is due now. True when nothing lives and all output is read, or no more can be done about it."""
        moment = time.monotonic()
        if self._swept_at is None and moment >= self._next_pass:
            self._next_pass = moment + self.PAUSE_S
            if self._pass(ranks, moment):
                self._swept_at = moment
        if self._swept_at is None:
            return False
        return moment > self._swept_at + self.DRAIN_S or not any(rank.has_open_pipe for rank in ranks)

    def _pass(self, ranks: Sequence[Rank], moment: float) -> bool:
        living = _living(ranks)
        if not living and not any(rank.is_running for rank in ranks):
            return True
        groups = {rank.pid for rank in ranks if rank.pid}
        if moment < self._kill_at:
            # Once, and not to what appears later: that may be a rank's helper for saving its work.
            if not self._has_termed:
                terminate(living, groups)
            self._has_termed = True
        elif moment < self._kill_at + KILL_S:
            signal_processes(living, groups, signal.SIGKILL)
        else:
            self.left_over = named(living)
            return True
        return False


def _living(ranks: Sequence[Rank]) -> list[Process]:
    if HAS_PROC:
        return descendants_of(os.getpid())
    return [Process(r.pid, os.getpid(), r.pid, "", f"rank {r.number}") for r in ranks if r.pid and r.code is None]

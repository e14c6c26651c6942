"""How a workload ended: the document all nodes agree on, and its words."""

from __future__ import annotations

import signal

from .messages import Json

FINAL_PHASES = ("succeeded", "failed", "cancelled")
MAX_REASON_CHARS = 300


def make_verdict(
    phase: str,
    reason: str | None,
    *,
    never_started: bool = False,
    rank: int | None = None,
    exit_code: int | None = None,
) -> Json:
    """`rank` is the first that failed, `exit_code` its code; a workload that never started has run on no node."""
    if reason is not None and len(reason) > MAX_REASON_CHARS:
        reason = reason[: MAX_REASON_CHARS - 3] + "..."
    return {
        "phase": phase,
        "reason": reason,
        "never_started": never_started,
        "first_failed_rank": rank,
        "exit_code": exit_code,
    }


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        return "was killed by " + signal.Signals(-code).name
    except ValueError:
        return f"was killed by signal {-code}"

"""Numbers, times, money and phases in the words that every face shows."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from .models import Billing, Cluster, ClusterPhase, Money, RankState, Workload, WorkloadPhase, utc_now

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
_SHAPES = {
    "running": "●",
    "succeeded": "✔",
    "failed": "✖",
    "cancelled": "■",
    "stopped": "■",
    "deleted": "○",
    "degraded": "▲",
    "unknown": "?",
}


def duration_text(seconds: float) -> str:
    """A length of time in at most two units: ``3 s``, ``1 min 15 s``, ``2 d 4 h``."""
    rest = max(0, round(seconds))
    for index, (size, unit) in enumerate(_UNITS):
        if rest >= size:
            whole, rest = divmod(rest, size)
            smaller, name = _UNITS[index + 1] if index + 1 < len(_UNITS) else (1, "")
            return f"{whole} {unit} {rest // smaller} {name}" if rest // smaller else f"{whole} {unit}"
    return "0 s"


def age_text(seconds: float | None) -> str:
    """An age in its largest unit: ``just now``, ``12 s ago``, ``3 h ago``; ``never`` for ``None``."""
    if seconds is None:
        return "never"
    if seconds < 2:
        return "just now"
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size)
    return f"{int(seconds // size)} {unit} ago"


def age_of(when: datetime | None, now: datetime | None = None) -> str:
    """The age of an aware time; empty for ``None``."""
    return "" if when is None else age_text(((now or utc_now()) - when).total_seconds())


def elapsed_text(start: datetime | None, end: datetime | None = None) -> str:
    """The time from `start` to `end` (now by default); empty without a start."""
    return "" if start is None else duration_text(((end or utc_now()) - start).total_seconds())


def money_text(money: Money | None, is_free: bool = False) -> str:
    """``free``, ``12.00 USD``, or ``price unknown``: a missing price is never shown as free."""
    if is_free:
        return "free"
    return "price unknown" if money is None else str(money)


def hourly_text(money: Money | None, is_free: bool = False) -> str:
    """Like `money_text`, per hour."""
    return f"{money} per hour" if money is not None and not is_free else money_text(money, is_free)


def cost_text(cluster: Cluster) -> str:
    """What a cluster costs while it goes on, as the end of a sentence: ``is free``, ``costs 12.00 USD per hour``."""
    if cluster.is_free:
        return "is free"
    if cluster.billing is Billing.NO:
        return "is not billed"
    if cluster.price_per_hour is None:
        return "may cost money (price unknown)"
    doubt = "may cost" if cluster.billing is Billing.UNKNOWN else "costs"
    return f"{doubt} {cluster.price_per_hour} per hour"


def phase_text(phase: ClusterPhase | WorkloadPhase, provider_state: str | None = None) -> str:
    """The phase by word; where it is unknown, the provider's own word with it."""
    return f"{phase} ({clean(provider_state)})" if phase == "unknown" and provider_state else str(phase)


def phase_shape(phase: ClusterPhase | WorkloadPhase) -> str:
    """One character that tells the phase without colour."""
    return _SHAPES.get(phase, "◐")


def gpus_text(count: int, gpu_type: str | None) -> str:
    """``16 x H100``, ``16``, or ``-`` for none."""
    if not count:
        return "-"
    return f"{count} x {clean(gpu_type)}" if gpu_type else str(count)


def exit_text(exit_code: int | None) -> str:
    """How a process ended: ``exit code 3``, ``signal 9 (SIGKILL)``; empty while it has not."""
    if exit_code is None:
        return ""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    name = _SIGNALS.get(-exit_code)
    return f"signal {-exit_code} ({name})" if name else f"signal {-exit_code}"


def rank_text(rank: RankState) -> str:
    """One rank in one phrase: ``rank 3 on node 1: failed, exit code 3``."""
    details = [str(rank.phase), exit_text(rank.exit_code), clean(rank.reason or "")]
    return f"rank {rank.rank} on node {rank.node_index}: {', '.join(part for part in details if part)}"


def workload_time_text(workload: Workload) -> str:
    """How long it has run or ran; before the start how long it has waited."""
    if workload.started_at is None and not workload.phase.is_final:
        return elapsed_text(workload.submitted_at)
    return elapsed_text(workload.started_at, workload.finished_at)


def bytes_text(count: int) -> str:
    """A size with decimal units: ``512 B``, ``1.5 MB``."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def clean(text: str) -> str:
    """Text from elsewhere on one line: control and direction characters are shown as ``�``."""
    return "".join(
        " " if char in "\n\t" else "�" if unicodedata.category(char) in ("Cc", "Cf", "Cs") else char for char in text
    )


def plural(count: int, noun: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

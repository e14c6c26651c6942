"""What clusters and other paid things cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf

from ..choices import Choices

_HOUR_S, _DAY_S = 3600.0, 86400.0
NOTICE_HOURS = 24
IP_PER_HOUR, SFS_PER_GB_HOUR = 0.35, 0.012
"""INR; no public price of them is in the contract."""


@dataclass(frozen=True)
class Charge:
    """Nodes that were ordered together.

    Parameters
    ----------
    unit_price : of one node, for an hour or for the whole term of ``days``.
    start : when the order was accepted; ``ready``: when the nodes are up, maybe never.
    hourly : what a node costs an hour after its term.
    """

    nodes: int
    unit_price: float
    days: int
    start: float
    ready: float
    hourly: float

    def cost(self, now: float, ended: float | None, choices: Choices) -> float:
        """What it has cost by now; ``ended`` is when the cluster's deletion was accepted."""
        stop = now if ended is None else min(now, ended)
        if self.days:
            return self.nodes * self._terms(stop, ended, choices)
        begin = self.start if choices["e2e.billing_start"] == "creation" else self.ready
        return self.nodes * self.unit_price * max(0.0, stop - begin) / _HOUR_S

    def _terms(self, stop: float, ended: float | None, choices: Choices) -> float:
        term_s = self.days * _DAY_S
        if ended is not None and ended < self.start + term_s:
            refunded = choices["e2e.committed_deleted"] == "refunded"
            return self.unit_price * ((ended - self.start) / term_s if refunded else 1.0)
        over = max(0.0, stop - self.start - term_s)
        if choices["e2e.commitment_end"] == "renewed":
            return self.unit_price * (1 + (floor(over / term_s) + 1 if over else 0))
        return self.unit_price + self.hourly * over / _HOUR_S

    def bound_until(self, choices: Choices) -> float:
        """Until when it is paid for whether or not the cluster lives."""
        kept = self.days and choices["e2e.committed_deleted"] == "kept"
        return self.start + self.days * _DAY_S if kept else -inf


def needed_credit(nodes: int, unit_price: float, days: int) -> float:
    """What an account must have to be given the nodes: a day of them, or the whole term."""
    return nodes * unit_price * (1 if days else NOTICE_HOURS)


def hours_cost(per_hour: float, start: float, now: float) -> float:
    """Something that costs the same every hour."""
    return per_hour * (now - start) / _HOUR_S

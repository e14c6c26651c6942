"""What is combined: a write, the step at which it is hit, what hits it, what the service answers, who resolves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations, product
from zlib import crc32

BEFORE, CLAIMED, JOURNALED = "before the claim", "claimed, not in the journal", "in the journal, nothing sent"
SENT, ANSWERED = "request sent, answer not read", "answer read, not recorded"
IN_FILE, RECORDED = "recorded in the file, not in the journal", "recorded, not shown"
STEPS = (BEFORE, CLAIMED, JOURNALED, SENT, ANSWERED, IN_FILE, RECORDED)
NOTHING_SENT = (BEFORE, CLAIMED, JOURNALED)

KILL, INTERRUPT, CUT, UNPLUGGED = "SIGKILL", "interrupt", "network cut", "network gone"
VIOLENCES = (KILL, INTERRUPT, CUT, UNPLUGGED)

FAULTS = (
    "none",
    "dropped after work",
    "5xx after work",
    "errors and an id",
    "HTML under 200",
    "truncated",
    "slow",
    "late listing",
    "member never listed",
    "page drift",
    "one empty list",
    "404 on routes",
    "commit later",
)

SAME, KEY, PROJECT, LOCATION = "same account", "another key", "another project", "another location"
RESOLVERS = {"e2e": (SAME, KEY, PROJECT, LOCATION), "lium": (SAME, KEY), "runai": (SAME, KEY, PROJECT)}

WRITES = (
    "e2e create",
    "e2e scale",
    "e2e attach IP",
    "e2e delete",
    "lium create",
    "lium schedule removal",
    "lium delete",
    "runai submit",
    "runai suspend",
    "runai resume",
    "runai cancel",
)
_UNJOURNALED = {"runai cancel": (JOURNALED, SENT, ANSWERED)}
"""Writes that are safe to repeat and have no order: the steps that they have."""
_PAGED = ("e2e", "runai")


@dataclass(frozen=True)
class Case:
    """One combination; `number` is its place in the whole matrix."""

    number: int
    write: str
    step: str
    violence: str
    fault: str
    resolver: str

    @property
    def service(self) -> str:
        """Whose write it is."""
        return self.write.split()[0]

    @property
    def verb(self) -> str:
        """The write without its service."""
        return self.write.partition(" ")[2]

    @property
    def slug(self) -> str:
        """What ``--only`` matches: the write first."""
        return "-".join(astuple(self)[1:]).replace(",", "").replace(" ", "-").lower()

    @property
    def has_namesake(self) -> bool:
        """Whether a colleague makes something of the same name meanwhile: in every second case, without a pattern."""
        return crc32(self.slug.encode()) % 2 == 1

    def __str__(self) -> str:
        return f"case {self.number}: {self.write}, {self.violence} when {self.step}, {self.fault}, {self.resolver}"


def all_cases() -> list[Case]:
    """The whole matrix, always in the same order."""
    rows = [
        (write, step, violence, fault, resolver)
        for write in WRITES
        for step, violence, fault, resolver in product(
            _UNJOURNALED.get(write, STEPS), VIOLENCES, FAULTS, RESOLVERS[write.split()[0]]
        )
        if fault != "page drift" or write.split()[0] in _PAGED
    ]
    return [Case(number, *row) for number, row in enumerate(rows)]


def pairwise(cases: Sequence[Case], limit: int) -> list[Case]:
    """At most `limit` cases, each the one that shows the most pairs of values not seen so far; the first wins a tie."""
    left = {case: _pairs(case) for case in _shuffled(cases)}
    seen: set[tuple[str, str]] = set()
    chosen: list[Case] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda case: len(left[case] - seen))
        if not left[best] - seen:
            break
        seen |= left.pop(best)
        chosen.append(best)
    return chosen


def coverage(chosen: Iterable[Case], cases: Sequence[Case]) -> float:
    """Which part of all pairs is in the chosen ones."""
    return len(_all_pairs(chosen)) / len(_all_pairs(cases))


def _all_pairs(cases: Iterable[Case]) -> set[tuple[str, str]]:
    return {pair for case in cases for pair in _pairs(case)}


def _pairs(case: Case) -> set[tuple[str, str]]:
    return set(combinations(astuple(case)[1:], 2))


def _shuffled(cases: Sequence[Case]) -> list[Case]:
    """Far from neighbours of one kind, and the same each time."""
    return sorted(cases, key=lambda case: (case.number * 7919) % 10007)

"""Named sets of faults and choices for the command line: what goes wrong on a bad day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Scenario:
    """Faults as `Fault` takes them, choices, and a wrong clock, with a sentence about it."""

    about: str
    faults: tuple[Mapping[str, Any], ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    skew_s: float = 0.0


_WRITES = ("create", "submit")


def _first(**fault: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({"action": action, **fault} for action in _WRITES)


def _lists(**fault: Any) -> tuple[Mapping[str, Any], ...]:
    return ({"action": "list", **fault},)


SCENARIOS: Mapping[str, Scenario] = {
    "lost-answer": Scenario("the first paid order is carried out, its answer is lost", _first(kind="drop_after")),
    "lost-request": Scenario("the first paid order never arrives", _first(kind="drop_before")),
    "late-commit": Scenario(
        "the first paid order answers 504 and is carried out a minute later",
        _first(kind="commit_late", status=504, seconds=60),
    ),
    "error-after-work": Scenario("the first paid order is carried out and answers 500", _first(kind="status_after")),
    "html-answer": Scenario("the first paid order is carried out and answers with HTML under 200", _first(kind="html")),
    "truncated-answer": Scenario("the first paid order's answer is cut in two", _first(kind="truncated")),
    "slow-answer": Scenario("the first paid order answers after 40 s", _first(kind="delay", seconds=40)),
    "late-members": Scenario(
        "what was made appears in listings after 30 s", _lists(kind="hide_rows", seconds=30, times=None)
    ),
    "missing-member": Scenario(
        "the second member of everything made is never listed", _lists(kind="hide_rows", index=1, times=None)
    ),
    "empty-listing": Scenario("the third listing comes back empty", _lists(kind="empty_list", skip=2)),
    "moving-pages": Scenario("rows slip away between pages", _lists(kind="page_drift", times=None)),
    "odd-words": Scenario(
        "status words nobody has heard of",
        _lists(
            kind="mutate",
            times=None,
            ops=[
                {"op": "set", "path": f"{rows}/*/{name}", "value": "MIGRATING"}
                for rows, name in (("", "status"), ("/data", "status"), ("/workloads", "phase"))
            ],
        ),
    ),
    "rate-limited": Scenario(
        "every second listing is refused with Retry-After",
        tuple({"action": "list", "kind": "retry_after", "seconds": 2, "skip": 2 * n + 1} for n in range(20)),
    ),
    "gateway-down": Scenario("five listings in a row fail with HTML", _lists(kind="html", status=502, times=5, skip=3)),
    "delete-lost": Scenario(
        "the first deletion is carried out, its answer is lost", ({"action": "delete", "kind": "drop_after"},)
    ),
    "clock-skew": Scenario("the services' clocks are 25 h ahead", skew_s=25 * 3600.0),
    "surprises": Scenario("every point the contracts leave open is drawn by the seed", choices={"*": "random"}),
}

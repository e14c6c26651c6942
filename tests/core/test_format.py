"""Numbers, times, money and phases in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from jupyter_gpu_clusters.core.format import (
    age_of,
    age_text,
    bytes_text,
    clean,
    cost_text,
    duration_text,
    elapsed_text,
    exit_text,
    gpus_text,
    hourly_text,
    money_text,
    phase_shape,
    phase_text,
    plural,
    rank_text,
    workload_time_text,
)
from jupyter_gpu_clusters.core.models import Billing, ClusterPhase, Money, RankState, WorkloadPhase
from tests.core import make

DOLLARS = Money(amount=Decimal("1234.5"), currency="USD")
NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (-5, "0 s"), (3.4, "3 s"), (59.6, "1 min"), (75, "1 min 15 s"), (3600, "1 h"), (3725, "1 h 2 min"),
     (90_000, "1 d 1 h"), (86_400 * 400, "400 d")],
)  # fmt: skip
def test_durations_have_at_most_two_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "never"), (-3, "just now"), (1.9, "just now"), (2, "2 s ago"), (119, "1 min ago"), (7200, "2 h ago"),
     (200_000, "2 d ago")],
)  # fmt: skip
def test_ages_have_one_unit(seconds: float | None, text: str) -> None:
    assert age_text(seconds) == text


def test_times_are_told_against_a_given_now() -> None:
    assert age_of(NOON - timedelta(minutes=5), NOON) == "5 min ago"
    assert elapsed_text(NOON, NOON + timedelta(seconds=90)) == "1 min 30 s"
    assert (age_of(None), elapsed_text(None)) == ("", "")


def test_a_missing_price_is_never_free() -> None:
    assert money_text(None) == hourly_text(None) == "price unknown"
    assert money_text(None, is_free=True) == hourly_text(None, is_free=True) == "free"
    assert money_text(DOLLARS) == "1,234.50 USD"
    assert hourly_text(DOLLARS) == "1,234.50 USD per hour"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"is_free": True}, "is free"),
        ({"price_per_hour": DOLLARS, "billing": Billing.YES}, "costs 1,234.50 USD per hour"),
        ({"price_per_hour": DOLLARS}, "may cost 1,234.50 USD per hour"),
        ({"price_per_hour": DOLLARS, "billing": Billing.NO}, "is not billed"),
        ({}, "may cost money (price unknown)"),
    ],
)
def test_cost_is_told_with_its_doubt(changes: dict[str, object], text: str) -> None:
    assert cost_text(make.cluster(**changes)) == text


def test_an_unknown_phase_shows_the_providers_own_word() -> None:
    assert phase_text(ClusterPhase.UNKNOWN, "WARMING\x1b[2J") == "unknown (WARMING�[2J)"
    assert phase_text(ClusterPhase.RUNNING, "Active") == "running"


def test_every_phase_has_a_shape() -> None:
    shapes = {phase: phase_shape(phase) for phase in (*ClusterPhase, *WorkloadPhase)}
    assert shapes[ClusterPhase.RUNNING] != shapes[ClusterPhase.FAILED] != shapes[ClusterPhase.DELETED]
    assert all(len(shape) == 1 for shape in shapes.values())


@pytest.mark.parametrize(
    ("code", "text"),
    [(None, ""), (0, "exit code 0"), (3, "exit code 3"), (-9, "signal 9 (SIGKILL)"), (-40, "signal 40")],
)
def test_exit_codes_and_signals(code: int | None, text: str) -> None:
    assert exit_text(code) == text


def test_a_rank_in_one_phrase() -> None:
    rank = RankState(rank=3, node_index=1, phase=WorkloadPhase.FAILED, exit_code=-9, reason="out of memory")
    assert rank_text(rank) == "rank 3 on node 1: failed, signal 9 (SIGKILL), out of memory"


def test_workload_time_is_waiting_then_running_time() -> None:
    ended = make.workload(
        phase=WorkloadPhase.SUCCEEDED, submitted_at=NOON, started_at=NOON, finished_at=NOON + timedelta(seconds=9)
    )
    assert workload_time_text(ended) == "9 s"
    waiting = make.workload(phase=WorkloadPhase.PENDING, submitted_at=datetime.now(UTC) - timedelta(hours=3))
    assert workload_time_text(waiting) == "3 h"
    assert workload_time_text(make.workload(phase=WorkloadPhase.FAILED, submitted_at=NOON)) == ""


def test_small_words() -> None:
    assert [bytes_text(n) for n in (0, 999, 1500, 2_000_000, 5 * 10**12)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "2.0 MB",
        "5.0 TB",
    ]
    assert [plural(n, "node") for n in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
    assert [gpus_text(16, "H100"), gpus_text(8, None), gpus_text(0, "H100")] == ["16 x H100", "8", "-"]


def test_text_from_elsewhere_cannot_steer_the_terminal() -> None:
    assert clean("a\x1b]0;x\x07b\u202ec\nd\te") == "a�]0;x�b�c d e"

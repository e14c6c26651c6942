"""How a card reads: every fact in words, nothing that could be mistaken, nothing that runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jupyter_gpu_clusters.core.models import (
    Billing,
    Cluster,
    ClusterPhase,
    Node,
    RankState,
    Workload,
    WorkloadPhase,
)
from jupyter_gpu_clusters.widgets.card import Sight, card_html, card_text

from .paid import dollars

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
SEEN = Sight(observed_at=NOW - timedelta(seconds=3), now=NOW)


def cluster(**changes: Any) -> Cluster:
    base: dict[str, Any] = {
        "provider": "lium",
        "account": "lab",
        "cluster_id": "c1",
        "name": "demo",
        "phase": ClusterPhase.RUNNING,
        "nodes": (Node(index=0, node_id="n0"), Node(index=1, node_id="n1", phase=ClusterPhase.FAILED)),
        "node_count": 2,
        "gpu_type": "H100",
        "gpus_per_node": 8,
        "price_per_hour": dollars(32),
        "billing": Billing.YES,
        "created_at": NOW - timedelta(hours=2),
    }
    return Cluster(**base | changes)


def workload(**changes: Any) -> Workload:
    base: dict[str, Any] = {
        "provider": "local",
        "account": "local",
        "cluster_id": "c1",
        "cluster_name": "demo",
        "workload_id": "w1",
        "name": "train",
        "phase": WorkloadPhase.RUNNING,
        "nodes": 2,
        "submitted_at": NOW - timedelta(seconds=90),
        "started_at": NOW - timedelta(seconds=75),
    }
    return Workload(**base | changes)


def both(thing: Cluster | Workload, sight: Sight = SEEN) -> list[str]:
    return [card_text(thing, sight), card_html(thing, sight)]


@pytest.mark.parametrize("shown", both(cluster()))
def test_a_cluster_card_has_the_facts(shown: str) -> None:
    for fact in ("lab/demo", "● running", "1 running, 1 failed", "16 x H100", "32.00 USD per hour", "NO END TIME"):
        assert fact in shown
    assert "2030-01-31 10:00:00 UTC (2 h ago)" in shown


@pytest.mark.parametrize(
    "shown", both(workload(ranks=tuple(RankState(rank=r, node_index=r, phase=WorkloadPhase.RUNNING) for r in (0, 1))))
)
def test_a_running_workload_card_has_the_facts(shown: str) -> None:
    for fact in ("local/demo/train", "● running", "2 running on 2 nodes", "1 min 15 s"):
        assert fact in shown


def test_a_failed_workload_names_the_first_failing_rank_and_its_exit_code() -> None:
    ranks = (
        RankState(rank=0, node_index=0, phase=WorkloadPhase.CANCELLED, exit_code=-15),
        RankState(rank=1, node_index=1, phase=WorkloadPhase.FAILED, exit_code=3),
    )
    failed = workload(phase=WorkloadPhase.FAILED, ranks=ranks, exit_code=3, first_failed_rank=1, finished_at=NOW)
    for shown in both(failed, Sight(NOW, NOW, is_live=False, tail="Traceback\nValueError: <b>")):
        assert "✖ failed" in shown
        assert "rank 1 on node 1: exit code 3" in shown
        assert "Final." in shown
    assert "  | ValueError: <b>" in card_text(failed, Sight(NOW, NOW, tail="Traceback\nValueError: <b>"))
    assert "ValueError: &lt;b&gt;" in card_html(failed, Sight(NOW, NOW, tail="ValueError: <b>"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_free": True, "price_per_hour": None}, "free"),
        ({"price_per_hour": None}, "price unknown"),
        ({"billing": Billing.UNKNOWN}, "unknown: it may cost money"),
        ({"phase": ClusterPhase.UNKNOWN, "provider_state": "HIBERNATING"}, "? unknown (HIBERNATING)"),
        ({"phase": ClusterPhase.CREATING}, "◐ creating"),
    ],
)
def test_price_billing_and_unknown_words_are_never_mistaken(changes: dict[str, Any], words: str) -> None:
    for shown in both(cluster(**changes)):
        assert words in shown


def test_a_free_cluster_has_no_end_time_warning() -> None:
    assert "NO END TIME" not in card_text(cluster(is_free=True), SEEN)


def test_a_failed_look_is_said_with_age_and_reason_beside_the_last_state() -> None:
    sight = Sight(observed_at=NOW - timedelta(minutes=5), now=NOW, problem="The service does not answer.")
    for shown in both(cluster(), sight):
        assert "Could not look; what is shown was seen 5 min ago. The service does not answer." in shown
        assert "● running" in shown


def test_when_nothing_was_ever_seen_no_age_is_invented() -> None:
    shown = card_text(cluster(), Sight(observed_at=None, now=NOW, problem="Down."))
    assert "Could not look: Down." in shown
    assert "last seen" not in shown


def test_a_card_says_whether_it_will_change() -> None:
    assert "Kept up to date while the page is open" in card_text(cluster(), SEEN)
    assert "Final." in card_text(cluster(), Sight(NOW, NOW, is_live=False))
    assert "No longer updated" in card_text(cluster(), Sight(NOW, NOW, is_stopped=True))


def test_names_and_reasons_cannot_inject_html() -> None:
    evil = cluster(name="<img src=x onerror=alert(1)>", reason="<script>x</script>", account="a\nb\u202e")
    html = card_html(evil, Sight(NOW, NOW, problem="<i>"))
    assert "<img" not in html
    assert "<script" not in html
    assert "<i>" not in html
    assert "\u202e" not in html


def test_html_uses_theme_colours_with_fallbacks_only() -> None:
    html = card_html(cluster(), Sight(NOW, NOW, problem="x", tail="y"))
    without_variables = html.replace("var(--jp-", "")
    assert html.count("var(--jp-") >= 4
    assert "background: #" not in without_variables
    assert "color: #" not in without_variables
    assert "<style" not in html


def test_phases_differ_without_colour() -> None:
    titles = {card_text(cluster(phase=phase), SEEN).splitlines()[0] for phase in ClusterPhase}
    assert len(titles) == len(ClusterPhase)

"""What is not certain, what nobody here ordered, and end times, as a user of magics meets them."""

from __future__ import annotations

import builtins
import json
from datetime import timedelta
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import rows
from jupyter_gpu_clusters.core.errors import (
    ConsentError,
    NameTakenError,
    NotFoundError,
    OutcomeUnknownError,
    SettingsError,
    WaitTimeoutError,
)
from jupyter_gpu_clusters.core.models import ClusterPhase

from .shell import Shell

CREATE = "%cluster_create slow --name demo --yes"


@pytest.fixture(autouse=True)
def nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(builtins, "input", closed)


def lose(shell: Shell, books: Path) -> str:
    """An order whose request never arrived, although nobody knows; its id."""
    (books / "fault").write_text("before")
    shell.fail(CREATE, OutcomeUnknownError)
    (found,) = shell.run("%cluster_recover").value
    return str(found.order.order_id)


def foreign(books: Path, cluster_id: str, name: str) -> None:
    """A cluster that somebody else made."""
    (books / "theirs.json").write_text(
        json.dumps(
            {
                "provider": "slowcloud",
                "account": "slow",
                "cluster_id": cluster_id,
                "name": name,
                "phase": "running",
                "node_count": 2,
                "price_per_hour": {"amount": "12", "currency": "USD"},
            }
        )
    )


def test_recover_shows_what_an_open_order_may_cost(shell: Shell, slowcloud: Path) -> None:
    order = lose(shell, slowcloud)
    told = repr(shell.run("%cluster_recover"))
    assert order in told
    assert "6.00 USD" in told
    assert "create: not seen" in told
    assert "--adopt" in told


def test_one_way_to_settle_at_a_time(shell: Shell, slowcloud: Path) -> None:
    order = lose(shell, slowcloud)
    error = shell.fail(f"%cluster_recover {order} --delete --close 'nothing there'", SettingsError)
    assert "exclude each other" in error.message


def test_the_user_names_the_cluster_that_an_order_made(shell: Shell, slowcloud: Path) -> None:
    order = lose(shell, slowcloud)
    foreign(slowcloud, "s-77", "renamed")
    shell.fail(f"%cluster_recover {order} --adopt s-77", ConsentError)
    shell.fail(f"%cluster_recover {order} --adopt s-78 --yes", NotFoundError)
    assert shell.run(f"%cluster_recover {order} --adopt s-77 --yes").value.name == "demo"
    assert shell.run(CREATE).value.cluster_id == "s-77"


def test_deleting_what_is_not_listed_yet_is_done_as_soon_as_it_shows(shell: Shell, slowcloud: Path) -> None:
    lose(shell, slowcloud)
    shell.fail("%cluster_delete nobody --yes", NotFoundError)
    shell.fail("%cluster_delete demo", ConsentError)
    assert "delete on sight" in repr(shell.run("%cluster_delete demo --yes"))
    (waiting,) = shell.run("%cluster_recover").value
    assert waiting.order.on_sight


def test_a_name_that_another_machine_uses_needs_new(shell: Shell, slowcloud: Path) -> None:
    foreign(slowcloud, "s-77", "demo-ab12cdefgh")
    assert "s-77" in shell.fail(CREATE, NameTakenError).message
    assert shell.run(f"{CREATE} --new").value.created_here


def test_what_was_not_ordered_here_is_one_report(shell: Shell, slowcloud: Path) -> None:
    assert "No orphans" in repr(shell.run("%cluster_orphans"))
    foreign(slowcloud, "s-77", "theirs")
    report = shell.run("%cluster_orphans")
    assert [(one.ref, one.why) for one in report.value.items] == [("s-77", "not created here")]
    assert "%cluster_delete s-77" in repr(report)
    assert "12.00 USD" in repr(report)


def test_a_vanished_cluster_is_closed_by_its_name(
    shell: Shell, slowcloud: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "GONE_AFTER", timedelta())
    shell.run(CREATE)
    for file in slowcloud.glob("*.json"):
        file.unlink()
    shell.run("%cluster_list")
    (lost,) = shell.run("%cluster_list slow").value
    assert lost.phase is ClusterPhase.UNKNOWN
    assert "vanished" in repr(shell.run("%cluster_recover"))
    shell.fail(CREATE, OutcomeUnknownError)
    shell.run("%cluster_recover demo --close 'the console shows nothing'")
    assert shell.run(CREATE).value.created_here


def test_what_is_listed_cannot_be_closed(shell: Shell, slowcloud: Path) -> None:
    shell.run(CREATE)
    shell.fail("%cluster_recover demo --close 'gone'", NotFoundError)


def test_an_end_time_that_nobody_keeps_is_none(shell: Shell, slowcloud: Path) -> None:
    assert "NO END TIME" in repr(shell.run(f"{CREATE} --max-hours 3 --dry-run"))
    shell.run(f"{CREATE} --max-hours 3")
    assert "NO END TIME" in repr(shell.run("%cluster_status demo"))
    assert "5 h from now" in repr(shell.run("%cluster_extend demo --hours 5"))


def test_delete_waits_until_it_is_proven_gone_and_fails_when_it_is_not(shell: Shell, slowcloud: Path) -> None:
    shell.run(CREATE)
    (slowcloud / "stuck").touch()
    error = shell.fail("%cluster_delete demo --yes --timeout 1", WaitTimeoutError)
    assert "may bill" in (error.hint or "")
    (slowcloud / "stuck").unlink()
    assert "deleted" in repr(shell.run("%cluster_delete demo --yes"))


def test_deleting_what_is_proven_gone_is_a_success(shell: Shell, slowcloud: Path) -> None:
    shell.run(CREATE)
    shell.run("%cluster_delete demo --yes")
    again = shell.run("%cluster_delete demo --yes")
    assert "gone already" in repr(again)
    assert again.value.phase is ClusterPhase.DELETED

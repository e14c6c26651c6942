"""What was spent, as a user of magics meets it."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jupyter_gpu_clusters.core import ledger
from jupyter_gpu_clusters.core.errors import LimitError, SettingsError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import Billing, Cluster, ClusterPhase, Money, utc_now
from jupyter_gpu_clusters.core.paths import accounts_file, data_dir
from tests.contracts.fixtures import MakeSandbox, make_sandbox, switchboard

from .shell import Shell

__all__ = ["make_sandbox", "switchboard"]

CHEAP = Money(amount=Decimal("0.06"), currency="USD")
"""A price at which the seconds that a test takes do not show."""


def seen(hours_ago: float, *, until: float | None = None, committed: str | None = None, **changes: Any) -> None:
    """Record a cluster in the journal's ledger, which costs since `hours_ago` and, it may be, until then."""
    base: dict[str, Any] = {
        "provider": "slowcloud",
        "account": "slow",
        "cluster_id": "c1",
        "name": "demo",
        "phase": ClusterPhase.RUNNING,
        "node_count": 2,
        "price_per_hour": Money(amount=Decimal(6), currency="USD"),
        "billing": Billing.YES,
    }
    cluster, now = Cluster(**base | changes), utc_now()
    journal = Journal(data_dir())

    def ago(hours: float) -> datetime:
        return now - timedelta(hours=hours)

    journal.database.write(lambda c: ledger.put_span(c, "identity", cluster, ago(hours_ago)))
    if committed is not None:
        amount = Money(amount=Decimal(committed), currency="USD")
        journal.database.write(lambda c: ledger.put_commitment(c, "identity", cluster, amount, ago(hours_ago)))
    if until is not None:
        journal.database.write(lambda c: ledger.end_span(c, "identity", cluster.cluster_id, ago(until)))
    journal.close()


def test_nothing_spent_is_said(shell: Shell) -> None:
    shown = shell.run("costs = %cluster_costs\ncosts")
    assert "Estimated cost: nothing that is known here" in repr(shown)
    assert shell.names["costs"].records == []


def test_the_table_shows_cost_rate_and_what_is_assumed(shell: Shell, slowcloud: Path) -> None:
    seen(5, until=3)
    seen(4, cluster_id="c2", name="other", price_per_hour=CHEAP, billing=Billing.UNKNOWN, created_here=False)
    told = repr(shell.run("%cluster_costs"))
    assert "Estimated cost: 12.00 USD so far (up to 12.24 USD), up to 0.06 USD per hour now" in told
    assert "+0.24 USD (4.0 h)" in told
    assert "not created here" in told
    assert "until it was proven gone" in told


def test_an_unknown_price_is_never_nothing(shell: Shell, slowcloud: Path) -> None:
    seen(2, price_per_hour=None)
    shown = shell.run("%cluster_costs -o spent")
    assert "2.0 h of unknown price" in repr(shown)
    assert "price unknown" in repr(shown)
    (record,) = shell.names["spent"].records
    assert (record["amount"], record["currency"], record["running"]) == (None, None, 1)


def test_a_committed_sum_is_shown_as_such(shell: Shell, slowcloud: Path) -> None:
    seen(2, committed="4320", billing=Billing.UNKNOWN)
    shown = shell.run("%cluster_costs")
    assert "4,320.00 USD so far" in repr(shown)
    assert "COMMITTED" in repr(shown)
    assert "per hour now" not in repr(shown).partition("\n")[0]


def test_records_are_plain_and_say_what_the_rows_are_about(shell: Shell, slowcloud: Path) -> None:
    seen(50, until=2)
    report = shell.run("%cluster_costs").records  # type: ignore[attr-defined]
    (record,) = report
    assert record["cluster"] == "demo"
    assert record["amount"] == pytest.approx(288, abs=0.01)
    assert all(isinstance(value, str | float | int | None) for value in record.values())
    days = shell.run("%cluster_costs --by day").records  # type: ignore[attr-defined]
    assert [type(day["day"]) for day in days] == [date] * len(days)
    assert sum(day["amount"] for day in days) == pytest.approx(record["amount"])
    assert "cluster" not in days[0]
    (account,) = shell.run("%cluster_costs --by account").records  # type: ignore[attr-defined]
    assert (account["account"], account["provider"]) == ("slow", "slowcloud")
    assert "USD" in repr(shell.run("%cluster_costs --by currency"))


def test_since_leaves_out_what_was_before(shell: Shell, slowcloud: Path) -> None:
    seen(24 * 40, until=24 * 30)
    day = (utc_now() - timedelta(days=20)).date()
    assert f"since {day}: nothing that is known here" in repr(shell.run(f"%cluster_costs --since {day}"))
    assert "must be a day" in str(shell.fail("%cluster_costs --since yesterday", SettingsError))
    assert "must be a day" in str(shell.fail("%cluster_costs --since 2026-13-01", SettingsError))


def test_accounts_are_chosen_and_an_unknown_one_is_an_error(shell: Shell, slowcloud: Path) -> None:
    seen(3, until=1)
    assert "12.00 USD" in repr(shell.run("%cluster_costs slow"))
    assert "nothing that is known" in repr(shell.run("%cluster_costs local"))
    assert "Did you mean 'slow'" in shell.fail("%cluster_costs slwo", SettingsError).message


def test_what_is_free_is_shown_when_asked_for(shell: Shell, slowcloud: Path) -> None:
    seen(2, is_free=True, price_per_hour=None)
    assert "demo" not in repr(shell.run("%cluster_costs"))
    assert "free" in repr(shell.run("%cluster_costs --free"))


def test_csv_has_exact_amounts_and_never_replaces_a_file_unasked(shell: Shell, slowcloud: Path, tmp_path: Path) -> None:
    seen(3, until=1)
    seen(2, cluster_id="c2", name="=SUM(A1)", price_per_hour=None)
    file = tmp_path / "costs.csv"
    assert "2 rows written" in repr(shell.run(f"%cluster_costs --csv {file}"))
    first, second = csv.DictReader(file.read_text().splitlines())
    assert (first["cluster"], first["amount"], first["hours"], first["per_hour"]) == ("demo", "12", "2", "0")
    assert (second["cluster"], second["amount"], second["currency"]) == ("'=SUM(A1)", "", "")
    file.write_text("mine")
    assert "--force" in (shell.fail(f"%cluster_costs --csv {file}", SettingsError).hint or "")
    assert file.read_text() == "mine"
    shell.run(f"%cluster_costs --csv {file} --force --by day")
    assert file.read_text().startswith("day,currency")
    assert "cannot be written" in shell.fail(f"%cluster_costs --csv {tmp_path} --force", SettingsError).message


def test_what_was_created_here_costs_from_its_order_on(shell: Shell, slowcloud: Path) -> None:
    shell.run("%cluster_create slow --name demo --yes")
    (record,) = shell.run("%cluster_costs").records  # type: ignore[attr-defined]
    assert (record["cluster"], record["per_hour"], record["running"]) == ("demo", 6, 1)
    assert record["hours"] > 0
    shell.run("%cluster_delete demo --yes")
    (ended,) = shell.run("%cluster_costs").records  # type: ignore[attr-defined]
    assert (ended["per_hour"], ended["running"]) == (0, 0)
    assert ended["amount"] > record["amount"]


def test_a_create_beyond_a_limit_is_refused_and_says_where_the_limit_is(shell: Shell, slowcloud: Path) -> None:
    with accounts_file().open("a") as file:
        file.write('[limits]\nper_hour = ["10 USD"]\n')
    shell.run("%cluster_create slow --name demo --yes")
    error = shell.fail("%cluster_create slow --name second --yes", LimitError)
    assert "[limits] per_hour allows 10.00 USD per hour: 6.00 USD per hour runs now, and this adds 6.00" in str(error)
    assert str(accounts_file()) in (error.hint or "")
    assert not (slowcloud / "second.json").exists()
    assert shell.run("%cluster_recover").value == []
    assert shell.run("%cluster_create slow --name demo --yes").value.name == "demo", "it is there and costs no more"
    assert "allows 10.00 USD" in repr(shell.run("%cluster_create slow --name third --dry-run"))


def test_a_balance_is_told_with_the_hours_that_it_lasts(
    shell: Shell, make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox()
    for name, value in sandbox.variables().items():
        monkeypatch.setenv(name, value)
    assert "nothing of a known price runs" in repr(shell.run("%cluster_costs lium"))
    seen(1, provider="lium", account="lium")
    shown = shell.run("%cluster_costs")
    (left,) = shown.value.balances
    assert left.hours_left == left.balance.amount / 6
    assert f"lium: balance {left.balance}, which lasts about {left.hours_left:,.1f} h at 6.00 USD" in repr(shown)
    seen(1, provider="lium", account="lium", cluster_id="c2", price_per_hour=None)
    assert "which lasts at most" in repr(shell.run("%cluster_costs"))


def test_what_was_spent_under_an_account_that_is_no_more_is_still_shown(shell: Shell) -> None:
    seen(5, until=3, account="former")
    assert "former" in repr(shell.run("%cluster_costs"))
    assert datetime.now(UTC) - shell.run("%cluster_costs").value.until < timedelta(minutes=1)

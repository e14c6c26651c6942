"""The magic about money: what was spent so far, what is being spent now, and how long a balance lasts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from ..core import bridge
from ..core.errors import GpuClustersError, SettingsError
from ..core.format import plural
from ..core.models import Frozen, Money
from ..core.spend import Balance, By, Cost, Spend, balances
from .arguments import Costs
from .blocks import Block, Heading, Note, Table
from .run import Call
from .shown import Shown

_ABOUT: Mapping[By, tuple[str, ...]] = {
    "cluster": ("account", "provider", "cluster", "cluster_id"),
    "account": ("account", "provider"),
    "currency": (),
    "day": ("day",),
}
_MEASURED = ("currency", "is_free", "amount", "amount_high", "committed", "hours", "hours_unknown")
_NOW = ("per_hour", "per_hour_high", "running")
_MAX_ROWS = 1000
_FORMULA = ("=", "+", "-", "@")


class CostReport(Frozen):
    """The rows of one grouping, and what they assume. ``pandas.DataFrame(report.records)`` makes a table of them."""

    by: By
    since: datetime | None
    until: datetime
    rows: tuple[Cost, ...]
    balances: tuple[Balance, ...] = ()
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in every record."""
        now = () if self.by == "day" else _NOW
        return (*_ABOUT[self.by], *_MEASURED, *now, *(("note",) if self.by == "cluster" else ()))

    @property
    def records(self) -> list[dict[str, Any]]:
        """One plain dict a row, as `Cost` has it; amounts are floats here, exact Decimals in ``rows``."""
        return [
            {name: float(value) if isinstance(value, Decimal) else value for name, value in row.items()}
            for row in self._dumped()
        ]

    def csv_text(self) -> str:
        """The records as CSV, with exact amounts. Text that a spreadsheet would run as a formula is quoted."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_csv_cell(value) for value in row.values()] for row in self._dumped())
        return out.getvalue()

    def _dumped(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            values = row.model_dump()
            yield {name: values[name] for name in self.columns}


class ShownCosts(Shown):
    """A shown report whose ``records`` are at hand."""

    @property
    def records(self) -> list[dict[str, Any]]:
        """Those of the report."""
        report: CostReport = self.value
        return report.records


def costs(call: Call[Costs]) -> ShownCosts:
    """``%cluster_costs``."""
    arguments, service = call.arguments, bridge.service()
    since = None if arguments.since is None else datetime.combine(date.fromisoformat(arguments.since), time(), UTC)
    spend = bridge.call(service.costs, arguments.accounts, since=since, with_free=arguments.free)
    left, trouble = _balances(arguments.accounts, spend)
    report = CostReport(
        by=arguments.by,
        since=spend.since,
        until=spend.until,
        rows=spend.by(arguments.by),
        balances=left,
        assumptions=spend.assumptions,
        notes=(*spend.notes, *trouble),
    )
    written = []
    if arguments.csv is not None:
        _write(Path(arguments.csv).expanduser(), report.csv_text(), may_replace=arguments.force)
        written.append(Note(f"{plural(len(report.rows), 'row')} written to {arguments.csv}."))
    call.keep(report)
    return ShownCosts("costs", report, [*_blocks(report, spend.currencies), *written])


def _balances(names: Sequence[str], spend: Spend) -> tuple[tuple[Balance, ...], list[str]]:
    """What the services tell of the accounts that were asked for, or else of those that cost something."""
    known = bridge.service().account_names()
    paid = {row.account for row in spend.accounts if not row.is_free}
    wanted = names or [name for name in known if name in paid]
    if not wanted:
        return (), []
    try:
        return balances(spend, bridge.call(bridge.service().check_accounts, wanted)), []
    except GpuClustersError as exc:
        return (), [f"Balances could not be looked up: {exc.message}"]


def _write(path: Path, text: str, *, may_replace: bool) -> None:
    try:
        with path.open("w" if may_replace else "x", newline="", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsError(
            f"The file {path} exists already; nothing was written.", hint="Choose another, or pass --force."
        ) from None
    except OSError as exc:
        raise SettingsError(f"The file {path} cannot be written ({exc.strerror}).", hint="Choose another.") from exc


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.lstrip().startswith(_FORMULA) else text


def _blocks(report: CostReport, totals: Iterable[Cost]) -> list[Block]:
    since = "" if report.since is None else f" since {report.since:%Y-%m-%d}"
    blocks: list[Block] = [Heading(f"Estimated cost{since}: {_total_text(totals)}")]
    if report.rows:
        headers = [*_HEADERS[report.by], "cost", "committed", "unknown billing", "hours", "per hour now", "note"]
        rows = [[*_about_text(row, report.by), *_cost_text(row)] for row in report.rows[:_MAX_ROWS]]
        blocks.append(Table(headers, rows, frozenset({"cost", "committed", "hours", "per hour now"})))
    if len(report.rows) > _MAX_ROWS:
        blocks.append(Note(f"The first {_MAX_ROWS} of {len(report.rows)} are shown."))
    blocks += [Note(_balance_text(one)) for one in report.balances]
    blocks += [Note(note) for note in report.notes]
    return [*blocks, *(Note(assumption) for assumption in report.assumptions if report.rows)]


_HEADERS: Mapping[By, tuple[str, ...]] = {
    "cluster": ("cluster", "account"),
    "account": ("account",),
    "currency": ("currency",),
    "day": ("day (UTC)",),
}


def _about_text(row: Cost, by: By) -> list[str]:
    match by:
        case "cluster":
            return [row.cluster or "", row.account or ""]
        case "account":
            return [row.account or ""]
        case "currency":
            return [row.currency or ("free" if row.is_free else "unknown price")]
        case "day":
            return [str(row.day)]


def _cost_text(row: Cost) -> list[str]:
    if row.is_free or row.currency is None:
        unknown = f"{row.hours_unknown:,.1f} h" if row.hours_unknown else ""
        price = "free" if row.is_free else "price unknown"
        return [price, "", unknown, f"{row.hours:,.1f}", price if row.running else "", row.note or ""]
    maybe = (row.amount_high or Decimal(0)) - (row.amount or Decimal(0))
    return [
        _money(row.amount, row.currency),
        _money(row.committed, row.currency) if row.committed else "",
        f"+{_money(maybe, row.currency)} ({row.hours_unknown:,.1f} h)" if row.hours_unknown else "",
        f"{row.hours:,.1f}",
        _rate_text(row, row.currency),
        row.note or "",
    ]


def _rate_text(row: Cost, currency: str) -> str:
    if not row.per_hour_high:
        return ""
    doubt = "up to " if row.per_hour != row.per_hour_high else ""
    return doubt + _money(row.per_hour_high, currency)


def _total_text(totals: Iterable[Cost]) -> str:
    """Each currency by itself: ``12.00 USD so far (up to 14.00 USD), 6.00 USD per hour now; 3 h of unknown price``."""
    parts = []
    for row in totals:
        if row.is_free:
            continue
        if row.currency is None:
            parts.append(f"{row.hours:,.1f} h of unknown price")
            continue
        high = f" (up to {_money(row.amount_high, row.currency)})" if row.amount_high != row.amount else ""
        rate = _rate_text(row, row.currency)
        spent = f"{_money(row.amount, row.currency)} so far{high}"
        parts.append(f"{spent}, {rate} per hour now" if rate else spent)
    return "; ".join(parts) or "nothing that is known here"


def _balance_text(one: Balance) -> str:
    told = f"{one.account}: balance {one.balance}"
    if one.hours_left is None:
        return f"{told}; nothing of a known price runs."
    about = "at most" if one.is_upper_bound else "about"
    return f"{told}, which lasts {about} {one.hours_left:,.1f} h at {one.per_hour} per hour."


def _money(amount: Decimal | None, currency: str) -> str:
    return str(Money(amount=amount or Decimal(0), currency=currency))

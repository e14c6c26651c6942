"""Limits that the user sets in the accounts file, and the check that refuses a plan beyond them. Pure.

::

    [limits]                            # for all accounts together
    per_hour = ["50 USD", "4000 INR"]
    total = ["2000 USD"]                # ever spent, as far as the journal knows

    [accounts.lab.limits]               # for one account, besides
    per_hour = ["20 USD"]

Each limit is for its own currency; what costs in another currency is not touched by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Literal

from pydantic import Field

from .errors import LimitError, Problem
from .models import Frozen, Money, Order, Plan, Verb
from .nearest import did_you_mean
from .paths import accounts_file
from .spend import Cost, Spend, rates_of

Kind = Literal["per_hour", "total"]

_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ([A-Z]{3})")
_KINDS: tuple[Kind, ...] = ("per_hour", "total")
_WORDS: Mapping[Kind, str] = {"per_hour": " per hour", "total": " in all"}


class Limits(Frozen):
    """One table of limits; at most one amount of each kind and currency. ``where`` is the table's name."""

    where: str = "limits"
    per_hour: tuple[Money, ...] = ()
    total: tuple[Money, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it limits nothing."""
        return not self.per_hour and not self.total


class AllLimits(Frozen):
    """The limits of all accounts together, and of single ones."""

    overall: Limits = Limits()
    accounts: Mapping[str, Limits] = Field(default_factory=dict)

    def touch(self, plan: Plan) -> bool:
        """Whether any limit is about this plan, so that what was spent must be known."""
        return not plan.is_free and not all(one.is_empty for one in self._of(plan.account))

    def _of(self, account: str) -> tuple[Limits, ...]:
        return self.overall, self.accounts.get(account, Limits())

    def problems(self, plan: Plan, spend: Spend, orders: Iterable[Order] = ()) -> tuple[str, ...]:
        """Every limit that the plan would exceed, each as a sentence.

        Parameters
        ----------
        spend : of all accounts and of all time, at this moment.
        orders : open ones besides the plan's own: what they were to cost per hour counts as running.
        """
        overall, own = self._of(plan.account)
        pending = [one for one in orders if one.verb in (Verb.CREATE, Verb.SCALE) and one.state.is_open]
        mine = [one for one in pending if one.account == plan.account]
        rows = [row for row in spend.accounts if row.account == plan.account]
        return (
            *problems(plan, overall, *_used(spend.currencies, pending)),
            *problems(plan, own, *_used(rows, mine)),
        )

    def require(self, plan: Plan, spend: Spend, orders: Iterable[Order] = ()) -> None:
        """Refuse a plan beyond a limit.

        Raises
        ------
        LimitError : with every limit that it would exceed.
        """
        found = self.problems(plan, spend, orders)
        if found:
            raise LimitError(
                f"{plan.action or plan.verb} {plan.name!r} on {plan.account} is beyond your limits; nothing was sent.",
                problems=[Problem("", text) for text in found],
                hint=f"Delete something first, or change the limits in {accounts_file()}.",
                provider=plan.provider,
            )


def problems(
    plan: Plan, limits: Limits, rate_now: Mapping[str, Decimal], spent: Mapping[str, Decimal]
) -> tuple[str, ...]:
    """What of one table of limits the plan would exceed.

    A plan whose price is unknown cannot be shown to be within any limit. Against the total counts the sum of a
    committed term, or the hours that the plan is limited to, at least one.

    Parameters
    ----------
    rate_now : currency -> what runs already costs per hour.
    spent : currency -> what was spent so far.
    """
    if plan.is_free or limits.is_empty:
        return ()
    added = _added(plan)
    if added is None:
        told = ", ".join(f"{money}{_WORDS[kind]}" for kind in _KINDS for money in getattr(limits, kind))
        return (f"Its price is unknown, so it cannot be shown to stay within [{limits.where}]: {told}.",)
    used: Mapping[Kind, Mapping[str, Decimal]] = {"per_hour": rate_now, "total": spent}
    return tuple(
        _sentence(limits.where, kind, limit, used[kind].get(limit.currency, Decimal(0)), more)
        for kind in _KINDS
        for limit in getattr(limits, kind)
        for more in added[kind]
        if more.currency == limit.currency
        and more.amount > 0
        and used[kind].get(limit.currency, Decimal(0)) + more.amount > limit.amount
    )


def _added(plan: Plan) -> Mapping[Kind, tuple[Money, ...]] | None:
    """What the plan adds to rate and total; ``None`` when its price is unknown. 0 is no price."""
    if plan.commitment is not None:
        return {"per_hour": (), "total": (plan.commitment,)}
    if plan.price_per_hour is None or not plan.price_per_hour.amount:
        return None
    hours = Decimal(1) if plan.max_hours is None else max(Decimal(1), Decimal(str(plan.max_hours)))
    return {"per_hour": (plan.price_per_hour,), "total": (plan.price_per_hour.times(hours),)}


def _sentence(where: str, kind: Kind, limit: Money, used: Decimal, more: Money) -> str:
    now = Money(amount=used, currency=limit.currency)
    state = f"{now} per hour runs now" if kind == "per_hour" else f"{now} is spent so far"
    return f"[{where}] {kind} allows {limit}{_WORDS[kind]}: {state}, and this adds {more}."


def _used(rows: Iterable[Cost], orders: Iterable[Order]) -> tuple[Mapping[str, Decimal], Mapping[str, Decimal]]:
    """What runs and what was spent, by currency; what may bill counts as if it did."""
    rates, spent = dict(rates_of(orders)), dict[str, Decimal]()
    for row in rows:
        if row.currency is not None:
            rates[row.currency] = rates.get(row.currency, Decimal(0)) + (row.per_hour_high or 0)
            spent[row.currency] = spent.get(row.currency, Decimal(0)) + (row.amount_high or 0)
    return rates, spent


def read_limits(table: object, where: str) -> tuple[Limits, list[Problem]]:
    """A table of the accounts file as limits, and everything that is wrong with it.

    Parameters
    ----------
    where : the table's name in the file, for the problems.
    """
    if not isinstance(table, dict):
        return Limits(where=where), [Problem(where, 'must be a table: per_hour = ["50 USD"], total = ["2000 USD"].')]
    found = [
        Problem(f"{where}.{key}", f"is not known here.{did_you_mean(key, _KINDS)}")
        for key in table
        if key not in _KINDS
    ]
    amounts: dict[str, tuple[Money, ...]] = {}
    for kind in _KINDS:
        amounts[kind], wrong = _read_amounts(table.get(kind, []), f"{where}.{kind}")
        found += wrong
    return Limits(where=where, per_hour=amounts["per_hour"], total=amounts["total"]), found


def _read_amounts(values: object, where: str) -> tuple[tuple[Money, ...], list[Problem]]:
    if not isinstance(values, list):
        return (), [Problem(where, 'must be a list of amounts with their currency: ["50 USD", "4000 INR"].')]
    amounts: dict[str, Money] = {}
    found = []
    for index, value in enumerate(values):
        match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            found.append(Problem(f"{where}[{index}]", f'{value!r} must be an amount with its currency: "50 USD".'))
        elif match[2] in amounts:
            found.append(Problem(f"{where}[{index}]", f"there is a limit in {match[2]} already."))
        else:
            amounts[match[2]] = Money(amount=Decimal(match[1]), currency=match[2])
    return tuple(amounts.values()), found

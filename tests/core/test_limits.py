"""Limits in the accounts file, and plans beyond them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from jupyter_gpu_clusters.core import login
from jupyter_gpu_clusters.core.errors import LimitError, SettingsError
from jupyter_gpu_clusters.core.ledger import Span
from jupyter_gpu_clusters.core.limits import AllLimits, Limits, problems
from jupyter_gpu_clusters.core.models import Billing, Money, Order, OrderState, Plan, Verb
from jupyter_gpu_clusters.core.paths import accounts_file
from jupyter_gpu_clusters.core.settings import Account, Settings
from jupyter_gpu_clusters.core.spend import Spend, spend_of

from . import make

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def usd(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="USD")


def inr(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="INR")


def costly(**changes: Any) -> Plan:
    return make.plan(**{"is_free": False, "price_per_hour": usd("12"), **changes})


def read(text: str) -> AllLimits:
    file = accounts_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return Settings.load().limits


def spend(*, account: str = "fake", price: Money | None = None, hours: int = 10) -> Spend:
    """One cluster that runs since `hours` hours."""
    span = Span(
        identity=make.IDENTITY,
        cluster_id="c1",
        name="demo",
        account=account,
        provider="fake",
        began=NOON,
        ended=None,
        billing=Billing.UNKNOWN,
        price=price or usd("40"),
        is_free=False,
        nodes=2,
    )
    return spend_of([span], [], NOON + timedelta(hours=hours))


NOTHING = spend_of([], [], NOON)


# The file


def test_limits_are_read_for_all_and_for_one_account() -> None:
    limits = read(
        '[limits]\nper_hour = ["50 USD", "4000.50 INR"]\ntotal = ["2000 USD"]\n'
        '[accounts.fake]\nprovider = "fake"\nzone = "north"\n[accounts.fake.limits]\nper_hour = ["20 USD"]\n'
    )
    assert limits.overall.per_hour == (usd("50"), inr("4000.50"))
    assert limits.overall.total == (usd("2000"),)
    assert limits.accounts["fake"].per_hour == (usd("20"),)
    assert Settings.load().account("fake").options == {"zone": "north"}, "the provider is not shown its limits"


def test_without_limits_nothing_is_limited() -> None:
    assert not Settings.load().limits.touch(costly())
    assert not read("[limits]\n").touch(costly())
    assert AllLimits().problems(costly(), spend()) == ()


def test_an_account_that_is_there_without_a_table_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIUM_API_KEY", "k")
    limits = read('[accounts.lium.limits]\ntotal = ["9 USD"]\n')
    assert limits.accounts["lium"].total == (usd("9"),)
    assert Settings.load().account("lium").credential == "$LIUM_API_KEY"


def test_a_limit_of_an_account_that_is_nowhere_is_told() -> None:
    with pytest.raises(SettingsError, match=r"accounts\.nowhere\.provider: is needed"):
        read('[accounts.nowhere.limits]\ntotal = ["9 USD"]\n')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limits = 50\n", "limits: must be a table"),
        ("[limits]\nper_hour = 50\n", "limits.per_hour: must be a list"),
        ('[limits]\nper_hour = "50 USD"\n', "limits.per_hour: must be a list"),
        ("[limits]\nper_hour = [50]\n", "limits.per_hour[0]: 50 must be an amount with its currency"),
        ('[limits]\nper_hour = ["50 USD", "50"]\n', "limits.per_hour[1]: '50' must be"),
        ('[limits]\ntotal = ["50 usd"]\n', "limits.total[0]: '50 usd' must be"),
        ('[limits]\ntotal = ["-50 USD"]\n', "limits.total[0]: '-50 USD' must be"),
        ('[limits]\ntotal = ["1e3 USD"]\n', "limits.total[0]: '1e3 USD' must be"),
        ('[limits]\ntotal = ["NaN USD"]\n', "limits.total[0]: 'NaN USD' must be"),
        ('[limits]\ntotal = ["5 USD", "6 USD"]\n', "limits.total[1]: there is a limit in USD already"),
        ('[limits]\nper_hours = ["5 USD"]\n', "limits.per_hours: is not known here. Did you mean 'per_hour'?"),
        ('[limit]\ntotal = ["5 USD"]\n', "limit: is not known here. Did you mean 'limits'?"),
        (
            '[accounts.a]\nprovider = "local"\nlimits = {total = ["x"]}\n',
            "accounts.a.limits.total[0]: 'x' must be",
        ),
    ],
)
def test_what_is_no_limit_is_told_with_its_place(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(text)
    assert words in str(caught.value)
    assert str(accounts_file()) in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        read('[limits]\nper_hour = ["x", "y"]\ntotal = 3\n[accounts.a]\n[accounts.b]\nlimits = 4\n')
    assert len(caught.value.problems) == 6


def test_a_login_leaves_the_limits_of_its_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIUM_API_KEY", "k")
    read('[accounts.lium.limits]\ntotal = ["9 USD"] # mine\n\n[limits]\nper_hour = ["5 USD"]\n')
    text = login._with_account(
        accounts_file(), Account(name="lium", provider="lium", options={"zone": "a"}), "https://x.example", "keyring:"
    )
    limits = read(text)
    assert "# mine" in text
    assert (limits.accounts["lium"].total, limits.overall.per_hour) == ((usd("9"),), (usd("5"),))
    assert Settings.load().account("lium").options == {"zone": "a"}


# The check


@pytest.mark.parametrize(("limit", "fits"), [("52", True), ("51.99", False)])
def test_what_runs_and_the_plan_together_must_be_within_the_hourly_limit(limit: str, fits: bool) -> None:
    limits = Limits(per_hour=(usd(limit),))
    assert (problems(costly(), limits, {"USD": Decimal(40)}, {}) == ()) is fits


@pytest.mark.parametrize(
    ("max_hours", "limit", "fits"),
    [
        (None, "412", True),
        (None, "411.99", False),
        (5, "460", True),
        (5, "459.99", False),
        (0.5, "412", True),
        (0.5, "411.99", False),
    ],
)
def test_against_the_total_count_the_hours_of_the_plan_and_at_least_one(
    max_hours: float | None, limit: str, fits: bool
) -> None:
    limits = Limits(total=(usd(limit),))
    assert (problems(costly(max_hours=max_hours), limits, {}, {"USD": Decimal(400)}) == ()) is fits


def test_a_commitment_counts_fully_against_the_total_and_not_per_hour() -> None:
    plan = costly(commitment=usd("900"))
    assert problems(plan, Limits(per_hour=(usd("1"),), total=(usd("1000"),)), {}, {"USD": Decimal(100)}) == ()
    (told,) = problems(plan, Limits(total=(usd("1000"),)), {}, {"USD": Decimal("100.01")})
    assert told == "[limits] total allows 1,000.00 USD in all: 100.01 USD is spent so far, and this adds 900.00 USD."


@pytest.mark.parametrize("price", [None, usd("0")])
def test_an_unknown_price_cannot_be_within_any_limit(price: Money | None) -> None:
    (told,) = problems(costly(price_per_hour=price), Limits(per_hour=(inr("5"),), total=(usd("7"),)), {}, {})
    assert told == (
        "Its price is unknown, so it cannot be shown to stay within [limits]: 5.00 INR per hour, 7.00 USD in all."
    )
    assert problems(costly(price_per_hour=price), Limits(), {}, {}) == ()


def test_what_is_free_passes_whatever_runs() -> None:
    limits = AllLimits(overall=Limits(per_hour=(usd("0"),), total=(usd("0"),)))
    assert limits.problems(make.plan(), spend()) == ()
    assert not limits.touch(make.plan())
    assert limits.touch(costly())


def test_a_limit_is_for_its_own_currency() -> None:
    limits = Limits(per_hour=(inr("4000"),), total=(inr("9"),))
    assert problems(costly(), limits, {"INR": Decimal(5000)}, {"INR": Decimal(5000)}) == ()


def test_a_limit_for_one_account_looks_at_that_account_only() -> None:
    limits = AllLimits(accounts={"fake": Limits(where="accounts.fake.limits", per_hour=(usd("50"),))})
    assert limits.problems(costly(), spend(account="other")) == ()
    assert limits.problems(costly(account="other"), spend()) == ()
    (told,) = limits.problems(costly(), spend())
    assert told.startswith("[accounts.fake.limits] per_hour allows 50.00 USD per hour: 40.00 USD per hour runs now")


def test_the_limits_for_all_look_at_all_accounts_and_count_what_may_bill() -> None:
    limits = AllLimits(overall=Limits(per_hour=(usd("50"),), total=(usd("405"),)))
    assert limits.problems(costly(), NOTHING) == ()
    assert len(limits.problems(costly(), spend(account="other"))) == 2


def test_orders_without_a_known_outcome_count_as_running() -> None:
    limits = AllLimits(overall=Limits(per_hour=(usd("50"),)))

    def order(**changes: Any) -> Order:
        return make.order(**{"price_per_hour": usd("40"), **changes})

    assert limits.problems(costly(), NOTHING, [order(state=OrderState.DONE), order(verb=Verb.DELETE)]) == ()
    assert len(limits.problems(costly(), NOTHING, [order(state=OrderState.NOT_SEEN)])) == 1
    assert len(limits.problems(costly(), NOTHING, [order(verb=Verb.SCALE)])) == 1


def test_a_refusal_says_which_limits_and_where_they_are_changed() -> None:
    limits = AllLimits(
        overall=Limits(per_hour=(usd("50"),)),
        accounts={"fake": Limits(where="accounts.fake.limits", total=(usd("1"),))},
    )
    with pytest.raises(LimitError) as caught:
        limits.require(costly(), spend())
    text = str(caught.value)
    assert "create 'demo' on fake is beyond your limits; nothing was sent." in text
    assert "[limits] per_hour allows" in text
    assert "[accounts.fake.limits] total allows" in text
    assert str(accounts_file()) in text
    limits.require(costly(price_per_hour=usd("0.50")), NOTHING)

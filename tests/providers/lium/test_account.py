"""Whether an account can be used, what it has, and what its key may not do."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import AuthError, GpuClustersError, QuotaError
from jupyter_gpu_clusters.core.models import AccountStatus
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

from .renting import PAIR, rented

pytestmark = pytest.mark.anyio


async def checked(service: Service) -> AccountStatus:
    (status,) = await service.check_accounts(["lium"])
    return status


async def with_key(sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch, **key: Any) -> Service:
    secret = sandbox.setup("lium", key={"name": "second", **key})["key"]["secret"]
    monkeypatch.setenv("LIUM_API_KEY", secret)
    return Service.open()


async def test_an_account_in_order(service: Service, sandbox: CheckedSandbox) -> None:
    status = await checked(service)
    assert (status.is_usable, status.credential, str(status.balance)) == (True, "$LIUM_API_KEY", "1,000.00 USD")
    assert status.detail.endswith("0 clusters")


async def test_balances_of_any_form(service: Service, sandbox: CheckedSandbox) -> None:
    await rented(service)
    forms: list[tuple[Any, str | None]] = [("12.5", "12.50 USD"), (0, "0.00 USD"), (-3.5, "-3.50 USD")]
    forms += [(None, None), ("much", None), ([1], None), ({}, None)]
    for value, shown in forms:
        ops = [{"op": "set", "path": "/balance", "value": value}]
        sandbox.fault(service="lium", path="/users/me", kind="mutate", ops=ops)
        status = await checked(service)
        assert status.is_usable, value
        assert (None if status.balance is None else str(status.balance)) == shown
        assert ("the balance lasts" in status.detail) == (shown is not None), value


async def test_a_debt_lasts_no_hour(service: Service, sandbox: CheckedSandbox) -> None:
    await rented(service)
    sandbox.setup("lium", balance=-5)
    assert "the balance lasts 0.0 h" in (await checked(service)).detail


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "status", "status": 401, "shape": "detail", "text": "Invalid API key"}, "$LIUM_API_KEY"),
        ({"kind": "status", "status": 500, "shape": "envelope", "text": "Oops"}, "Oops"),
        ({"kind": "html", "status": 502}, "502"),
        ({"kind": "html"}, "not JSON"),
        ({"kind": "empty"}, "empty"),
        ({"kind": "drop_before"}, "127.0.0.1"),
        ({"kind": "status", "status": 403, "shape": "html", "text": "Blocked"}, "firewall"),
        ({"kind": "redirect", "status": 302, "to": "https://elsewhere.example"}, "redirects"),
    ],
)
async def test_an_account_that_cannot_be_used_says_why_and_is_no_exception(
    service: Service, sandbox: CheckedSandbox, fault: dict[str, Any], said: str
) -> None:
    sandbox.fault(service="lium", path="/pods", times=None, **fault)
    status = await checked(service)
    assert not status.is_usable
    assert said in status.detail


async def test_a_key_that_was_revoked_is_said_once_and_stops_everything(
    service: Service, sandbox: CheckedSandbox
) -> None:
    await rented(service)
    sandbox.setup("lium", revoke="notebook")
    state = await service.refresh(["lium"])
    (told,) = [account.error for account in state.accounts if account.account == "lium"]
    assert told is not None
    assert (told.message + (told.hint or "")).count("$LIUM_API_KEY") == 1
    assert [cluster.name for cluster in state.clusters if cluster.account == "lium"] == ["pair"]


async def test_a_key_that_may_only_read_is_told_which_scope_it_lacks(
    sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await with_key(sandbox, monkeypatch, scopes=["read"])
    plan = await service.plan_create("lium", "pair", build_spec(service.spec_model("lium"), PAIR))
    with pytest.raises(AuthError) as caught:
        await service.create(plan, consent=consent_to(plan))
    assert "scope 'rent'" in (caught.value.hint or "")
    assert (await service.state()).orders == ()
    await service.aclose()


async def test_a_key_that_may_only_see_bills_cannot_be_used_and_says_why(
    sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await with_key(sandbox, monkeypatch, scopes=["billing"])
    status = await checked(service)
    await service.aclose()
    assert not status.is_usable
    assert "Make a key with the scope 'read'" in status.detail


async def test_a_budget_that_is_used_up_is_told_with_its_amounts(
    sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await with_key(sandbox, monkeypatch, budget_usd=0, window="daily")
    with pytest.raises(QuotaError) as caught:
        await rented(service)
    for part in ("API_KEY_BUDGET_EXCEEDED", "window daily", "budget_usd 0", "spent_usd 0"):
        assert part in caught.value.message
    assert (await service.state()).orders == ()
    await service.aclose()


async def test_an_account_that_is_not_verified_is_told_so(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.setup("lium", verified=False)
    with pytest.raises(GpuClustersError, match="account_not_verified"):
        await rented(service)
    assert (await service.state()).orders == ()


async def test_offers_that_cannot_be_read_are_an_error_and_not_none(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="lium", path="/executors/infiniband-clusters", kind="status", status=404, times=None)
    (listing,) = await service.offers(["lium"])
    assert listing.error is not None


async def test_a_key_that_may_not_read_the_balance_names_the_scope(service: Service, sandbox: CheckedSandbox) -> None:
    text = "API key 'notebook' does not have the 'read' scope"
    sandbox.fault(service="lium", path="/users/me", kind="status", status=403, shape="detail", text=text, times=None)
    (status,) = await service.check_accounts(["lium"])
    assert status.is_usable
    assert "Make a key with the scope 'read'" in status.detail


async def test_what_is_broken_costs_no_hour_of_the_balance(service: Service, sandbox: CheckedSandbox) -> None:
    await rented(service)
    ops = [{"op": "set", "path": "/0/status", "value": "BROKEN"}]
    sandbox.fault(service="lium", path="/pods", kind="mutate", ops=ops, times=None)
    (status,) = await service.check_accounts(["lium"])
    assert "16.88 USD per hour" in status.detail

"""Whom a provider speaks to, and whether it may."""

from __future__ import annotations

import asyncio

from jupyter_gpu_clusters.core.models import AccountStatus
from jupyter_gpu_clusters.core.provider import ABILITIES, abilities_of
from jupyter_gpu_clusters.core.settings import Account

from .base import ContractBase
from .watched import NETWORK, watched
from .world import World


class AccountContract(ContractBase):
    """Construction, identity, `check_account`, and the words about what cannot be done."""

    async def test_it_is_registered_under_its_own_name(self, world: World) -> None:
        assert world.kind.name == world.far_side.provider
        assert world.kind.title

    async def test_every_ability_it_lacks_has_a_reason(self, world: World) -> None:
        provider = world.provider()
        for ability in sorted(set(ABILITIES) - abilities_of(type(provider))):
            reason = provider.why_not(ability)
            assert reason.strip().endswith("."), f"{ability}: no sentence: {reason!r}"
            assert "\n" not in reason
        assert set(provider.reasons) <= set(ABILITIES), "a reason for something that is no ability"

    async def test_what_login_asks_for_has_names_and_labels(self, world: World) -> None:
        asks = world.kind.asks
        assert len({asked.name for asked in asks}) == len(asks)
        assert all(asked.label for asked in asks)
        assert not any(asked.default for asked in asks if asked.is_secret)
        parts = [asked.name for asked in asks if asked.is_secret]
        secret = world.far_side.login().secret
        if isinstance(secret, dict):
            assert set(parts) == set(secret)
        else:
            assert len(parts) == (0 if secret is None else 1)

    async def test_the_constructor_does_no_io_and_cannot_fail(self, world: World) -> None:
        good = world.settings()
        lost = good.model_copy(update={"secret_ref": "file:/nowhere/at-all"})
        odd = Account(name="odd", provider=good.provider, options={"no_such_option": 1, "base_url": ["x"]})
        for account in (good, lost, odd, Account(name="bare", provider=good.provider)):
            with watched() as seen:
                world.provider(account)
            assert not seen

    async def test_the_identity_needs_no_network_and_stays_the_same(self, world: World) -> None:
        with watched(NETWORK) as seen:
            first = await world.provider().identity()
            again = await world.provider().identity()
        assert not seen
        assert first == again
        assert first.provider == world.far_side.provider
        assert first.origin

    async def test_the_identity_is_told_even_without_the_secret(self, world: World) -> None:
        account = world.settings().model_copy(update={"secret_ref": "file:/nowhere/at-all"})
        assert (await world.provider(account).identity()).provider == world.far_side.provider

    async def test_another_key_project_or_address_is_another_identity(self, world: World) -> None:
        keys = {"the account itself": (await world.provider().identity()).key}
        for what, login in world.far_side.other_logins().items():
            world.log_in(login)
            keys[what] = (await world.provider().identity()).key
        assert len(set(keys.values())) == len(keys), keys

    async def test_a_good_account_is_usable_and_says_where_its_secret_is_from(self, world: World) -> None:
        status = await _checked(world)
        assert status.is_usable, status.detail
        assert status.balance is None or status.balance.currency

    async def test_a_wrong_secret_is_an_answer_that_names_its_source(self, world: World) -> None:
        world.log_in(world.far_side.wrong_login())
        status = await _checked(world)
        assert not status.is_usable

    async def test_a_missing_secret_is_an_answer(self, world: World) -> None:
        if world.far_side.login().secret is None:
            world.far_side.wrong_login()
        account = world.settings().model_copy(update={"secret_ref": "file:/nowhere/at-all"})
        status = await world.provider(account).check_account()
        assert not status.is_usable
        assert "/nowhere/at-all" in status.detail + status.credential

    async def test_an_option_that_nothing_reads_is_an_answer_that_names_it(self, world: World) -> None:
        account = world.settings()
        odd = account.model_copy(update={"options": {**account.options, "no_such_option": 1}})
        status = await world.provider(odd).check_account()
        assert not status.is_usable
        assert "no_such_option" in status.detail

    async def test_a_service_that_cannot_be_reached_is_an_answer(self, world: World) -> None:
        world.log_in(world.far_side.unreachable_login())
        assert not (await _checked(world)).is_usable

    async def test_closing_leaves_nothing_behind_and_needs_no_use_before(self, world: World) -> None:
        before = asyncio.all_tasks()
        used = world.kind(world.settings())
        await used.list_clusters()
        for provider in (used, world.kind(world.settings())):
            await provider.aclose()
        assert asyncio.all_tasks() <= before


async def _checked(world: World) -> AccountStatus:
    account = world.settings()
    status = await world.provider().check_account()
    assert (status.account, status.provider) == (world.account, world.far_side.provider)
    assert status.credential == account.credential
    assert status.detail.strip()
    assert not any(secret in repr(status) for secret in world.secrets)
    return status

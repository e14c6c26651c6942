"""Ways to spoil the provider `slowcloud`, each the name of the test that must find it.

A spoiler gets the provider's class and the monkeypatch of the test.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

Patch = pytest.MonkeyPatch


def test_a_create_sends_one_request_and_is_recorded(cloud: Any, patch: Patch) -> None:
    create = cloud.create_cluster

    async def twice(self: Any, plan: Any, order: Any) -> Any:
        await create(self, plan, order.model_copy(update={"name": f"{order.name}2", "order_id": "another"}))
        return await create(self, plan, order)

    patch.setattr(cloud, "create_cluster", twice)


def test_somebody_elses_cluster_of_that_name_is_not_adopted(cloud: Any, patch: Patch) -> None:
    find = cloud.find_created

    async def by_name(self: Any, order: Any) -> Any:
        search = await find(self, order)
        return search.model_copy(update={"found": (await self.list_clusters()).items})

    patch.setattr(cloud, "find_created", by_name)


def test_gone_is_said_only_when_it_is_gone_and_frees_the_name(cloud: Any, patch: Patch) -> None:
    get = cloud.get_cluster

    async def hopeful(self: Any, cluster: Any, order: Any) -> Any:
        return (await get(self, cluster.cluster_id)).model_copy(update={"answer": "absent", "item": None})

    patch.setattr(cloud, "delete_cluster", hopeful)


def test_a_plan_sends_no_write(cloud: Any, patch: Patch) -> None:
    plan = cloud.plan_cluster

    async def writing(self: Any, name: str, spec: Any, digest: str) -> Any:
        (self.books / "acts").write_text("reserved\n")
        return await plan(self, name, spec, digest)

    patch.setattr(cloud, "plan_cluster", writing)


def test_secrets_of_the_spec_are_not_shown(cloud: Any, patch: Patch) -> None:
    plan = cloud.plan_cluster

    async def showing(self: Any, name: str, spec: Any, digest: str) -> Any:
        made = await plan(self, name, spec, digest)
        return made.model_copy(update={"shown": {**made.shown, "token": spec.token.get_secret_value()}})

    patch.setattr(cloud, "plan_cluster", showing)


def test_a_good_account_is_usable_and_says_where_its_secret_is_from(cloud: Any, patch: Patch) -> None:
    check = cloud.check_account

    async def talkative(self: Any) -> Any:
        logging.getLogger("slowcloud").debug("signing in with %s", self.account.secret().get_secret_value())
        return await check(self)

    patch.setattr(cloud, "check_account", talkative)


def test_the_constructor_does_no_io_and_cannot_fail(cloud: Any, patch: Patch) -> None:
    begin = cloud.__init__

    def eager(self: Any, account: Any) -> None:
        begin(self, account)
        account.secret()

    patch.setattr(cloud, "__init__", eager)


SPOILERS = [spoil for name, spoil in list(globals().items()) if name.startswith("test_")]

"""What a page needs to draw a form: the schema of a spec, the provider's actions, and what may be chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ConfigDict
from tornado.web import authenticated

from ..core.choices import Choice
from ..core.models import Listing
from ..core.provider import ActsOnClusters, LooksUp
from ..core.service import Service
from .handler import GpuClustersHandler, LookingHandler
from .requests import parse_body
from .state import cluster_in
from .written import schema_of


class AccountFormHandler(GpuClustersHandler):
    """``GET accounts/{account}/form``."""

    @authenticated
    @authorized
    async def get(self, account: str) -> None:
        """Answer with the fields of a new cluster; an error where the provider rents nothing."""
        service = await self.service()
        self.answer(await _form(service, account, service.spec_model(account)))


class ClusterFormHandler(GpuClustersHandler):
    """``GET clusters/{account}/{cluster_id}/form``."""

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str) -> None:
        """Answer with the fields of a workload on that cluster."""
        service = await self.service()
        cluster = cluster_in(await service.state(), account, cluster_id)
        self.answer(await _form(service, account, service.workload_model(cluster.account)))


class ActionsHandler(GpuClustersHandler):
    """``GET clusters/{account}/{cluster_id}/actions``."""

    @authenticated
    @authorized
    async def get(self, account: str, cluster_id: str) -> None:
        """Answer with what the provider can do to the cluster besides scaling and deleting; perhaps nothing."""
        service = await self.service()
        cluster_in(await service.state(), account, cluster_id)
        has_any = issubclass(service.provider_class(account), ActsOnClusters)
        actions = service.actions(account) if has_any else {}
        schemas = await asyncio.gather(*(asyncio.to_thread(schema_of, action.model) for action in actions.values()))
        self.answer(
            {
                "actions": [
                    {"name": name, "title": action.title, "description": action.description, "schema": schema}
                    for (name, action), schema in zip(actions.items(), schemas, strict=True)
                ],
                "look_ups": _look_ups(service, account),
            }
        )


class Wanted(BaseModel):
    """Which list is wanted, and the spec as far as it is filled in."""

    model_config = ConfigDict(extra="forbid")

    look_up: str
    given: dict[str, Any] = {}


class ChoicesHandler(LookingHandler):
    """``POST accounts/{account}/choices``."""

    @authenticated
    @authorized
    async def post(self, account: str) -> None:
        """Look up what may be chosen; ends when the page no longer waits for it."""
        wanted = parse_body(Wanted, self.request.body)
        service = await self.service()
        await self.answer_look(_choices(service, account, wanted))


async def _choices(service: Service, account: str, wanted: Wanted) -> Mapping[str, Any]:
    listing: Listing[Choice] = await service.choices(account, wanted.look_up, wanted.given)
    return {
        "choices": [choice.model_dump(mode="json") for choice in listing.items],
        "is_complete": listing.is_complete,
        "not_seen": list(listing.not_seen),
    }


async def _form(service: Service, account: str, model: type[BaseModel]) -> dict[str, Any]:
    # The schema of a large model takes a while the first time, so not on the loop.
    schema = await asyncio.to_thread(schema_of, model)
    title = service.provider_class(account).title
    return {"account": account, "title": title, "schema": schema, "look_ups": _look_ups(service, account)}


def _look_ups(service: Service, account: str) -> dict[str, Any]:
    if not issubclass(service.provider_class(account), LooksUp):
        return {}
    return {name: look_up.model_dump(mode="json") for name, look_up in service.look_ups(account).items()}

"""What is not certain: ``GET recover``, ``GET orphans``, ``POST orders/{order_id}/...`` and closing what vanished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ConfigDict, StringConstraints
from tornado.web import authenticated

from ..core.errors import NotFoundError
from ..core.reports import Recovered
from ..core.service import Service
from .handler import GpuClustersHandler, LookingHandler
from .requests import NoBody, parse_body
from .state import cluster_in, named_body, order_body

_SETTLED = "Look at the list again: it may have been settled meanwhile."


class RecoverHandler(LookingHandler):
    """What became of everything that is not certain."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Look at the providers now; sends nothing but the user's earlier wishes to delete."""
        await self.answer_look(_recover(await self.service()))


async def _recover(service: Service) -> Mapping[str, Any]:
    return {"recovered": [_recovered_body(one) for one in await service.recover()]}


class OrphansHandler(LookingHandler):
    """What may cost and was not ordered from here."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Look at the providers now and report; reads only."""
        await self.answer_look(_orphans(await self.service()))


async def _orphans(service: Service) -> Mapping[str, Any]:
    return (await service.orphans()).model_dump(mode="json")


class Statement(BaseModel):
    """What the user says about something that is not certain."""

    model_config = ConfigDict(extra="forbid")

    statement: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


class Choice(BaseModel):
    """The cluster that the user takes for what an order made."""

    model_config = ConfigDict(extra="forbid")

    cluster_id: Annotated[str, StringConstraints(min_length=1)]


class CloseOrderHandler(GpuClustersHandler):
    """The end of one open order."""

    @authenticated
    @authorized
    async def post(self, order_id: str) -> None:
        """Close the order with the user's statement that nothing exists of it."""
        said = parse_body(Statement, self.request.body)
        service = await self.service()
        closed = await service.close_order(await _open_id(service, order_id), said.statement)
        self.answer({"order": order_body(closed)})


class DeleteOrderHandler(GpuClustersHandler):
    """The wish that what one open order made be deleted."""

    @authenticated
    @authorized
    async def post(self, order_id: str) -> None:
        """Record the wish; whoever sees it first deletes it."""
        parse_body(NoBody, self.request.body)
        service = await self.service()
        wished = await service.delete_on_sight(await _open_id(service, order_id))
        self.parts.watcher.look(service)
        self.answer({"order": order_body(wished)})


class AdoptHandler(GpuClustersHandler):
    """The user's word for what one open order made."""

    @authenticated
    @authorized
    async def post(self, order_id: str) -> None:
        """Take a listed cluster for what the order made."""
        chosen = parse_body(Choice, self.request.body)
        service = await self.service()
        cluster = await service.adopt(await _open_id(service, order_id), chosen.cluster_id)
        self.answer({"cluster": named_body(cluster)})


class CloseClusterHandler(GpuClustersHandler):
    """The end of a cluster that vanished."""

    @authenticated
    @authorized
    async def post(self, account: str, cluster_id: str) -> None:
        """Forget the cluster, with the user's statement that it is gone."""
        said = parse_body(Statement, self.request.body)
        service = await self.service()
        cluster = cluster_in(await service.state(), account, cluster_id)
        await service.close_vanished(cluster, said.statement)
        self.answer({"cluster": named_body(cluster)})


async def _open_id(service: Service, order_id: str) -> str:
    """The id, if it is the whole id of an open order: a page means one order, never the beginning of an id or a name.

    Raises
    ------
    NotFoundError : it is not.
    """
    order = await service.open_order(order_id)
    if order.order_id != order_id:
        raise NotFoundError(f"There is no open order with the id {order_id!r}.", hint=_SETTLED)
    return order_id


def _recovered_body(one: Recovered) -> dict[str, Any]:
    body = one.model_dump(mode="json", include={"kind", "account", "name", "since", "note", "price_per_hour"})
    return {
        **body,
        "order": order_body(one.order),
        "cluster": named_body(one.cluster) if one.cluster is not None else None,
        "candidates": [named_body(candidate) for candidate in one.candidates],
    }

"""Sending a rent: once, or twice with the same key and the same bytes where the service promises that this is safe.

Source: contract, section 3, "Idempotency" and "Required client procedure".

What refusals mean, of the first request and of the second, stands in `errors.REFUSALS`. Where a second answer settles
nothing, the order stays as open as the first answer left it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from ...core.errors import GpuClustersError, OutcomeUnknownError, ProviderError
from ...core.http import Answer, Body, LostAnswerError
from ...core.models import Order, utc_now
from .access import Connection
from .client import Client
from .errors import ids_in, settles_both, things_in
from .resolve import Rent
from .wire import Pod

FEATURE = "rent_idempotency"
_RESEND_AFTER_S = 1.0
_RESEND_WITHIN_S = 60.0
_LOOKS = 3
_LOOK_EVERY_S = 3.0
_START_TAKES = timedelta(minutes=30)
_wall = time.time


def headers_of(order: Order, customer_ref: str | None) -> Mapping[str, str]:
    """Key and tag of one order; the tag is the order's mark unless the user has one."""
    return {
        "Idempotency-Key": order.idempotency_key,
        "X-Customer-Ref": customer_ref or order.mark,
        "X-Source": "sdk",
    }


def body_of(rent: Rent, order: Order) -> Body:
    """The bytes of the rent."""
    fields = {"pod_name": order.remote_name, **rent.fields}
    if not rent.is_single:
        fields["executor_uuids"] = rent.executor_ids
    return Body.from_json(fields)


async def send(connection: Connection, rent: Rent, order: Order, customer_ref: str | None) -> tuple[str, ...]:
    """Rent; the ids of the pods, one for each node, as the answer names them and as far as they are new.

    Raises
    ------
    ProviderError : refused for certain; nothing was rented.
    LostAnswerError : it may have been rented.
    """
    body, headers = body_of(rent, order), headers_of(order, customer_ref)
    is_safe = FEATURE in (await _features(connection.client))
    clock = _Clock()
    try:
        answer = await _post(connection.client, rent, body, headers)
    except OutcomeUnknownError as lost:
        if not is_safe or clock.elapsed_s() > _RESEND_WITHIN_S:
            raise
        await asyncio.sleep(_RESEND_AFTER_S)
        if clock.elapsed_s() > _RESEND_WITHIN_S:
            raise
        answer = await _again(connection.client, rent, body, headers, lost)
    ids = tuple(one for one in ids_in(answer) if one not in order.baseline)
    if not ids:
        raise LostAnswerError(
            f"Lium accepted the rent (HTTP {answer.status}) but its answer names no new pod.",
            provider="lium",
            status=answer.status,
            request_id=answer.request_id,
            ids=things_in(answer),
        )
    return ids


class _Clock:
    """Seconds since it was made, while the machine slept too: by the running and by the wall clock, the longer counts.

    A key that has expired would make the second request a new rent; so a wall clock that was set ends the wait as well.
    """

    def __init__(self) -> None:
        self._now = asyncio.get_running_loop().time
        self._began = (self._now(), _wall())

    def elapsed_s(self) -> float:
        return max(self._now() - self._began[0], abs(_wall() - self._began[1]))


async def _features(client: Client) -> tuple[str, ...]:
    """What the server can do; a server that does not say can do nothing of it."""
    try:
        return (await client.version()).features
    except GpuClustersError:
        return ()


async def _post(client: Client, rent: Rent, body: Body, headers: Mapping[str, str]) -> Answer:
    if rent.is_single:
        return await client.rent_one(rent.executor_ids[0], body, headers)
    return await client.rent_cluster(body, headers)


async def _again(
    client: Client, rent: Rent, body: Body, headers: Mapping[str, str], lost: OutcomeUnknownError
) -> Answer:
    try:
        return await _post(client, rent, body, headers)
    except ProviderError as exc:
        if exc.is_definite and settles_both(exc.status) and not lost.ids:
            raise
        raise _still_lost(lost, exc) from exc
    except GpuClustersError as exc:
        raise _still_lost(lost, exc) from exc


def _still_lost(lost: OutcomeUnknownError, again: GpuClustersError) -> OutcomeUnknownError:
    lost.ids = tuple(dict.fromkeys([*lost.ids, *again.ids]))
    lost.message = f"{lost.message} Asked again with the same key: {again.message}"
    return lost


async def members(client: Client, rent: Rent, ids: Sequence[str], baseline: Collection[str]) -> list[Pod]:
    """The rented pods as listed, looked for a few times until all of them show; maybe fewer.

    An answer may name fewer pods than were rented: who shares a cluster with those belongs to it. Several nodes that
    show no cluster yet are not listed as what they are.
    """
    found: list[Pod] = []
    for look in range(_LOOKS):
        if look:
            await asyncio.sleep(_LOOK_EVERY_S)
        try:
            pods = await client.list_pods()
        except GpuClustersError:
            continue
        ours = [pod for pod in pods if pod.id in ids]
        homes = {pod.cluster_id for pod in ours if pod.cluster_id} - set(baseline)
        found = ours if rent.is_single else [pod for pod in pods if pod.cluster_id in homes]
        if len(found) >= len(rent.executor_ids) and set(ids) <= {pod.id for pod in found}:
            break
    return found


async def see_to_ends(
    client: Client, ids: Sequence[str], listed: Sequence[Pod], hours: int
) -> tuple[list[Pod], list[str]]:
    """See that every member has the end time that was asked for; those that do not show it get one of their own.

    Returns
    -------
    The members as they are now, and ids of those that show none.
    """
    began = min((pod.created_at for pod in listed if pod.created_at is not None), default=utc_now())
    at = began + timedelta(hours=hours)
    ended = {pod.id for pod in listed if _ends_near(pod, at)}
    late = [one for one in ids if one not in ended]
    for pod_id in late:
        with suppress(GpuClustersError):
            await client.schedule_removal(pod_id, at)
    now = await _fresh(client, listed) if late else list(listed)
    shown = {pod.id for pod in now if _ends_near(pod, at)}
    return now, [one for one in ids if one not in shown]


def _ends_near(pod: Pod, at: datetime) -> bool:
    """Whether it shows that end; the service counts from the pod's start, a while after the order."""
    return pod.removal_scheduled_at is not None and abs(pod.removal_scheduled_at - at) <= _START_TAKES


async def _fresh(client: Client, listed: Sequence[Pod]) -> list[Pod]:
    """The members as they are now; as they were where that cannot be read."""
    try:
        pods = await client.list_pods()
    except GpuClustersError:
        return list(listed)
    ids = {pod.id for pod in listed}
    return [pod for pod in pods if pod.id in ids] or list(listed)

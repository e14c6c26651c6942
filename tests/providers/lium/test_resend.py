"""Asking again with the same key: once, soon, by the sender, and what the second answer may settle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from jupyter_gpu_clusters.core.errors import GpuClustersError, OutcomeUnknownError, ProviderError
from jupyter_gpu_clusters.core.models import OrderState
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.providers.lium import renting
from jupyter_gpu_clusters.providers.lium.errors import REFUSALS
from tests.contracts.fixtures import CheckedSandbox
from tests.until import until_async

from .renting import RENT, left, listed, made, rented, rents

pytestmark = pytest.mark.anyio

OPEN_AGAIN = sorted(status for status, meaning in REFUSALS.items() if not meaning.is_certain_again)


def refuse_second(sandbox: CheckedSandbox, status: int) -> None:
    """The second rent is refused; what the first one meets is another fault's matter."""
    shape = {"shape": "in_band" if status == 200 else "envelope", "text": "no second time"}
    sandbox.fault(service="lium", path=RENT, kind="status", status=status, skip=1, **shape)


def test_the_table_of_refusals_is_the_contracts() -> None:
    certain = {status for status, meaning in REFUSALS.items() if meaning.is_certain}
    both = {status for status, meaning in REFUSALS.items() if meaning.is_certain_again}
    assert certain == {200, 400, 401, 402, 403, 404, 422, 429}
    assert both == {200, 400}


@pytest.mark.parametrize("status", OPEN_AGAIN)
async def test_a_second_refusal_that_says_nothing_of_the_first_loses_no_rent(
    service: Service, sandbox: CheckedSandbox, status: int
) -> None:
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    refuse_second(sandbox, status)
    with pytest.raises(OutcomeUnknownError, match=r"Asked again with the same key: .*no second time"):
        await rented(service)
    assert len(rents(sandbox)) == 2
    await service.recover()
    (cluster,) = await listed(service)
    assert (cluster.name, set(cluster.member_ids)) == ("pair", set(made(sandbox)))


@pytest.mark.parametrize("status", OPEN_AGAIN)
async def test_a_second_refusal_that_says_nothing_of_the_first_proves_no_absence(
    service: Service, sandbox: CheckedSandbox, status: int
) -> None:
    sandbox.fault(service="lium", path=RENT, kind="drop_before")
    refuse_second(sandbox, status)
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    (found,) = await service.recover()
    assert found.order.state is OrderState.NOT_SEEN
    with pytest.raises(GpuClustersError):
        await rented(service)
    assert (len(rents(sandbox)), made(sandbox)) == (2, [])


@pytest.mark.parametrize("status", [200, 400])
async def test_a_second_refusal_that_is_kept_under_the_key_settles_both(
    service: Service, sandbox: CheckedSandbox, status: int
) -> None:
    sandbox.fault(service="lium", path=RENT, kind="drop_before")
    refuse_second(sandbox, status)
    with pytest.raises(ProviderError, match="no second time"):
        await rented(service)
    assert (await service.state()).orders == ()
    assert left(sandbox) == []


async def test_pods_that_the_first_answer_named_outweigh_a_second_refusal(
    service: Service, sandbox: CheckedSandbox
) -> None:
    named = "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a01"
    sandbox.fault(service="lium", path=RENT, kind="status", status=502, body={"pod_ids": [named]})
    refuse_second(sandbox, 400)
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    (order,) = (await service.state()).orders
    assert order.remote_ids == (named,)


@pytest.mark.parametrize("jump_s", [61.0, 25 * 3600.0, -25 * 3600.0])
async def test_after_a_minute_also_one_that_was_slept_through_nothing_is_sent_again(
    service: Service, sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    began = time.time()
    clock: Iterator[float] = chain([began], repeat(began + jump_s))
    monkeypatch.setattr(renting, "_wall", lambda: next(clock))
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    assert len(rents(sandbox)) == 1
    await service.recover()
    assert [one.name for one in await listed(service)] == ["pair"]


async def test_sleeping_between_the_lost_answer_and_the_second_request_keeps_it_from_being_sent(
    service: Service, sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.time()
    clock: Iterator[float] = chain([began, began], repeat(began + 3600))
    monkeypatch.setattr(renting, "_wall", lambda: next(clock))
    sandbox.fault(service="lium", path=RENT, kind="drop_after")
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    assert len(rents(sandbox)) == 1


async def test_a_later_process_never_sends_it_again(
    service: Service, sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renting, "_RESEND_WITHIN_S", -1.0)
    sandbox.fault(service="lium", path=RENT, kind="drop_before")
    with pytest.raises(OutcomeUnknownError):
        await rented(service)
    later = Service.open()
    try:
        for _ in range(2):
            await later.recover()
        with pytest.raises(OutcomeUnknownError):
            await rented(later)
    finally:
        await later.aclose()
    assert (len(rents(sandbox)), made(sandbox)) == (1, [])


async def test_an_interrupt_while_the_second_answer_is_awaited_loses_nothing(
    service: Service, sandbox: CheckedSandbox
) -> None:
    sandbox.fault(service="lium", path=RENT, kind="drop_before")
    sandbox.fault(service="lium", path=RENT, kind="delay", seconds=0.5, skip=1)

    async def second_has_come() -> bool:
        return len(rents(sandbox)) == 2

    async def all_is_settled() -> bool:
        return not (await service.state()).orders

    waiting = asyncio.ensure_future(rented(service))
    await until_async(second_has_come)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until_async(all_is_settled)
    (cluster,) = await listed(service)
    assert (cluster.name, set(cluster.member_ids)) == ("pair", set(made(sandbox)))

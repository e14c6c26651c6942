"""What the kernels of the matrix are told in their first cell: to be impatient, and at which step to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

from anyio import to_thread

from jupyter_gpu_clusters.core import bridge, http, orders, rows
from jupyter_gpu_clusters.core.claims import Claims
from jupyter_gpu_clusters.core.http import HttpClient
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.orders import Orders
from jupyter_gpu_clusters.core.retry import Limits
from jupyter_gpu_clusters.providers.e2e import client as e2e_client
from jupyter_gpu_clusters.providers.e2e import provider as e2e_provider
from jupyter_gpu_clusters.providers.lium import removing, renting
from jupyter_gpu_clusters.providers.runai import client as runai_client

from .cases import ANSWERED, BEFORE, CLAIMED, IN_FILE, JOURNALED, RECORDED, SENT

STOPPED, GO_ON = "stopped", "go-on"
_PAGE_ROWS = 3
_TICK_S = 0.01
_SETTLED_WITHIN_S = 20.0
_PAUSES = {
    e2e_provider: ("_SECOND_LOOK_S",),
    removing: ("_LOOK_EVERY_S",),
    orders: ("SETTLE_WAIT_S",),
    renting: ("_RESEND_AFTER_S", "_LOOK_EVERY_S"),
}
_LIMITS = Limits(connect_s=2, read_s=2, write_s=2, pool_s=2, call_s=3, tries=2, first_pause_s=0.01, max_pause_s=0.01)


def hurry() -> None:
    """Short time-outs, no pauses between looks, no grace for what a listing lacks, and pages of three rows."""
    vars(http)["Limits"] = lambda **given: Limits(**given) if given else _LIMITS
    for module, names in _PAUSES.items():
        vars(module).update(dict.fromkeys(names, 0.0))
    vars(rows)["GONE_AFTER"] = timedelta()
    vars(e2e_client)["PER_PAGE"] = vars(runai_client)["PAGE"] = _PAGE_ROWS


def stop_at(step: str) -> None:
    """Make this process stop once, at that step of its next write, until it is told to go on."""
    if step == BEFORE:
        _before(Claims, "claim")
    elif step == CLAIMED:
        _before(Journal, "put_order")
    elif step == IN_FILE:
        _after(Claims, "update")
        _after(Claims, "release")
    elif step == RECORDED:
        _around(Orders, "_complete", after=True)
    elif step in (JOURNALED, ANSWERED):
        _around(HttpClient, "send", after=step == ANSWERED)
    else:
        assert step == SENT, f"{step}: the service holds the answer back"


def settle() -> None:
    """Wait until no write is under way any more, nor a step of one on a worker thread; bounded."""
    deadline = time.monotonic() + _SETTLED_WITHIN_S
    while not bridge.call(_is_settled):
        assert time.monotonic() < deadline, f"a write is still under way after {_SETTLED_WITHIN_S:.0f} s"
        time.sleep(_TICK_S)


async def _is_settled() -> bool:
    sending = vars(vars(bridge.service())["_orders"])["_sending"]
    return not sending and not to_thread.current_default_thread_limiter().borrowed_tokens


class _Once:
    """The mark on disk that says "stopped here"; later calls pass."""

    is_over = False

    @classmethod
    def begins(cls) -> bool:
        if cls.is_over:
            return False
        cls.is_over = True
        Path(STOPPED).touch()
        return True


def _wait() -> None:
    if _Once.begins():
        while not Path(GO_ON).exists():
            time.sleep(_TICK_S)


async def _wait_async() -> None:
    await to_thread.run_sync(_wait, abandon_on_cancel=True)


def _before(owner: type, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    def stopping(*args: Any, **kwargs: Any) -> Any:
        _wait()
        return original(*args, **kwargs)

    setattr(owner, name, stopping)


def _after(owner: type, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    def stopping(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        _wait()
        return result

    setattr(owner, name, stopping)


def _around(owner: type, name: str, *, after: bool) -> None:
    """The same for an async method; asking for a token or a price is no write."""
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    async def stopping(self: Any, *args: Any, **kwargs: Any) -> Any:
        if any(str(one).endswith(("/token", "/quote")) for one in args):
            return await original(self, *args, **kwargs)
        if not after:
            await _wait_async()
        try:
            return await original(self, *args, **kwargs)
        finally:
            if after:
                await _wait_async()

    setattr(owner, name, stopping)

"""What each cluster has cost so far, as pages are told it; worked out anew now and then, not for every page."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ..core.service import Service
from ..core.spend import Cost

_FRESH_S = 20.0
Amounts = Mapping[tuple[str, str], list[dict[str, Any]]]
"""Account and cluster id -> one entry for each currency, and one without for hours of an unknown price."""


class Spent:
    """The estimate of `Service.costs`, kept for some seconds."""

    def __init__(self) -> None:
        self._known: Amounts = {}
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def amounts(self, service: Service) -> Amounts:
        """By account and cluster id. Raises JournalError."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if now >= self._until:
                self._known = _by_cluster((await service.costs()).clusters)
                self._until = now + _FRESH_S
            return self._known


def _by_cluster(costs: tuple[Cost, ...]) -> Amounts:
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for cost in costs:
        if cost.account is not None and cost.cluster_id is not None and not cost.is_free:
            found[cost.account, cost.cluster_id].append(
                cost.model_dump(mode="json", include={"currency", "amount", "amount_high"})
            )
    return found

"""What is for rent, and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .asked import Asked
from .inventory import Executor
from .state import State

_BACKUP_USD_GB_HOUR = 0.0001
_VOLUME_USD_GB_HOUR = 0.0002


class Market:
    """Nodes, GPU names, images, quotes."""

    def __init__(self, state: State) -> None:
        self.state = state

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("GET", "/executors", self.executors),
            Route("GET", "/executors/{executor_uuid}/quote", self.quote),
            Route("GET", "/executors/deployment-estimate", self.estimate),
            Route("GET", "/executors/default-docker-image", self.images),
            Route("GET", "/machines", self.machines),
        ]

    def executors(self, call: Call) -> Answer:
        """GET /executors with all its filters."""
        ask = Asked(call)
        names = call.asked("machine_names")
        low, high = ask.integer("gpu_count_gte") or 1, ask.integer("gpu_count_lte") or 10_000
        speed = ask.number("min_download_mbps") or 0.0
        nvlink, reliable = ask.flag("nvlink"), ask.flag("reliable_only")
        page, size = ask.integer("page"), ask.integer("size")
        for name in ("lat", "lon", "max_distance_mile"):
            ask.number(name)
        ask.done()
        rows = [
            node.json(self.state.free_gpus(node))
            for node in self.state.inventory.executors.values()
            if self.state.free_gpus(node) > 0
            and (not names or node.machine_name in names.split(","))
            and low <= node.gpu_count <= high
            and node.download_mbps >= speed
            and (not nvlink or node.json(0)["nvlink"])
            and (not reliable or node.tier != "spot")
        ]
        if page is not None and size is not None:
            rows = rows[(page - 1) * size : page * size]
        return Answer.json(rows)

    def _executor(self, name: str) -> Executor:
        node = self.state.inventory.executors.get(name)
        if node is None:
            raise Refused(404, "Node not found", code="executor_not_found")
        return node

    def quote(self, call: Call) -> Answer:
        """GET /executors/{executor_uuid}/quote; works without a key."""
        node, ask = self._executor(call.params["executor_uuid"]), Asked(call)
        time, gpus = ask.needed_number("hours"), ask.integer("gpu_count") or node.gpu_count
        volume, backup = ask.number("volume_gb", 0) or 0.0, ask.number("backup_gb", 0) or 0.0
        ask.done()
        per_hour = node.price_per_gpu * gpus
        lines = [
            _line("compute", "GPU hour", node.price_per_gpu, time * gpus),
            _line("volume", "GB hour", _VOLUME_USD_GB_HOUR, time * volume),
            _line("backup", "GB hour", _BACKUP_USD_GB_HOUR, time * backup),
            {"item": "egress", "unit": "GB", "rate_usd": None, "quantity": 0, "amount_usd": None, "note": "at cost"},
        ]
        key = self.state.key_of(call)
        return Answer.json(
            {
                "executor_id": node.id,
                "gpu_count": gpus,
                "hours": time,
                "price_per_hour": round(per_hour, 4),
                "lines": lines,
                "total_usd": round(sum(line["amount_usd"] or 0 for line in lines), 4),
                "pod_balance_floor_usd": round(per_hour / 4, 4),
                "rent_balance_required_usd": self.state.needed_balance(key.account, per_hour) if key else None,
                "allocation": None,
            }
        )

    def estimate(self, call: Call) -> Answer:
        """GET /executors/deployment-estimate."""
        ask = Asked(call)
        node_id, template_id = ask.uuid("executor_id"), ask.uuid("template_id")
        ask.done()
        self._executor(node_id)
        if template_id not in self.state.templates:
            raise Refused(404, "Template not found", code="template_not_found")
        return Answer.json(
            {
                "estimated_seconds": 16,
                "is_slow_machine": False,
                "warning_message": None,
                "is_cached_template": True,
                "docker_image_size": 9_000_000_000,
            }
        )

    def images(self, call: Call) -> Answer:
        """GET /executors/default-docker-image."""
        return Answer.json([{"docker_image": "daturaai/pytorch", "docker_image_tag": "2.9.0-cuda12.8"}])

    def machines(self, call: Call) -> Answer:
        """GET /machines."""
        names = dict.fromkeys(node.machine_name for node in self.state.inventory.executors.values())
        return Answer.json([{"name": name} for name in names])


def _line(item: str, unit: str, rate: float, quantity: float) -> dict[str, Any]:
    amount = round(rate * quantity, 4)
    return {"item": item, "unit": unit, "rate_usd": rate, "quantity": quantity, "amount_usd": amount, "note": ""}

"""Who the caller is, what was spent, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..service import Answer, Call, Refused, Route
from .asked import Asked
from .pod import Pod
from .show import history
from .state import State

_EVENTS = 200
_AUDIT = 100


class Money:
    """Account, statement, records, audit."""

    def __init__(self, state: State) -> None:
        self.state = state

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("GET", "/users/me", self.me),
            Route("GET", "/users/me/events", self.events),
            Route("GET", "/account/audit", self.audit),
            Route("GET", "/billing/statement", self.statement),
            Route("GET", "/pods/{pod_id}/record", self.record),
        ]

    def me(self, call: Call) -> Answer:
        """GET /users/me."""
        account = self.state.known_key(call).account
        return Answer.json(
            {
                "id": account.id,
                "name": account.name,
                "email": f"{account.name.lower()}@example.com",
                "balance": round(self.state.balance(account), 4),
                "email_verified": account.verified,
                "workspace": {"id": account.workspace_id, "name": "personal"},
                "created_at": self.state.written(self.state.now() - 90 * 86_400),
            }
        )

    def events(self, call: Call) -> Answer:
        """GET /users/me/events, newest first."""
        ask = Asked(call)
        since, limit = ask.moment("since"), ask.integer("limit") or _EVENTS
        if call.asked("api_key_id") is not None:
            ask.uuid("api_key_id")
        ask.done()
        start = self.state.world.clock.heard(since) if since else 0.0
        rows = [
            (at, row)
            for pod in self._mine(call)
            if call.asked("pod_id") in (None, pod.id) and call.asked("api_key_id") in (None, pod.key.id)
            for at, row in history(self.state, pod)
            if at >= start
        ]
        rows.sort(key=lambda item: item[0], reverse=True)
        return Answer.json([row for _, row in rows[:limit]])

    def audit(self, call: Call) -> Answer:
        """GET /account/audit, newest first; ``next_cursor`` is where to go on."""
        ask = Asked(call)
        since, until, limit = ask.moment("since"), ask.moment("until"), ask.integer("limit", 1, 500) or _AUDIT
        cursor = ask.integer("cursor", 0) or 0
        ask.done()
        heard = self.state.world.clock.heard
        account = self.state.known_key(call).account.name
        rows = [
            row
            for row in reversed(self.state.audit)
            if row["account"] == account
            and (since is None or row["at"] >= heard(since))
            and (until is None or row["at"] <= heard(until))
            and all(call.asked(name) in (None, row[name]) for name in ("action", "source", "api_key_id", "resource_id"))
        ]
        shown = ("id", "action", "source", "api_key_id", "resource_id")
        items = [
            {**{name: row[name] for name in shown}, "created_at": self.state.written(row["at"])}
            for row in rows[cursor : cursor + limit]
        ]
        more = cursor + limit < len(rows)
        return Answer.json({"items": items, "next_cursor": str(cursor + limit) if more else None})

    def statement(self, call: Call) -> Answer:
        """GET /billing/statement."""
        ask = Asked(call)
        start, end = ask.day("start_day"), ask.day("end_day")
        ask.done()
        wanted = call.asked("api_key_id")
        pods = [self._bill(pod, start, end) for pod in self._mine(call) if wanted in (None, pod.key.id)]
        rows = [row for row in pods if row["total"] > 0]
        total = round(sum(row["total"] for row in rows), 6)
        return Answer.json({"start_day": start, "end_day": end, "total": total, "pods": rows})

    def record(self, call: Call) -> Answer:
        """GET /pods/{pod_id}/record; also after the removal."""
        if "run_record" not in self.state.features():
            raise Refused(404, "Not Found", shape="detail")
        pod = self.state.pod(call, gone=True)
        bill = self._bill(pod, None, None)
        kept = ("pod_id", "pod_name", "gpu_count", "created_at", "removed_at", "removed", "close_reason")
        money = ("billed_seconds", "total", "price_segments")
        return Answer.json(
            {
                **{name: bill[name] for name in (*kept, *money)},
                "gpu_name": pod.executor.machine_name,
                "image": f"{pod.template['docker_image']}:{pod.template['docker_image_tag']}",
                "executor_id": pod.executor.id,
                "launch_snapshot": {"pod_name": pod.body.pod_name, "template_id": pod.template["id"]},
            }
        )

    def _mine(self, call: Call) -> list[Pod]:
        account = self.state.known_key(call).account
        return [pod for pod in self.state.pods.values() if pod.key.account is account]

    def _bill(self, pod: Pod, start: str | None, end: str | None) -> dict[str, Any]:
        now, written = self.state.now(), self.state.written
        days = [row for row in self._days(pod, now) if (start or "") <= row["day"] <= (end or "9999")]
        removed = pod.removed_at(now)
        seconds = sum(row["billed_seconds"] for row in days)
        return {
            "pod_id": pod.id,
            "pod_name": pod.name,
            "gpu_count": pod.gpu_count,
            "created_at": written(pod.created),
            "removed_at": written(removed),
            "removed": removed is not None,
            "close_reason": pod.reason(now),
            "billed_seconds": seconds,
            "billed_until": written(removed or now),
            "total": round(sum(row["total"] for row in days), 6),
            "price_segments": [{"price_per_hour": pod.price, "from": written(pod.created), "seconds": seconds}],
            "days": days,
        }

    def _days(self, pod: Pod, now: float) -> list[dict[str, Any]]:
        rows, begin = [], pod.created
        from_acceptance = self.state.world.choices["lium.billing"] == "acceptance"
        while begin < now:
            end = min(now, (begin // 86_400 + 1) * 86_400)
            seconds = pod.billed_seconds(begin, end, from_acceptance=from_acceptance)
            day = self.state.world.clock.shown(begin).date().isoformat()
            rows.append({"day": day, "billed_seconds": seconds, "total": round(pod.price * seconds / 3600, 6)})
            begin = end
        return [row for row in rows if row["billed_seconds"]]

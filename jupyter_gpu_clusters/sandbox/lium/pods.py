"""Listing, watching, changing and removing pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..service import Answer, Call, Refused, Route
from .bodies import FeedbackBody, JupyterBody, RebootBody, ResetBody, ScheduleBody, SwitchBody
from .keys import Account, limit_polls
from .logs import stream_logs
from .pod import Pod
from .show import history, pod_json
from .state import CLUSTER_IMAGE, State

_REBOOT_S = 15.0
_RESET_S = 20.0


@dataclass
class Reset:
    """One reset of GPUs."""

    pod: Pod
    at: float
    indices: list[int]


class Pods:
    """The routes below /pods, without backups and bills."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._resets: dict[str, Reset] = {}

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("GET", "/pods", self.list, "list"),
            Route("GET", "/pods/{pod_id}", self.get),
            Route("DELETE", "/pods/{pod_id}", self.delete, "delete"),
            Route("POST", "/pods/{pod_id}/schedule-removal", self.schedule, "change"),
            Route("DELETE", "/pods/{pod_id}/schedule-removal", self.unschedule, "change"),
            Route("POST", "/pods/{pod_id}/reboot", self.reboot, "change"),
            Route("POST", "/pods/{pod_id}/reset-gpu", self.reset, "change"),
            Route("GET", "/pods/{pod_id}/reset-gpu/{request_id}", self.get_reset),
            Route("GET", "/pods/{pod_id}/logs", self.logs),
            Route("GET", "/pods/{pod_id}/events", self.events),
            Route("PUT", "/pods/{pod_id}/switch-template", self.switch, "change"),
            Route("POST", "/pods/{pod_id}/install-jupyter", self.install_jupyter, "change"),
            Route("POST", "/pods/{pod_id}/feedback", self.feedback, "change"),
        ]

    def list(self, call: Call) -> Answer:
        """GET /pods."""
        account = self._polled(call)
        pods = self.state.listed(account)
        wanted = call.asked("api_key_id")
        pods = [pod for pod in pods if wanted in (None, pod.key.id)]
        order = self.state.world.choices["lium.listing_order"]
        if order == "newest":
            pods.reverse()
        elif order == "shuffled":
            self.state.world.random.shuffle(pods)
        return Answer.json([pod_json(self.state, pod) for pod in pods])

    def get(self, call: Call) -> Answer:
        """GET /pods/{pod_id}."""
        self._polled(call)
        pod = self.state.pod(call)
        row = pod_json(self.state, pod)
        row["executor"]["disk_health_ok"] = True
        return Answer.json({**row, "last_event": history(self.state, pod)[-1][1]})

    def _polled(self, call: Call) -> Account:
        account = self.state.known_key(call).account
        limit_polls(account, self.state.now(), self.state.world.choices.number("lium.pod_polls_per_minute"))
        return account

    def delete(self, call: Call) -> Answer:
        """DELETE /pods/{pod_id}."""
        pod = self.state.own_pod(call)
        if call.body:
            pod.feedback.append(call.parse(FeedbackBody).model_dump())
        self._remove(call, pod)
        return Answer.json({"success": True, "message": "Deletion has begun"})

    def _remove(self, call: Call, pod: Pod) -> None:
        now = self.state.now()
        if pod.state(now) != "DELETING":
            pod.remove(now, "user_initiated")
            self.state.event(pod, "pod-delete", "requested")
            call.ended.append(pod.id)
        self.state.note(call, "delete_pod", pod.id)

    def schedule(self, call: Call) -> Answer:
        """POST /pods/{pod_id}/schedule-removal."""
        pod = self.state.own_pod(call)
        body = call.parse(ScheduleBody)
        now = self.state.now()
        if pod.state(now) == "DELETING":
            raise Refused(400, "The pod is being deleted", code="pod_deleting")
        try:
            at = self.state.world.clock.heard(datetime.fromisoformat(body.removal_scheduled_at))
        except ValueError:
            raise Refused(422, "Validation error", problems=[("removal_scheduled_at", "no such time")]) from None
        if at <= now:
            raise Refused(400, "The removal time is in the past", code="invalid_time")
        self.state.check_budget(self.state.known_key(call))
        pod.schedule(at, now)
        call.note["removal_at"] = at
        self.state.event(pod, "pod-schedule-removal", "set")
        return Answer.json({"success": True, "message": "Removal scheduled"})

    def unschedule(self, call: Call) -> Answer:
        """DELETE /pods/{pod_id}/schedule-removal."""
        pod = self.state.own_pod(call)
        pod.schedule(None, self.state.now())
        pod.termination_hours = None
        self.state.event(pod, "pod-schedule-removal", "cancelled")
        return Answer.json({"success": True, "message": "Removal cancelled"})

    def _running(self, call: Call) -> Pod:
        pod = self.state.own_pod(call)
        word = pod.state(self.state.now())
        if word == "BROKEN":
            raise Refused(400, f"Pod {pod.id} is broken; only its deletion works", code="pod_broken")
        if word != "RUNNING":
            raise Refused(400, f"The pod is {word}, not RUNNING", code="pod_not_running")
        return pod

    def _restart(self, pod: Pod) -> None:
        pod.go(self.state.now(), (0, "REBOOT_PENDING"), (_REBOOT_S, "RUNNING"))
        pod.host_key += 1

    def reboot(self, call: Call) -> Answer:
        """POST /pods/{pod_id}/reboot."""
        pod = self._running(call)
        body = call.parse(RebootBody) if call.body else RebootBody()
        if body.volume_id:
            volume = self.state.volumes.get(body.volume_id)
            if volume is None or volume["account"] != pod.key.account.name:
                raise Refused(400, "Volume not found", code="volume_not_found")
            pod.volume_id = body.volume_id
        self._restart(pod)
        self.state.event(pod, "pod-reboot", "requested")
        return Answer.json(pod_json(self.state, pod))

    def switch(self, call: Call) -> Answer:
        """PUT /pods/{pod_id}/switch-template."""
        pod = self._running(call)
        template = self.state.templates.get(call.parse(SwitchBody).template_id)
        if template is None:
            raise Refused(404, "Template not found", code="template_not_found")
        if pod.cluster_id and not template["docker_image"].startswith(CLUSTER_IMAGE):
            raise Refused(400, "A cluster member needs the cluster image", code="wrong_image")
        pod.template = template
        self._restart(pod)
        self.state.event(pod, "pod-switch-template", "requested")
        return Answer.json(pod_json(self.state, pod))

    def install_jupyter(self, call: Call) -> Answer:
        """POST /pods/{pod_id}/install-jupyter."""
        pod = self._running(call)
        pod.jupyter_port = call.parse(JupyterBody).jupyter_internal_port
        pod.jupyter_at = self.state.now()
        return Answer.json({"success": True, "message": "Installation has begun"})

    def feedback(self, call: Call) -> Answer:
        """POST /pods/{pod_id}/feedback."""
        pod = self.state.own_pod(call)
        pod.feedback.append(call.parse(FeedbackBody).model_dump())
        return Answer.json({"success": True, "message": "Thank you"})

    def reset(self, call: Call) -> Answer:
        """POST /pods/{pod_id}/reset-gpu."""
        pod = self.state.own_pod(call)
        wanted = call.parse(ResetBody).gpu_indices
        now = self.state.now()
        indices = list(range(pod.gpu_count)) if wanted is None else wanted
        if pod.state(now) != "RUNNING" or any(index >= pod.gpu_count for index in indices):
            text = "The pod does not run" if pod.state(now) != "RUNNING" else "The pod has no such GPU"
            raise Refused(409, text, code="gpu_reset_refused", details={"gpus": []})
        last = max((reset.at for reset in self._resets.values() if reset.pod is pod), default=now - 60)
        if now < last + 60:
            wait = str(round(last + 60 - now))
            raise Refused(429, "One reset a minute", headers={"Retry-After": wait})
        request_id = self.state.world.uuid()
        self._resets[request_id] = Reset(pod, now, indices)
        self.state.event(pod, "gpu-reset", "requested")
        return Answer.json({"request_id": request_id, "status": "running"}, 202)

    def get_reset(self, call: Call) -> Answer:
        """GET /pods/{pod_id}/reset-gpu/{request_id}."""
        pod = self.state.pod(call)
        reset = self._resets.get(call.params["request_id"])
        if reset is None or reset.pod is not pod:
            raise Refused(404, "No such reset", code="not_found")
        row: dict[str, Any] = {"request_id": call.params["request_id"], "status": "running"}
        if self.state.now() >= reset.at + _RESET_S:
            gpus = [
                {"index": n, "uuid": f"GPU-{pod.id[:8]}-{n}", "result": "reset", "detail": None} for n in reset.indices
            ]
            row |= {"status": "done", "ok": True, "container_restarted": True, "gpus": gpus, "error": None}
        return Answer.json(row)

    def logs(self, call: Call) -> Answer:
        """GET /pods/{pod_id}/logs."""
        return stream_logs(self.state, self.state.pod(call), call)

    def events(self, call: Call) -> Answer:
        """GET /pods/{pod_id}/events; also after the removal."""
        return Answer.json([row for _, row in history(self.state, self.state.pod(call, gone=True))])

"""Pods as the wire shows them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .pod import Pod
from .state import State

_JUPYTER_S = 20.0


def pod_json(state: State, pod: Pod) -> dict[str, Any]:
    """One row of GET /pods."""
    now = state.now()
    phase, seconds = pod.start_phase(now)
    ssh = pod.has_ssh(now)
    address = pod.address
    ports = {"22": address.port, **{str(8000 + n): 32_000 + n for n in range(pod.body.initial_port_count or 0)}}
    jupyter = _jupyter(pod, now)
    return {
        "id": pod.id,
        "executor_id": pod.executor.id,
        "pod_name": pod.name,
        "status": pod.state(now),
        "ssh_connect_cmd": f"ssh {address.user}@{address.host} -p {address.port}" if ssh else None,
        "ports_mapping": ports if ssh else {},
        "gpu_name": pod.executor.machine_name.removeprefix("NVIDIA "),
        "gpu_count": str(pod.gpu_count),
        "cpu_name": "AMD EPYC 9654",
        "cpu_count": 16 * pod.executor.gpu_count,
        "ram_total": 128 * pod.executor.gpu_count * 2**20,
        "price": pod.price,
        "created_at": state.written(pod.created),
        "updated_at": state.written(pod.life.since(now)),
        "removal_scheduled_at": state.written(pod.removal_at),
        "termination_hours": pod.termination_hours,
        "enable_jupyter": pod.body.enable_jupyter,
        "jupyter_installation_status": jupyter,
        "jupyter_url": f"http://{address.host}:{pod.jupyter_port}" if jupyter == "SUCCESS" else None,
        "enable_volume_encryption": pod.body.enable_volume_encryption,
        "volume_encryption_status": "ENCRYPTED" if pod.body.enable_volume_encryption else None,
        "local_volume_path": "/root",
        "estimated_ready_seconds": seconds,
        "eta_basis": "executor_history" if phase else None,
        "phase": phase,
        "cluster_id": pod.cluster_id,
        "cluster_node_index": pod.index,
        "cluster_overlay_ip": None if pod.index is None else f"10.42.0.{pod.index + 1}",
        "workspace_id": pod.key.account.workspace_id,
        "created_by_api_key_id": pod.key.id,
        "api_key_id": pod.key.id,
        "api_key_name": pod.key.name,
        "template": pod.template,
        "executor": pod.executor.json(state.free_gpus(pod.executor)),
        "volume": {"id": pod.volume_id} if pod.volume_id else None,
        "ssh_keys": [{"public_key": key} for key in pod.body.user_public_key],
        "notice_period": None,
        "skip_add_agent_ssh_key": pod.body.skip_add_agent_ssh_key,
        "is_favorite": False,
    }


def history(state: State, pod: Pod) -> list[tuple[float, dict[str, Any]]]:
    """What was asked of a pod and what became of it, oldest first, each with its time."""
    now = state.now()
    asked = [(event.at, _row(pod, event.kind, event.sub, actor={"api_key_id": pod.key.id})) for event in pod.events]
    turned = [
        (
            step.at,
            _row(
                pod,
                "pod-status",
                f"pod-status.{step.state.lower()}",
                from_status=before.state,
                to_status=step.state,
                reason=pod.reason(now) if step.state == "DELETING" else None,
                error="the container did not start" if step.state == "CREATION_FAILED" else None,
            ),
        )
        for before, step in pairwise(pod.life.past(now))
    ]
    rows = sorted([*asked, *turned], key=lambda item: item[0])
    return [(at, {"created_at": state.written(at), **row}) for at, row in rows]


def _row(pod: Pod, kind: str, sub: str, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("from_status", "to_status", "reason", "detail", "error", "actor"))
    return {"event_type": kind, "sub_event_type": sub, "pod_name": pod.name, **empty, **more}


def _jupyter(pod: Pod, now: float) -> str | None:
    if pod.jupyter_at is None:
        return None
    return "SUCCESS" if now >= pod.jupyter_at + _JUPYTER_S else "PENDING"

"""What an accepted order makes: pods with a planned life."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..lifecycle import Lifecycle
from ..service import Call
from .bodies import RentBody
from .inventory import Executor
from .keys import Key
from .pod import FAILED_ROW_S, GONE, Pod
from .state import State, read_range

_JUPYTER_PORT = 8888


@dataclass(frozen=True)
class Order:
    """One rent that passed every check; `name` is the one the server gives to all its pods."""

    call: Call
    key: Key
    body: RentBody
    template: dict[str, Any]
    name: str
    cluster_id: str | None = None


def given_name(state: State, name: str) -> str:
    """The name as the server writes it, which may differ from what was asked."""
    style = state.world.choices["lium.pod_name"]
    if style == "suffixed":
        return f"{name}-{state.world.hex(5)}"
    return name.lower() if style == "lower" else name


def make_pod(state: State, order: Order, node: Executor, *, gpus: int, index: int | None = None) -> Pod:
    """Rent `gpus` of a node; `index` is the rank within a cluster."""
    body, now = order.body, state.now()
    ready_s = state.world.random.uniform(*read_range(state.world.choices["lium.start_seconds"]))
    pod = Pod(
        id=state.world.uuid(),
        key=order.key,
        body=body,
        name=order.name,
        executor=node,
        gpu_count=gpus,
        price=round(node.price_per_gpu * gpus, 4),
        template=order.template,
        created=now,
        ready_s=ready_s,
        address=state.next_address(node),
        life=Lifecycle(now, (0, "PENDING"), (ready_s, "RUNNING")),
        customer_ref=order.call.note.get("customer_ref"),
        cluster_id=order.cluster_id,
        index=index,
        volume_id=body.volume_id,
        jupyter_at=now + ready_s if body.enable_jupyter else None,
        jupyter_port=_JUPYTER_PORT if body.enable_jupyter else None,
    )
    if body.termination_hours is not None and state.world.choices["lium.termination_hours"] == "honoured":
        pod.termination_hours = body.termination_hours
        pod.schedule(now + body.termination_hours * 3600, now)
    _meet_fate(state, pod)
    state.pods[pod.id] = pod
    state.event(pod, "pod-rent", "requested")
    order.call.made.append(pod.id)
    return pod


def suffer(pod: Pod, status: str, at: float) -> None:
    """Let something bad happen to a pod; a failed creation loses its row after three minutes."""
    pod.suffer(at, (0, status), *([(FAILED_ROW_S, GONE)] if status == "CREATION_FAILED" else []))


def _meet_fate(state: State, pod: Pod) -> None:
    fate = next((fate for fate in state.fates if fate.get("index") in (None, pod.index)), None)
    if fate is not None:
        state.fates.remove(fate)
        suffer(pod, str(fate["status"]), pod.created + float(fate.get("after_s", 0)))

"""A workload as the service shows it: the typed body, the row of the list, its pods, events and history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..world import World
from .inventory import TENANT
from .times import maybe, shown
from .workload import FINAL, GONE, HOLDING, Event, Pod, Run, Workload

_FRAMEWORK_SHOWN = {"PyTorch": "Pytorch", "TF": "TensorFlow"}
_LIVE = (*HOLDING, "Stopping", "Deleting")


def typed(world: World, workload: Workload) -> dict[str, Any]:
    """The body of create and of the typed read."""
    return {
        "name": workload.name,
        "requestedName": workload.requested_name,
        "workloadId": workload.id,
        "projectId": workload.project.id,
        "departmentId": workload.project.department.id,
        "clusterId": workload.project.cluster.id,
        "createdBy": workload.created_by,
        "createdAt": shown(world, workload.created_at),
        "deletedAt": maybe(world, workload.deleted_at),
        "desiredPhase": workload.desired,
        "actualPhase": workload.phase(world.clock.now()),
        "spec": workload.spec,
        "masterSpecSameAsWorker": workload.same_as_worker,
        "masterSpec": workload.master,
    }


def row(world: World, workload: Workload) -> dict[str, Any]:
    """The row of the list of workloads of all types."""
    now = world.clock.now()
    life, project, run = workload.life, workload.project, workload.run
    phase, since = workload.phase(now), shown(world, life.since(now))
    held = run is not None and run.pool is not None
    running = workload.pod_count if phase == "Running" else max(0, workload.pod_count - 1) if phase == "Degraded" else 0
    first = next((o for o in workload.obstacles if o.phase_reason), None)
    return {
        "id": workload.id,
        "name": workload.name,
        "type": workload.type,
        "source": "Control-plane",
        "sourceApi": "workloads/v1" if workload.type == "Distributed" else None,
        "tenantId": TENANT,
        "clusterId": project.cluster.id,
        "projectId": project.id,
        "projectName": project.name,
        "departmentId": project.department.id,
        "departmentName": project.department.name,
        "namespace": project.namespace,
        "submittedBy": workload.created_by,
        "phase": phase,
        "phaseMessage": workload.message,
        "phaseReason": first.phase_reason if first else None,
        "phaseUpdatedAt": since,
        "k8sPhase": phase,
        "k8sPhaseUpdatedAt": since,
        "conditions": [_scheduled(world, workload, held)] if run is not None else [],
        "createdAt": shown(world, workload.created_at),
        "updatedAt": since,
        "completedAt": maybe(world, life.first(FINAL, now)),
        "deletedAt": maybe(world, workload.deleted_at),
        "guaranteedRuntimeEndsAt": None,
        "priority": workload.priority,
        "priorityClassName": workload.priority_class,
        "preemptible": workload.preemptible,
        "category": str(workload.spec.get("category") or "Train"),
        "distributedFramework": _FRAMEWORK_SHOWN.get(workload.framework, workload.framework),
        "runningPods": running,
        "requestedPods": _requested_pods(workload),
        "requestedNodePools": workload.pools(),
        "currentNodePools": [run.pool.name] if run is not None and run.pool is not None else [],
        "workloadRequestedResources": _sum_requested(workload),
        "podsRequestedResources": requested(workload.spec, 1),
        "allocatedResources": {"gpu": sum(pod.gpus for pod in run.pods) if held and run is not None else 0.0},
        "actionsSupport": {"delete": True, "suspend": True},
        "images": sorted({str(spec.get("image")) for _, _, spec in workload.roles()}),
        "command": str(workload.spec.get("command") or ""),
        "arguments": str(workload.spec.get("args") or ""),
        "environmentVariables": _variables(workload),
        "totalPendingTimeSeconds": int(life.seconds_in(("Pending",), workload.created_at, now)),
        "totalRunningTimeSeconds": int(life.seconds_in(("Running", "Degraded"), workload.created_at, now)),
    }


def detailed(world: World, workload: Workload) -> dict[str, Any]:
    """The generic read: the row and why it waits."""
    messages = [
        {
            "nodePool": obstacle.pool,
            "phaseReason": obstacle.phase_reason,
            "reason": obstacle.text,
            "orgType": "PROJECT",
            "userMessage": f"Node pool {obstacle.pool}: {obstacle.text}.",
        }
        for obstacle in workload.obstacles
        if obstacle.phase_reason is not None
    ]
    return {**row(world, workload), "pendingSchedulingMessages": messages or None}


def _scheduled(world: World, workload: Workload, held: bool) -> dict[str, Any]:
    now = world.clock.now()
    status = {"type": "PodScheduled", "status": "True" if held else "False", "message": workload.message}
    return {**status, "lastTransitionTime": shown(world, workload.life.since(now))}


def _requested_pods(workload: Workload) -> dict[str, int | None]:
    low, high = workload.spec.get("minReplicas"), workload.spec.get("maxReplicas")
    return {"number": workload.pod_count, "min": low, "max": high, "parallelism": None, "completions": None}


def requested(spec: Mapping[str, Any], count: int) -> dict[str, Any]:
    """What `count` pods of a spec ask for."""
    compute = spec.get("compute") or {}
    portion = compute.get("gpuPortionRequest") if compute.get("gpuRequestType") == "portion" else 1
    devices = compute.get("gpuDevicesRequest")
    return {
        "gpuRequestType": compute.get("gpuRequestType"),
        "gpu": {"request": devices and devices * portion * count, "limit": compute.get("gpuPortionLimit")},
        "gpuMemory": {"request": compute.get("gpuMemoryRequest"), "limit": compute.get("gpuMemoryLimit")},
        "cpu": {
            "request": _times(compute.get("cpuCoreRequest"), count),
            "limit": _times(compute.get("cpuCoreLimit"), count),
        },
        "cpuMemory": {"request": compute.get("cpuMemoryRequest"), "limit": compute.get("cpuMemoryLimit")},
        "extendedResources": compute.get("extendedResources") or [],
    }


def _times(value: float | None, count: int) -> float | None:
    return None if value is None else value * count


def _sum_requested(workload: Workload) -> dict[str, Any]:
    total = requested(workload.spec, workload.workers)
    master = workload.master_spec
    if master is not None:
        extra = requested(master, 1)
        for kind in ("gpu", "cpu"):
            parts = [part[kind]["request"] for part in (total, extra) if part[kind]["request"] is not None]
            total[kind]["request"] = sum(parts) if parts else None
    return total


def _variables(workload: Workload) -> dict[str, str]:
    listed = workload.spec.get("environmentVariables") or ()
    return {item["name"]: item["value"] for item in listed if item.get("value") is not None}


def pods(world: World, workload: Workload, *, deleted: bool, full: bool = False) -> list[dict[str, Any]]:
    """Its pods as rows; those of earlier runs only when deleted ones are asked for."""
    rows = []
    for run, state, gone_at in _runs(world, workload):
        if (gone_at is not None) == deleted:
            rows += [_pod(world, workload, run, pod, state, gone_at, full) for pod in run.pods]
    return rows


def _runs(world: World, workload: Workload) -> Iterator[tuple[Run, str, float | None]]:
    now = world.clock.now()
    state = workload.life.state(now)
    ended = list(workload.past_runs)
    kept = ended[-1] if ended and state in FINAL and workload.keeps_pods() and workload.run is None else None
    for run in ended:
        done = "Succeeded" if state == "Completed" else "Failed"
        yield (
            (run, done, None)
            if run is kept
            else (run, "Succeeded" if state == "Completed" else "Terminated", run.ended_at)
        )
    if workload.run is not None and state != GONE:
        word = "Pending" if workload.run.pool is None else {"Initializing": "ContainerCreating"}.get(state, "Running")
        yield workload.run, word, None


def _pod(
    world: World, workload: Workload, run: Run, pod: Pod, state: str, gone_at: float | None, full: bool
) -> dict[str, Any]:  # fmt: skip
    now = world.clock.now()
    spec = next(spec for role, _, spec in workload.roles() if role == pod.role)
    started = workload.started_at(run, now) if state in ("Running", "Succeeded", "Failed") else None
    updated = shown(world, max(run.began_at, min(run.ended_at or now, workload.life.since(now))))
    address = f"10.244.{pod.index // 250}.{pod.index % 250 + 2}" if pod.node is not None else None
    shown_pod = {
        "id": pod.id,
        "name": pod.name,
        "workloadId": workload.id,
        "revisionId": None,
        "clusterId": workload.project.cluster.id,
        "projectId": workload.project.id,
        "tenantId": TENANT,
        "priorityClassName": workload.priority_class,
        "nodeName": pod.node.name if pod.node else None,
        "ip": address if state == "Running" else None,
        "k8sPhase": state,
        "k8sPhaseUpdatedAt": updated,
        "createdAt": shown(world, run.began_at),
        "completedAt": maybe(world, run.ended_at),
        "updatedAt": updated,
        "deletedAt": maybe(world, gone_at),
        "currentNodePool": run.pool.name if run.pool else None,
        "requestedNodePools": workload.pools(),
        "requestedResources": requested(spec, 1),
        "allocatedResources": {"gpu": pod.gpus if run.ended_at is None else 0.0},
        "containers": [{"name": pod.role, "image": str(spec.get("image")), "startedAt": maybe(world, started)}],
        "tolerations": [],
    }
    names = {"projectName": workload.project.name, "workloadName": workload.name}
    return {**shown_pod, **names} if full else shown_pod


def event(world: World, workload: Workload, told: Event) -> dict[str, Any]:
    """One Kubernetes event."""
    return {
        "id": told.id,
        "createdAt": shown(world, told.at),
        "type": told.type,
        "clusterId": workload.project.cluster.id,
        "reason": told.reason,
        "message": told.message,
        "source": "runai-scheduler",
        "involvedObject": {
            "uid": workload.id,
            "kind": workload.type,
            "name": workload.name,
            "namespace": workload.project.namespace,
        },
    }


def history(world: World, workload: Workload) -> list[dict[str, Any]]:
    """Phase changes and events, oldest first."""
    steps = [step for step in workload.life.past(world.clock.now()) if step.state != GONE]
    records = [(step.at, {"phaseUpdate": {"phase": step.state, "phaseMessage": ""}}, "PhaseUpdate") for step in steps]
    records += [(told.at, {"event": event(world, workload, told)}, "Event") for told in workload.events]
    ordered = sorted(records, key=lambda record: record[0])
    return [{"meta": {"creationTimestamp": shown(world, at), "type": kind}, "spec": spec} for at, spec, kind in ordered]

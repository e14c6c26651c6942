"""Measurements: invented, repeatable numbers that follow a workload's phases."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..service import Answer, Call, Refused
from ..world import World
from .listing import number
from .quantity import amount
from .times import asked_time, shown
from .workload import Pod, Workload

WORKLOAD_TYPES = (
    "GPU_UTILIZATION", "GPU_MEMORY_USAGE_BYTES", "GPU_MEMORY_REQUEST_BYTES", "CPU_USAGE_CORES", "CPU_REQUEST_CORES",
    "CPU_LIMIT_CORES", "CPU_MEMORY_USAGE_BYTES", "CPU_MEMORY_REQUEST_BYTES", "CPU_MEMORY_LIMIT_BYTES", "POD_COUNT",
    "RUNNING_POD_COUNT", "GPU_ALLOCATION", "NVLINK_BANDWIDTH_TOTAL",
)  # fmt: skip
POD_TYPES = (
    "GPU_UTILIZATION_PER_GPU", "GPU_UTILIZATION", "GPU_MEMORY_USAGE_BYTES_PER_GPU", "GPU_MEMORY_USAGE_BYTES",
    "CPU_USAGE_CORES", "CPU_MEMORY_USAGE_BYTES", "GPU_GRAPHICS_ENGINE_ACTIVITY_PER_GPU", "GPU_SM_ACTIVITY_PER_GPU",
    "GPU_SM_OCCUPANCY_PER_GPU", "GPU_TENSOR_ACTIVITY_PER_GPU", "GPU_FP64_ENGINE_ACTIVITY_PER_GPU",
    "GPU_FP32_ENGINE_ACTIVITY_PER_GPU", "GPU_FP16_ENGINE_ACTIVITY_PER_GPU",
    "GPU_MEMORY_BANDWIDTH_UTILIZATION_PER_GPU", "GPU_NVLINK_TRANSMITTED_BANDWIDTH_PER_GPU",
    "GPU_NVLINK_RECEIVED_BANDWIDTH_PER_GPU", "GPU_PCIE_TRANSMITTED_BANDWIDTH_PER_GPU",
    "GPU_PCIE_RECEIVED_BANDWIDTH_PER_GPU", "GPU_SWAP_MEMORY_BYTES_PER_GPU", "NVLINK_BANDWIDTH_TOTAL",
    "NVLINK_BANDWIDTH_TOTAL_PER_GPU",
)  # fmt: skip
MOST_SAMPLES, USUAL_SAMPLES = 1000, 20
_WAVE_S = 60.0
_GIGABYTE = 10**9


def metrics(world: World, call: Call, workload: Workload, pod: Pod | None = None) -> Answer:
    """Measurements of a workload or of one of its pods, as JSON or, if that is accepted only, as CSV.

    Status 207 says that some types could not be read: NVLink where the nodes have none.

    Raises
    ------
    Refused : 400, a parameter is missing or wrong.
    """
    known = WORKLOAD_TYPES if pod is None else POD_TYPES
    types = [name for joined in call.query.get("metricType", ()) for name in joined.split(",")]
    unknown = [name for name in types if name not in known]
    if not types or unknown:
        raise Refused(400, f"parameter metricType is missing or unknown: {', '.join(unknown)}")
    start, end = asked_time(world, call, "start"), asked_time(world, call, "end")
    if end < start:
        raise Refused(400, "parameter end must not be before start")
    count = number(call, "numberOfSamples", USUAL_SAMPLES, 0, MOST_SAMPLES)
    moments = [start + (end - start) * n / max(1, count - 1) for n in range(count)]
    pool = workload.run.pool if workload.run else None
    readable = [name for name in types if "NVLINK" not in name or (pool is not None and pool.nvlink)]
    rows = [row for name in readable for row in _measurements(world, workload, pod, name, moments)]
    if "text/csv" in call.headers.get("accept", "") and "json" not in call.headers.get("accept", ""):
        return Answer.text(_as_csv(rows), 200, "text/csv")
    return Answer.json({"measurements": rows}, 200 if len(readable) == len(types) else 207)


def _measurements(
    world: World, workload: Workload, pod: Pod | None, name: str, moments: Sequence[float]
) -> Iterator[dict[str, Any]]:  # fmt: skip
    now = world.clock.now()
    past = [at for at in moments if workload.created_at <= at <= now]
    devices = range(math.ceil(pod.gpus)) if pod is not None and name.endswith("_PER_GPU") else range(1)
    for device in devices:
        labels = {"gpu": str(device)} if name.endswith("_PER_GPU") else None
        values = [
            {
                "value": f"{_value(workload, pod, name.removesuffix('_PER_GPU'), at, device):g}",
                "timestamp": shown(world, at),
            }
            for at in past
        ]
        yield {"type": name, "labels": labels, "values": values}


def _value(workload: Workload, pod: Pod | None, name: str, at: float, device: int) -> float:
    state = workload.life.state(at)
    running, exists = state == "Running", state not in ("Unknown", "Creating")
    pods = [pod] if pod is not None else [*(workload.run.pods if workload.run else ())]
    gpus, count = sum(p.gpus for p in pods), len(pods)
    wave = 0.5 + 0.5 * math.sin(at / _WAVE_S + device)
    compute = workload.spec.get("compute") or {}
    requested = float(amount(compute.get("cpuMemoryRequest") or "0") or 0) * count
    cores = float(compute.get("cpuCoreRequest") or 0) * count
    fixed = {
        "POD_COUNT": float(count) if exists else 0.0,
        "RUNNING_POD_COUNT": float(count) if running else 0.0,
        "GPU_ALLOCATION": gpus,
        "CPU_REQUEST_CORES": cores,
        "CPU_LIMIT_CORES": float(compute.get("cpuCoreLimit") or 0) * count,
        "CPU_MEMORY_REQUEST_BYTES": requested,
        "CPU_MEMORY_LIMIT_BYTES": float(amount(compute.get("cpuMemoryLimit") or "0") or 0) * count,
        "GPU_MEMORY_REQUEST_BYTES": float(amount(compute.get("gpuMemoryRequest") or "0") or 0) * count,
    }
    if name in fixed:
        return fixed[name]
    if not running:
        return 0.0
    if name.endswith("BYTES"):
        return round((0.4 + 0.4 * wave) * 80 * max(1.0, gpus)) * _GIGABYTE
    return round((0.7 + 0.3 * wave) * (cores or 1.0), 3) if name.endswith("CORES") else round(60 + 40 * wave, 1)


def _as_csv(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["type", "timestamp", "value"])
    for row in rows:
        writer.writerows([row["type"], sample["timestamp"], sample["value"]] for sample in row["values"])
    return out.getvalue()

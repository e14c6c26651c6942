"""What is wrong with nodes, told before a workload is started and money is wasted. Pure.

Facts about the overlay and its image: contract of Lium, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from ..core.errors import Problem
from .planning import RankNode

SPARE_BYTES = 64 * 1024**2
"""A node needs so much beside the files that are copied to it: its logs and its state."""

MAX_CLOCK_DIFFERENCE_S = 30.0


class Measured(BaseModel):
    """The answer of "check" on one node (see `launch.supervisor.check`)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    time: float
    gpus: int
    gpu_problem: str | None = None
    free_bytes: int
    address: str | None = None
    infiniband_ports: int = 0


@dataclass(frozen=True, slots=True)
class Checked:
    """What was measured on one node, and on which clock of ours; or why it could not be asked."""

    measured: Measured | None = None
    asked_at: float = 0.0
    took_s: float = 0.0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """What a workload needs on every node: GPUs (0: it asks for none), bytes of files."""

    gpus: int
    files_bytes: int


def judge(nodes: Sequence[RankNode], checks: Mapping[int, Checked], needs: Needs) -> tuple[list[Problem], list[str]]:
    """Problems that forbid the start, and warnings.

    Parameters
    ----------
    checks : by index of the node.
    """
    problems: list[Problem] = []
    warnings: list[str] = []
    for node in nodes:
        checked = checks[node.index]
        if checked.measured is None:
            problems.append(Problem("", f"node {node.index} cannot be used: {checked.problem}"))
            continue
        problems += _problems_of(node, checked.measured, needs)
        warnings += _warnings_of(node, checked.measured, checked, len(nodes) > 1)
    return problems, warnings


def _problems_of(node: RankNode, found: Measured, needs: Needs) -> list[Problem]:
    problems = []
    wanted = min(needs.gpus, node.gpus) if needs.gpus else 0
    if found.gpus < wanted:
        why = f" ({found.gpu_problem})" if found.gpu_problem else ""
        text = f"node {node.index} shows {found.gpus} GPUs, {wanted} are needed{why}; 0 runs without GPUs"
        problems.append(Problem("gpus_per_node", text))
    if found.free_bytes < needs.files_bytes + SPARE_BYTES:
        needed = (needs.files_bytes + SPARE_BYTES) / 1024**2
        text = f"node {node.index} has {found.free_bytes / 1024**2:.0f} MiB free, {needed:.0f} MiB are needed"
        problems.append(Problem("sync" if needs.files_bytes else "", text))
    if node.interface is not None and found.address != node.address:
        has = f"has the address {found.address}" if found.address else "is not up"
        text = f"node {node.index}: its interface {node.interface} {has}, expected {node.address}"
        problems.append(Problem("", text))
    return problems


def _warnings_of(node: RankNode, found: Measured, checked: Checked, is_distributed: bool) -> list[str]:
    warnings = []
    ahead = found.time - checked.asked_at
    beyond = max(-ahead, ahead - checked.took_s)
    if beyond > MAX_CLOCK_DIFFERENCE_S:
        warnings.append(f"The clock of node {node.index} differs from this machine's by {beyond:.0f} s.")
    if is_distributed and node.expects_infiniband and found.infiniband_ports == 0:
        warnings.append(
            f"Node {node.index} shows no active InfiniBand port: NCCL would fall back to TCP, many times slower."
        )
    return warnings

"""What is wrong with nodes is told by name before anything starts."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from jupyter_gpu_clusters.launch.control import Control
from jupyter_gpu_clusters.launch.hosts import LocalHost
from jupyter_gpu_clusters.launch.planning import RankNode
from jupyter_gpu_clusters.launch.preflight import SPARE_BYTES, Checked, Measured, Needs, judge
from jupyter_gpu_clusters.launch.supervisor import check
from tests.until import until

MIB = 1024**2


def node(index: int = 0, *, gpus: int = 8) -> RankNode:
    address = f"10.42.0.{index + 1}"
    return RankNode(index, LocalHost(), "/root", address, gpus, interface="wg0", expects_infiniband=True)


def sound(index: int = 0, *, clock_ahead_s: float = 0.0, **changes: object) -> Checked:
    measured = Measured(
        time=1000.0 + clock_ahead_s, gpus=8, free_bytes=10**12, address=f"10.42.0.{index + 1}", infiniband_ports=8
    )
    return Checked(measured.model_copy(update=changes), asked_at=1000.0, took_s=0.5)


def told(*checks: Checked, gpus: int = 8, files_bytes: int = 0) -> tuple[list[str], list[str]]:
    nodes = [node(index) for index in range(len(checks))]
    problems, warnings = judge(nodes, dict(enumerate(checks)), Needs(gpus, files_bytes))
    return [f"{problem.field}: {problem.text}" for problem in problems], warnings


def test_sound_nodes_have_nothing_against_them() -> None:
    assert told(sound(0), sound(1)) == ([], [])


def test_every_fault_of_every_node_is_named_at_once() -> None:
    problems, warnings = told(
        sound(0, gpus=0, gpu_problem="nvidia-smi is not there", address=None),
        Checked(problem="the connection was refused."),
        sound(2, free_bytes=SPARE_BYTES + 10 * MIB, address="10.42.0.9", infiniband_ports=0),
        files_bytes=500 * MIB,
    )
    assert problems == [
        "gpus_per_node: node 0 shows 0 GPUs, 8 are needed (nvidia-smi is not there); 0 runs without GPUs",
        ": node 0: its interface wg0 is not up, expected 10.42.0.1",
        ": node 1 cannot be used: the connection was refused.",
        "sync: node 2 has 74 MiB free, 564 MiB are needed",
        ": node 2: its interface wg0 has the address 10.42.0.9, expected 10.42.0.3",
    ]
    assert warnings == ["Node 2 shows no active InfiniBand port: NCCL would fall back to TCP, many times slower."]


def test_without_gpus_none_is_looked_for() -> None:
    assert told(sound(0, gpus=0), gpus=0) == ([], [])
    assert told(sound(0, gpus=2), gpus=2) == ([], [])


@pytest.mark.parametrize(("ahead_s", "warns"), [(-31, True), (-29, False), (30.4, False), (31, True)])
def test_a_clock_is_off_beyond_what_the_round_trip_explains(ahead_s: float, warns: bool) -> None:
    _, warnings = told(sound(clock_ahead_s=ahead_s))
    assert bool(warnings) is warns


@pytest.mark.anyio
async def test_a_machine_is_measured(tmp_path: Path) -> None:
    began = time.time()
    root = str(tmp_path / "not" / "there" / "yet")
    looked = await Control(sys.executable).check([RankNode(0, LocalHost(), root, interface="lo")])
    found = looked[0].measured
    assert found is not None, looked
    assert found.address == "127.0.0.1"
    assert began - 1 <= found.time <= time.time() + 1
    assert abs(shutil.disk_usage(tmp_path).free - found.free_bytes) < 1024**3


def test_gpus_are_those_that_the_driver_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def says(script: str) -> tuple[int, str | None]:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        until(lambda: program.stat().st_mode & 0o111)
        return check.count_gpus()

    assert says("echo 'GPU 0: H100 (UUID: a)'; echo 'GPU 1: H100 (UUID: b)'") == (2, None)
    mismatch = "Failed to initialize NVML: Driver/library version mismatch"
    assert says(f"echo '{mismatch}'; exit 18") == (0, f"nvidia-smi says: {mismatch}")
    assert says("exit 9") == (0, "nvidia-smi says: exit code 9")
    monkeypatch.setattr(check, "NVIDIA_SMI_TIMEOUT_S", 0.1)
    assert says("exec sleep 5") == (0, "nvidia-smi does not answer (TimeoutExpired)")


def test_interfaces_without_an_address_and_unknown_ones_have_none() -> None:
    assert check.address_of("lo") == "127.0.0.1"
    assert check.address_of("no-such-interface-at-all") is None

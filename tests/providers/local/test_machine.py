from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_gpu_clusters.providers.local.machine import Gpu, inspect, parse_gpus

pytestmark = pytest.mark.anyio


def put_nvidia_smi(folder: Path, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


async def test_cores_and_memory_are_this_machines(only_path: Path) -> None:
    machine = await inspect()
    assert machine.cpus == len(os.sched_getaffinity(0))
    assert machine.memory_gib > 0.1


async def test_gpus_are_those_the_tool_lists(only_path: Path) -> None:
    put_nvidia_smi(only_path, "echo '0, NVIDIA H100 80GB HBM3'; echo '1, NVIDIA H100 80GB HBM3'")
    assert (await inspect()).gpus == (Gpu(0, "NVIDIA H100 80GB HBM3"), Gpu(1, "NVIDIA H100 80GB HBM3"))


@pytest.mark.parametrize("script", ["exit 9", "echo 'NVIDIA-SMI has failed'; exit 0", "echo", "kill -9 $$"])
async def test_a_tool_that_fails_means_no_gpus(only_path: Path, script: str) -> None:
    put_nvidia_smi(only_path, script)
    assert (await inspect()).gpus == ()


def test_lines_that_are_no_gpus_are_passed_over() -> None:
    assert parse_gpus("warning: driver, old\n 3 , A, B\n\n") == (Gpu(3, "A, B"),)

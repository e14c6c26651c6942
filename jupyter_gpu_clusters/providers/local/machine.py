"""What this machine has: cores, memory, GPUs."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass

_SMI_TIMEOUT_S = 10.0
_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: ``index`` is what ``CUDA_VISIBLE_DEVICES`` takes."""

    index: int
    model: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Usable cores, memory in GiB, and GPUs."""

    cpus: int
    memory_gib: float
    gpus: tuple[Gpu, ...]


async def inspect() -> Machine:
    """Look at this machine now; GPUs are those ``nvidia-smi`` lists, none where it is missing or fails."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return Machine(cpus=cpus, memory_gib=round(memory, 1), gpus=await _gpus())


async def _gpus() -> tuple[Gpu, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    process = await asyncio.create_subprocess_exec(
        program,
        "--query-gpu=index,name",
        "--format=csv,noheader",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_SMI_TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        return ()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return parse_gpus(output.decode(errors="replace")) if process.returncode == 0 else ()


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """Read ``index, name`` lines; anything else in the output is passed over."""
    rows = (line.split(",", 1) for line in text.splitlines())
    return tuple(Gpu(int(row[0]), row[1].strip()) for row in rows if len(row) == 2 and row[0].strip().isdigit())

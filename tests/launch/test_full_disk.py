"""A disk without room: a small tmpfs, really full."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.models import WorkloadPhase
from jupyter_gpu_clusters.launch.spec import CommandSpec
from tests.until import until

from .bench import Bench, family

pytestmark = pytest.mark.anyio

LIBC = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    options = b"size=4m,mode=0700"
    if LIBC.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options):
        reason = f"a tmpfs cannot be mounted ({os.strerror(ctypes.get_errno())}); run the tests as root"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    yield folder
    assert LIBC.umount2(os.fsencode(folder), 0) == 0, os.strerror(ctypes.get_errno())


def fill(folder: Path) -> Path:
    """Leave no block."""
    filler = folder / "filler"
    fd = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (65536, 4096):
            try:
                while True:
                    os.write(fd, bytes(size))
            except OSError:
                pass
    finally:
        os.close(fd)
    assert os.statvfs(folder).f_bavail == 0
    return filler


async def test_a_full_disk_loses_output_but_no_exit_code_and_the_gap_is_marked(small_disk: Path) -> None:
    bench = Bench(small_disk, nodes=2)
    code = f"""
import os, sys, time
def wait(name):
    while not os.path.exists({str(small_disk.parent)!r} + "/" + name): time.sleep(0.02)
print("before", flush=True)
wait("full")
os.write(1, b"x" * 1_000_000)
wait("room")
for i in range(20):
    print("after", i, flush=True)
    time.sleep(0.05)
sys.exit(3 if os.environ["RANK"] == "1" else 0)
"""
    workload = await bench.python(code, procs_per_node=1)
    log = bench.work_folder(workload.workload_id) / "rank-0.log"
    until(lambda: log.read_text() == "before\n")
    filler = fill(small_disk)
    (small_disk.parent / "full").touch()
    until(lambda: bench.state(workload.workload_id)["ranks"][0]["lost_bytes"] > 900_000)
    filler.unlink()
    (small_disk.parent / "room").touch()
    workload = await bench.finished(workload)
    assert workload.reason == "rank 1 on node 1 exited with code 3"
    text = await bench.text(workload, 1)
    match = re.fullmatch(
        r"before\n(x*\n?)\[\.\.\. (\d+) bytes of output lost: No space left on device\]\n((?:after \d+\n)+)", text
    )
    assert match, text[-300:]
    assert match[3].endswith("after 19\n")
    kept = len(match[1].replace("\n", ""))
    written_after = sum(len(f"after {i}\n") for i in range(20)) - len(match[3])
    assert kept + int(match[2]) == 1_000_000 + written_after
    assert f"{match[2]} bytes of its output were lost" in str(workload.ranks[1].reason)


async def test_a_disk_that_stays_full_keeps_the_exit_codes_and_the_mark(small_disk: Path) -> None:
    bench = Bench(small_disk, nodes=1)
    script = f"until [ -e {small_disk.parent}/full ]; do sleep 0.02; done; yes | head -c 3000000; exit $((RANK * 7))"
    workload = await bench.submit(CommandSpec(script=script, procs_per_node=2))
    fill(small_disk)
    (small_disk.parent / "full").touch()
    workload = await bench.finished(workload)
    assert workload.exit_code == 7
    assert workload.first_failed_rank == 1
    assert re.search(r"\[\.\.\. \d+ bytes of output lost: No space left on device\]\n\Z", await bench.text(workload, 1))


async def test_a_disk_that_is_full_at_the_start_refuses_it_on_all_nodes(small_disk: Path, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    (tmp_path / "node1").rmdir()
    (tmp_path / "node1").symlink_to(small_disk)
    fill(small_disk)
    workload = await bench.submit(CommandSpec(command=["touch", str(tmp_path / "has-run")]))
    assert workload.phase is WorkloadPhase.FAILED
    assert str(workload.reason).startswith("node 1: the work folder ")
    assert str(workload.reason).endswith("could not be prepared: No space left on device")
    assert (await bench.get(workload.workload_id)).reason == workload.reason
    assert not (tmp_path / "has-run").exists()
    assert not family(workload.workload_id)
    assert os.listdir(small_disk) == ["filler"], "nothing is left of it"


async def test_with_no_room_anywhere_the_refusal_is_still_told(small_disk: Path) -> None:
    bench = Bench(small_disk, nodes=1)
    fill(small_disk)
    workload = await bench.submit(CommandSpec(command=["true"]))
    assert (workload.phase, workload.name, workload.nodes) == (WorkloadPhase.FAILED, "train", 1)
    assert "No space left on device" in str(workload.reason)
    assert (await bench.launcher.get_workload(workload.workload_id)).answer == "absent"

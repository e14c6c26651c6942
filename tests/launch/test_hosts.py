from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import TransportError
from jupyter_gpu_clusters.launch import hosts
from jupyter_gpu_clusters.launch.hosts import Completed, LocalHost
from tests.until import until_async

from .bench import marked

pytestmark = pytest.mark.anyio

HOST = LocalHost()


async def test_input_and_both_outputs_and_the_exit_code() -> None:
    done = await HOST.run(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"a\0b", timeout_s=20)
    assert done == Completed(3, b"a\0b", b"err\n")


async def test_arguments_are_no_shells_business() -> None:
    nasty = ["$(id)", "a b", "'\"\\", "-n", "\n", "🙂", ""]
    done = await HOST.run(["printf", "%s|", *nasty], timeout_s=20)
    assert done.stdout.decode() == "".join(f"{word}|" for word in nasty)


async def test_a_program_that_takes_too_long_is_ended_with_its_children() -> None:
    began = time.monotonic()
    with pytest.raises(TransportError, match=r"did not end within 0\.3 s"):
        await HOST.run(["sh", "-c", "sleep 987.1 & sleep 987.1"], timeout_s=0.3)
    assert time.monotonic() - began < 5
    await until_async(lambda: asyncio.to_thread(lambda: not marked("987.1")))


async def test_a_cancelled_caller_ends_its_program() -> None:
    task = asyncio.create_task(HOST.run(["sleep", "987.2"], timeout_s=60))
    await until_async(lambda: asyncio.to_thread(marked, "987.2"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not marked("987.2")


async def test_output_is_bounded_and_a_flood_does_not_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "MAX_OUTPUT_BYTES", 1000)
    done = await HOST.run(["head", "-c", "5000000", "/dev/zero"], timeout_s=20)
    assert (done.code, len(done.stdout)) == (0, 1000)


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(TransportError, match="no-such-program could not be started: No such file"):
        await HOST.run(["no-such-program"], timeout_s=5)


async def test_input_that_nobody_wants_is_no_error() -> None:
    assert (await HOST.run(["true"], stdin=b"x" * 1_000_000, timeout_s=20)).code == 0


async def test_leaving_a_stream_ends_its_program() -> None:
    async with HOST.stream(["sh", "-c", "read line; echo got $line; sleep 987.3"], stdin=b"hello\n") as reader:
        assert await reader.readline() == b"got hello\n"
        assert marked("987.3")
    assert not marked("987.3")


async def test_put_writes_whole_or_not_at_all_also_when_many_write_at_once(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "b"
    await asyncio.gather(*(HOST.put(bytes([n]) * 100_000, str(target), timeout_s=10) for n in range(8)))
    assert target.read_bytes() in [bytes([n]) * 100_000 for n in range(8)]
    (tmp_path / "sub" / "folder").mkdir()
    with pytest.raises(TransportError, match="Is a directory"):
        await HOST.put(b"x", str(tmp_path / "sub" / "folder"), timeout_s=10)
    assert sorted(path.name for path in (tmp_path / "sub").iterdir()) == ["b", "folder"]

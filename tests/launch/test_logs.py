"""Output: complete, in order, live, bounded."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from contextlib import aclosing
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import NotFoundError, TransportError
from jupyter_gpu_clusters.core.models import LogChunk, WorkloadPhase
from jupyter_gpu_clusters.launch.logs import MAX_CHUNK_BYTES
from jupyter_gpu_clusters.launch.shipping import build_archive
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.supervisor.log_reader import LogReader, whole_characters
from jupyter_gpu_clusters.launch.supervisor.read_log import LogFeed
from tests.until import until_async

from .bench import SUPERVISOR_PYTHON, Bench, lines_of, log_readers

pytestmark = pytest.mark.anyio

TICK = "import sys, time\nfor i in range({n}):\n    print(f'line {{i}} 🙂', flush=True)\n    time.sleep({s})"


async def test_following_gets_all_ranks_to_their_end(bench: Bench) -> None:
    workload = await bench.python(TICK.format(n=20, s=0.02), procs_per_node=2)
    chunks = await bench.chunks(workload.workload_id, follow=True)
    whole = "".join(f"line {i} 🙂\n" for i in range(20))
    assert lines_of(chunks) == dict.fromkeys(range(4), whole)
    assert {chunk.offset for chunk in chunks if chunk.offset == 0} == {0}
    assert (await bench.get(workload.workload_id)).phase is WorkloadPhase.SUCCEEDED
    assert len({chunk.rank for chunk in chunks[:6]}) > 1, "ranks are interleaved, not one after the other"


async def test_coming_back_with_the_offsets_misses_nothing_and_repeats_nothing(bench: Bench) -> None:
    workload = await bench.python(TICK.format(n=30, s=0.02), procs_per_node=1)
    texts, ends = {0: "", 1: ""}, {0: 0, 1: 0}
    for count in (1, 3, 5, None):
        stream = bench.launcher.stream_logs(workload.workload_id, offsets=ends, follow=True)
        async with aclosing(stream) as chunks:
            seen = 0
            async for chunk in chunks:
                assert chunk.offset == ends[chunk.rank]
                texts[chunk.rank] += chunk.text
                ends[chunk.rank] = chunk.end
                seen += 1
                if seen == count:
                    break
    assert texts == dict.fromkeys(range(2), "".join(f"line {i} 🙂\n" for i in range(30)))


async def test_an_unfinished_line_is_shown_within_a_second(bench: Bench) -> None:
    workload = await bench.python("import time; print('50 %', end='\\r', flush=True); time.sleep(60)", nodes=1)
    async for chunk in bench.launcher.stream_logs(workload.workload_id, follow=True):
        assert chunk.text == "50 %\r"
        break
    assert (await bench.get(workload.workload_id)).phase is WorkloadPhase.RUNNING
    assert LogReader.PATIENCE_S + LogFeed.POLL_S < 0.5, "which leaves half a second for the way"


async def test_a_character_cut_in_two_by_its_writer_arrives_whole(bench: Bench) -> None:
    code = (
        "import os, time\nsmile = '🙂'.encode()\nos.write(1, b'a' + smile[:2])\n"
        "time.sleep(1)\nos.write(1, smile[2:] + b'\\n')"
    )
    workload = await bench.python(code, nodes=1)
    chunks = await bench.chunks(workload.workload_id, follow=True)
    assert "".join(chunk.text for chunk in chunks) == "a🙂\n"
    assert [chunk.end for chunk in chunks] == [1, 6]


async def test_bytes_that_are_no_text_are_replaced_and_counted_as_bytes(bench: Bench) -> None:
    workload = await bench.finished(
        await bench.python("import os; os.write(1, b'a\\xff\\xf0\\x9f\\nb\\xf0\\x9f')", nodes=1)
    )
    chunks = await bench.chunks(workload.workload_id)
    assert "".join(chunk.text for chunk in chunks) == "a��\nb�"
    assert chunks[-1].end == 8 == workload.log_bytes


def test_where_text_may_be_cut() -> None:
    text = "aé€🙂".encode()
    assert [whole_characters(text[:n]) for n in range(len(text) + 1)] == [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10]
    assert whole_characters(b"\x80\x80\x80\x80") == 4, "no text at all is not waited for"


async def test_the_tail_is_read_from_the_end(bench: Bench) -> None:
    code = "print('x' * 50_000_000); print('one'); print('two'); print('three', end='')"
    workload = await bench.finished(await bench.python(code, nodes=1))
    assert lines_of(await bench.chunks(workload.workload_id, tail_lines=2))[0] == "two\nthree"
    assert lines_of(await bench.chunks(workload.workload_id, tail_lines=3))[0] == "one\ntwo\nthree"
    assert await bench.chunks(workload.workload_id, tail_lines=0) == []
    everything = await bench.chunks(workload.workload_id, tail_lines=100)
    assert everything[0].offset == 0
    assert max(chunk.end - chunk.offset for chunk in everything) == MAX_CHUNK_BYTES
    from_offset = await bench.chunks(workload.workload_id, tail_lines=1, offsets={0: 50_000_001})
    assert lines_of(from_offset)[0] == "one\ntwo\nthree"


async def test_a_look_without_following_ends_although_the_rank_goes_on_writing(bench: Bench) -> None:
    workload = await bench.submit(CommandSpec(command=["yes"], nodes=1))

    async def some() -> list[LogChunk]:
        return await bench.chunks(workload.workload_id)

    chunks = await until_async(some)
    assert chunks[0].text.startswith("y\ny\n")
    assert (await bench.get(workload.workload_id)).phase is WorkloadPhase.RUNNING


async def test_following_can_begin_before_anything_is_written_and_ranks_can_be_chosen(bench: Bench) -> None:
    script = f"while [ ! -e {bench.folder}/go ]; do sleep 0.05; done; echo $RANK"
    workload = await bench.submit(CommandSpec(script=script, procs_per_node=2))
    follow = asyncio.create_task(bench.chunks(workload.workload_id, ranks=[1, 2], follow=True))
    await until_async(lambda: asyncio.to_thread(log_readers, workload.workload_id))
    (bench.folder / "go").touch()
    assert lines_of(await follow) == {1: "1\n", 2: "2\n"}


async def test_output_is_collected_fast_and_a_slow_reader_costs_no_memory(bench: Bench) -> None:
    """200 MB at 100 MB/s or more, which a busy test machine is given four times the time for."""
    code = "import os\nb = (b'x' * 99 + b'\\n') * 10_000\nfor _ in range(200): os.write(1, b)"
    began = time.monotonic()
    workload = await bench.finished(await bench.python(code, nodes=1))
    assert workload.log_bytes == 200_000_000
    assert time.monotonic() - began < 8
    stream = bench.launcher.stream_logs(workload.workload_id)
    async with aclosing(stream) as chunks:
        position = 0
        async for chunk in chunks:
            assert chunk.offset == position
            position = chunk.end
            assert position - chunk.offset <= MAX_CHUNK_BYTES
            if position > 20_000_000:
                break
    await until_async(lambda: asyncio.to_thread(lambda: not log_readers(workload.workload_id)))


async def test_logs_of_what_is_not_there(bench: Bench) -> None:
    with pytest.raises(NotFoundError, match="knows the workload nothing"):
        await bench.chunks("nothing", follow=True)
    workload = await bench.run(CommandSpec(command=["true"]))
    with pytest.raises(NotFoundError, match="no rank 2") as caught:
        await bench.chunks(workload.workload_id, ranks=[0, 2])
    assert caught.value.hint == "Its ranks are 0 to 1."


async def test_a_reader_that_dies_is_an_error_and_not_the_end_of_the_log(bench: Bench) -> None:
    workload = await bench.submit(CommandSpec(script="echo one; sleep 60", nodes=1))
    stream = bench.launcher.stream_logs(workload.workload_id, follow=True)
    async with aclosing(stream) as chunks:
        assert (await anext(chunks)).text == "one\n"
        for pid in log_readers(workload.workload_id):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(TransportError, match="broke off"):
            await anext(chunks)


async def test_a_reader_ends_when_its_client_is_gone(bench: Bench) -> None:
    """Over SSH nobody kills it: it has to notice its closed stdin by itself."""
    workload = await bench.submit(CommandSpec(command=["sleep", "60"], nodes=1))
    request: dict[str, Any] = {
        "roots": [bench.launcher.nodes[0].root],
        "ranks": None,
        "offsets": {},
        "tail": None,
        "follow": True,
    }
    archive = bench.folder / "supervisor.pyz"
    archive.write_bytes(build_archive())
    reader = await asyncio.create_subprocess_exec(
        *(SUPERVISOR_PYTHON, "-I", "-S", str(archive), "read-log", workload.workload_id),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert reader.stdin
    assert reader.stdout
    reader.stdin.write(json.dumps(request).encode() + b"\n")
    assert json.loads(await reader.stdout.readline()) == {"is_known": True, "world": 1}
    assert reader.returncode is None
    reader.stdin.close()
    async with asyncio.timeout(10):
        assert await reader.wait() == 0

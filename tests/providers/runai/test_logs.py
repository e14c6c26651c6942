"""Output of pods, from the cluster itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import NotFoundError, NotSupportedError, SettingsError, TransportError
from jupyter_gpu_clusters.core.models import LogChunk, Workload
from jupyter_gpu_clusters.providers.runai import logs
from jupyter_gpu_clusters.providers.runai.access import cluster_url
from jupyter_gpu_clusters.providers.runai.convert import ranks_of
from jupyter_gpu_clusters.providers.runai.wire import Pod

from .conftest import Runner

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_POLL_S", 0.05)


async def stream(runai: Runner, workload: Workload, **options: Any) -> AsyncGenerator[LogChunk, None]:
    chunks = (await runai.launcher()).stream_logs(workload.workload_id, **options)
    async with aclosing(chunks):
        async for chunk in chunks:
            yield chunk


async def text_of(runai: Runner, workload: Workload, **options: Any) -> dict[int, str]:
    """Everything that is read, by rank; pieces must fit onto each other."""
    found: dict[int, str] = {}
    ends: dict[int, int] = {}
    async for chunk in stream(runai, workload, **options):
        assert chunk.offset == ends.get(chunk.rank, chunk.offset)
        assert chunk.end - chunk.offset == len(chunk.text.encode())
        ends[chunk.rank] = chunk.end
        found[chunk.rank] = found.get(chunk.rank, "") + chunk.text
    return found


async def test_every_rank_has_its_own_pod(runai: Runner) -> None:
    workload = await runai.running(nodes=3, gpus_per_node=1)
    found = await text_of(runai, workload)
    assert sorted(found) == [0, 1, 2]
    assert "-master-0] step 0" in found[0]
    assert all("-worker-0]" in line for line in found[1].splitlines())
    assert await text_of(runai, workload, ranks=[2]) == {2: found[2]}


async def test_offsets_and_tails(runai: Runner) -> None:
    workload = await runai.running(gpus_per_node=1)
    whole = (await text_of(runai, workload, ranks=[0]))[0]
    lines = whole.splitlines(keepends=True)
    assert await text_of(runai, workload, ranks=[0], tail_lines=2) == {0: "".join(lines[-2:])}
    assert await text_of(runai, workload, ranks=[0], tail_lines=0) == {}
    assert await text_of(runai, workload, ranks=[0], tail_lines=10_000) == {0: whole}
    half = len(lines[0].encode())
    assert await text_of(runai, workload, ranks=[0], offsets={0: half}, tail_lines=1) == {0: "".join(lines[1:])}
    assert await text_of(runai, workload, ranks=[0], offsets={0: len(whole.encode())}) == {}
    assert await text_of(runai, workload, ranks=[0], offsets={0: 10**9}) == {}


async def test_characters_are_never_cut(runai: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_CHUNK", 7)
    workload = await runai.running(gpus_per_node=1)
    lines = ["é✓😀" * 9, "", "plain"]
    runai.sandbox.setup("runai", log={"id": workload.workload_id, "lines": lines})
    assert (await text_of(runai, workload, ranks=[0]))[0] == "".join(f"{line}\n" for line in lines)


async def test_following_delivers_what_comes_and_ends_with_the_workload(runai: Runner) -> None:
    workload = await runai.running(gpus_per_node=1)
    found: dict[int, list[int]] = {0: [], 1: []}
    goal = 0
    async for chunk in stream(runai, workload, follow=True, tail_lines=1):
        found[chunk.rank] += [int(line.split()[2]) for line in chunk.text.splitlines()]
        if all(steps and steps[-1] >= goal for steps in found.values()):
            goal = found[0][-1] + 10
            if goal < 50:
                runai.sandbox.advance(50)
            else:
                runai.sandbox.setup("runai", finish={"id": workload.workload_id})
    for steps in found.values():
        assert steps == list(range(steps[0], steps[-1] + 1))
        assert len(steps) > 20


async def test_following_waits_for_the_start(runai: Runner) -> None:
    workload, _ = await runai.submit()
    assert await text_of(runai, workload) == {}
    reading = asyncio.ensure_future(text_of(runai, workload, follow=True))
    await asyncio.sleep(0.2)
    assert not reading.done()
    runai.sandbox.advance(60)
    await asyncio.sleep(0.5)
    runai.sandbox.advance(900)
    assert "step 0" in (await asyncio.wait_for(reading, 20))[0]


async def test_leaving_a_followed_log_closes_it(runai: Runner) -> None:
    workload = await runai.running(gpus_per_node=1)
    chunks = (await runai.launcher()).stream_logs(workload.workload_id, follow=True)
    assert await anext(chunks)
    await asyncio.wait_for(chunks.aclose(), 10)
    others = [task for task in asyncio.all_tasks() if "_feed" in repr(task)]
    assert others == []


async def test_following_without_the_library_is_said(runai: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = await runai.running(gpus_per_node=1)
    monkeypatch.setattr(logs, "is_there", lambda: False)
    chunks = stream(runai, workload, follow=True)
    assert [(await anext(chunks)).rank, (await anext(chunks)).rank] == [0, 1]
    with pytest.raises(NotSupportedError, match="websockets"):
        await anext(chunks)


@pytest.mark.parametrize("kind", ["training", "distributed"])
async def test_both_spellings_of_the_route_are_tried(runai: Runner, kind: str) -> None:
    runai.sandbox.choose({"runai.log_type": kind})
    workload = await runai.running(gpus_per_node=1)
    assert sorted(await text_of(runai, workload)) == [0, 1]


@pytest.mark.parametrize("how", ["completed", "suspended", "deleted"])
async def test_after_the_end_the_other_ways_are_named(runai: Runner, how: str) -> None:
    workload = await runai.running(gpus_per_node=1)
    launcher = await runai.launcher()
    if how == "deleted":
        await launcher.cancel_workload(workload.workload_id)
    elif how == "suspended":
        client = await runai.provider._access.client()
        await client.suspend_distributed(workload.workload_id)
    runai.sandbox.advance(700)
    for follow in (False, True):
        with pytest.raises(NotSupportedError, match="only while it runs") as caught:
            await text_of(runai, workload, follow=follow)
        hint = str(caught.value.hint)
        assert "runai training pytorch logs" in hint
        assert "kubectl logs -n runai-vision -l workloadName=" in hint


async def test_a_cluster_that_cannot_be_reached_is_said(runai: Runner) -> None:
    runai.sandbox.choose({"runai.cluster_api": "unreachable"})
    workload = await runai.running(gpus_per_node=1)
    with pytest.raises(TransportError, match="cannot be reached from here") as caught:
        await text_of(runai, workload)
    assert "kubectl logs" in str(caught.value.hint)


async def test_a_cluster_without_an_address_is_said(runai: Runner) -> None:
    runai.sandbox.choose({"runai.cluster_api": "unset"})
    workload = await runai.running(gpus_per_node=1)
    with pytest.raises(NotSupportedError, match="address of the cluster"):
        await text_of(runai, workload)


async def test_a_rank_that_is_not_there(runai: Runner) -> None:
    workload = await runai.running(gpus_per_node=1)
    with pytest.raises(NotFoundError, match="there are: 0, 1"):
        await text_of(runai, workload, ranks=[5])


async def test_a_refused_stream_shows_no_token(runai: Runner, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("websockets").setLevel(logging.DEBUG)
    caplog.set_level("DEBUG")
    workload = await runai.running(gpus_per_node=1)
    client = await runai.provider._access.client()
    token = (await client.token()).get_secret_value()
    reading = asyncio.ensure_future(text_of(runai, workload, follow=True))
    await asyncio.sleep(0.3)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    runai.sandbox.choose({"runai.log_type": "distributed"})
    from jupyter_gpu_clusters.providers.runai.sockets import open_stream

    url = runai.sandbox.url + "/runai"
    with pytest.raises(TransportError, match="could not be opened") as caught:
        async for _ in open_stream(
            url, "/cluster-api/api/v1/a/workloads/training/pytorch/b/logs", {}, await client.token()
        ):
            pass
    chain: BaseException | None = caught.value
    while chain is not None:
        assert token not in str(chain) + repr(chain)
        chain = chain.__cause__ or chain.__context__
    ours = [record for record in caplog.records if not record.name.startswith("uvicorn")]
    assert ours
    assert token not in str([(record.getMessage(), record.args) for record in ours])


@pytest.mark.parametrize(
    ("domain", "url"),
    [
        ("east.example.org", "https://east.example.org"),
        ("https://east.example.org/", "https://east.example.org"),
        ("http://127.0.0.1:80/runai", "http://127.0.0.1:80/runai"),
    ],
)
def test_addresses_of_clusters(domain: str, url: str) -> None:
    assert cluster_url(domain) == url


@pytest.mark.parametrize("domain", ["http://east.example.org", "ftp://x", "https://user@x", "http://127.evil.example"])
def test_the_token_goes_nowhere_unencrypted(domain: str) -> None:
    with pytest.raises(SettingsError):
        cluster_url(domain)


def test_ranks_by_the_numbers_of_the_pods() -> None:
    names = ["t-worker-10", "t-worker-2", "t-worker-0", "t-master-0", "t-odd", None]
    found = ranks_of([Pod(name=name) for name in names], has_master=True)
    assert {rank: pod.name for rank, pod in found.items()} == {
        0: "t-master-0", 1: "t-worker-0", 3: "t-worker-2", 11: "t-worker-10",
    }  # fmt: skip
    launcher = ranks_of([Pod(name="t-launcher-x7k2p"), Pod(name="t-worker-0")], has_master=True)
    assert sorted(launcher) == [0, 1]
    assert sorted(ranks_of([Pod(name="t-worker-0"), Pod(name="t-worker-1")], has_master=False)) == [0, 1]

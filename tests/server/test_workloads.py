"""``POST workloads/.../cancel`` and ``GET workloads/.../logs``."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_gpu_clusters.core.models import Workload
from jupyter_gpu_clusters.core.processes import start_time
from jupyter_gpu_clusters.server import workloads

from .helpers import Answer, Client, by_name, eventually
from .notebook import Notebook

SLEEP = "import time; time.sleep(600)"
# 3,000 lines of about 100 bytes with 2-, 3- and 4-byte characters: more than one page of 64 KiB for each rank.
MUCH = "import os\nfor i in range(3000): print(os.environ['RANK'], i, 'é€🙂' * 10)"
# As MUCH, and it then stays until it finds the file `end` in its directory.
STAY = "\nimport time, pathlib, sys; sys.stdout.flush()\nwhile not pathlib.Path('end').exists(): time.sleep(0.05)\n"


def _written(rank: int) -> str:
    return "".join(f"{rank} {i} {'é€🙂' * 10}\n" for i in range(3000))


def _path(workload: Workload, last: str) -> tuple[str, ...]:
    return ("workloads", workload.account, workload.cluster_id, workload.workload_id, last)


async def test_cancel_ends_every_process(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create(nodes=2)
    workload = await notebook.run(cluster, SLEEP, procs_per_node=2)
    pids = [rank.pid for rank in workload.ranks if rank.pid]
    assert len(pids) == 4

    answer = await client.post(*_path(workload, "cancel"))

    assert answer.status == 200
    assert answer.body["workload"]["full_name"] == "local/demo/train"
    assert answer.body["workload"]["phase"] == "cancelled"
    assert answer.body["left_over"] == []
    assert [start_time(pid) for pid in pids] == [None] * 4
    shown = by_name((await client.get("state")).body["workloads"], "train")
    assert shown is not None
    assert shown["phase"] == "cancelled"


async def test_cancelling_what_has_ended_is_calm(client: Client, notebook: Notebook) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(), "pass"))
    answer = await client.post(*_path(workload, "cancel"), body=b"{}")
    assert answer.status == 200
    assert answer.body["workload"]["phase"] == "succeeded"


@pytest.mark.parametrize("last", ["cancel", "logs"])
@pytest.mark.parametrize("workload_id", ["x", "a/b%20 é🙂"])
async def test_an_unknown_workload_is_a_404_that_names_it(client: Client, last: str, workload_id: str) -> None:
    path = ("workloads", "local", "c/1", workload_id, last)
    answer = await client.post(*path) if last == "cancel" else await client.get(*path)
    assert answer.status == 404
    assert answer.body["code"] == "not_found"
    assert repr(workload_id) in answer.body["message"]


async def test_a_rubbish_body_cancels_nothing(client: Client, notebook: Notebook) -> None:
    workload = await notebook.run(await notebook.create(), SLEEP)
    answer = await client.post(*_path(workload, "cancel"), body=b'{"signal": 9}')
    assert answer.status == 400
    assert [problem["field"] for problem in answer.body["fields"]] == ["signal"]
    assert all(start_time(rank.pid) for rank in workload.ranks if rank.pid)


async def test_a_rubbish_query_is_refused_with_every_field(client: Client, notebook: Notebook) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(), "pass"))
    answer = await client.get(*_path(workload, "logs"), offsets="{", tail="x", limit="9999999")
    assert answer.status == 400
    assert [problem["field"] for problem in answer.body["fields"]] == ["offsets", "tail", "limit"]


async def _page(client: Client, workload: Workload, offsets: dict[str, int], **query: str) -> dict[str, Any]:
    answer: Answer = await client.get(*_path(workload, "logs"), offsets=json.dumps(offsets), **query)
    assert answer.status == 200, answer.body
    return answer.body


async def test_pages_give_every_byte_of_every_rank_once(client: Client, notebook: Notebook) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(nodes=2), MUCH, procs_per_node=1))
    limit = 65_536
    offsets = {"0": 0, "1": 0}
    texts = {0: "", 1: ""}
    pages = 0
    while True:
        page = await _page(client, workload, offsets, limit=str(limit))
        pages += 1
        assert sum(chunk["end"] - chunk["offset"] for chunk in page["chunks"]) <= limit
        for chunk in page["chunks"]:
            assert chunk["offset"] == offsets[str(chunk["rank"])]
            assert chunk["end"] - chunk["offset"] == len(chunk["text"].encode())
            offsets[str(chunk["rank"])] = chunk["end"]
            texts[chunk["rank"]] += chunk["text"]
        assert page["offsets"] == offsets
        assert page["is_final"] is not page["has_more"]
        if page["is_final"]:
            break
    assert texts == {0: _written(0), 1: _written(1)}
    assert pages > 2
    assert (await _page(client, workload, offsets))["chunks"] == []


async def test_without_offsets_it_starts_with_the_last_lines_of_every_rank(client: Client, notebook: Notebook) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(nodes=2), MUCH, procs_per_node=1))
    page = (await client.get(*_path(workload, "logs"), tail="3")).body
    texts = {rank: "".join(c["text"] for c in page["chunks"] if c["rank"] == rank) for rank in (0, 1)}
    assert texts == {rank: "".join(_written(rank).splitlines(keepends=True)[-3:]) for rank in (0, 1)}
    assert page["offsets"] == {str(rank): len(_written(rank).encode()) for rank in (0, 1)}
    assert (page["is_final"], page["phase"]) == (True, "succeeded")


async def test_a_rank_the_caller_has_not_met_begins_with_its_last_lines(client: Client, notebook: Notebook) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(nodes=2), MUCH, procs_per_node=1))
    end = len(_written(0).encode())
    page = await _page(client, workload, {"0": end}, tail="1")
    assert [(chunk["rank"], chunk["text"]) for chunk in page["chunks"]] == [(1, _written(1).splitlines(True)[-1])]


async def test_a_rank_that_does_not_exist_is_a_404(client: Client, notebook: Notebook) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(), "pass"))
    answer = await client.get(*_path(workload, "logs"), offsets='{"99": 0}')
    assert answer.status == 404
    assert "99" in answer.body["message"]


async def test_a_silent_rank_has_an_offset_too(client: Client, notebook: Notebook) -> None:
    code = "import os\nif os.environ['RANK'] == '0': print('only me')"
    workload = await notebook.finish(await notebook.run(await notebook.create(nodes=2), code, procs_per_node=1))
    page = (await client.get(*_path(workload, "logs"))).body
    assert page["offsets"] == {"0": 8, "1": 0}


async def test_a_running_workload_is_answered_at_once_and_goes_on_from_the_offsets(
    client: Client, notebook: Notebook, tmp_path: Path
) -> None:
    code = "import sys; sys.stdout.write('first\\n')" + STAY + "print('last')"
    workload = await notebook.run(await notebook.create(), code, procs_per_node=1, workdir=str(tmp_path))

    async def first() -> dict[str, Any] | None:
        page: dict[str, Any] = (await client.get(*_path(workload, "logs"))).body
        return page if page["chunks"] else None

    page = await eventually(first)
    assert [chunk["text"] for chunk in page["chunks"]] == ["first\n"]
    assert (page["is_final"], page["has_more"]) == (False, False)
    started = time.monotonic()
    again = await _page(client, workload, page["offsets"])
    assert time.monotonic() - started < 10
    assert again["chunks"] == []

    (tmp_path / "end").touch()

    async def rest() -> dict[str, Any] | None:
        now = await _page(client, workload, page["offsets"])
        return now if now["is_final"] else None

    final = await eventually(rest)
    assert [(chunk["offset"], chunk["text"]) for chunk in final["chunks"]] == [(6, "last\n")]


async def test_a_look_ends_when_nobody_waits_for_its_answer(
    client: Client, notebook: Notebook, http_server_port: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = await notebook.finish(await notebook.run(await notebook.create(), "pass"))
    began, ended = asyncio.Event(), asyncio.Event()

    async def endless(*_: object) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(workloads, "read_logs", endless)
    _, writer = await asyncio.open_connection("127.0.0.1", http_server_port[-1])
    path = f"{client.base_url}gpu-clusters/{'/'.join(_path(workload, 'logs'))}"
    token = client.headers["Authorization"]
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n\r\n".encode())
    async with asyncio.timeout(30):
        await began.wait()
        writer.close()
        await ended.wait()


async def test_bytes_that_are_no_text_are_replaced_and_counted(client: Client, notebook: Notebook) -> None:
    code = "import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb\\n')"
    workload = await notebook.finish(await notebook.run(await notebook.create(), code, procs_per_node=1))
    page = (await client.get(*_path(workload, "logs"))).body
    assert "".join(chunk["text"] for chunk in page["chunks"]) == "a\ufffd\ufffdb\n"
    assert page["offsets"] == {"0": 5}

"""``DELETE clusters/{account}/{cluster_id}``."""

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.core.processes import start_time

from .helpers import Client, by_name, eventually
from .notebook import Notebook

SLEEP = "import time; time.sleep(600)"


async def test_delete_ends_the_cluster_and_the_processes_on_it(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create("demo", nodes=2)
    workload = await notebook.run(cluster, SLEEP)
    pids = [rank.pid for rank in workload.ranks if rank.pid]
    assert pids

    answer = await client.delete("clusters", "local", cluster.cluster_id)

    assert answer.status == 200
    assert answer.body["is_gone"] is True
    assert answer.body["cluster"]["full_name"] == "local/demo"
    assert answer.body["cluster"]["phase"] == "deleted"

    async def all_ended() -> bool:
        return all(start_time(pid) is None for pid in pids)

    await eventually(all_ended)
    state = (await client.get("state")).body
    assert (state["clusters"], state["workloads"]) == ([], [])
    assert (await notebook.service.refresh()).clusters == ()


async def test_deleting_what_is_gone_is_a_plain_404(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create()
    assert (await client.delete("clusters", "local", cluster.cluster_id)).status == 200
    answer = await client.delete("clusters", "local", cluster.cluster_id)
    assert answer.status == 404
    assert answer.body["code"] == "not_found"
    assert answer.body["hint"]


@pytest.mark.parametrize("cluster_id", ["x", "100%", "a/b", "a b", "ключ-é-🙂", "..", "%2F", "a?b#c&d=e", "+", '"<i>'])
async def test_an_unknown_id_is_named_as_it_was_sent(client: Client, cluster_id: str) -> None:
    answer = await client.delete("clusters", "acc/ount é%", cluster_id)
    assert answer.status == 404
    assert repr(cluster_id) in answer.body["message"]
    assert "acc/ount é%" in answer.body["message"]


async def test_the_id_of_another_account_is_unknown(client: Client, notebook: Notebook) -> None:
    cluster = await notebook.create()
    assert (await client.delete("clusters", "other", cluster.cluster_id)).status == 404
    assert len((await notebook.service.refresh()).clusters) == 1


async def test_a_path_that_is_no_text_is_refused(client: Client) -> None:
    assert (await client.fetch("DELETE", "clusters/local/%FF")).code == 400


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"force": true}', b"\xff"])
async def test_a_rubbish_body_deletes_nothing(client: Client, notebook: Notebook, body: bytes) -> None:
    cluster = await notebook.create()
    answer = await client.delete("clusters", "local", cluster.cluster_id, body=body)
    assert answer.status == 400
    assert answer.body["fields"]
    assert by_name((await client.get("state")).body["clusters"], "demo")

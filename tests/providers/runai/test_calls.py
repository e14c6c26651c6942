"""Calls and fields of the contract that no other test of this folder names."""

from __future__ import annotations

import json

import pytest

from tests.providers.runai.conftest import Runner

pytestmark = pytest.mark.anyio


async def test_clusters_in_short(runai: Runner) -> None:
    client = await runai.provider._access.client()
    names = {row.name for row in (await client.list_clusters_minimal()).rows}
    assert names == {cluster.name for cluster in (await runai.provider.list_clusters()).items}


async def test_memory_limits_of_workers_and_master(runai: Runner) -> None:
    runai.sandbox.choose({"runai.gpu_limits": "enabled"})
    compute = {"gpuRequestType": "memory", "gpuMemoryRequest": "8G", "gpuMemoryLimit": "16G", "gpuDevicesRequest": 1}
    spec = {"project": "vision", "image": "x", "spec": {"numWorkers": 2, "compute": compute}}
    await runai.submit({**spec, "masterSpec": {"compute": compute}})
    sent = [r["body"] for r in runai.sandbox.requests() if r["method"] == "POST" and r["path"].endswith("/distributed")]
    body = json.loads(sent[0])
    assert body["spec"]["compute"]["gpuMemoryLimit"] == body["masterSpec"]["compute"]["gpuMemoryLimit"] == "16G"


async def test_logs_are_downloaded_from_the_cluster(runai: Runner) -> None:
    workload = await runai.running()
    runai.sandbox.setup("runai", log={"id": workload.workload_id, "lines": ["hello"]})
    chunks = [chunk async for chunk in (await runai.launcher()).stream_logs(workload.workload_id)]
    assert "hello" in "".join(chunk.text for chunk in chunks)
    assert any(r["path"].endswith("/logs/download") for r in runai.sandbox.requests())

"""A cluster of this machine to launch on, and looks at the process table that do not go through the product."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jupyter_gpu_clusters.core.models import LogChunk, Order, Plan, Verb, Workload
from jupyter_gpu_clusters.core.processes import this_process
from jupyter_gpu_clusters.core.provider import RemoteIdentity
from jupyter_gpu_clusters.launch.control import Control
from jupyter_gpu_clusters.launch.hosts import LocalHost
from jupyter_gpu_clusters.launch.ranks import RankNode, RanksLauncher
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.supervisor.state_file import StateFile
from tests.until import until_async

SUPERVISOR_PYTHON = os.environ.get("JGC_TEST_SUPERVISOR_PYTHON", sys.executable)
"""Set it to a Python 3.8 to run these tests with the oldest one that nodes may have."""

PYTHON = sys.executable


async def _identity() -> RemoteIdentity:
    return RemoteIdentity(provider="local", origin="here")


class Bench:
    """Nodes of one cluster under `folder`, all on this machine."""

    def __init__(
        self,
        folder: Path,
        nodes: int = 2,
        *,
        grace_s: float = 1.0,
        start_timeout_s: float = 30.0,
        inherits: bool = False,
        change: Callable[[RankNode], RankNode] = lambda node: node,
    ) -> None:
        self.folder = folder
        self.launcher = RanksLauncher(
            provider="local",
            account="local",
            identity=_identity,
            cluster_id="cluster1",
            cluster_name="demo",
            nodes=[change(RankNode(i, LocalHost(), str(folder / f"node{i}"))) for i in range(nodes)],
            base_env=None if inherits else {"PATH": os.environ["PATH"], "BASE": "base"},
            default_workdir=str(folder),
            is_free=True,
            control=Control(SUPERVISOR_PYTHON),
            grace_s=grace_s,
            start_timeout_s=start_timeout_s,
        )
        for node in self.launcher.nodes:
            Path(node.root).mkdir(exist_ok=True)
        self.orders: list[str] = []

    async def plan(self, spec: CommandSpec, name: str = "train") -> Plan:
        return await self.launcher.plan_workload(name, spec, "digest")

    def order(self, plan: Plan, order_id: str | None = None) -> Order:
        order_id = order_id or uuid.uuid4().hex
        self.orders.append(order_id)
        return Order(
            order_id=order_id,
            verb=Verb.SUBMIT,
            provider="local",
            account="local",
            identity_key="local|here||",
            name=plan.name,
            remote_name=plan.name,
            mark="mark",
            idempotency_key="key",
            spec_digest="digest",
            shown=plan.shown,
            sender=this_process(),
        )

    async def submit(self, spec: CommandSpec, order_id: str | None = None) -> Workload:
        plan = await self.plan(spec)
        return await self.launcher.submit_workload(plan, self.order(plan, order_id))

    async def python(self, code: str, **spec: Any) -> Workload:
        """Submit a Python program."""
        return await self.submit(CommandSpec(command=[PYTHON, "-c", code], **spec))

    async def get(self, workload_id: str) -> Workload:
        found = await self.launcher.get_workload(workload_id)
        assert found.item is not None, found
        return found.item

    async def finished(self, workload: Workload, within_s: float = 30.0) -> Workload:
        async def final() -> Workload | None:
            now = await self.get(workload.workload_id)
            return now if now.phase.is_final else None

        found = await until_async(final, within_s=within_s)
        assert found is not None
        return found

    async def run(self, spec: CommandSpec) -> Workload:
        return await self.finished(await self.submit(spec))

    async def chunks(self, workload_id: str, **wanted: Any) -> list[LogChunk]:
        async with asyncio.timeout(60):
            return [chunk async for chunk in self.launcher.stream_logs(workload_id, **wanted)]

    async def text(self, workload: Workload, rank: int = 0) -> str:
        return "".join(chunk.text for chunk in await self.chunks(workload.workload_id, ranks=[rank]))

    def work_folder(self, workload_id: str, node: int = 0) -> Path:
        return self.folder / f"node{node}" / workload_id

    def state(self, workload_id: str, node: int = 0) -> dict[str, Any]:
        state = StateFile.read(str(self.work_folder(workload_id, node)))
        assert state is not None
        return state

    def supervisor(self, workload_id: str, node: int = 0) -> int:
        return int(self.state(workload_id, node)["supervisor"]["pid"])

    async def close(self) -> None:
        """Whatever a test left running is ended."""
        living = [order_id for order_id in self.orders if marked(order_id)] if marked(*self.orders) else []
        await asyncio.gather(*(self.launcher.cancel_workload(order_id) for order_id in living))


def marked(*words: str) -> list[int]:
    """Living processes with one of the words in their command line or environment, zombies left out."""
    wanted = [word.encode() for word in words]
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            text = folder.joinpath("cmdline").read_bytes() + folder.joinpath("environ").read_bytes()
            state = folder.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX" and any(word in text for word in wanted):
            found.append(int(folder.name))
    return found


def family(workload_id: str) -> list[int]:
    """Living ranks of a workload and all that came from them; not its supervisors."""
    return marked(f"JGC_WORKLOAD_ID={workload_id}")


def log_readers(workload_id: str) -> list[int]:
    """Processes of ours that read the workload's logs."""
    return marked(f"read-log\0{workload_id}")


def start_document(root: Path, workload_id: str, **changes: Any) -> dict[str, Any]:
    """What a supervisor needs to start one node's part by hand."""
    return {
        "workload_id": workload_id,
        "root": str(root),
        "node_index": 0,
        "nodes": 1,
        "procs_per_node": None,
        "gpus": 0,
        "master_addr": "127.0.0.1",
        "token": "token",
        "env": {"PATH": os.environ["PATH"]},
        "command": ["true"],
        "script": None,
        "workdir": str(root.parent),
        "staged": None,
        "inherits": False,
        "hosts": ["127.0.0.1 slots=1"],
        "grace_s": 1.0,
        "start_timeout_s": 20.0,
        "about": {"name": "train", "command": ["true"], "nodes": 1, "procs_per_node": None},
        **changes,
    }


def lines_of(chunks: Sequence[LogChunk]) -> Mapping[int, str]:
    """Rank -> all of its text, in order of arrival; fails where a chunk does not begin where the last one ended."""
    texts: dict[int, str] = {}
    ends: dict[int, int] = {}
    for chunk in chunks:
        assert chunk.offset == ends.get(chunk.rank, chunk.offset), "a gap or something twice"
        ends[chunk.rank] = chunk.end
        texts[chunk.rank] = texts.get(chunk.rank, "") + chunk.text
    return texts

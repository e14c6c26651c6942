"""All nodes start, or none does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import threading
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import (
    NotFoundError,
    OutcomeUnknownError,
    ProviderError,
    SpecError,
    TransportError,
)
from jupyter_gpu_clusters.core.models import WorkloadPhase
from jupyter_gpu_clusters.launch.control import Control
from jupyter_gpu_clusters.launch.hosts import Completed, LocalHost, NoHost
from jupyter_gpu_clusters.launch.ranks import RankNode
from jupyter_gpu_clusters.launch.spec import CommandSpec
from jupyter_gpu_clusters.launch.supervisor.channel import Channel
from jupyter_gpu_clusters.launch.supervisor.ports import control_ports
from tests.until import until, until_async

from .bench import SUPERVISOR_PYTHON, Bench, family, start_document

pytestmark = pytest.mark.anyio


async def test_a_command_runs_on_all_nodes_and_succeeds(bench: Bench) -> None:
    submitted = await bench.submit(CommandSpec(command=["sleep", "0.3"], procs_per_node=2))
    assert submitted.phase is WorkloadPhase.RUNNING
    assert [rank.phase for rank in submitted.ranks] == [WorkloadPhase.RUNNING] * 4
    workload = await bench.finished(submitted)
    assert (workload.phase, workload.exit_code, workload.reason) == (WorkloadPhase.SUCCEEDED, 0, None)
    assert [(rank.rank, rank.node_index, rank.exit_code) for rank in workload.ranks] == [
        (0, 0, 0),
        (1, 0, 0),
        (2, 1, 0),
        (3, 1, 0),
    ]
    assert workload.submitted_at and workload.started_at and workload.finished_at  # noqa: PT018
    assert workload.started_at <= workload.finished_at


async def test_a_script_runs_by_the_program_its_first_line_names_else_by_a_shell(bench: Bench) -> None:
    by_python, by_shell = await asyncio.gather(
        bench.run(CommandSpec(script="#!/usr/bin/env python3\nprint('from', 'python')\n", nodes=1)),
        bench.run(CommandSpec(script="for i in 1 2; do echo $i; done", nodes=1)),
    )
    assert await bench.text(by_python) == "from python\n"
    assert await bench.text(by_shell) == "1\n2\n"
    assert by_shell.command == ("<script of 30 bytes>",)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"command": ["no-such-program"]}, "the command 'no-such-program' was not found in PATH"),
        ({"command": ["./no-such-file"]}, "the command './no-such-file' was not found"),
        ({"command": ["./data.txt"]}, "the command './data.txt' is not an executable file"),
        ({"script": "#!/no/such/interpreter\n"}, "or the interpreter its first line names, was not found"),
        ({"command": ["./headless"]}, "neither a program nor a script"),
        ({"command": ["true"] + ["x" * 100_000] * 30}, "arguments and environment are too long together"),
    ],
    ids=["not in PATH", "no file", "not executable", "no interpreter", "no first line", "too long"],
)
async def test_what_cannot_be_run_starts_on_no_node(bench: Bench, spec: dict[str, object], reason: str) -> None:
    (bench.folder / "data.txt").write_text("data")
    (bench.folder / "headless").write_bytes(b"\x00\x01")
    (bench.folder / "headless").chmod(0o700)
    workload = await bench.submit(CommandSpec.model_validate({**spec, "procs_per_node": 2}))
    assert workload.phase is WorkloadPhase.FAILED
    assert reason in str(workload.reason)
    assert str(workload.reason).startswith("node 0: ")
    assert workload.ranks == ()
    assert await bench.text(workload, 0) == ""
    assert (await bench.get(workload.workload_id)).reason == workload.reason
    assert not family(workload.workload_id)


async def test_one_node_that_cannot_start_keeps_all_others_from_starting(bench: Bench) -> None:
    """Node 1 has no such program: its PATH is another one."""
    for name in ("a", "b"):
        (bench.folder / name).mkdir()
    program = bench.folder / "a" / "only-on-node-0"
    program.write_text(f"#!/bin/sh\ntouch {bench.folder}/has-run\n")
    program.chmod(0o700)
    documents = [
        start_document(
            bench.folder / f"node{node}",
            "uneven",
            node_index=node,
            nodes=2,
            command=["only-on-node-0"],
            env={"PATH": str(bench.folder / "ab"[node])},
        )
        for node in range(2)
    ]
    control = Control(SUPERVISOR_PYTHON)
    answers = await asyncio.gather(
        *(control.start(node, doc) for node, doc in zip(bench.launcher.nodes, documents, strict=True))
    )
    reason = "node 1: the command 'only-on-node-0' was not found in PATH"
    assert [(answer["outcome"], answer["reason"]) for answer in answers] == [("refused", reason)] * 2
    assert not (bench.folder / "has-run").exists()


async def test_a_node_that_never_reports_ends_the_start_and_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path, nodes=3, start_timeout_s=1.5)
    plan = await bench.plan(CommandSpec(command=["sleep", "60"]))
    order = bench.order(plan)
    # Node 1's folder exists already, with nothing in it: its start does not answer for this start.
    (tmp_path / "node1" / order.order_id).mkdir(parents=True)
    workload = await bench.launcher.submit_workload(plan, order)
    assert workload.phase is WorkloadPhase.FAILED
    assert workload.reason == "no answer in time from node 1"
    assert not family(order.order_id)


async def test_a_second_start_of_the_same_order_ends_itself(bench: Bench) -> None:
    spec = CommandSpec(script=f"echo started >> {bench.folder}/starts; sleep 60", nodes=1)
    first = await bench.submit(spec, "order-1")
    until((bench.folder / "starts").exists)
    document = start_document(bench.folder / "node0", "order-1", script=spec.script, command=None)
    answer = await Control(SUPERVISOR_PYTHON).start(bench.launcher.nodes[0], document)
    assert answer["outcome"] == "exists"
    again = await bench.submit(spec, "order-1")
    assert (again.phase, again.ranks[0].pid) == (WorkloadPhase.RUNNING, first.ranks[0].pid)
    assert (bench.folder / "starts").read_text() == "started\n"


async def test_two_starts_of_one_order_at_the_same_moment_run_it_once(bench: Bench) -> None:
    plan = await bench.plan(CommandSpec(script=f"echo started >> {bench.folder}/starts; sleep 60", nodes=2))
    order = bench.order(plan)
    both = await asyncio.gather(*(bench.launcher.submit_workload(plan, order) for _ in range(2)))
    assert [workload.phase for workload in both] == [WorkloadPhase.RUNNING] * 2
    assert both[0].ranks == both[1].ranks
    until(lambda: (bench.folder / "starts").read_text() == "started\n" * 2)


async def test_64_ranks(bench: Bench) -> None:
    workload = await bench.run(CommandSpec(script="echo $RANK; exit $((RANK == 63 ? 0 : 0))", procs_per_node=32))
    assert workload.phase is WorkloadPhase.SUCCEEDED
    assert [rank.exit_code for rank in workload.ranks] == [0] * 64
    chunks = await bench.chunks(workload.workload_id)
    assert {chunk.rank: chunk.text for chunk in chunks} == {rank: f"{rank}\n" for rank in range(64)}


async def test_a_hub_is_found_although_others_hold_its_first_control_ports(bench: Bench) -> None:
    """One stranger takes the connection and says nothing, one says nonsense."""
    order_id = "crowded"
    first, second = control_ports(order_id)[:2]
    with socket.create_server(("127.0.0.1", first)), socket.create_server(("127.0.0.1", second)) as rude:

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with rude.accept()[0] as connection:
                        connection.sendall(b"220 hello\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        workload = await bench.submit(CommandSpec(command=["true"]), order_id)
        assert (await bench.finished(workload)).phase is WorkloadPhase.SUCCEEDED
        rude.shutdown(socket.SHUT_RDWR)
    thread.join()


async def test_a_stranger_without_the_token_cannot_join(bench: Bench) -> None:
    order_id = "guarded"
    root = bench.folder / "node0"
    document = start_document(root, order_id, nodes=2, start_timeout_s=2.0)
    start = asyncio.create_task(Control(SUPERVISOR_PYTHON).start(bench.launcher.nodes[0], document))

    async def connected() -> Channel | None:
        with contextlib.suppress(OSError):
            return Channel(socket.create_connection(("127.0.0.1", control_ports(order_id)[0])))
        return None

    channel = await until_async(connected)
    assert channel is not None
    assert set(channel.receive_one()) == {"nonce"}
    channel.send({"node": 1, "nonce": "n", "proof": "wrong"})
    assert channel.receive() is None
    channel.close()
    answer = await start
    assert answer["reason"] == "no answer in time from node 1"


class LosesAnswers(LocalHost):
    """Starts what it is told to, and then the connection breaks."""

    async def run(self, argv: object, *, stdin: bytes = b"", timeout_s: float) -> Completed:
        done = await super().run(argv, stdin=stdin, timeout_s=timeout_s)  # type: ignore[arg-type]
        return Completed(255, b"", b"Connection closed") if "start" in list(argv) else done  # type: ignore[call-overload]


async def test_a_lost_answer_is_looked_up_and_not_guessed(tmp_path: Path) -> None:
    def with_bad_line(node: RankNode) -> RankNode:
        return RankNode(node.index, LosesAnswers(), node.root)

    bench = Bench(tmp_path, change=with_bad_line)
    workload = await bench.submit(CommandSpec(command=["sleep", "60"]))
    assert workload.phase is WorkloadPhase.RUNNING
    await bench.close()


async def test_ids_that_lead_elsewhere_are_unknown(bench: Bench) -> None:
    await bench.submit(CommandSpec(command=["true"]))
    for workload_id in ("", "..", "../node0", "x\0"):
        assert (await bench.launcher.get_workload(workload_id)).answer == "absent"
    with pytest.raises(NotFoundError):
        await bench.launcher.cancel_workload("../node0")
    with pytest.raises(NotFoundError):
        await bench.chunks("../node0")


async def test_a_plan_for_other_nodes_is_refused(bench: Bench) -> None:
    plan = await bench.plan(CommandSpec(command=["true"]))
    scaled = Bench(bench.folder, nodes=1)
    with pytest.raises(ProviderError, match="not those that were planned for") as caught:
        await scaled.launcher.submit_workload(plan, bench.order(plan))
    assert caught.value.is_definite


async def test_a_claim_whose_start_was_cut_off_is_no_riddle(bench: Bench) -> None:
    (bench.folder / "node0" / "cut-off").mkdir()
    workload = await bench.get("cut-off")
    assert workload.phase is WorkloadPhase.FAILED
    assert (await bench.launcher.cancel_workload("cut-off")).left_over == ()
    assert await bench.chunks("cut-off", follow=True) == []


class Unreachable(LocalHost):
    """A machine whose connection does not come about."""

    async def run(self, argv: object, *, stdin: bytes = b"", timeout_s: float) -> Completed:
        raise TransportError("No route to host")


async def test_when_nothing_can_be_seen_the_outcome_is_unknown(tmp_path: Path) -> None:
    def far_away(node: RankNode) -> RankNode:
        return RankNode(node.index, Unreachable("far away", is_local=False), node.root)

    plan = await Bench(tmp_path).plan(CommandSpec(command=["true"]))
    bench = Bench(tmp_path, change=far_away)
    with pytest.raises(OutcomeUnknownError, match=r"node 0: No route to host"):
        await bench.launcher.submit_workload(plan, bench.order(plan))
    lookup = await bench.launcher.get_workload(bench.orders[0])
    assert (lookup.answer, lookup.reason) == ("cannot_tell", "node 0: No route to host; node 1: No route to host")
    listing = await bench.launcher.list_workloads()
    assert not listing.is_complete
    assert listing.not_seen == ("demo node 0: No route to host", "demo node 1: No route to host")


async def test_nodes_that_cannot_be_reached_are_all_named_before_anything_is_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, change=lambda node: RankNode(node.index, NoHost(f"n{node.index}", "it is off."), node.root))
    with pytest.raises(SpecError) as told:
        await bench.plan(CommandSpec(command=["true"]))
    assert [problem.text for problem in told.value.problems] == [
        "node 0 cannot be used: n0 cannot be reached: it is off.",
        "node 1 cannot be used: n1 cannot be reached: it is off.",
    ]


async def test_a_start_that_could_not_even_begin_here_is_a_definite_refusal(bench: Bench) -> None:
    bench.launcher.control = Control("/no/such/python")
    with pytest.raises(ProviderError, match="could not be started: No such file") as caught:
        await bench.submit(CommandSpec(command=["true"]))
    assert caught.value.is_definite


async def test_a_folder_that_cannot_be_made_is_a_refusal_on_all_nodes(bench: Bench) -> None:
    (bench.folder / "node1").rmdir()
    (bench.folder / "node1").write_text("a file where a folder should be")
    workload = await bench.submit(CommandSpec(command=["true"]))
    assert workload.phase is WorkloadPhase.FAILED
    folder = bench.work_folder(workload.workload_id, 1)
    assert workload.reason == f"node 1: the work folder {folder} could not be made: Not a directory"


async def test_a_start_does_not_bring_back_the_folder_of_a_deleted_cluster(bench: Bench) -> None:
    root = bench.folder / "node1"
    root.rmdir()
    workload = await bench.submit(CommandSpec(command=["touch", str(bench.folder / "has-run")]))
    assert workload.phase is WorkloadPhase.FAILED
    assert workload.reason == f"node 1: the cluster's node folder {root} is gone"
    assert not root.exists()
    assert not (bench.folder / "has-run").exists()


async def test_copied_files_do_not_bring_it_back_either(bench: Bench) -> None:
    (bench.folder / "code" / "inner").mkdir(parents=True)
    (bench.folder / "code" / "inner" / "main.py").touch()
    root = bench.folder / "node1"
    root.rmdir()
    with pytest.raises(ProviderError, match="nothing was started") as caught:
        await bench.submit(CommandSpec(command=["true"], sync=str(bench.folder / "code")))
    assert caught.value.is_definite
    assert not root.exists()


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", ".a", "é", "a\n", "<b>", "x" * 64])
async def test_a_name_that_cannot_be_addressed_is_refused_with_all_other_problems(bench: Bench, name: str) -> None:
    with pytest.raises(SpecError) as caught:
        await bench.plan(CommandSpec(command=["true"], nodes=3, workdir="nowhere"), name)
    problems = {problem.field: problem.text for problem in caught.value.problems}
    assert set(problems) == {"name", "nodes", "workdir"}
    assert problems["name"].startswith("needs 1 to 63 characters: ")


@pytest.mark.parametrize("name", ["a", "7", "Train_1.5-b", "x" * 63])
async def test_names_that_can_be_addressed(bench: Bench, name: str) -> None:
    assert (await bench.plan(CommandSpec(command=["true"]), name)).name == name


async def test_the_supervisor_is_brought_to_a_machine_that_is_not_this_one(tmp_path: Path) -> None:
    def far_away(node: RankNode) -> RankNode:
        return RankNode(node.index, LocalHost(name="far away", is_local=False), node.root)

    bench = Bench(tmp_path, change=far_away)
    workload = await bench.run(CommandSpec(command=["echo", "hello"]))
    assert await bench.text(workload, 1) == "hello\n"
    assert [w.name for w in (await bench.launcher.list_workloads()).items] == ["train"]
    assert list((tmp_path / "node0").glob(".supervisor-*.pyz"))


async def test_a_cancel_during_the_barrier_starts_nothing(bench: Bench) -> None:
    order_id = "waiting"
    root = bench.folder / "node0"
    document = start_document(root, order_id, nodes=2, command=["touch", str(bench.folder / "has-run")])
    start = asyncio.create_task(Control(SUPERVISOR_PYTHON).start(bench.launcher.nodes[0], document))
    await until_async(lambda: asyncio.to_thread((root / order_id / "state").exists))
    report = await bench.launcher.cancel_workload(order_id)
    assert report.workload.phase is WorkloadPhase.CANCELLED
    answer = await start
    assert (answer["outcome"], answer["phase"]) == ("refused", "cancelled")
    assert not (bench.folder / "has-run").exists()


async def test_nothing_secret_is_written_to_disk(bench: Bench) -> None:
    spec = CommandSpec(command=["true"], env={"TOKEN": "planted-secret"})
    plan = await bench.plan(spec)
    assert "planted-secret" not in json.dumps(dict(plan.shown)) + repr(plan) + plan.model_dump_json()
    workload = await bench.finished(await bench.launcher.submit_workload(plan, bench.order(plan)))
    folder = bench.work_folder(workload.workload_id)
    assert folder.stat().st_mode & 0o777 == 0o700
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"state", "rank-0.log", "hostfile"}
    for path in files:
        assert path.stat().st_mode & 0o077 == 0
        assert b"planted-secret" not in path.read_bytes()


async def test_ranks_begin_with_plain_signals_and_no_open_files_of_ours(bench: Bench) -> None:
    code = (
        "import os, signal, json;"
        "print(json.dumps([sorted(os.listdir('/proc/self/fd'), key=int)[:3], len(os.listdir('/proc/self/fd')),"
        "[s.name for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN],"
        "list(signal.pthread_sigmask(signal.SIG_BLOCK, []))]))"
    )
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        workload = await bench.finished(await bench.python(code, nodes=1))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    fds, count, ignored, blocked = json.loads(await bench.text(workload))
    assert (fds, count, blocked) == (["0", "1", "2"], 4, [])
    assert set(ignored) == {"SIGPIPE", "SIGXFSZ"}, "Python itself ignores these two, nobody else does"


async def test_find_submitted_needs_proof_that_it_never_happened(bench: Bench) -> None:
    plan = await bench.plan(CommandSpec(command=["true"]))
    order = bench.order(plan)
    alive = await bench.launcher.find_submitted(order)
    assert (alive.workloads, alive.never_happened) == ((), False)
    machine, _, start = order.sender.split("|")
    ended = await asyncio.create_subprocess_exec("true")
    await ended.wait()
    dead = await bench.launcher.find_submitted(order.model_copy(update={"sender": f"{machine}|{ended.pid}|{start}"}))
    assert (dead.workloads, dead.never_happened) == ((), True)
    await bench.launcher.submit_workload(plan, order)
    assert len((await bench.launcher.find_submitted(order)).workloads) == 1

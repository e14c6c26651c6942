"""The workload magics against real processes of this machine."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.errors import (
    NameTakenError,
    NotFoundError,
    SettingsError,
    SpecError,
    WaitTimeoutError,
    WorkloadFailedError,
)
from jupyter_gpu_clusters.core.models import Plan, Workload, WorkloadPhase
from jupyter_gpu_clusters.magics import log_printer
from tests.until import until

from .shell import Shell


@pytest.fixture
def demo(shell: Shell) -> Shell:
    """A shell with a cluster `demo` of two nodes."""
    shell.run("%cluster_create local --name demo --nodes 2")
    return shell


def test_a_command_runs_as_ranks_and_its_output_comes_with_them(demo: Shell) -> None:
    shown = demo.run(
        "%workload_submit demo --name hello --procs-per-node 2 --env WHO='a b' --wait -o done "
        """-- python -c 'import os; print(os.environ["RANK"], os.environ["WHO"])'"""
    )
    assert shown.value.phase is WorkloadPhase.SUCCEEDED
    assert demo.names["done"] == shown.value
    result, printed = demo.capture("%workload_logs hello")
    assert sorted(printed.splitlines()) == [f"[rank {rank}] {rank} a b" for rank in range(4)]
    assert "succeeded, exit code 0" in repr(result)
    assert demo.capture("%workload_logs hello --rank 3")[1] == "[rank 3] 3 a b\n"


def test_a_yaml_body_is_the_spec(demo: Shell) -> None:
    demo.names["seed"] = "017"
    shown = demo.run(
        "%%workload_submit demo --wait --nodes 1\nname: body\ncommand: [sh, -c, 'echo $SEED $0']\nenv: {SEED: $seed}"
    )
    assert (shown.value.name, shown.value.nodes) == ("body", 1)
    assert demo.capture("%workload_logs body")[1] == "[rank 0] 017 sh\n"


def test_a_script_is_the_cell_or_the_text_after_the_dashes(demo: Shell) -> None:
    demo.run("%%workload_submit demo --name cell --nodes 1 --script --wait\nX=3\necho $X | tr 3 4; exit 0\n")
    assert demo.capture("%workload_logs cell")[1] == "[rank 0] 4\n"
    demo.run("%workload_submit demo --name line --nodes 1 --script --wait -- echo $HOME > /dev/null && echo ok | cat")
    assert demo.capture("%workload_logs line")[1] == "[rank 0] ok\n"


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("%workload_submit demo -- echo a | wc", "'|' means something only to a shell."),
        ("%workload_submit demo --nodes 0 -- true", "--nodes: must be at least 1, not 0."),
        ("%workload_submit demo --procs-per-nod 2 -- true", "Did you mean '--procs-per-node'?"),
        ("%workload_submit demo --env 1A=x -- true", "'1A' is not a name for a variable"),
        ("%%workload_submit demo\ncommand: [true]", "line 1: command[0]: must be text, not true; put it in quotes."),
        ("%%workload_submit demo\ncommand: python train.py", "line 1: command: must be a list, not 'python train.py'."),
        ("%%workload_submit demo\ncommand: [x]\nproc_per_node: 2", "Did you mean 'procs_per_node'?"),
        ("%%workload_submit demo --nodes 1\ncommand: [x]\nnodes: 2", "line 2: nodes: contradicts --nodes"),
        ("%%workload_submit demo\nenv: {A: 3}\ncommand: [x]", "env.A: must be text, not a number; put it in quotes."),
    ],
)
def test_bad_input_is_told_with_its_place(demo: Shell, cell: str, told: str) -> None:
    error = demo.fail(cell, SettingsError)
    assert told in "\n".join(error.lines())
    assert demo.run("%workload_list demo").value == []


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%workload_submit demo", "nothing to run"),
        ("%workload_submit demo --", "no command after"),
        ("%workload_submit demo --script", "no script"),
        ("%%workload_submit demo --script\n\n", "no script"),
        ("%%workload_submit demo -- true\nnodes: 1", "both a command"),
        ("%%workload_submit demo\n# nothing\n", "body is empty"),
    ],
)
def test_what_is_to_run_must_be_given_once(demo: Shell, cell: str, message: str) -> None:
    assert message in demo.fail(cell, SettingsError).message


def test_more_nodes_than_there_are_is_an_error(demo: Shell) -> None:
    demo.fail("%workload_submit demo --nodes 3 -- true", SpecError)


def test_a_command_that_does_not_exist_fails_the_cell(demo: Shell) -> None:
    error = demo.fail("%workload_submit demo --name typo -o w -- pyton train.py", WorkloadFailedError)
    assert "'pyton' was not found" in error.message
    assert demo.names["w"].phase is WorkloadPhase.FAILED


def test_a_failing_rank_is_named_with_its_code_and_last_lines(demo: Shell) -> None:
    script = 'import os, sys; print("\\n".join(map(str, range(30)))); sys.exit(3 * (os.environ["RANK"] == "2"))'
    error = demo.fail(
        f"%workload_submit demo --name bad --procs-per-node 2 --wait -o w -- python -c '{script}'", WorkloadFailedError
    )
    first, *rest = error.message.splitlines()
    assert first == "Workload demo/bad failed, first on rank 2 (node 1): exited with code 3."
    assert rest == ["Last lines of rank 2:", *(f"  {number}" for number in range(10, 30))]
    assert "%workload_logs demo/bad --rank 2" in (error.hint or "")
    assert demo.names["w"].phase in (WorkloadPhase.RUNNING, WorkloadPhase.PENDING)
    demo.fail("%workload_wait bad -o w", WorkloadFailedError)
    assert demo.names["w"].phase is WorkloadPhase.FAILED


def test_a_killed_rank_is_told_with_its_signal(demo: Shell) -> None:
    error = demo.fail("%workload_submit demo --name killed --nodes 1 --wait -- sh -c 'kill -9 $$'", WorkloadFailedError)
    assert "SIGKILL" in error.message


def test_waiting_has_a_bound_and_says_how_to_go_on(demo: Shell) -> None:
    demo.run("%workload_submit demo --name nap -- sleep 60")
    error = demo.fail("%workload_wait nap --timeout 0.5", WaitTimeoutError)
    assert "running and goes on; cluster 'demo' is free" in error.message
    assert "`%workload_cancel demo/nap` ends it" in (error.hint or "")


def test_a_wait_that_ended_early_leaves_no_watcher_behind(demo: Shell) -> None:
    demo.run("%workload_submit demo --name nap -- sleep 60")
    error = demo.fail("%workload_wait nap --timeout 0.5", WaitTimeoutError)
    assert error.__traceback__ is not None
    until(lambda: not bridge.service()._watching._tasks, within_s=5)


def test_submitting_a_live_name_attaches_and_an_ended_one_runs_again(demo: Shell) -> None:
    first = demo.run("%workload_submit demo --name nap -- sleep 60").value
    again = demo.run("%workload_submit demo --name nap -- sleep 60")
    assert again.value.workload_id == first.workload_id
    assert "attached" in repr(again)
    demo.fail("%workload_submit demo --name nap -- sleep 61", NameTakenError)
    cancelled = demo.run("%workload_cancel nap").value
    assert cancelled.phase is WorkloadPhase.CANCELLED
    assert demo.run("%workload_submit demo --name nap -- sleep 60").value.workload_id != first.workload_id


def test_waiting_for_a_cancelled_workload_fails(demo: Shell) -> None:
    demo.run("%workload_submit demo --name nap -- sleep 60")
    demo.run("%workload_cancel demo/nap")
    assert "was cancelled" in demo.fail("%workload_wait nap", WorkloadFailedError).message


def test_waiting_ends_when_the_cluster_is_deleted_elsewhere(demo: Shell) -> None:
    demo.run("%workload_submit demo --name doomed -- sleep 60")
    elsewhere = threading.Timer(1, bridge.call, [_delete, "demo"])
    elsewhere.start()
    error = demo.fail("%workload_wait doomed --timeout 40", WorkloadFailedError)
    elsewhere.join(30)
    assert "cancelled" in error.message or "cluster was deleted" in error.message


async def _delete(name: str) -> None:
    service = bridge.service()
    await service.delete(await service.find_cluster(name))


def test_list_and_status(demo: Shell) -> None:
    assert repr(demo.run("%workload_list")) == "No workloads."
    demo.run("%workload_submit demo --name one --wait -- true")
    demo.run("%workload_submit demo --name two --wait -- true")
    listed = demo.run("%workload_list demo -o found")
    assert [w.name for w in demo.names["found"]] == ["two", "one"]
    assert "local/demo" in repr(listed)
    shown = demo.run("%workload_status demo/one")
    assert isinstance(shown.value, Workload)
    assert repr(shown).count("exit code 0") == 3
    assert "Did you mean 'two'" in demo.fail("%workload_status twoo", NotFoundError).message


def test_dry_run_shows_the_plan_without_values_of_the_environment(demo: Shell) -> None:
    shown = demo.run("%workload_submit demo --procs-per-node 2 --env TOKEN=s3cret --dry-run -o plan -- true")
    assert isinstance(demo.names["plan"], Plan)
    assert "processes" in repr(shown)
    assert "s3cret" not in str(shown._repr_mimebundle_())
    assert demo.run("%workload_list").value == []


def test_following_ends_with_the_workload(demo: Shell) -> None:
    demo.run("%workload_submit demo --name slow --nodes 1 --script -- for i in 1 2 3; do echo $i; sleep 0.2; done")
    result, printed = demo.capture("%workload_logs slow -f")
    assert printed == "[rank 0] 1\n[rank 0] 2\n[rank 0] 3\n"
    assert "succeeded" in repr(result)


def test_logs_start_at_the_tail(demo: Shell) -> None:
    demo.run("%workload_submit demo --name many --nodes 1 --script --wait -- seq 1 100")
    assert demo.capture("%workload_logs many --tail 2")[1] == "[rank 0] 99\n[rank 0] 100\n"


def test_a_large_log_is_bounded_and_the_rest_is_named(demo: Shell) -> None:
    demo.run("%workload_submit demo --name flood --nodes 1 --script --wait -- seq 1 500000")
    result, printed = demo.capture("%workload_logs flood")
    lines = printed.splitlines()
    assert len(lines) <= 10_001
    assert lines[-1] == "[rank 0] 500000"
    assert "%workload_logs demo/flood --rank R --tail N" in repr(result)


def test_a_variable_may_be_local_to_a_function(demo: Shell) -> None:
    demo.run(
        "def go(count):\n    %workload_submit demo --name local --nodes $count --dry-run -o plan -- true\ngo(1)\nNone"
    )
    assert demo.names["plan"].nodes == 1


@pytest.mark.parametrize("tail", ["", " --tail 5"])
def test_a_long_log_without_newlines_stops_at_the_bound(
    demo: Shell, monkeypatch: pytest.MonkeyPatch, tail: str
) -> None:
    monkeypatch.setattr(log_printer, "_CHARACTERS_PER_S", 1e9)
    demo.run("%workload_submit demo --name long --nodes 1 --script --wait -- head -c 12000000 /dev/zero | tr '\\0' x")
    shown, text = demo.capture(f"%workload_logs long{tail}")
    assert text.count("x") <= log_printer.MAX_CHARACTERS
    assert len(text) > log_printer.MAX_CHARACTERS
    assert text.endswith("\n... what follows is in the log but not shown here ...\n")
    assert "What follows was not shown; the whole log has 12.0 MB." in repr(shown)


def test_the_output_of_all_ranks_is_saved_byte_for_byte(demo: Shell, tmp_path: Path) -> None:
    body = "printf 'rank %s \\377 no newline' $RANK"
    demo.run("%%workload_submit demo --name bytes --procs-per-node 2 --script --wait\n" + body)
    result, printed = demo.capture(f"%workload_logs bytes --save {tmp_path / 'logs'}")
    assert "rank" not in printed.replace("saved", "")
    found = {path.name: path.read_bytes() for path in (tmp_path / "logs").iterdir()}
    assert found == {f"rank-{rank}.log": b"rank %d \xff no newline" % rank for rank in range(4)}
    assert "4 ranks" in repr(result)
    demo.capture(f"%workload_logs bytes --rank 2 --save {tmp_path / 'one'}")
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["rank-2.log"]


def test_output_that_cannot_be_saved_is_told_in_a_sentence(demo: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    demo.run("%%workload_submit demo --name hi --script --wait\necho hi")
    error = demo.fail(f"%workload_logs hi --save {tmp_path / 'file'}")
    assert "cannot be saved" in error.message
    assert "so --tail does not" in demo.fail(f"%workload_logs hi --tail 3 --save {tmp_path}").message

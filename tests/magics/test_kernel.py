"""The magics in real kernels: interrupts, questions, captured output, completion, help, threads."""

from __future__ import annotations

import contextlib
import sqlite3
import time

import pytest

from jupyter_gpu_clusters.magics.shown import MIME_TYPE

from .kernel import Done, Kernel

WITHIN_S = 1.0
"""How soon an interrupt ends a wait."""


class Interrupter:
    """Interrupts the kernel once, as soon as the cell has shown something that contains `text`."""

    def __init__(self, kernel: Kernel, text: str) -> None:
        self._kernel = kernel
        self._text = text
        self.at = 0.0

    def __call__(self, done: Done) -> None:
        seen = done.text + "".join(data.get("text/plain", "") for data in (*done.displays, *done.updates))
        if not self.at and self._text in seen:
            self.at = time.monotonic()
            self._kernel.interrupt()


def interrupted(kernel: Kernel, cell: str, after: str) -> str:
    """Run a cell, interrupt it once `after` is shown; its error as text. It must end within a second."""
    interrupter = Interrupter(kernel, after)
    done = kernel.run(cell, on_output=interrupter)
    took = time.monotonic() - interrupter.at
    assert interrupter.at, "the cell ended before it could be interrupted"
    assert took < WITHIN_S, took
    assert done.error == "WaitInterruptedError", done.error_lines
    assert "Traceback" not in "".join(done.error_lines)
    return "\n".join(done.error_lines)


def test_interrupting_a_wait_for_a_paid_cluster_says_what_it_costs_and_how_to_end_it(kernel: Kernel) -> None:
    kernel.run("%cluster_create slow --name demo --nodes 2 --yes").require()
    text = interrupted(kernel, "%cluster_wait demo", "demo: creating, 1 s")
    assert "It is creating and goes on; it costs 12.00 USD per hour." in text
    assert "%cluster_wait demo" in text
    assert "%cluster_delete demo" in text
    assert [file.stem for file in kernel.books.glob("*.json")] == ["demo"]
    (kernel.books / "phase").write_text("running")
    assert "running" in kernel.run("%cluster_wait demo").require().result["text/plain"]


def test_interrupting_a_create_that_waits_keeps_the_cluster(kernel: Kernel) -> None:
    text = interrupted(kernel, "%cluster_create slow --name demo --yes --wait -o made", "demo: creating")
    assert "6.00 USD per hour" in text
    assert "demo" in kernel.run("made.name").require().result["text/plain"]


def test_interrupting_a_wait_for_a_workload_leaves_it_running(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo").require()
    text = interrupted(kernel, "%workload_submit demo --name nap --wait -- sleep 60", "nap: running")
    assert "running and goes on; cluster 'demo' is free" in text
    assert "%workload_wait demo/nap" in text
    assert "running" in kernel.run("%workload_status nap").require().result["text/plain"]
    text = interrupted(kernel, "%workload_wait nap", "nap: running")
    assert "cancelled" in kernel.run("%workload_cancel nap").require().result["text/plain"]


def test_interrupting_a_follow_leaves_the_workload_running(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo").require()
    kernel.run("%workload_submit demo --name talk --script -- echo hello; printf half; sleep 60").require()
    text = interrupted(kernel, "%workload_logs talk -f", "[rank 0] half")
    assert "running and goes on" in text


def test_a_wait_is_one_line_that_is_updated_in_place(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo").require()
    done = kernel.run("%workload_submit demo --name nap --wait -- sleep 1.5").require()
    assert done.text == ""
    assert [set(data) for data in done.displays] == [{"text/plain"}]
    assert "succeeded" in done.updates[-1]["text/plain"]
    assert set(done.result) == {"text/plain", "text/html", MIME_TYPE}


def test_without_a_keyboard_nothing_is_deleted_or_paid(kernel: Kernel) -> None:
    done = kernel.run("%cluster_create slow --name demo")
    assert done.error == "ConsentError"
    assert "--yes" in "".join(done.error_lines)
    assert list(kernel.books.glob("*.json")) == []
    kernel.run("%cluster_create slow --name demo --yes").require()
    assert kernel.run("%cluster_delete demo").error == "ConsentError"
    assert len(list(kernel.books.glob("*.json"))) == 1


def test_a_question_is_asked_and_answered(kernel: Kernel) -> None:
    assert kernel.run("%cluster_create slow --name demo", allow_stdin=True, answer="no").error == "ConsentError"
    done = kernel.run("%cluster_create slow --name demo", allow_stdin=True, answer="y").require()
    assert "6.00 USD per hour" in done.displays[0]["text/plain"]
    assert len(list(kernel.books.glob("*.json"))) == 1
    kernel.run("%cluster_delete demo", allow_stdin=True, answer="y").require()
    assert list(kernel.books.glob("*.json")) == []


def test_output_can_be_captured(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo").require()
    submit = "%workload_submit demo --name hi --wait -- echo hello"
    done = kernel.run(f"%%capture kept\n{submit}\n%workload_logs hi").require()
    assert (done.text, done.displays, done.result) == ("", [], {})
    assert "[rank 0] hello" in kernel.run("print(kept.stdout)").require().text
    assert "succeeded" in kernel.run("print([o.data for o in kept.outputs])").require().text


def test_a_result_can_be_kept_and_used(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo --nodes 2 -o demo").require()
    kernel.run("found = %cluster_list").require()
    done = kernel.run("print(demo.node_count, [c.name for c in found.value])").require()
    assert done.text == "2 ['demo']\n"


def test_errors_are_lines_without_a_stack(kernel: Kernel) -> None:
    done = kernel.run("%%cluster_create local\nname: demo\nnodes: 0\nnods: 2")
    assert (done.error, len(done.error_lines)) == ("SpecError", 3)
    assert "line 3: nods: is not known here. Did you mean 'nodes'?" in done.error_lines[2]


def test_magics_work_from_a_thread_and_inside_a_running_loop(kernel: Kernel) -> None:
    code = """
import threading
from IPython import get_ipython
kept = []
thread = threading.Thread(target=lambda: kept.append(get_ipython().run_line_magic("cluster_create", "local --name a")))
thread.start(); thread.join()
async def inside():
    return get_ipython().run_line_magic("cluster_create", "local --name b")
kept.append(await inside())
print([shown.value.name for shown in kept])
"""
    assert kernel.run(code).require().text == "['a', 'b']\n"


def test_completion_and_help_reach_a_front_end(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo").require()
    assert kernel.complete("%cluster_status de") == ["demo"]
    assert kernel.complete("%%cluster_create local --gp") == ["--gpus-per-node"]
    assert kernel.complete("x = 1\n%workload_submit demo --procs") == ["--procs-per-node"]
    assert "Fields of the spec (local)" in kernel.inspect("%cluster_create")


def test_attach_shows_a_live_card(kernel: Kernel) -> None:
    pytest.importorskip("ipywidgets")
    kernel.run("%cluster_create local --name demo").require()
    done = kernel.run("%cluster_attach demo").require()
    assert "demo" in done.displays[0]["text/html"]


def test_another_kernel_finds_what_this_one_made(kernel: Kernel) -> None:
    kernel.run("%cluster_create local --name demo").require()
    kernel.run("%workload_submit demo --name nap -- sleep 60").require()
    kernel.manager.restart_kernel(now=True)
    kernel.client.wait_for_ready(timeout=60)
    kernel.run("%load_ext jupyter_gpu_clusters").require()
    assert "nap" in kernel.run("%workload_list demo").require().result["text/plain"]
    done = kernel.run("%cluster_create local --name demo").require()
    assert "attached" in done.result["text/plain"]
    kernel.run("%cluster_delete demo --yes").require()


def test_interrupting_a_read_that_waits_for_the_journal_is_one_line(kernel: Kernel) -> None:
    kernel.run("%cluster_list").require()
    (journal,) = kernel.books.parent.rglob("journal.sqlite")
    with contextlib.closing(sqlite3.connect(journal, isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")
        text = interrupted(kernel, "print('looking', flush=True)\n%cluster_list", "looking")
        held.execute("ROLLBACK")
    assert text == (
        "WaitInterruptedError: %cluster_list was interrupted. It sends nothing more; what it had sent before goes on."
    )

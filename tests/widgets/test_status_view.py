"""The live card in a real kernel, headless, in a terminal, and when looking fails."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.errors import TransportError
from jupyter_gpu_clusters.core.models import Cluster, Workload
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.widgets import status_view
from jupyter_gpu_clusters.widgets.status_view import LiveCard

from ..core import make
from ..until import until
from .kernel import ROOT, Kernel
from .paid import PaidProvider
from .test_actions import submit
from .test_submit_form import make_cluster

SET_UP = """
import sys
from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.widgets import show_card
service = bridge.service()

async def make_cluster(name, nodes):
    spec = service.spec_model("local")(nodes=nodes)
    return (await service.create(await service.plan_create("local", name, spec))).cluster

async def submit(cluster, name, code):
    spec = service.workload_model("local")(command=[sys.executable, "-c", code])
    return (await service.submit(await service.plan_submit(cluster, name, spec))).workload

cluster = bridge.call(make_cluster, "demo", 2)
"""
TEAR_DOWN = "bridge.call(service.delete, cluster)"


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    """The kernel with a cluster of two nodes."""
    kernel.run(SET_UP)
    return kernel


def shown_by(kernel: Kernel, request: str, kind: str) -> list[dict[str, Any]]:
    return [m for m in kernel.of(request) if m["msg_type"] == kind]


def text_of(message: dict[str, Any]) -> str:
    return str(message["content"]["data"]["text/plain"])


def heard_text(kernel: Kernel, request: str, words: str) -> bool:
    kernel.listen()
    return any(words in text_of(m) for m in shown_by(kernel, request, "update_display_data"))


def test_the_card_is_refreshed_in_place_until_the_workload_has_ended(ready: Kernel) -> None:
    ready.run("job = bridge.call(submit, cluster, 'train', 'import time; time.sleep(2)')")
    request = ready.run("show_card(job)")
    ready.run("1 + 1")
    until(lambda: heard_text(ready, request, "Final."))
    first, *rest = shown_by(ready, request, "display_data")
    card_id = first["content"]["transient"]["display_id"]
    updates = shown_by(ready, request, "update_display_data")
    assert {m["content"]["transient"]["display_id"] for m in updates} == {card_id}
    assert set(first["content"]["data"]) == {"text/html", "text/plain"}, "HTML beside a widget view would break"
    assert "Workload local/demo/train: ● running" in "\n".join(map(text_of, [first, *updates]))
    assert "Workload local/demo/train: ✔ succeeded" in text_of(updates[-1])
    assert "2 succeeded on 2 nodes" in text_of(updates[-1])
    assert len(rest) == 1, "the buttons"
    assert "text/html" not in rest[0]["content"]["data"]
    assert "%workload_cancel local/demo/train" in text_of(rest[0])


def test_the_card_is_drawn_at_most_twice_a_second(ready: Kernel) -> None:
    ready.run("job = bridge.call(submit, cluster, 'train', 'import time; time.sleep(3)')")
    request = ready.run("show_card(job)")
    until(lambda: heard_text(ready, request, "Final."))
    times = [
        at
        for message, at in zip(ready.heard, ready.heard_at, strict=True)
        if message in shown_by(ready, request, "update_display_data")
    ]
    assert len(times) >= 2
    assert len(times) <= 2 * (times[-1] - times[0]) + 1.5


def test_a_card_of_something_that_has_ended_is_complete_at_once(ready: Kernel) -> None:
    ready.run(
        "job = bridge.call(submit, cluster, 'bad', 'print(\"last words\", flush=True); raise SystemExit(3)')\n"
        "for job in bridge.iterate(service.watch_workload, job): pass"
    )
    request = ready.run("show_card(job)")
    (card,) = shown_by(ready, request, "display_data")
    assert ": exit code 3" in text_of(card)
    assert "| last words" in text_of(card)
    assert "Final." in text_of(card)


def test_a_cluster_card_follows_to_the_deletion(ready: Kernel) -> None:
    ready.run("other = bridge.call(make_cluster, 'other', 1)")
    request = ready.run("show_card(other)")
    ready.run("bridge.call(service.delete, other)")
    until(lambda: heard_text(ready, request, "○ deleted"))
    assert "Final." in text_of(shown_by(ready, request, "update_display_data")[-1])


def test_a_card_says_at_the_end_of_its_kernel_that_it_is_no_longer_updated(ready: Kernel) -> None:
    request = ready.run("show_card(cluster)")
    ready.run("bridge.close()")
    until(lambda: heard_text(ready, request, "No longer updated; run the cell again"))


def test_a_kernel_with_live_cards_ends_cleanly() -> None:
    kernel = Kernel()
    try:
        kernel.run(SET_UP)
        kernel.run("show_card(cluster)")
        kernel.run(TEAR_DOWN)
        kernel.run("cluster = bridge.call(make_cluster, 'again', 1); show_card(cluster)")
        provisioner: Any = kernel.manager.provisioner
        process = provisioner.process
        kernel.client.shutdown()
        until(lambda: process.poll() is not None, within_s=30)
        assert process.poll() == 0
    finally:
        kernel.close()
    service = bridge.service()
    for cluster in bridge.call(service.refresh).clusters:
        bridge.call(service.delete, cluster)


def test_a_headless_notebook_gets_the_card_without_buttons_and_without_errors() -> None:
    cells = [
        SET_UP,
        "job = bridge.call(submit, cluster, 'train', 'import time; time.sleep(1)')\nshow_card(job)",
        "for job in bridge.iterate(service.watch_workload, job): pass\nshow_card(job)",
        "from jupyter_gpu_clusters.widgets import cluster_form, workload_form\ncluster_form()",
        "workload_form('demo')",
        TEAR_DOWN,
    ]
    notebook = notebook_of(cells)
    kernel_env = {**os.environ, "PYTHONPATH": str(ROOT)}
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute(env=kernel_env)
    live, final, create, submit = (cell.outputs for cell in notebook.cells[1:5])
    assert [set(output.data) for output in live] == [{"text/html", "text/plain"}]
    assert "succeeded" in final[0].data["text/plain"]
    assert "Create a cluster: a form" in create[0].data["text/html"]
    assert "Submit a workload: a form" in submit[0].data["text/html"]
    assert all(output.output_type != "stream" for cell in notebook.cells for output in cell.outputs)


def notebook_of(cells: list[str]) -> nbformat.NotebookNode:
    empty: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    code = [{**empty, "source": cell} for cell in cells]
    book = {"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return nbformat.NotebookNode(nbformat.from_dict(book))  # type: ignore[no-untyped-call]


def test_in_a_terminal_the_card_is_printed_once() -> None:
    code = SET_UP + "show_card(cluster)\n" + TEAR_DOWN
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.count("Cluster local/demo: ● running") == 1
    assert "<div" not in done.stdout
    assert done.stderr == ""


def test_when_looking_fails_the_last_state_stays_with_its_age_and_the_reason(
    paid: PaidProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = bridge.service()
    cluster = existing(paid, service)
    drawn: list[str] = []
    card = LiveCard(cluster, lambda _, text: drawn.append(text))
    card.start()
    until(lambda: drawn)
    monkeypatch.setattr(status_view, "LOOK_S", 0.6)
    paid.books.on_list = _unreachable
    bridge.call(service.refresh)
    until(lambda: "the service does not answer" in drawn[-1])
    assert "Cluster fake/demo: ● running" in drawn[-1]
    assert "what is shown was seen" in drawn[-1]
    card.stop()
    until(lambda: "No longer updated" in drawn[-1])


def existing(paid: PaidProvider, service: Service) -> Cluster:
    paid.books.clusters["c1"] = make.cluster(cluster_id="c1", name="demo")
    (cluster,) = bridge.call(service.refresh).clusters
    return cluster


def _unreachable() -> None:
    raise TransportError("the service does not answer")


def test_a_workload_card_ends_when_its_cluster_is_gone(local: Service) -> None:
    cluster = make_cluster(local)
    job = submit(local, cluster, "import time; time.sleep(120)")
    drawn: list[str] = []
    following = LiveCard(job, lambda _, text: drawn.append(text)).start()
    until(lambda: drawn and "● running" in drawn[-1])
    bridge.call(local.delete, cluster)
    until(following.done)
    assert "● running" not in drawn[-1]
    assert "Its cluster is gone; how it ended was not seen." in drawn[-1] or "Final." in drawn[-1]


def test_of_many_live_cards_the_oldest_ends(paid: PaidProvider) -> None:
    cluster = existing(paid, bridge.service())
    drawn: list[list[str]] = [[] for _ in range(status_view.MOST_LIVE + 1)]
    cards = [LiveCard(cluster, lambda _, text, into=into: into.append(text)) for into in drawn]  # type: ignore[misc]
    for card in cards:
        card.start()
    until(lambda: drawn[0] and "No longer updated" in drawn[0][-1])
    assert not any("No longer updated" in texts[-1] for texts in drawn[1:] if texts)
    for card in cards:
        card.stop()


def test_a_fault_of_ours_does_not_leave_a_card_that_looks_alive(
    paid: PaidProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = bridge.service()
    cluster = existing(paid, service)

    def fail(_: Workload | Cluster) -> None:
        raise RuntimeError("planted-detail")

    drawn: list[str] = []
    LiveCard(cluster, lambda _, text: drawn.append(text), fail).start()
    until(lambda: drawn and "fault in jupyter-gpu-clusters (RuntimeError" in drawn[-1])
    assert "No longer updated" in drawn[-1]
    assert "planted-detail" not in drawn[-1]

"""Tab in our magics, by the same door that a terminal and a kernel use."""

from __future__ import annotations

import sqlite3
import time

import pytest
from IPython.core.completer import provisionalcompleter

from jupyter_gpu_clusters.core.paths import data_dir

from .shell import Shell


def completed(shell: Shell, text: str) -> list[str]:
    """The texts that `text` may become."""
    with provisionalcompleter():
        found = list(shell.ip.Completer.completions(text, len(text)))
    return [text[: one.start] + one.text for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%cluster_create ", ["%cluster_create local"]),
        ("%%cluster_create lo", ["%%cluster_create local"]),
        ("%cluster_offers local lo", ["%cluster_offers local local"]),
        ("%cluster_create local --na", ["%cluster_create local --name"]),
        ("%cluster_create local --gpus", ["%cluster_create local --gpus-per-node"]),
        ("%workload_submit x --procs", ["%workload_submit x --procs-per-node"]),
        ("%cluster_scale x --nodes 2 --y", ["%cluster_scale x --nodes 2 --yes"]),
        ("%workload_logs x -f --", ["%workload_logs x -f --output", "%workload_logs x -f --follow",
                                    "%workload_logs x -f --rank", "%workload_logs x -f --tail",
                                    "%workload_logs x -f --save"]),
    ],
)  # fmt: skip
def test_accounts_and_options(shell: Shell, text: str, expected: list[str]) -> None:
    assert completed(shell, text) == expected


def test_an_option_is_offered_once_unless_it_may_be_repeated(shell: Shell) -> None:
    found = completed(shell, "%workload_submit x --env A=1 --nodes 1 --n") + completed(
        shell, "%workload_submit x --env A=1 --e"
    )
    assert found == ["%workload_submit x --env A=1 --nodes 1 --name", "%workload_submit x --env A=1 --env"]


def test_names_of_clusters_and_workloads(shell: Shell) -> None:
    shell.run("%cluster_create local --name demo --nodes 1")
    shell.run("%cluster_create local --name other --nodes 1")
    shell.run("%workload_submit demo --name train --wait -- true")
    assert completed(shell, "%cluster_status de") == ["%cluster_status demo"]
    assert completed(shell, "%cluster_delete local/") == ["%cluster_delete local/demo", "%cluster_delete local/other"]
    assert completed(shell, "%workload_logs -f tr") == ["%workload_logs -f train"]
    assert completed(shell, "%workload_logs demo/") == ["%workload_logs demo/train"]
    assert completed(shell, "%workload_submit ot") == ["%workload_submit other"]


def test_a_name_that_is_ambiguous_is_offered_in_full(shell: Shell) -> None:
    for cluster in ("demo", "other"):
        shell.run(f"%cluster_create local --name {cluster}")
        shell.run(f"%workload_submit {cluster} --name train --wait -- true")
    assert completed(shell, "%workload_status tr") == []
    assert completed(shell, "%workload_status demo/t") == ["%workload_status demo/train"]


def test_nothing_of_ours_is_offered_in_the_command_and_in_other_lines(shell: Shell) -> None:
    for text in ("%workload_submit demo -- python --no", "cluster_create --na", "x = 1 # %cluster_create --na"):
        assert not [one for one in completed(shell, text) if "--n" in one.rpartition(" ")[2]], text


def test_a_journal_that_is_locked_does_not_hold_up_the_tab_key(shell: Shell) -> None:
    shell.run("%cluster_create local --name demo")
    (path,) = data_dir().glob("*.sqlite")
    lock = sqlite3.connect(path)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        completed(shell, "%cluster_status de")
        assert time.monotonic() - began < 5
    finally:
        lock.close()

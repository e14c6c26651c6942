from __future__ import annotations

import pytest

from jupyter_gpu_clusters.core.errors import NameTakenError, NotFoundError
from jupyter_gpu_clusters.core.models import State, WorkloadPhase
from jupyter_gpu_clusters.core.names import match_clusters, match_workloads, only_one

from . import make

STATE = State(
    clusters=(
        make.cluster(),
        make.cluster(cluster_id="c2", name="other"),
        make.cluster(cluster_id="c3", account="second"),
    ),
    workloads=(
        make.workload(),
        make.workload(workload_id="w2", cluster_id="c2", cluster_name="other"),
        make.workload(workload_id="w4", name="eval", phase=WorkloadPhase.FAILED),
        make.workload(workload_id="w3", name="eval", phase=WorkloadPhase.SUCCEEDED),
    ),
)


@pytest.mark.parametrize(
    ("ref", "ids"),
    [
        ("other", ["c2"]),
        ("fake/demo", ["c1"]),
        ("demo", ["c1", "c3"]),
        ("c3", ["c3"]),
        ("demo/fake", []),
        ("emo", []),
        ("", []),
    ],
)
def test_any_unambiguous_tail_or_id_names_a_cluster(ref: str, ids: list[str]) -> None:
    assert [c.cluster_id for c in match_clusters(STATE, ref)] == ids


@pytest.mark.parametrize(
    ("ref", "ids"),
    [
        ("train", ["w1", "w2"]),
        ("other/train", ["w2"]),
        ("fake/demo/train", ["w1"]),
        ("eval", ["w4"]),
        ("w3", ["w3"]),
    ],
)
def test_a_workloads_newest_run_is_meant(ref: str, ids: list[str]) -> None:
    assert [w.workload_id for w in match_workloads(STATE, ref)] == ids


def test_a_live_run_is_preferred_to_a_newer_ended_one() -> None:
    runs = (make.workload(workload_id="new", phase=WorkloadPhase.FAILED), make.workload(workload_id="live"))
    assert [w.workload_id for w in match_workloads(State(workloads=runs), "train")] == ["live"]


def test_an_ambiguous_name_is_told_with_all_full_names() -> None:
    with pytest.raises(NameTakenError, match="fake/demo, second/demo"):
        only_one(match_clusters(STATE, "demo"), "demo", "cluster", [])


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'other'"):
        only_one([], "othr", "cluster", ["fake/other"])

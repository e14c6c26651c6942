from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import JournalError
from jupyter_gpu_clusters.core.journal import Journal
from jupyter_gpu_clusters.core.models import (
    Cluster,
    ClusterPhase,
    Failure,
    Listing,
    OrderState,
    Workload,
    WorkloadPhase,
    utc_now,
)
from jupyter_gpu_clusters.core.paths import salt_in
from jupyter_gpu_clusters.core.rows import LeaseLostError

from . import make


def nothing() -> Listing[Workload]:
    return Listing[Workload](items=())


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path)
    yield opened
    opened.close()


def look(*clusters: Cluster, complete: bool = True) -> Listing[Cluster]:
    return Listing[Cluster](items=clusters, is_complete=complete)


def phases(journal: Journal) -> dict[str, str]:
    return {c.cluster_id: c.phase for c in journal.clusters([make.IDENTITY])}


def test_one_missing_listing_is_no_proof_and_two_are(journal: Journal) -> None:
    journal.put_cluster(make.IDENTITY, make.cluster())
    assert journal.record_look(make.IDENTITY, look(), nothing()) == []
    assert journal.record_look(make.IDENTITY, look(), nothing()) == [], "too soon after the first"
    later = Listing[Cluster](items=(), observed_at=utc_now() + timedelta(seconds=10))
    assert [c.cluster_id for c in journal.record_look(make.IDENTITY, later, nothing())] == ["c1"]


def test_what_is_free_needs_no_time_between_the_listings(journal: Journal) -> None:
    journal.put_cluster(make.IDENTITY, make.cluster(is_free=True))
    assert journal.record_look(make.IDENTITY, look(), nothing()) == []
    assert [c.cluster_id for c in journal.record_look(make.IDENTITY, look(), nothing())] == ["c1"]


def test_a_cluster_that_shows_again_counts_from_zero(journal: Journal) -> None:
    journal.put_cluster(make.IDENTITY, make.cluster())
    journal.record_look(make.IDENTITY, look(), nothing())
    journal.record_look(make.IDENTITY, look(make.cluster()), nothing())
    assert journal.record_look(make.IDENTITY, look(), nothing()) == []


def test_an_incomplete_listing_proves_nothing_however_often(journal: Journal) -> None:
    journal.put_cluster(make.IDENTITY, make.cluster())
    for _ in range(5):
        assert journal.record_look(make.IDENTITY, look(complete=False), nothing()) == []
    assert phases(journal) == {"c1": "running"}


def test_another_identitys_listing_says_nothing_about_ours(journal: Journal) -> None:
    journal.put_cluster(make.IDENTITY, make.cluster())
    for _ in range(3):
        journal.record_look("another", look(), nothing())
    assert phases(journal) == {"c1": "running"}


def test_a_look_that_began_earlier_does_not_overrule_what_was_recorded_since(journal: Journal) -> None:
    began = journal.tick()
    journal.put_cluster(make.IDENTITY, make.cluster(is_free=True))
    journal.put_workload(make.IDENTITY, make.workload())
    for _ in range(3):
        assert journal.record_look(make.IDENTITY, look(), nothing(), since=began) == []
    assert [w.phase for w in journal.workloads([make.IDENTITY])] == [WorkloadPhase.RUNNING]
    journal.drop_cluster(make.IDENTITY, make.cluster(), "Deleted.")
    journal.record_look(make.IDENTITY, look(make.cluster()), nothing(), since=began)
    assert phases(journal) == {}


def test_a_workload_that_is_no_longer_listed_becomes_unknown_and_an_ended_one_is_forgotten(journal: Journal) -> None:
    journal.put_workload(make.IDENTITY, make.workload())
    journal.put_workload(make.IDENTITY, make.workload(workload_id="w2", phase=WorkloadPhase.SUCCEEDED))
    journal.record_look(make.IDENTITY, look(make.cluster()), nothing())
    assert {w.workload_id: w.phase for w in journal.workloads([make.IDENTITY])} == {"w1": WorkloadPhase.UNKNOWN}


def test_a_final_workload_never_comes_back_to_life(journal: Journal) -> None:
    journal.put_workload(make.IDENTITY, make.workload(phase=WorkloadPhase.FAILED))
    journal.put_workload(make.IDENTITY, make.workload(phase=WorkloadPhase.RUNNING))
    assert [w.phase for w in journal.workloads([make.IDENTITY])] == [WorkloadPhase.FAILED]


def test_every_change_of_phase_is_on_the_timeline_once(journal: Journal) -> None:
    creating = make.cluster(phase=ClusterPhase.CREATING)
    for cluster in (creating, creating, make.cluster(), make.cluster()):
        journal.put_cluster(make.IDENTITY, cluster)
    entries = journal.transitions()
    assert [(e.before, e.after) for e in entries] == [(None, "creating"), ("creating", "running")]
    assert journal.seq() == entries[-1].seq
    assert journal.transitions(after_seq=entries[0].seq) == entries[1:]


def test_a_failed_look_keeps_the_last_good_list_and_says_why(journal: Journal) -> None:
    journal.record_look(make.IDENTITY, look(make.cluster()), nothing())
    journal.record_failure(make.IDENTITY, Failure(message="no answer"))
    seen = journal.look(make.IDENTITY)
    assert seen.failure == Failure(message="no answer")
    assert seen.observed_at is not None
    assert phases(journal) == {"c1": "running"}
    journal.record_look(make.IDENTITY, look(make.cluster()), nothing())
    assert journal.look(make.IDENTITY).failure is None


def test_created_here_is_told_by_the_order(journal: Journal) -> None:
    journal.put_order(make.order())
    journal.put_cluster(make.IDENTITY, make.cluster(order_id="order1"))
    journal.put_cluster(make.IDENTITY, make.cluster(cluster_id="c2", order_id="elsewhere"))
    assert [c.created_here for c in journal.clusters([make.IDENTITY])] == [True, False]


def test_open_orders_are_those_without_a_known_outcome(journal: Journal) -> None:
    for index, state in enumerate(OrderState):
        journal.put_order(make.order(order_id=f"o{index}", state=state))
    assert {order.state for order in journal.open_orders()} == {OrderState.OPEN, OrderState.NOT_SEEN}
    assert journal.open_orders("another") == []


def test_a_lease_goes_to_one_and_only_from_the_state_that_was_seen(journal: Journal) -> None:
    seen = journal.lease(make.IDENTITY)
    assert journal.take_lease(make.IDENTITY, seen, "first")
    assert not journal.take_lease(make.IDENTITY, seen, "second")
    held = journal.lease(make.IDENTITY)
    assert journal.beat(make.IDENTITY, held.epoch)
    assert not journal.take_lease(make.IDENTITY, held, "second")
    assert journal.take_lease(make.IDENTITY, journal.lease(make.IDENTITY), "second")
    assert not journal.beat(make.IDENTITY, held.epoch)


def test_a_stale_epoch_cannot_write(journal: Journal) -> None:
    journal.take_lease(make.IDENTITY, journal.lease(make.IDENTITY), "first")
    old = journal.lease(make.IDENTITY).epoch
    journal.take_lease(make.IDENTITY, journal.lease(make.IDENTITY), "second")
    with pytest.raises(LeaseLostError):
        journal.record_look(make.IDENTITY, look(make.cluster()), nothing(), epoch=old)
    assert phases(journal) == {}


def test_two_journals_have_different_ids_and_salts(tmp_path: Path) -> None:
    one, other = Journal(tmp_path / "a"), Journal(tmp_path / "b")
    assert one.journal_id() != other.journal_id()
    assert one.salt() != other.salt()
    assert one.journal_id() == Journal(tmp_path / "a").journal_id()
    one.close()
    other.close()


def test_many_at_once_get_one_whole_salt(tmp_path: Path) -> None:
    for attempt in range(50):
        folder = tmp_path / str(attempt)
        with ThreadPoolExecutor(8) as pool:
            salts = set(pool.map(salt_in, [folder] * 8))
        assert [len(salt) for salt in salts] == [32]


def test_what_an_order_made_is_known_by_its_id_and_gets_the_ordered_name(journal: Journal) -> None:
    ordered = make.order(name="demo", remote_name="demo-1f0ak3j2hq", state=OrderState.DONE, remote_ids=("c1",))
    journal.put_order(ordered)
    listed = make.cluster(cluster_id="c1", name="demo-1f0ak3j2hq", created_here=False)
    foreign = make.cluster(cluster_id="c2", name="demo", created_here=False)
    seen = Listing[Cluster](items=(listed, foreign))
    journal.record_look(make.IDENTITY, seen, nothing())
    found = {c.cluster_id: (c.name, c.created_here, c.order_id) for c in journal.clusters([make.IDENTITY])}
    assert found == {"c1": ("demo", True, ordered.order_id), "c2": ("demo", False, None)}
    assert journal.known_cluster("another identity", listed).created_here is False


def test_a_row_of_a_newer_release_is_told_in_a_sentence(journal: Journal) -> None:
    journal.put_order(make.order())
    add = "UPDATE orders SET body = json_set(body, '$.novelty', 1)"
    journal.database.write(lambda c: c.execute(add).rowcount)
    with pytest.raises(JournalError, match=r"order that this release cannot read \(novelty\)") as told:
        journal.open_orders()
    assert "upgrade" in str(told.value.hint)

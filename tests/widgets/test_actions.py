"""The buttons under a card: they ask first, act once, and say what came of it."""

from __future__ import annotations

import sys
import threading

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, Workload
from jupyter_gpu_clusters.core.provider import CreatesClusters
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.widgets.actions import Actions, cancel_question, delete_question

from ..core import make
from ..until import until
from .paid import PaidProvider, dollars
from .test_submit_form import make_cluster


def submit(service: Service, cluster: Cluster, code: str) -> Workload:
    spec = service.workload_model("local")(command=[sys.executable, "-u", "-c", code])

    async def submit() -> Workload:
        return (await service.submit(await service.plan_submit(cluster, "train", spec))).workload

    return bridge.call(submit)


def is_asking(actions: Actions) -> bool:
    return bool(actions.ask_box.layout.display != "none")


@pytest.fixture
def cluster(local: Service) -> Cluster:
    return make_cluster(local)


@pytest.fixture
def job(local: Service, cluster: Cluster) -> Workload:
    return submit(local, cluster, "import time; print('going', flush=True); time.sleep(120)")


def test_cancel_asks_first_and_then_ends_the_workload(local: Service, job: Workload) -> None:
    actions = Actions(job)
    actions.end_button.click()
    until(lambda: is_asking(actions))
    assert "Cancel workload local/demo/train?" in actions.question.value
    assert bridge.call(local.find_workload, "train").phase == "running"
    actions.confirm_button.click()
    until(lambda: "cancelled" in actions.outcome.value, within_s=40)
    assert bridge.call(local.find_workload, "train").phase == "cancelled"
    assert actions.end_button.disabled
    assert actions.end_button.tooltip == "It has ended: cancelled"


def test_keeping_it_changes_nothing(local: Service, job: Workload) -> None:
    actions = Actions(job)
    actions.end_button.click()
    until(lambda: is_asking(actions))
    actions.keep_button.click()
    assert not is_asking(actions)
    actions.confirm_button.click()
    assert bridge.call(local.find_workload, "train").phase == "running"
    assert not actions.end_button.disabled


def test_delete_names_cluster_jobs_and_price_and_deletes(local: Service, cluster: Cluster, job: Workload) -> None:
    actions = Actions(cluster)
    actions.end_button.click()
    until(lambda: is_asking(actions))
    question = actions.question.value
    assert "Delete cluster local/demo (2 nodes)?" in question
    assert "1 workload on it will be ended: train." in question
    assert "It is free." in question
    assert actions.confirm_button.description == "Delete demo"
    actions.confirm_button.click()
    until(lambda: "is deleted" in actions.outcome.value, within_s=40)
    assert bridge.call(local.refresh).clusters == ()
    assert actions.end_button.disabled


def test_a_delete_that_is_not_confirmed_is_said_so(paid: PaidProvider) -> None:
    actions = Actions(one_paid_cluster(paid))
    actions.end_button.click()
    until(lambda: is_asking(actions))
    assert "10.00 USD per hour" in actions.question.value
    actions.confirm_button.click()
    until(lambda: "deleting, unconfirmed. It is being taken down." in actions.outcome.value)


def test_pressing_confirm_again_and_again_deletes_once(paid: PaidProvider) -> None:
    actions = Actions(one_paid_cluster(paid))
    actions.end_button.click()
    until(lambda: is_asking(actions))
    start = threading.Barrier(6)

    def press() -> None:
        start.wait()
        for _ in range(10):
            actions.confirm_button.click()

    threads = [threading.Thread(target=press) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: "unconfirmed" in actions.outcome.value)
    assert paid.books.deletes == 1


def one_paid_cluster(paid: PaidProvider) -> Cluster:
    paid.books.clusters["c1"] = make.cluster(cluster_id="c1", name="demo", price_per_hour=dollars(10))
    (cluster,) = bridge.call(bridge.service().refresh).clusters
    return cluster


def test_a_refused_delete_is_told_and_can_be_tried_again(paid: PaidProvider) -> None:
    actions = Actions(one_paid_cluster(paid))
    paid.books.before_work = paid.books.refuse
    actions.end_button.click()
    until(lambda: is_asking(actions))
    actions.confirm_button.click()
    until(lambda: "no such image" in actions.outcome.value)
    assert not actions.end_button.disabled


def test_what_the_provider_cannot_do_is_grey_with_its_reason(
    paid: PaidProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = one_paid_cluster(paid)
    monkeypatch.setattr("jupyter_gpu_clusters.widgets.actions.abilities_of", lambda _: frozenset())
    monkeypatch.setattr(PaidProvider, "reasons", {"delete": "The administrators own it."})
    actions = Actions(cluster)
    assert actions.end_button.disabled
    assert actions.end_button.tooltip == "The administrators own it."
    assert issubclass(PaidProvider, CreatesClusters)


def test_last_output_shows_the_ranks_and_escapes_them(local: Service, cluster: Cluster) -> None:
    job = submit(local, cluster, "print('<b>hello</b>')")
    actions = Actions(job)

    def shown() -> bool:
        actions.logs_button.click()
        return str(actions.outcome.value).count("&lt;b&gt;hello&lt;/b&gt;") == 2

    until(shown)
    assert "[0] " in actions.outcome.value
    assert "[1] " in actions.outcome.value


def test_buttons_have_a_text_for_front_ends_without_widgets(job: Workload, cluster: Cluster) -> None:
    assert "%workload_cancel local/demo/train" in Actions(job).bundle()["text/plain"]
    assert "%cluster_delete local/demo" in Actions(cluster).bundle()["text/plain"]


def test_a_deleted_cluster_cannot_be_deleted_again(paid: PaidProvider) -> None:
    actions = Actions(one_paid_cluster(paid))
    actions.update(actions.thing.model_copy(update={"phase": ClusterPhase.DELETED}))
    assert actions.end_button.disabled
    assert actions.end_button.tooltip == "It is deleted"


def test_questions_are_plain_sentences() -> None:
    cluster = make.cluster(name="demo", node_count=2, price_per_hour=dollars(10), is_free=False)
    assert delete_question(cluster, []).startswith("Delete cluster fake/demo (2 nodes)? Nothing runs on it. It ")
    assert "10.00 USD per hour" in delete_question(cluster, [])
    assert cancel_question(make.workload(name="train")).startswith("Cancel workload fake/")

"""The vendor's own Python client works against the sandbox as it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.fixtures import CheckedSandbox

from .renter import PUBLIC_KEY

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sdk = pytest.importorskip("lium.sdk", reason="the vendor's client is not installed (pip install lium.io==0.32.0)")


@pytest.fixture
def lium(sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    for name, value in sandbox.variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    with sdk.Lium() as client:
        yield client


def rent(lium: Any, count: int = 2) -> Any:
    offer = lium.clusters()[0]
    ids = [node.id for node in offer.nodes[:count]]
    return lium.up_cluster(ids, name="official", ssh_keys=[PUBLIC_KEY])


def test_offers(lium: Any) -> None:
    offers = lium.clusters()
    assert [(offer.fabric_type, offer.node_count, len(offer.nodes)) for offer in offers] == [
        ("infiniband", 4, 4),
        ("roce", 3, 3),
        ("infiniband", 2, 0),
    ]
    assert lium.cluster_template().docker_image_tag == "0.0.7"


def test_rent_watch_schedule_and_remove(sandbox: CheckedSandbox, lium: Any) -> None:
    cluster = rent(lium, 3)
    assert cluster.size == 3
    sandbox.advance(60)
    ready = lium.wait_cluster_ready(cluster, timeout=5)
    assert [pod.cluster_overlay_ip for pod in ready.pods] == ["10.42.0.1", "10.42.0.2", "10.42.0.3"]
    for pod in ready.pods:
        lium.schedule_termination(pod, termination_time="2026-11-30T09:00:00Z")
    assert {pod.removal_scheduled_at for pod in lium.ps()} == {"2026-11-30T09:00:00"}
    assert [mine.id for mine in lium.my_clusters()] == [cluster.id]
    assert all(row["success"] for row in lium.rm_cluster(lium.cluster(cluster.id)))
    sandbox.advance(10)
    assert lium.my_clusters() == []
    assert len(sandbox.books()["services"]["lium"]["entries"][0]["made"]) == 3


@pytest.mark.parametrize("kind", ["drop_after", "status_after", "drop_before"])
def test_lost_order_is_found_again(sandbox: CheckedSandbox, lium: Any, kind: str) -> None:
    sandbox.fault(action="create", kind=kind)
    assert rent(lium).size == 2
    assert len(sandbox.books()["services"]["lium"]["alive"]) == 2


def test_refusals_become_the_clients_errors(sandbox: CheckedSandbox, lium: Any) -> None:
    sandbox.setup("lium", balance=1.0)
    with pytest.raises(sdk.LiumError, match="requires at least"):
        rent(lium)


def test_other_reads(sandbox: CheckedSandbox, lium: Any) -> None:
    assert lium.balance() == 1000.0
    assert lium.supports("rent_idempotency")
    assert {node.gpu_count for node in lium.ls()} == {1, 4, 8}
    pod = rent(lium).pods[0]
    sandbox.advance(120)
    assert lium.ps()[0].ssh_cmd.startswith("ssh root@203.0.113.")
    assert len(list(lium.logs(pod.id, tail=5))) == 5
    assert lium.pod_events(pod.id)
    assert lium.billing_statement()["total"] > 0
    assert lium.volumes() == []

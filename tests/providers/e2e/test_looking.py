"""Clusters as E2E lists them: two locations, odd words and numbers, pages that move, answers that fail."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import GpuClustersError, SpecError
from jupyter_gpu_clusters.core.models import Billing, Cluster, ClusterPhase
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.e2e.provider import E2EProvider
from jupyter_gpu_clusters.providers.e2e.spec import E2ESpec
from jupyter_gpu_clusters.sandbox import Sandbox
from tests.contracts.fixtures import CheckedSandbox

from .conftest import account
from .ordering import SPEC, ordered

pytestmark = pytest.mark.anyio

LIST = "/distributed_jobs_v2/cluster/"
BODY = {
    "name": "theirs",
    "image_version_id": 57,
    "ssh_key_ids": [7301],
    "security_group_id": 5501,
    "sku_id": 412,
    "no_of_nodes": 2,
    "sku_item_price_id": 8721,
}
CHENNAI = {
    **BODY,
    "image_version_id": 67,
    "ssh_key_ids": [7304],
    "security_group_id": 5900,
    "sku_id": 462,
    "sku_item_price_id": 8821,
}


def foreign(sandbox: Sandbox, count: int = 1, location: str = "Delhi", **changes: Any) -> None:
    """Somebody else's clusters."""
    base = BODY if location == "Delhi" else CHENNAI
    sandbox.setup("e2e", stock={"sku_id": base["sku_id"], "nodes": 1000})
    sandbox.setup("e2e", security_group={"project_id": 31007, "location": "Chennai", "id": 5900})
    for number in range(count):
        body = {**base, "name": f"theirs-{number}", **changes}
        sandbox.setup("e2e", cluster={"project_id": 31007, "location": location, "body": body})


async def listed(provider: E2EProvider) -> dict[str, Cluster]:
    return {cluster.name: cluster for cluster in (await provider.list_clusters()).items}


async def test_what_was_not_created_here_is_listed_too(provider: E2EProvider, sandbox: CheckedSandbox) -> None:
    foreign(sandbox)
    foreign(sandbox, location="Chennai", name="south")
    sandbox.advance(3600)
    found = await listed(provider)
    assert {name: (c.region, c.created_here, c.gpu_count) for name, c in found.items()} == {
        "theirs-0": ("Delhi", False, 16),
        "south": ("Chennai", False, found["south"].gpu_count),
    }
    assert found["theirs-0"].billing is Billing.YES
    assert found["theirs-0"].login_address == "root@203.0.113.1"


async def test_all_pages_are_read(provider: E2EProvider, sandbox: CheckedSandbox) -> None:
    foreign(sandbox, 230)
    listing = await provider.list_clusters()
    assert len(listing.items) == 230
    assert listing.is_complete


@pytest.mark.parametrize("how", ["skip", "repeat"])
async def test_pages_that_move_while_being_read_are_noticed(
    provider: E2EProvider, sandbox: CheckedSandbox, how: str
) -> None:
    foreign(sandbox, 230)
    sandbox.fault(service="e2e", path=LIST, kind="page_drift", how=how, times=None)
    listing = await provider.list_clusters()
    assert not listing.is_complete
    assert len({cluster.cluster_id for cluster in listing.items}) == len(listing.items)


@pytest.mark.parametrize("beyond", ["empty", "404"])
@pytest.mark.parametrize("count", [0, 3, 100, 130])
async def test_pages_without_totals_are_read_to_their_end(
    provider: E2EProvider, sandbox: CheckedSandbox, count: int, beyond: str
) -> None:
    sandbox.choose({"e2e.past_last_page": beyond})
    foreign(sandbox, count)
    ops = [{"op": "remove", "path": f"/{name}"} for name in ("total_page_number", "total_count")]
    sandbox.fault(service="e2e", path=LIST, kind="mutate", ops=ops, times=None)
    listing = await provider.list_clusters()
    assert (len(listing.items), listing.is_complete) == (count, True)


@pytest.mark.parametrize(
    ("ops", "count", "is_complete"),
    [
        ([{"op": "text", "path": "/total_count"}, {"op": "text", "path": "/total_page_number"}], 2, True),
        ([{"op": "set", "path": "/total_count", "value": None}], 2, True),
        ([{"op": "set", "path": "/total_page_number", "value": "soon"}], 2, True),
        ([{"op": "set", "path": "/total_count", "value": 3}], 2, False),
        ([{"op": "set", "path": "/total_page_number", "value": 3}], 2, True),
        ([{"op": "set", "path": "/data/0/id", "value": None}], 1, False),
        ([{"op": "set", "path": "/data/0/id", "value": "abc"}], 1, False),
        ([{"op": "set", "path": "/data/0", "value": "row"}], 1, False),
        ([{"op": "set", "path": "/data", "value": None}], 0, False),
        ([{"op": "set", "path": "/data", "value": {}}], 0, False),
        ([{"op": "text", "path": "/data/*/id"}], 2, True),
        ([{"op": "set", "path": "/data/*/id", "value": 7}], 1, False),
    ],
    ids=str,
)
async def test_what_cannot_be_read_makes_a_listing_incomplete(
    provider: E2EProvider, sandbox: CheckedSandbox, ops: list[dict[str, Any]], count: int, is_complete: bool
) -> None:
    foreign(sandbox, 2)
    here = {"service": "e2e", "path": LIST, "query": {"location": "Delhi"}}
    sandbox.fault(**here, kind="mutate", ops=ops, times=None)
    listing = await provider.list_clusters()
    assert (len(listing.items), listing.is_complete) == (count, is_complete)


async def test_a_listing_that_moves_once_is_read_again(provider: E2EProvider, sandbox: CheckedSandbox) -> None:
    foreign(sandbox, 130)
    here = {"service": "e2e", "path": LIST, "query": {"location": "Delhi", "page_no": "2"}}
    sandbox.fault(**here, kind="mutate", ops=[{"op": "remove", "path": "/data/0"}])
    listing = await provider.list_clusters()
    assert (len(listing.items), listing.is_complete) == (130, True)


async def test_a_location_that_is_not_listed_is_named_and_nothing_is_made_there(
    service: Service, sandbox: CheckedSandbox
) -> None:
    """Else what is there would look deleted, and go on costing."""
    made = await ordered(service)
    options = {"base_url": sandbox.variables()["E2E_TIR_API_HOST"], "project_id": 31007, "locations": ["Chennai"]}
    provider = E2EProvider(account(options=options))
    listing = await provider.list_clusters()
    assert (listing.items, listing.is_complete, listing.not_seen) == ((), False, ("location Delhi",))
    assert (await provider.get_cluster(made.cluster_id)).answer == "found"
    with pytest.raises(SpecError) as caught:
        await provider.plan_cluster("lab", build_spec(E2ESpec, {**SPEC, "location": "Delhi"}), "")
    assert [problem.field for problem in caught.value.problems] == ["location"]
    await provider.aclose()


async def test_the_addresses_of_many_are_read_a_few_a_round(provider: E2EProvider, sandbox: CheckedSandbox) -> None:
    sandbox.choose({"e2e.ip_seconds": "60"})
    foreign(sandbox, 12)
    sandbox.advance(280)
    assert not any(cluster.login_address for cluster in (await provider.list_clusters()).items)
    sandbox.advance(600)
    known = []
    for _ in range(4):
        before = len(sandbox.requests())
        listing = await provider.list_clusters()
        known.append(sum(cluster.login_address is not None for cluster in listing.items))
        assert len(sandbox.requests()) - before <= 2 + 5
    assert known == [5, 10, 12, 12]


async def test_one_that_cannot_be_read_holds_up_no_other(provider: E2EProvider, sandbox: CheckedSandbox) -> None:
    foreign(sandbox, 8)
    sandbox.advance(3600)
    ids = [cluster.cluster_id.partition("/")[2] for cluster in (await provider.list_clusters()).items]
    for number in ids:
        sandbox.fault(service="e2e", path=f"{LIST}{number}/", kind="status", status=403, times=None)
    await provider.list_clusters()
    sandbox.clear_faults()
    for _ in range(3):
        listing = await provider.list_clusters()
    assert all(cluster.login_address for cluster in listing.items)


async def test_a_clock_that_is_wrong_changes_nothing(provider: E2EProvider, sandbox: CheckedSandbox) -> None:
    foreign(sandbox)
    ops = [{"op": "set", "path": "/data/*/created_at", "value": "2099-01-01T00:00:00Z"}]
    sandbox.fault(service="e2e", path=LIST, kind="mutate", ops=ops, times=None)
    cluster = (await listed(provider))["theirs-0"]
    assert cluster.created_at is not None
    assert (cluster.created_at.year, cluster.phase) == (2099, ClusterPhase.CREATING)


async def test_fields_that_nobody_knows_are_passed_over(provider: E2EProvider, sandbox: CheckedSandbox) -> None:
    foreign(sandbox)
    ops = [{"op": "set", "path": path, "value": {"a": [1]}} for path in ("/data/*/tags", "/extra")]
    sandbox.fault(service="e2e", path=LIST, kind="mutate", ops=ops, times=None)
    assert list(await listed(provider)) == ["theirs-0"]


async def test_a_location_that_fails_is_named_and_hides_no_other(
    provider: E2EProvider, sandbox: CheckedSandbox
) -> None:
    foreign(sandbox)
    broken = {"service": "e2e", "path": LIST, "query": {"location": "Chennai"}}
    sandbox.fault(**broken, kind="status", status=501, shape="html", times=None)
    listing = await provider.list_clusters()
    assert [cluster.name for cluster in listing.items] == ["theirs-0"]
    assert (listing.is_complete, listing.not_seen) == (False, ("location Chennai",))


async def test_a_listing_that_fails_keeps_the_last_good_one(service: Service, sandbox: CheckedSandbox) -> None:
    foreign(sandbox)
    await service.refresh(["e2e"])
    sandbox.fault(service="e2e", path=LIST, kind="status", status=501, shape="html", times=None)
    for _ in range(3):
        state = await service.refresh(["e2e"])
    view = next(view for view in state.accounts if view.account == "e2e")
    assert view.error is not None
    assert [cluster.name for cluster in state.clusters] == ["theirs-0"]


@pytest.mark.parametrize(
    ("word", "phase"),
    [
        ("Running", ClusterPhase.RUNNING),
        ("RUNNING", ClusterPhase.RUNNING),
        ("Creating", ClusterPhase.CREATING),
        ("Scaling", ClusterPhase.CREATING),
        ("CreateFailed", ClusterPhase.FAILED),
        ("Suspended", ClusterPhase.STOPPED),
        ("Terminating", ClusterPhase.DELETING),
        ("Hibernating", ClusterPhase.UNKNOWN),
        (None, ClusterPhase.UNKNOWN),
        (["Running", "Scaling"], ClusterPhase.UNKNOWN),
        ({}, ClusterPhase.UNKNOWN),
        (7, ClusterPhase.UNKNOWN),
    ],
)
async def test_status_words(provider: E2EProvider, sandbox: CheckedSandbox, word: Any, phase: ClusterPhase) -> None:
    foreign(sandbox)
    ops = [{"op": "set", "path": "/data/*/status", "value": word}]
    sandbox.fault(service="e2e", path=LIST, kind="mutate", ops=ops, times=None)
    cluster = (await listed(provider))["theirs-0"]
    assert cluster.phase is phase
    assert phase is not ClusterPhase.UNKNOWN or cluster.phase.is_in_transition


@pytest.mark.parametrize("op", ["text", "remove", "list"])
@pytest.mark.parametrize("field", ["no_of_nodes", "created_at", "name", "sku_details", "no_of_gpu", "status"])
async def test_fields_of_another_type_or_missing_spoil_nothing(
    provider: E2EProvider, sandbox: CheckedSandbox, field: str, op: str
) -> None:
    foreign(sandbox)
    ops = [{"op": op, "path": f"/data/*/{field}"}]
    if op == "text" and field not in ("no_of_nodes",):
        ops = [{"op": "set", "path": f"/data/*/{field}", "value": "12 GB"}]
    sandbox.fault(service="e2e", path=LIST, kind="mutate", ops=ops, times=None)
    (cluster,) = (await provider.list_clusters()).items
    assert cluster.cluster_id.startswith("Delhi/")


async def test_a_wrong_key_is_said_with_its_source(sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("E2E_TIR_API_KEY", "wrong")
    service = Service.open()
    (status,) = await service.check_accounts(["e2e"])
    await service.aclose()
    assert not status.is_usable
    assert "$E2E_TIR_API_KEY and $E2E_TIR_ACCESS_TOKEN" in status.detail
    assert "365 days" in status.detail


async def test_a_missing_project_is_said_without_asking_anybody(
    sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("E2E_TIR_PROJECT_ID")
    service = Service.open()
    (status,) = await service.check_accounts(["e2e"])
    await service.aclose()
    assert "names no project" in status.detail
    assert sandbox.requests() == []


async def test_a_cluster_that_never_was_is_absent_and_one_that_cannot_be_seen_is_not(
    provider: E2EProvider, sandbox: CheckedSandbox
) -> None:
    assert (await provider.get_cluster("Delhi/1")).answer == "absent"
    sandbox.fault(service="e2e", path=LIST, kind="status", status=501, shape="html", times=None)
    with pytest.raises(GpuClustersError):
        await provider.get_cluster("Delhi/1")

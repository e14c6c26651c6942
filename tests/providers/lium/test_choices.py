"""What forms offer: lists that follow the request as far as it is filled in, bounded, and never a crash."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.choices import Choice
from jupyter_gpu_clusters.core.errors import GpuClustersError
from jupyter_gpu_clusters.core.models import Listing
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.providers.lium import choices
from tests.contracts.fixtures import CheckedSandbox

from .renting import PUBLIC_KEY

pytestmark = pytest.mark.anyio

FABRICS = "/executors/infiniband-clusters"
PATHS = {
    "fabrics": FABRICS,
    "executors": "/executors",
    "machines": "/machines",
    "templates": "/templates",
    "template_ids": "/templates",
    "ssh_keys": "/ssh-keys",
    "volumes": "/volumes",
    "volume_ids": "/volumes",
    "backups": "/backup-logs/",
}
ODD: list[dict[str, Any]] = [{}, {"gpu": 7, "fabric": ["x"], "nodes": "2"}, {"gpu": None, "nodes": True, "more": {}}]


async def look(service: Service, name: str, **given: Any) -> Listing[Choice]:
    return await service.choices("lium", name, given)


def test_every_look_up_that_a_field_names_is_there() -> None:
    assert set(choices.LOOK_UPS) == set(PATHS)


@pytest.mark.parametrize("name", PATHS)
async def test_every_list_comes_from_one_read_whatever_is_filled_in(
    service: Service, sandbox: CheckedSandbox, name: str
) -> None:
    for given in ODD:
        sandbox.forget_requests()
        listing = await look(service, name, **given)
        assert listing.is_complete
        assert [(r["method"], r["path"]) for r in sandbox.requests()] == [("GET", PATHS[name])]


@pytest.mark.parametrize("name", PATHS)
async def test_a_list_that_fails_raises_and_is_not_empty(service: Service, sandbox: CheckedSandbox, name: str) -> None:
    sandbox.fault(service="lium", path=PATHS[name], kind="status", status=503, shape="html", times=None)
    with pytest.raises(GpuClustersError):
        await look(service, name)


@pytest.mark.parametrize("name", [name for name in PATHS if name != "machines"])
@pytest.mark.parametrize("body", [{"x": 1}, None, [7, None]])
async def test_what_is_no_list_is_not_whole(service: Service, sandbox: CheckedSandbox, name: str, body: Any) -> None:
    ops = [{"op": "set", "path": "", "value": body}]
    sandbox.fault(service="lium", path=PATHS[name], kind="mutate", ops=ops, times=None)
    listing = await look(service, name)
    assert (listing.items, listing.is_complete) == ((), False)


async def test_fabrics_say_how_many_nodes_are_free_and_why_one_will_not_do(
    service: Service, sandbox: CheckedSandbox
) -> None:
    found = {str(one.value).split(":")[0]: one for one in (await look(service, "fabrics", nodes=4)).items[:2]}
    assert found["cold"].why_not is None
    assert found["hot"].why_not == "3 nodes are free"
    assert found["cold"].detail["rate"] == "400 Gb/sec (4X NDR)"
    wrong = (await look(service, "fabrics", gpu="h100", nodes=2)).items
    assert [one.why_not for one in wrong] == [None, "0 nodes are free", "0 nodes are free"]


async def test_nodes_of_which_somebody_has_a_part_are_not_counted(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "set", "path": "/0/nodes/0/available_gpu_count", "value": 3}]
    sandbox.fault(service="lium", path=FABRICS, kind="mutate", ops=ops, times=None)
    first = (await look(service, "fabrics", nodes=4)).items[0]
    assert first.why_not == "3 nodes are free"


async def test_nodes_follow_fabric_and_gpu(service: Service, sandbox: CheckedSandbox) -> None:
    everything = (await look(service, "executors")).items
    on_fabric = (await look(service, "executors", fabric="hot")).items
    assert {one.value for one in on_fabric} < {one.value for one in everything}
    assert all("4090" in one.label for one in on_fabric)
    assert (await look(service, "executors", fabric="hot", gpu="H100")).items == ()
    assert on_fabric[0].detail["price"] == "2.80 USD an hour"


async def test_a_node_that_is_taken_says_so(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "set", "path": "/*/available_gpu_count", "value": 0}]
    sandbox.fault(service="lium", path="/executors", kind="mutate", ops=ops)
    (one,) = (await look(service, "executors", gpu="A6000")).items
    assert one.why_not == "no GPU is free"


async def test_names_and_ids_are_the_same_things(service: Service, sandbox: CheckedSandbox) -> None:
    names, ids = await look(service, "templates"), await look(service, "template_ids")
    assert {one.detail["id"] for one in names.items} <= {one.value for one in ids.items}
    assert {one.label for one in ids.items} == {one.value for one in names.items}


async def test_of_templates_with_one_name_the_newest_is_meant(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [
        {"op": "set", "path": "/*/name", "value": "same"},
        {"op": "set", "path": "/0/docker_image_tag", "value": "0.0.10"},
        {"op": "set", "path": "/1/docker_image_tag", "value": "0.0.9"},
    ]
    ids = [one.value for one in (await look(service, "template_ids")).items]
    sandbox.fault(service="lium", path="/templates", kind="mutate", ops=ops, times=None)
    (one,) = (await look(service, "templates")).items
    assert one.value == "same"
    assert one.detail["id"] in ids


async def test_a_list_is_bounded_and_says_so(
    service: Service, sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "_MOST", 2)
    listing = await look(service, "executors")
    assert (len(listing.items), listing.is_complete) == (2, False)


async def test_keys_are_kept_once(service: Service, sandbox: CheckedSandbox) -> None:
    added, is_new = await service.add_ssh_key("lium", "laptop", PUBLIC_KEY)
    again, is_new_again = await service.add_ssh_key("lium", "desktop", PUBLIC_KEY)
    assert (added.value, is_new, again.value, is_new_again) == ("laptop", True, "laptop", False)
    assert [one.value for one in (await service.ssh_keys("lium")).items] == ["laptop"]
    assert len([r for r in sandbox.requests() if r["method"] == "POST"]) == 1


async def test_no_such_list(service: Service, sandbox: CheckedSandbox) -> None:
    with pytest.raises(GpuClustersError, match="fabrics"):
        await look(service, "fabric")

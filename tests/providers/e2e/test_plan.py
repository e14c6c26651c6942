"""What a plan finds out: names become ids, prices are found or said to be unknown, faults come all at once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import Ask, consent_to, what_to_ask
from jupyter_gpu_clusters.core.errors import ConsentError, SpecError
from jupyter_gpu_clusters.core.models import Plan
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

pytestmark = pytest.mark.anyio

SPEC: dict[str, Any] = {
    "sku": "SX.8xH100-224.1800GB",
    "nodes": 2,
    "image": "ubuntu-slurm",
    "ssh_keys": ["spare"],
    "security_group": "ssh-only",
}
PLANS = "/distributed_jobs_v2/cluster/plans/"


async def plan(service: Service, name: str = "lab", **changes: Any) -> Plan:
    spec = {key: value for key, value in {**SPEC, **changes}.items() if value is not None}
    return await service.plan_create("e2e", name, build_spec(service.spec_model("e2e"), spec))


async def problems(service: Service, name: str = "lab", **changes: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        await plan(service, name, **changes)
    return {problem.field: problem.text for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("changes", "body"),
    [
        ({}, {"sku_id": 412, "sku_item_price_id": 8721, "image_version_id": 58}),
        ({"sku": None, "gpu": "h100"}, {"sku_id": 412, "sku_item_price_id": 8721}),
        ({"sku": None, "sku_id": 412}, {"sku_id": 412, "sku_item_price_id": 8721}),
        ({"sku": None, "sku_item_price_id": 8721}, {"sku_id": 412, "sku_item_price_id": 8721}),
        ({"image": "v2-slurm25.11-ubuntu24.04"}, {"image_version_id": 57}),
        ({"image": None, "image_version_id": 57}, {"image_version_id": 57}),
        ({"image": "NeMo"}, {"image_version_id": 59}),
        ({"ssh_keys": ["spare", "lab-desktop"]}, {"ssh_key_ids": [7302, 7301]}),
        ({"ssh_keys": ["spare"], "ssh_key_ids": [7301]}, {"ssh_key_ids": [7301, 7302]}),
        ({"security_group": "SSH-only"}, {"security_group_id": 5501}),
        ({"nodes": None, "no_of_nodes": 3}, {"no_of_nodes": 3}),
        ({"sfs": [{"name": "shared-scratch", "mount_path": "/mnt/s"}]}, {"sfs_mount_list": "shared-scratch"}),
        ({"pfs": [{"name": "fast-scratch", "mount_path": "/mnt/p"}]}, {"pfs_mount_list": "fast-scratch"}),
        ({"datasets": [{"name": "corpus", "mount_path": "/mnt/d"}]}, {"dataset_mount_list": "corpus"}),
        ({"location": "Chennai", "ssh_keys": None, "ssh_key_ids": [7304]}, {"sku_id": 461, "location": "Chennai"}),
    ],
)
async def test_names_become_ids(
    service: Service, sandbox: CheckedSandbox, changes: dict[str, Any], body: dict[str, Any]
) -> None:
    if changes.get("location") == "Chennai":
        changes = {**changes, "security_group": None, "security_group_id": 5501}
    shown = (await plan(service, **changes)).shown
    for key, value in body.items():
        found = shown[key][0]["name"] if key.endswith("_mount_list") else shown[key]
        assert found == value


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"sku": "SX.8xH100"}, {"sku"}),
        ({"sku": None}, {"sku"}),
        ({"gpu": "B300", "sku": None}, {"gpu"}),
        ({"sku_id": 401}, {"sku"}),
        ({"sku_item_price_id": 8701}, {"sku_item_price_id"}),
        ({"sku_item_price_id": 8722, "plan": "hourly"}, {"plan"}),
        ({"plan": "365d"}, {"plan"}),
        ({"nodes": 2, "no_of_nodes": 3}, {"nodes"}),
        ({"nodes": None}, {"nodes"}),
        ({"image": "windows"}, {"image"}),
        ({"image": "NeMo", "image_version_id": 57}, {"image"}),
        ({"image": None}, {"image"}),
        ({"ssh_keys": ["laptop"]}, {"ssh_keys"}),
        ({"ssh_keys": None}, {"ssh_keys"}),
        ({"security_group": "open"}, {"security_group"}),
        ({"security_group": None}, {"security_group"}),
        ({"security_group_id": 5502}, {"security_group"}),
        ({"script_added": True}, {"script_added"}),
        ({"script_added": False, "lifecycle_script": "x"}, {"script_added"}),
        ({"sfs": [{"name": "none", "mount_path": "/a"}]}, {"sfs[0].name"}),
        ({"sfs": [{"mount_path": "/a"}]}, {"sfs[0]"}),
        ({"sfs": [{"id": 9, "mount_path": "/a"}]}, {"sfs[0].name"}),
        (
            {
                "sfs": [{"name": "shared-scratch", "mount_path": "/mnt/a"}],
                "pfs": [{"name": "fast-scratch", "mount_path": "/mnt/a"}],
            },
            {"pfs[0].mount_path"},
        ),
        ({"gpu": "L40S"}, {"gpu"}),
        ({"sku": None, "sku_id": 9999}, {"sku_item_price_id"}),
        ({"sku": None, "sku_item_price_id": 9999}, {"sku"}),
        (
            {"sku": None, "image": "x", "ssh_keys": ["x"], "security_group": "x"},
            {"sku", "image", "ssh_keys", "security_group"},
        ),
    ],
)
async def test_every_fault_is_told_at_its_field(
    service: Service, sandbox: CheckedSandbox, changes: dict[str, Any], fields: set[str]
) -> None:
    assert set(await problems(service, **changes)) == fields
    assert sandbox.books()["services"]["e2e"]["entries"] == []


@pytest.mark.parametrize("name", ["Lab", "1ab", "a", "lab-", "l" * 40, "lab_1"])
async def test_names_are_checked_with_the_mark_counted(service: Service, sandbox: CheckedSandbox, name: str) -> None:
    assert set(await problems(service, name)) == {"name"}


@pytest.mark.parametrize(("term", "sum_"), [("30d", 2 * 1290816), ("90d", 2 * 3442176)])
async def test_a_committed_term_is_confirmed_in_words_with_the_whole_sum(
    service: Service, sandbox: CheckedSandbox, term: str, sum_: int
) -> None:
    made = await plan(service, plan=term)
    assert made.commitment is not None
    assert (made.commitment.amount, made.commitment.currency) == (Decimal(sum_), "INR")
    assert made.price_per_hour is None
    assert what_to_ask(made) is Ask.COMMITMENT
    assert any("no refund" in warning for warning in made.warnings)


@pytest.mark.parametrize("price", [0, None, -5, "call us", "1992", [1992], True])
async def test_what_is_no_price_is_unknown_and_never_free(
    service: Service, sandbox: CheckedSandbox, price: Any
) -> None:
    ops = [{"op": "set", "path": "/data/*/plans/*/unit_price", "value": price}]
    sandbox.fault(service="e2e", path=PLANS, kind="mutate", ops=ops, times=None)
    made = await plan(service)
    if price == "1992":
        assert made.price_per_hour is not None
        return
    assert made.price_per_hour is None
    assert not made.is_free
    assert what_to_ask(made) is Ask.UNKNOWN_PRICE


async def test_a_price_that_is_not_listed_is_never_taken_for_hourly(service: Service, sandbox: CheckedSandbox) -> None:
    made = await plan(service, sku_item_price_id=4711)
    assert made.price_per_hour is None
    assert what_to_ask(made) is Ask.UNKNOWN_PRICE
    assert any("may be hourly or a committed term" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    "row",
    [
        {"sku_type": "committed", "committed_days": 0},
        {"sku_type": "on demand", "committed_days": 0},
        {"sku_type": None, "committed_days": None},
        {"sku_type": ["hourly", "committed"], "committed_days": -1},
    ],
)
async def test_a_row_that_says_neither_hourly_nor_a_term_has_no_price(
    service: Service, sandbox: CheckedSandbox, row: dict[str, Any]
) -> None:
    ops = [{"op": "set", "path": f"/data/*/plans/*/{name}", "value": value} for name, value in row.items()]
    sandbox.fault(service="e2e", path=PLANS, kind="mutate", ops=ops, times=None)
    assert set(await problems(service)) == {"plan"}
    made = await plan(service, sku_item_price_id=8721)
    assert what_to_ask(made) is Ask.UNKNOWN_PRICE
    assert any("may be hourly or a committed term" in warning for warning in made.warnings)


async def test_an_hourly_row_with_days_is_taken_for_a_term(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "set", "path": "/data/*/plans/0/committed_days", "value": "30"}]
    sandbox.fault(service="e2e", path=PLANS, kind="mutate", ops=ops, times=None)
    assert what_to_ask(await plan(service, sku_item_price_id=8721)) is Ask.COMMITMENT


async def test_prices_of_another_location_are_not_taken(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "set", "path": "/data/*/plans/*/location", "value": "Chennai"}]
    sandbox.fault(service="e2e", path=PLANS, kind="mutate", ops=ops, times=None)
    assert set(await problems(service)) == {"plan"}
    assert set(await problems(service, sku_item_price_id=8721)) == {"sku_item_price_id"}


async def test_of_several_of_one_name_none_is_guessed(service: Service, sandbox: CheckedSandbox) -> None:
    for path, field in ((PLANS, "name"), ("/ssh_keys/", "label"), ("/security_groups/", "name")):
        ops = [{"op": "set", "path": f"/data/*/{field}", "value": "same"}]
        sandbox.fault(service="e2e", path=path, kind="mutate", ops=ops, times=None)
    found = await problems(service, sku="same", ssh_keys=["same"], security_group="same")
    assert set(found) == {"sku", "ssh_keys", "security_group"}
    assert all("may mean several" in text for text in found.values())


async def test_the_cheapest_that_can_be_had_is_taken(service: Service, sandbox: CheckedSandbox) -> None:
    sku = {"location": "Delhi", "id": 499, "price_id": 8999, "unit_price": 1.0, "name": "SX.1xH100", "gpu": 1}
    sandbox.setup("e2e", sku={**sku, "card": "H100", "stock": 0})
    assert (await plan(service, sku=None, gpu="H100")).shown["sku_id"] == 412
    sandbox.setup("e2e", stock={"sku_id": 499, "nodes": 4})
    assert (await plan(service, sku=None, gpu="H100")).shown["sku_id"] == 499


async def test_what_cannot_be_had_and_ids_that_are_not_listed_are_warned_of(
    service: Service, sandbox: CheckedSandbox
) -> None:
    sandbox.setup("e2e", stock={"sku_id": 412, "nodes": 0})
    ids: dict[str, Any] = {"ssh_keys": None, "ssh_key_ids": [1], "security_group": None, "security_group_id": 2}
    made = await plan(service, **ids, image=None, image_version_id=3)
    said = " ".join(made.warnings)
    for text in ("cannot be had now", "SSH keys 1: not among", "Security group 2: not among", "Image version 3 is not"):
        assert text in said


async def test_plain_ids_are_enough_when_nothing_can_be_looked_up(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.fault(service="e2e", method="GET", kind="status", status=501, shape="html", times=None)
    ids: dict[str, Any] = {"sku": None, "sku_id": 412, "sku_item_price_id": 8721, "image": None, "image_version_id": 57}
    made = await plan(service, **ids, ssh_keys=None, ssh_key_ids=[7301], security_group=None, security_group_id=5501)
    assert made.price_per_hour is None
    assert len([warning for warning in made.warnings if "could not be read" in warning]) >= 2
    sandbox.clear_faults()


async def test_a_script_is_masked_and_sent_as_it_is(service: Service, sandbox: CheckedSandbox) -> None:
    made = await plan(service, lifecycle_script="#!/bin/sh\nexport TOKEN=planted")
    assert "planted" not in repr(made) + made.model_dump_json()
    await service.create(made, consent=consent_to(made))
    sent = next(r["body"] for r in sandbox.requests() if r["method"] == "POST")
    assert "export TOKEN=planted" in sent


async def test_a_plan_spends_nothing_and_a_create_needs_its_consent(service: Service, sandbox: CheckedSandbox) -> None:
    made = await plan(service)
    with pytest.raises(ConsentError):
        await service.create(made)
    assert sandbox.books()["services"]["e2e"]["entries"] == []

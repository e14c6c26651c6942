"""What forms and ``%cluster_choices`` offer: every list of the contract, in the place that is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.choices import Choice
from jupyter_gpu_clusters.core.errors import GpuClustersError, SettingsError
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.providers.e2e.choices import LOOK_UPS
from tests.contracts.fixtures import CheckedSandbox

from .ordering import planned

pytestmark = pytest.mark.anyio

SKU = "SX.8xH100-224.1800GB"


async def choices(service: Service, look_up: str, **given: Any) -> dict[str | int, Choice]:
    listing = await service.choices("e2e", look_up, given)
    assert listing.is_complete
    return {choice.value: choice for choice in listing.items}


@pytest.mark.parametrize(
    ("look_up", "given", "value", "label"),
    [
        ("locations", {}, "Chennai", "Chennai"),
        ("projects", {}, 40110, "default-project"),
        ("skus", {}, SKU, SKU),
        ("sku_ids", {}, 412, SKU),
        ("sku_ids", {"location": "Chennai"}, 461, SKU),
        ("prices", {}, 8711, "hourly: 420.5 INR"),
        ("prices", {"sku": SKU.lower()}, 8721, "hourly: 1992.0 INR"),
        ("prices", {"sku_id": 412}, 8722, "30 days: 1290816.0 INR"),
        ("images", {}, "NeMo v1-nemo2.4-slurm25.11", "NeMo v1-nemo2.4-slurm25.11"),
        ("image_version_ids", {}, 58, "Ubuntu Slurm v3-slurm26.05-ubuntu24.04"),
        ("ssh_keys", {}, "spare", "spare"),
        ("ssh_key_ids", {}, 7302, "spare"),
        ("security_groups", {}, "ssh-only", "ssh-only"),
        ("security_group_ids", {}, 5501, "ssh-only"),
        ("sfs", {}, "shared-scratch", "shared-scratch"),
        ("pfs", {}, "fast-scratch", "fast-scratch"),
        ("datasets", {}, "corpus", "corpus"),
        ("iam_accounts", {}, 616, None),
    ],
)
async def test_each_list_holds_what_a_spec_takes(
    service: Service, sandbox: CheckedSandbox, look_up: str, given: dict[str, Any], value: str | int, label: str | None
) -> None:
    found = await choices(service, look_up, **given)
    assert value in found
    assert label is None or found[value].label == label


async def test_every_look_up_answers(service: Service, sandbox: CheckedSandbox) -> None:
    for look_up in LOOK_UPS:
        assert await choices(service, look_up), look_up


@pytest.mark.parametrize(
    ("look_up", "field", "instead_of"),
    [
        ("skus", "sku", "gpu"),
        ("sku_ids", "sku_id", "gpu"),
        ("images", "image", "image"),
        ("image_version_ids", "image_version_id", "image"),
        ("ssh_key_ids", "ssh_key_ids", "ssh_keys"),
        ("security_group_ids", "security_group_id", "security_group"),
    ],
)
async def test_what_is_offered_can_be_planned(
    service: Service, sandbox: CheckedSandbox, look_up: str, field: str, instead_of: str
) -> None:
    for value in await choices(service, look_up):
        wish: dict[str, Any] = {instead_of: None, field: [value] if field.endswith("_ids") else value}
        plan = await planned(service, **wish)
        assert plan.price_per_hour is not None
        assert not any("not among those listed" in warning for warning in plan.warnings)


async def test_what_cannot_be_chosen_now_says_why(service: Service, sandbox: CheckedSandbox) -> None:
    sandbox.setup("e2e", stock={"sku_id": 412, "nodes": 0})
    assert (await choices(service, "skus"))[SKU].why_not == "it cannot be had now"
    assert (await choices(service, "prices"))[8724].why_not == "not offered now"
    states = {one.detail.get("status"): one.why_not for one in (await choices(service, "reserved_ips")).values()}
    assert states["Available"] is None
    assert states.get("Unavailable", "in use") == "in use"


@pytest.mark.parametrize("location", ["Mumbai", "delhi", ""])
async def test_a_place_that_is_none_is_said(service: Service, sandbox: CheckedSandbox, location: str) -> None:
    if not location:
        assert await choices(service, "skus", location=location)
        return
    with pytest.raises(SettingsError, match="no location"):
        await choices(service, "skus", location=location)
    assert sandbox.requests() == []


@pytest.mark.parametrize("given", [{"sku": 7}, {"sku": [SKU]}, {"sku_id": "412"}, {"location": ["Delhi"]}, {"x": {}}])
async def test_a_form_that_is_half_wrong_breaks_nothing(
    service: Service, sandbox: CheckedSandbox, given: dict[str, Any]
) -> None:
    await choices(service, "prices", **given)


@pytest.mark.parametrize("shape", ["html", "fields", "under_200", "empty"])
async def test_a_list_that_fails_is_an_error_and_not_an_empty_list(
    service: Service, sandbox: CheckedSandbox, shape: str
) -> None:
    sandbox.fault(service="e2e", method="GET", kind="status", status=400, shape=shape, times=None)
    for look_up in ("skus", "sfs", "reserved_ips", "projects"):
        with pytest.raises(GpuClustersError):
            await service.choices("e2e", look_up, {})


async def test_keys_of_the_account_are_listed_and_added(service: Service, sandbox: CheckedSandbox) -> None:
    made, is_new = await service.add_ssh_key("e2e", "laptop", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample me")
    assert (made.label, is_new) == ("laptop", True)
    listed = {choice.label: choice for choice in (await service.ssh_keys("e2e")).items}
    assert str(listed["laptop"].detail["public_key"]).startswith("ssh-ed25519")

"""Calls of the contract that no verb of ours needs every day; the sandbox and the contract judge each of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.models import Cluster
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.e2e.client import Client
from jupyter_gpu_clusters.providers.e2e.provider import E2EProvider
from tests.contracts.fixtures import CheckedSandbox

pytestmark = pytest.mark.anyio

SPEC: dict[str, Any] = {
    "gpu": "H100",
    "nodes": 2,
    "image": "ubuntu-slurm",
    "ssh_keys": ["spare"],
    "security_group": "ssh-only",
}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleOnlyExampleOnlyExampleOnlyExampl me"
OPEN_SSH = {
    "rule_type": "inbound",
    "protocol": "TCP",
    "protocol_type": "CustomTCP",
    "network_type": "any",
    "ports": [22],
    "description": "",
}


@pytest.fixture
async def client(provider: E2EProvider) -> Client:
    return (await provider._access.connect()).client


@pytest.fixture
async def lab(service: Service, sandbox: CheckedSandbox) -> Cluster:
    """A running cluster of two nodes."""
    plan = await service.plan_create("e2e", "lab", build_spec(service.spec_model("e2e"), SPEC))
    made = (await service.create(plan, consent=consent_to(plan))).cluster
    sandbox.advance(3600)
    return made


def puts(sandbox: CheckedSandbox) -> list[dict[str, Any]]:
    return [json.loads(one["body"]) for one in sandbox.requests() if one["method"] == "PUT"]


async def test_keys_come_and_go(client: Client, sandbox: CheckedSandbox) -> None:
    added = await client.add_ssh_key("Delhi", "laptop", KEY)
    assert added.pk is not None
    await client.sync_ssh_keys("Delhi")
    labels = {key.label for key in await client.list_ssh_keys("Delhi")}
    assert {"laptop", "myaccount-key"} <= labels
    await client.delete_ssh_key("Delhi", added.pk)
    assert "laptop" not in {key.label for key in await client.list_ssh_keys("Delhi")}


async def test_security_groups_are_made_changed_and_deleted(client: Client, sandbox: CheckedSandbox) -> None:
    made = await client.create_security_group("Delhi", "mine", "", [OPEN_SSH])
    assert made.id is not None
    await client.put_security_rules("Delhi", made.id, [{**OPEN_SSH, "ports": [22, 8888], "isNew": True}])
    assert await client.get_security_group("Delhi", made.id)
    await client.delete_security_group("Delhi", made.id)
    assert made.id not in {group.id for group in await client.list_security_groups("Delhi")}


async def test_volumes_and_addresses_are_made(client: Client, sandbox: CheckedSandbox) -> None:
    made = await client.create_sfs("Delhi", "scratch", 500)
    assert made.name in {one.name for one in await client.list_sfs("Delhi")}
    address = await client.allocate_reserved_ip("Delhi")
    assert address.ip_address in {one.ip_address for one in await client.list_reserved_ips("Delhi")}
    assert await client.list_generic_skus("Delhi", "notebook") != []
    assert await client.list_iam_accounts() != []
    assert await client.list_projects() != []


async def test_the_bodies_of_all_actions(
    service: Service, client: Client, sandbox: CheckedSandbox, lab: Cluster
) -> None:
    address = next(ip for ip in await client.list_reserved_ips("Delhi") if ip.status == "Available")
    wishes: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("update_ssh_keys", {"ssh_keys": ["lab-desktop"]}, {"ssh_key_ids": [7302, 7301]}),
        ("update_ssh_keys", {"ssh_key_ids": [7301], "replace": True}, {"ssh_key_ids": [7301]}),
        ("update_image", {"image": "NeMo"}, {"image_version_id": 59}),
        ("restart_workers", {}, {}),
        ("restart_cluster", {}, {}),
        ("attach_ip", {"ip": address.ip_address}, {"reserved_ip_id": address.id}),
        ("detach_ip", {"ip": address.ip_address}, {"reserved_ip_id": address.id, "ip_type": "reserved"}),
        ("add_security_group", {"security_groups": ["closed"]}, {"security_groups_ids": [5502]}),
        ("remove_security_group", {"security_group": "ssh-only"}, {"security_group_id": 5501}),
    ]
    for action, spec, _ in wishes:
        plan = await service.plan_action(lab, action, build_spec(service.action_model("e2e", action), spec))
        await service.act(plan, consent=consent_to(plan))
        sandbox.advance(3600)
    plan = await service.plan_scale(lab, 5)
    await service.scale(plan, consent=consent_to(plan))
    expected = [{"action": action, **body} for action, _, body in wishes]
    assert puts(sandbox) == [*expected, {"action": "scale_cluster", "additional_nodes": 3}]

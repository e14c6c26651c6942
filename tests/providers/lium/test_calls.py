"""Every call of the contract as the client makes it; the sandbox and the contract judge each request and answer."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import ConflictError
from jupyter_gpu_clusters.core.models import utc_now
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium.client import Client
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from tests.contracts.fixtures import CheckedSandbox
from tests.providers.lium.renting import rented

pytestmark = pytest.mark.anyio

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleOnlyExampleOnlyExampleOnlyExampl me"


@pytest.fixture
async def client(provider: LiumProvider) -> Client:
    return (await provider._access.connect()).client


@pytest.fixture
async def pod_id(service: Service, sandbox: CheckedSandbox) -> str:
    """A running pod of a cluster of two."""
    cluster = await rented(service)
    sandbox.advance(600)
    return cluster.nodes[0].node_id


def asked(sandbox: CheckedSandbox) -> str:
    last = sandbox.requests()[-1]
    return f"{last['method']} {last['path'].partition('/lium/api')[2] or last['path']}"


async def test_what_the_server_can_do_and_who_asks(client: Client, sandbox: CheckedSandbox) -> None:
    assert "rent_idempotency" in (await client.version()).features
    assert (await client.me()).balance is not None
    assert isinstance(await client.my_events(), list)
    assert isinstance(await client.audit(), list)
    assert "total" in await client.statement("2026-11-01", "2026-11-30")


async def test_hosts_and_what_they_cost(client: Client, sandbox: CheckedSandbox) -> None:
    fabrics = await client.list_fabrics()
    host = fabrics[0].nodes[0]
    assert host.id is not None
    assert "NVIDIA H200" in await client.list_machines()
    assert (await client.quote(host.id, hours=2, gpu_count=8))["hours"] == 2
    template = (await client.list_templates())[0]
    assert template.id is not None
    assert await client.get_template(template.id) == template
    assert "estimated_seconds" in await client.deployment_estimate(host.id, template.id)
    assert await client.default_images("NVIDIA H100 80GB HBM3", "550.54") != []
    wishes = {"gpu_type": "H100", "pod_name": "try", "user_public_key": [KEY]}
    assert (await client.try_rent_by_spec(wishes))["dry_run"] is True
    assert [entry for entry in sandbox.books()["services"]["lium"]["entries"] if entry["made"]] == []


async def test_what_can_be_done_to_a_pod(client: Client, sandbox: CheckedSandbox, pod_id: str) -> None:
    end = (utc_now() + timedelta(hours=3)).replace(microsecond=0)
    await client.schedule_removal(pod_id, end)
    assert (await client.get_pod(pod_id)).removal_scheduled_at == end
    await client.cancel_removal(pod_id)
    assert (await client.get_pod(pod_id)).removal_scheduled_at is None
    request = await client.reset_gpu(pod_id, [0])
    assert request is not None
    sandbox.advance(300)
    assert (await client.reset_gpu_status(pod_id, request))["status"] in ("done", "failed", "timeout", "running")
    await client.install_jupyter(pod_id, 8888)
    await client.backup(pod_id, "first", "")
    sandbox.advance(600)
    backup = (await client.list_backups(pod_id))[0]
    assert backup.id is not None
    assert (await client.get_backup(backup.id)).id == backup.id
    await client.restore(pod_id, backup.id, "/root/back")
    assert isinstance(await client.restore_logs(pod_id), list)
    await client.create_backup_config(pod_id, 6, 7, "/root")
    config = await client.backup_config_of(pod_id)
    await client.put_backup_config(str(config["id"]), 12, 7, "/root")
    assert (await client.list_backup_configs())[0]["backup_frequency_hours"] == 12
    await client.delete_backup_config(str(config["id"]))
    await client.feedback(pod_id, "fine", 5, None)
    assert [line async for line in client.logs(pod_id, tail=3)] != []
    assert await client.events(pod_id) != []
    assert (await client.record(pod_id))["pod_id"] == pod_id
    await client.reboot(pod_id)
    sandbox.advance(600)
    template = next(one for one in await client.list_templates() if "lium-cluster" in (one.docker_image or ""))
    await client.switch_template(pod_id, template.id or "")
    assert asked(sandbox).endswith("/switch-template")


async def test_backups_can_be_ended_and_deleted(client: Client, sandbox: CheckedSandbox, pod_id: str) -> None:
    await client.backup(pod_id, "second", "")
    backup = (await client.list_backups())[0]
    assert backup.id is not None
    with suppress(ConflictError):  # it may have ended by itself
        await client.cancel_backup(backup.id)
    await client.delete_backup(backup.id)
    assert backup.id not in {one.id for one in await client.list_backups()}


async def test_belongings(client: Client, sandbox: CheckedSandbox) -> None:
    volume = await client.create_volume("data", "")
    assert volume.id is not None
    await client.put_volume(volume.id, "more", "words")
    assert (await client.get_volume(volume.id)).name == "more"
    await client.delete_volume(volume.id)
    assert await client.list_volumes() == []
    key = await client.add_ssh_key("laptop", KEY)
    assert key.id is not None
    await client.delete_ssh_key(key.id)
    assert await client.list_ssh_keys() == []


async def test_templates_are_made_and_changed(client: Client, sandbox: CheckedSandbox) -> None:
    made = await client.create_template(
        {
            "name": "mine",
            "docker_image": "daturaai/lium-cluster",
            "docker_image_tag": "0.0.7",
            "internal_ports": [22],
            "startup_commands": "",
            "category": "UBUNTU",
            "container_start_immediately": True,
            "description": "",
            "entrypoint": "",
            "environment": {},
            "is_private": True,
            "readme": "",
            "volumes": [],
        }
    )
    assert made.id is not None
    await client.put_template(made.id, {"name": "still mine", "docker_image": made.docker_image, "readme": None})
    assert (await client.get_template(made.id)).name == "still mine"


async def test_single_nodes_and_clusters_are_removed(
    client: Client, service: Service, sandbox: CheckedSandbox, pod_id: str
) -> None:
    cluster = (await client.get_pod(pod_id)).cluster_id
    assert cluster is not None
    removed = await client.delete_cluster(cluster)
    assert [row.success for row in removed.pods] == [True, True]
    spec = build_spec(service.spec_model("lium"), {"nodes": 1, "user_public_key": [KEY]})
    single = await rented(service, spec=spec, name="one")
    await client.delete_pod(single.nodes[0].node_id)
    sandbox.advance(600)
    assert await client.list_pods() == []


async def test_every_field_of_a_single_rent(service: Service, client: Client, sandbox: CheckedSandbox) -> None:
    volume = await client.create_volume("data", "")
    fields = {
        "template_id": (await client.list_templates())[0].id,
        "gpu_count": 1,
        "volume_id": volume.id,
        "skip_add_agent_ssh_key": True,
        "termination_hours": 2,
        "initial_port_count": 3,
        "enable_jupyter": False,
        "enable_volume_encryption": False,
        "enable_backups": False,
        "dockerfile_content": "FROM pytorch\nRUN true",
        "ncu_profiling": False,
        "build_context_sha256": "0" * 64,
    }
    spec = {"nodes": 1, "gpu": "A6000", "user_public_key": [KEY], "exact_name": True, **fields}
    plan = await service.plan_create("lium", "one", build_spec(service.spec_model("lium"), spec))
    assert plan.shown["dockerfile_content"] == "***"
    await service.create(plan, consent=consent_to(plan))
    sent = next(r for r in sandbox.requests() if r["method"] == "POST" and r["path"].endswith("/rent"))
    assert json.loads(sent["body"]) == {"pod_name": "one", "user_public_key": [KEY], **fields}

"""Planning: short words, contradictions, look-ups that fail, money, and what is shown of it."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import AuthError, GpuClustersError, SpecError
from jupyter_gpu_clusters.core.models import Plan
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from tests.contracts.fixtures import CheckedSandbox

from .renting import PAIR, PUBLIC_KEY

pytestmark = pytest.mark.anyio

FABRICS = "/executors/infiniband-clusters"
UUID = "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a01"


async def plan_of(service: Service, name: str = "pair", **changes: Any) -> Plan:
    spec = {key: value for key, value in {**PAIR, **changes}.items() if value is not None}
    return await service.plan_create("lium", name, build_spec(service.spec_model("lium"), spec))


async def problems_of(service: Service, name: str = "pair", **changes: Any) -> dict[str, str]:
    with pytest.raises(SpecError) as caught:
        await plan_of(service, name, **changes)
    return {problem.field: problem.text for problem in caught.value.problems}


async def ids(service: Service, look_up: str, **given: Any) -> list[Any]:
    return [choice.value for choice in (await service.choices("lium", look_up, given)).items]


def fails(sandbox: CheckedSandbox, path: str, status: int = 404) -> None:
    sandbox.fault(service="lium", path=path, kind="status", status=status, shape="envelope", times=None)


# Short words


async def test_every_short_word_becomes_what_it_stands_for(service: Service, sandbox: CheckedSandbox) -> None:
    await service.add_ssh_key("lium", "laptop", PUBLIC_KEY)
    provider = service._accounts.provider("lium")
    volume = await (await provider._access.connect()).client.create_volume("data", "")  # type: ignore[attr-defined]
    (template, *_) = (await service.choices("lium", "templates", {})).items
    words: dict[str, Any] = {"gpu": "A6000", "ssh_keys": ["laptop"], "template": template.label, "volume": "data"}
    plan = await plan_of(service, nodes=1, user_public_key=None, **words)
    assert plan.shown["template_id"] == template.detail["id"]
    assert plan.shown["volume_id"] == volume.id
    assert plan.shown["user_public_key"] == [f"ssh-ed25519 …{PUBLIC_KEY.split()[1][-8:]}"]
    assert set(plan.shown) == {"executor_uuids", "template_id", "user_public_key", "volume_id"}


@pytest.mark.parametrize("fabric", ["hot", "hot:roce:10.0.0.0/24:NVIDIA GeForce RTX 4090:8"])
async def test_a_fabric_is_meant_by_its_id_or_its_only_beginning(
    service: Service, sandbox: CheckedSandbox, fabric: str
) -> None:
    plan = await plan_of(service, gpu=None, nodes=3, fabric=fabric)
    assert (plan.nodes, str(plan.price_per_hour)) == (3, "8.64 USD")


async def test_the_beginning_of_several_fabrics_means_none(service: Service, sandbox: CheckedSandbox) -> None:
    told = await problems_of(service, fabric="cold:infiniband")
    assert "is the beginning of several" in told["fabric"]
    assert "0x3" in told["fabric"]
    assert "0x9" in told["fabric"]


async def test_without_any_word_the_two_cheapest_nodes_of_one_fabric_are_chosen(
    service: Service, sandbox: CheckedSandbox
) -> None:
    plan = await plan_of(service, gpu=None, nodes=None)
    roce = await ids(service, "executors", fabric="hot")
    assert plan.shown["executor_uuids"] == roce[:2]
    assert (plan.nodes, plan.gpus, str(plan.price_per_hour)) == (2, 16, "5.68 USD")


async def test_names_that_are_nearly_right_are_offered(service: Service, sandbox: CheckedSandbox) -> None:
    await service.add_ssh_key("lium", "laptop", PUBLIC_KEY)
    (template, *_) = (await service.choices("lium", "templates", {})).items
    told = await problems_of(service, ssh_keys=["labtop"], template=f"{template.label}x")
    assert "laptop" in told["ssh_keys"]
    assert template.label in told["template"]


@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "ä", "a/b", "a" * 53])
async def test_names_that_no_pod_should_have(service: Service, sandbox: CheckedSandbox, name: str) -> None:
    with pytest.raises(GpuClustersError):
        await plan_of(service, name)
    assert [r for r in sandbox.requests() if r["method"] == "POST"] == []


# Contradictions


async def test_nodes_by_id_must_be_what_the_other_words_say(service: Service, sandbox: CheckedSandbox) -> None:
    h100 = (await ids(service, "executors", gpu="H100"))[:2]
    told = await problems_of(service, executor_uuids=h100, gpu="4090", fabric="hot")
    assert set(told) == {"gpu", "fabric"}
    assert (await plan_of(service, executor_uuids=h100, gpu="h100", fabric="cold")).nodes == 2
    assert set(await problems_of(service, nodes=1, executor_uuids=h100[:1], gpu="A6000")) == {"gpu"}


async def test_nodes_of_two_fabrics_make_no_cluster(service: Service, sandbox: CheckedSandbox) -> None:
    mixed = [(await ids(service, "executors", gpu="H100"))[0], (await ids(service, "executors", fabric="hot"))[0]]
    assert "different fabrics" in (await problems_of(service, gpu=None, executor_uuids=mixed))["executor_uuids"]


@pytest.mark.parametrize("look_up", ["template", "volume"])
async def test_a_name_and_an_id_that_differ_are_told(service: Service, sandbox: CheckedSandbox, look_up: str) -> None:
    provider = service._accounts.provider("lium")
    client = (await provider._access.connect()).client  # type: ignore[attr-defined]
    await client.create_volume("data", "")
    name = (await ids(service, f"{look_up}s"))[0]
    told = await problems_of(service, nodes=1, **{look_up: name, f"{look_up}_id": UUID})
    assert set(told) == {look_up}
    (right, *_) = await ids(service, f"{look_up}_ids")
    assert (await plan_of(service, nodes=1, **{look_up: name, f"{look_up}_id": right})).nodes == 1


async def test_a_volume_name_that_two_have_is_no_choice(service: Service, sandbox: CheckedSandbox) -> None:
    provider = service._accounts.provider("lium")
    client = (await provider._access.connect()).client  # type: ignore[attr-defined]
    for _ in range(2):
        await client.create_volume("data", "")
    assert "volume_id" in (await problems_of(service, nodes=1, volume="data"))["volume"]


async def test_all_is_told_at_once(service: Service, sandbox: CheckedSandbox) -> None:
    told = await problems_of(
        service,
        "x y",
        gpu="B300",
        template="none",
        volume="none",
        user_public_key=None,
        build_context_sha256="0" * 64,
        restore_path="/root/x",
        max_price_per_hour=1,
    )
    fields = {"name", "nodes", "template", "volume", "ssh_keys", "build_context_sha256", "restore_path"}
    assert set(told) == {*fields, "max_price_per_hour"}


# Look-ups that fail


@pytest.mark.parametrize(
    ("path", "changes", "field"),
    [
        (FABRICS, {}, "nodes"),
        ("/executors", {"nodes": 1}, "nodes"),
        ("/templates", {"template": "x"}, "template"),
        ("/templates", {}, "template"),
        ("/ssh-keys", {"ssh_keys": ["laptop"]}, "ssh_keys"),
        ("/volumes", {"volume": "data"}, "volume"),
    ],
)
async def test_a_word_that_cannot_be_looked_up_now_is_told_as_that(
    service: Service, sandbox: CheckedSandbox, path: str, changes: dict[str, Any], field: str
) -> None:
    fails(sandbox, path)
    told = await problems_of(service, **changes)
    assert set(told) == {field}
    assert "looked up now" in told[field]


@pytest.mark.parametrize(
    "fault",
    [{"kind": "html"}, {"kind": "empty"}, {"kind": "truncated"}, {"kind": "status", "status": 200, "body": {"x": 1}}],
)
async def test_a_list_that_is_none_makes_no_choice_and_no_crash(
    service: Service, sandbox: CheckedSandbox, fault: dict[str, Any]
) -> None:
    sandbox.fault(service="lium", path=FABRICS, times=None, **fault)
    assert set(await problems_of(service)) == {"nodes"}


async def test_one_node_by_id_needs_no_list(service: Service, sandbox: CheckedSandbox) -> None:
    for path in ("/executors", "/templates", "/ssh-keys", "/users/me"):
        fails(sandbox, path)
    plan = await plan_of(service, gpu=None, nodes=None, executor_uuids=[UUID])
    assert (plan.nodes, plan.price_per_hour, plan.is_free) == (1, None, False)
    assert any("nodes could not be read" in warning for warning in plan.warnings)


async def test_a_refused_key_is_said_once_and_not_as_many_faults(service: Service, sandbox: CheckedSandbox) -> None:
    fails(sandbox, "/executors*", 401)
    with pytest.raises(AuthError) as caught:
        await plan_of(service)
    assert "$LIUM_API_KEY" in (caught.value.hint or "")


@pytest.mark.parametrize("fault", [{"kind": "empty"}, {"kind": "status", "status": 200, "body": {"pods": []}}])
async def test_without_a_list_of_what_there_is_there_is_no_plan(
    service: Service, sandbox: CheckedSandbox, fault: dict[str, Any]
) -> None:
    sandbox.fault(service="lium", path="/pods", times=None, **fault)
    with pytest.raises(GpuClustersError):
        await plan_of(service)


# Money


@pytest.mark.parametrize(("limit", "refused"), [(33.67, True), (33.68, False), (100, False)])
async def test_a_limit_of_the_price_is_kept(
    service: Service, sandbox: CheckedSandbox, limit: float, refused: bool
) -> None:
    if refused:
        assert "33.68 USD" in (await problems_of(service, max_price_per_hour=limit))["max_price_per_hour"]
    else:
        assert str((await plan_of(service, max_price_per_hour=limit)).price_per_hour) == "33.68 USD"


async def test_an_unknown_price_keeps_no_limit(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "set", "path": "/0/nodes/*/price_per_gpu", "value": None}]
    sandbox.fault(service="lium", path=FABRICS, kind="mutate", ops=ops, times=None)
    told = await problems_of(service, max_price_per_hour=100)
    assert "unknown price" in told["max_price_per_hour"]


async def test_numbers_may_be_texts(service: Service, sandbox: CheckedSandbox) -> None:
    ops = [{"op": "text", "path": f"/*/nodes/*/{field}"} for field in ("price_per_gpu", "gpu_count")]
    sandbox.fault(service="lium", path=FABRICS, kind="mutate", ops=ops, times=None)
    assert str((await plan_of(service)).price_per_hour) == "33.68 USD"


# What is shown


async def test_what_may_hold_secrets_is_masked_everywhere(service: Service, sandbox: CheckedSandbox) -> None:
    secret = 'tok%en+&"1234567890'
    plan = await plan_of(service, nodes=1, gpu="A6000", dockerfile_content=f"ENV T={secret}")
    assert plan.shown["dockerfile_content"] == "***"
    assert secret not in repr(plan) + str(plan)


async def test_no_end_time_is_said_aloud(service: Service, sandbox: CheckedSandbox) -> None:
    assert any("NO END TIME" in warning for warning in (await plan_of(service)).warnings)
    assert not any("NO END TIME" in warning for warning in (await plan_of(service, termination_hours=4)).warnings)


async def test_planning_sends_nothing_that_changes_anything(service: Service, sandbox: CheckedSandbox) -> None:
    await plan_of(service)
    assert {r["method"] for r in sandbox.requests()} == {"GET"}

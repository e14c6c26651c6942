"""What is offered can be rented as offered; what is chosen is the cheapest that fits, and its risks are said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_gpu_clusters.core.consent import consent_to
from jupyter_gpu_clusters.core.errors import NoCapacityError, ProviderError, SpecError
from jupyter_gpu_clusters.core.models import Offer, Plan
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.core.specs import build_spec
from jupyter_gpu_clusters.providers.lium import looking
from tests.contracts.fixtures import CheckedSandbox

from .renting import PAIR, PUBLIC_KEY, rented

pytestmark = pytest.mark.anyio

ONE: dict[str, Any] = {"nodes": 1, "user_public_key": [PUBLIC_KEY]}
FABRICS = "/executors/infiniband-clusters"


async def plan_of(service: Service, spec: dict[str, Any], name: str = "pair") -> Plan:
    return await service.plan_create("lium", name, build_spec(service.spec_model("lium"), spec))


async def offers_of(service: Service) -> tuple[Offer, ...]:
    (listing,) = await service.offers(["lium"])
    assert listing.error is None
    return listing.offers


def edit(sandbox: CheckedSandbox, path: str, pointer: str, value: Any) -> None:
    ops = [{"op": "set", "path": pointer, "value": value}]
    sandbox.fault(service="lium", path=path, kind="mutate", ops=ops, times=None)


async def hosts(sandbox: CheckedSandbox, service: Service) -> list[Any]:
    return [choice.value for choice in (await service.choices("lium", "executors", {"gpu": "H100"})).items]


@pytest.mark.parametrize("free", [4, 1])
async def test_every_offer_can_be_planned_as_it_is_and_costs_what_it_says(
    service: Service, sandbox: CheckedSandbox, free: int
) -> None:
    part = await rented(service, spec=build_spec(service.spec_model("lium"), {**ONE, "gpu": "4090", "gpu_count": 1}))
    sandbox.setup("lium", take=(await hosts(sandbox, service))[free:])
    offers = await offers_of(service)
    assert any(offer.spec.get("gpu_count") == 3 and offer.gpus_per_node == 3 for offer in offers)
    assert any(offer.offer_id.startswith("cold:infiniband") and offer.nodes_available == free for offer in offers)
    for offer in offers:
        plan = await plan_of(service, {**offer.spec, "user_public_key": [PUBLIC_KEY]}, "x")
        assert plan.price_per_hour is not None
        assert offer.price_per_node_hour is not None
        assert plan.price_per_hour.amount >= offer.price_per_node_hour.amount * plan.nodes
    assert part.node_count == 1


async def test_what_nobody_can_rent_is_not_offered(service: Service, sandbox: CheckedSandbox) -> None:
    taken = await hosts(sandbox, service)
    sandbox.setup("lium", take=taken)
    assert {offer.offer_id for offer in await offers_of(service)}.isdisjoint(taken)


async def test_the_list_of_single_nodes_is_bounded_and_says_so(
    service: Service, sandbox: CheckedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "_MOST_HOSTS", 2)
    provider = service._accounts.provider("lium")
    assert isinstance(provider, looking.Looking)
    listing = await provider.list_offers()
    singles = [offer for offer in listing.items if "executor_uuids" in offer.spec]
    assert [offer.gpu_type for offer in singles] == ["NVIDIA RTX A6000", "NVIDIA GeForce RTX 4090"]
    assert (listing.is_complete, listing.not_seen) == (False, ("8 dearer single nodes",))


async def test_one_node_is_chosen_by_the_price_of_the_gpus_that_are_asked_for(
    service: Service, sandbox: CheckedSandbox
) -> None:
    plan = await plan_of(service, {**ONE, "gpu": "RTX", "gpu_count": 2}, "one")
    assert str(plan.price_per_hour) == "0.36 USD"
    assert plan.gpus == 2


@pytest.mark.parametrize(
    ("gpu", "count", "said"),
    [
        ("RTX 3090", 1, "is rented with 2 GPUs or more"),
        ("H100", 4, "rented as a whole only, with 8 GPUs"),
        ("A6000", 2, "the node has 1 free"),
    ],
)
async def test_how_a_given_node_may_be_split_is_checked(
    service: Service, sandbox: CheckedSandbox, gpu: str, count: int, said: str
) -> None:
    (node, *_) = [choice.value for choice in (await service.choices("lium", "executors", {"gpu": gpu})).items]
    with pytest.raises(SpecError) as caught:
        await plan_of(service, {**ONE, "executor_uuids": [node], "gpu_count": count})
    (problem,) = caught.value.problems
    assert problem.field == "gpu_count"
    assert said in problem.text


async def test_a_gpu_count_that_is_the_whole_node_is_sent(service: Service, sandbox: CheckedSandbox) -> None:
    plan = await plan_of(service, {**PAIR, "gpu_count": 8})
    assert plan.gpus == 16
    await service.create(plan, consent=consent_to(plan))
    sent = next(r for r in sandbox.requests() if r["method"] == "POST" and r["path"].endswith("/rent"))
    assert json.loads(sent["body"])["gpu_count"] == 8


@pytest.mark.parametrize(
    ("dockerfile", "refusal"),
    [("RUN true", "runs the cluster image only"), ("RUN curl http://10.0.0.1/x", "edge firewall stopped the request")],
)
async def test_a_dockerfile_for_several_nodes_is_left_to_the_service_and_warned_of(
    service: Service, sandbox: CheckedSandbox, dockerfile: str, refusal: str
) -> None:
    plan = await plan_of(service, {**PAIR, "dockerfile_content": dockerfile})
    assert any("may refuse the Dockerfile" in warning for warning in plan.warnings)
    assert any("firewall" in warning for warning in plan.warnings) == ("firewall" in refusal)
    with pytest.raises(ProviderError, match=refusal):
        await service.create(plan, consent=consent_to(plan))
    assert (await service.state()).orders == ()


async def test_nodes_of_a_fabric_that_are_partly_taken_are_not_chosen(
    service: Service, sandbox: CheckedSandbox
) -> None:
    first, *others = await hosts(sandbox, service)
    edit(sandbox, FABRICS, "/0/nodes/0/available_gpu_count", 3)
    plan = await plan_of(service, PAIR)
    assert plan.shown["executor_uuids"] == others[:2]
    assert first not in plan.shown["executor_uuids"]
    fabric = next(offer for offer in await offers_of(service) if offer.offer_id.startswith("cold:"))
    assert fabric.nodes_available == 3


async def test_a_node_that_a_list_has_twice_is_taken_once(service: Service, sandbox: CheckedSandbox) -> None:
    first, second, *_ = await hosts(sandbox, service)
    edit(sandbox, FABRICS, "/0/nodes/1/id", first)
    plan = await plan_of(service, PAIR)
    assert len(set(plan.shown["executor_uuids"])) == 2
    assert second not in plan.shown["executor_uuids"]


async def test_the_users_order_of_nodes_is_kept(service: Service, sandbox: CheckedSandbox) -> None:
    wanted = (await hosts(sandbox, service))[2::-1]
    spec = {"executor_uuids": wanted, "user_public_key": [PUBLIC_KEY]}
    plan = await plan_of(service, spec)
    cluster = (await service.create(plan, consent=consent_to(plan))).cluster
    assert plan.shown["executor_uuids"] == wanted
    alive = {pod["id"]: pod["executor_id"] for pod in sandbox.books()["services"]["lium"]["alive"]}
    assert [alive[node.node_id] for node in cluster.nodes] == wanted


async def test_risks_of_what_was_chosen_are_said(service: Service, sandbox: CheckedSandbox) -> None:
    spot = " ".join((await plan_of(service, {**ONE, "gpu": "A6000"})).warnings)
    assert "taken back at any time" in spot
    assert "often fail" in spot
    assert "Backups are on" in spot
    roce = await plan_of(service, {**PAIR, "gpu": "4090", "enable_backups": False})
    assert any("has not measured the wire" in warning for warning in roce.warnings)
    assert not any("Backups are on" in warning for warning in roce.warnings)
    assert not any("measured" in warning for warning in (await plan_of(service, PAIR)).warnings)


async def test_a_plan_tells_the_balance_that_is_needed(service: Service, sandbox: CheckedSandbox) -> None:
    await rented(service)
    plan = await plan_of(service, PAIR, "second")
    (told,) = [warning for warning in plan.warnings if "balance" in warning]
    assert "1,000.00 USD (more than 16.92 USD is needed): 14.8 h" in told


async def test_one_node_asks_the_service_itself_how_much_balance_it_needs(
    service: Service, sandbox: CheckedSandbox
) -> None:
    edit(sandbox, "/executors/{id}/quote", "/rent_balance_required_usd", "2000")
    plan = await plan_of(service, {**ONE, "gpu": "H100"})
    assert any("more than 2,000.00 USD is needed" in warning for warning in plan.warnings)


async def test_templates_by_id_are_checked_where_they_are_listed(service: Service, sandbox: CheckedSandbox) -> None:
    templates = (await service.choices("lium", "template_ids", {})).items
    wrong = next(one.value for one in templates if "pytorch" in str(one.detail["image"]))
    with pytest.raises(SpecError) as caught:
        await plan_of(service, {**PAIR, "template_id": wrong})
    assert [problem.field for problem in caught.value.problems] == ["template_id"]
    unknown = "00000000-0000-4000-8000-000000000000"
    plan = await plan_of(service, {**PAIR, "template_id": unknown})
    assert plan.shown["template_id"] == unknown
    assert any("could not be checked" in warning for warning in plan.warnings)


async def test_plain_ids_can_be_planned_when_no_list_can_be_read(service: Service, sandbox: CheckedSandbox) -> None:
    wanted = (await hosts(sandbox, service))[:2]
    template = next(one.value for one in (await service.choices("lium", "template_ids", {})).items)
    for path in (FABRICS, "/templates", "/users/me"):
        sandbox.fault(service="lium", path=path, kind="status", status=404, shape="envelope", times=None)
    spec = {"executor_uuids": wanted, "template_id": template, "user_public_key": [PUBLIC_KEY]}
    plan = await plan_of(service, spec)
    assert (plan.nodes, plan.price_per_hour) == (2, None)
    assert sum("could not be read" in warning for warning in plan.warnings) == 3


async def test_a_template_that_lium_could_not_verify_is_not_the_default(
    service: Service, sandbox: CheckedSandbox
) -> None:
    newest = (await plan_of(service, PAIR)).shown["template_id"]
    edit(sandbox, "/templates", "/1/status", "VERIFY_FAILED")
    assert (await plan_of(service, PAIR)).shown["template_id"] != newest


async def test_a_node_that_was_taken_meanwhile_is_a_certain_refusal(service: Service, sandbox: CheckedSandbox) -> None:
    plan = await plan_of(service, PAIR)
    sandbox.setup("lium", take=plan.shown["executor_uuids"][:1])
    with pytest.raises(NoCapacityError):
        await service.create(plan, consent=consent_to(plan))
    assert (await service.state()).orders == ()

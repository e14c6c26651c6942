"""Single nodes: finding, pricing and renting them."""

from __future__ import annotations

from typing import Any

import pytest

from .renter import PUBLIC_KEY, Renter

H100, RTX4090, RTX3090 = "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090"
RENT: dict[str, Any] = {"pod_name": "one", "user_public_key": [PUBLIC_KEY]}


def split_host(renter: Renter) -> dict[str, Any]:
    rows: list[dict[str, Any]] = renter.api.get("/executors", params={"gpu_count_lte": "4"}).json()
    return next(row for row in rows if row["min_gpu_count_for_rental"] == 1)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({}, 10),
        ({"machine_names": f"{H100},{RTX3090}"}, 5),
        ({"gpu_count_gte": "8"}, 8),
        ({"gpu_count_lte": "4"}, 2),
        ({"nvlink": "true"}, 4),
        ({"min_download_mbps": "500"}, 9),
        ({"reliable_only": "true"}, 9),
        ({"page": "2", "size": "4"}, 4),
        ({"size": "4"}, 10),
        ({"view": "summary", "lat": "1.5", "lon": "2", "max_distance_mile": "100"}, 10),
    ],
    ids=str,
)
def test_filters_of_the_listing(renter: Renter, query: dict[str, str], count: int) -> None:
    assert len(renter.api.get("/executors", params=query).json()) == count


@pytest.mark.parametrize("query", [{"page": "0"}, {"nvlink": "maybe"}, {"gpu_count_gte": "many"}], ids=str)
def test_bad_filters(renter: Renter, query: dict[str, str]) -> None:
    with renter.sandbox.contract.bad_requests():
        assert renter.api.get("/executors", params=query).status_code == 422


def test_one_host_leaves_its_gpu_count_out(renter: Renter) -> None:
    rows = renter.api.get("/executors", params={"machine_names": RTX3090}).json()
    assert "gpu_count" not in rows[0]
    assert rows[0]["specs"]["gpu"]["count"] == 8


def test_part_of_a_host(renter: Renter) -> None:
    node = split_host(renter)
    url = f"/executors/{node['id']}/rent"
    pod = renter.pod(renter.api.post(url, json={**RENT, "gpu_count": 1}).json()["pod_id"])
    assert (pod["gpu_count"], pod["price"], pod["cluster_id"]) == ("1", 0.31, None)
    assert pod["executor"]["gpu_count"] == 4
    assert split_host(renter)["available_gpu_count"] == 3
    rest = renter.pod(renter.api.post(url, json={**RENT, "pod_name": "rest"}).json()["pod_id"])
    assert rest["gpu_count"] == "3", "without a count every free GPU is taken"
    assert renter.api.post(url, json=RENT).json()["error"]["code"] == "node_unavailable"


def test_whole_hosts_are_not_split(renter: Renter) -> None:
    node = renter.nodes()[0]["id"]
    answer = renter.api.post(f"/executors/{node}/rent", json={**RENT, "gpu_count": 4})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "whole_node_only")


def test_split_node_refuses_a_cluster_in_band(renter: Renter) -> None:
    single = split_host(renter)["id"]
    body = renter.body()
    body["executor_uuids"] = [body["executor_uuids"][0], single]
    assert renter.order(body).json()["success"] is False


def test_older_servers_answer_with_the_pod(renter: Renter) -> None:
    renter.sandbox.choose({"lium.single_answer": "pod"})
    answer = renter.api.post(f"/executors/{renter.nodes()[0]['id']}/rent", json=RENT).json()
    assert (answer["id"], answer["status"]) == (renter.pods()[0]["id"], "PENDING")


def test_single_rent_is_idempotent_too(renter: Renter) -> None:
    url = f"/executors/{renter.nodes()[0]['id']}/rent"
    first, again = (renter.api.post(url, json=RENT, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")


def test_volume_of_a_single_rent(renter: Renter) -> None:
    volume = renter.api.post("/volumes", json={"name": "v"}).json()["id"]
    nodes = renter.nodes()
    body = {**RENT, "volume_id": volume}
    assert renter.api.post(f"/executors/{nodes[0]['id']}/rent", json=body).json()["success"] is True
    second = renter.api.post(f"/executors/{nodes[1]['id']}/rent", json=body)
    assert second.json()["error"]["code"] == "volume_in_use"


@pytest.mark.parametrize(
    ("wish", "name", "count"),
    [
        ({"gpu_type": "4090", "gpu_count": 1}, RTX4090, 1),
        ({"gpu_type": "H100", "min_vram_gb": 79}, H100, 4),
        ({"gpu_type": "NVIDIA", "country": "JP"}, RTX3090, 1),
        ({"gpu_type": "4090", "min_cpus": 128, "min_ram_gb": 1000, "min_disk_gb": 1000, "min_ports": 5}, RTX4090, 3),
    ],
    ids=str,
)
def test_dry_run_by_specification(renter: Renter, wish: dict[str, Any], name: str, count: int) -> None:
    answer = renter.api.post("/executors/rent-by-spec", json={**RENT, **wish, "dry_run": True}).json()
    assert (answer["selected_executor"]["machine_name"], answer["candidates"]) == (name, count)
    assert (answer["pod_id"], answer["dry_run"]) == (None, True)
    assert renter.pods() == []


def test_rent_by_specification(renter: Renter) -> None:
    answer = renter.api.post("/executors/rent-by-spec", json={**RENT, "gpu_type": "H100", "gpu_count": 8}).json()
    assert [pod["id"] for pod in renter.pods()] == [answer["pod_id"]]
    assert answer["price_per_hour"] == 16.8


def test_specification_that_nothing_meets(renter: Renter) -> None:
    wish = {**RENT, "gpu_type": "H100", "max_price_per_gpu_hour": 1}
    assert renter.api.post("/executors/rent-by-spec", json=wish).json()["error"]["code"] == "no_matching_node"
    with renter.sandbox.contract.bad_requests():
        assert renter.api.post("/executors/rent-by-spec", json={**wish, "country": None}).status_code == 422
    renter.sandbox.choose({"lium.features": "run_record"})
    assert renter.api.post("/executors/rent-by-spec", json=wish).status_code == 404


def test_quote_needs_hours_and_knows_the_balance_needed(renter: Renter) -> None:
    url = f"/executors/{renter.nodes()[0]['id']}/quote"
    with renter.sandbox.contract.bad_requests():
        assert renter.api.get(url).status_code == 422
        assert renter.api.get(url, params={"hours": "0"}).status_code == 422
    quote = renter.api.get(url, params={"hours": "3", "gpu_count": "2", "backup_gb": "1"}).json()
    assert (quote["price_per_hour"], quote["rent_balance_required_usd"]) == (4.2, pytest.approx(1.05))
    missing = renter.api.get("/executors/00000000-0000-4000-8000-000000000000/quote", params={"hours": "1"})
    assert missing.status_code == 404


def test_estimate_images_and_machines(renter: Renter) -> None:
    query = {"executor_id": renter.nodes()[0]["id"], "template_id": renter.api.get("/templates").json()[0]["id"]}
    assert renter.api.get("/executors/deployment-estimate", params=query).json()["is_cached_template"] is True
    with renter.sandbox.contract.bad_requests():
        assert renter.api.get("/executors/deployment-estimate", params={"executor_id": "x"}).status_code == 422
    image = renter.api.get("/executors/default-docker-image", params={"gpu_model": H100}).json()[0]
    assert image["docker_image"] == "daturaai/pytorch"
    assert {"name": H100} in renter.api.get("/machines").json()

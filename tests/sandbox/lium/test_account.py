"""Keys, scopes, balance, statement, audit, templates, SSH keys, volumes and backups."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .renter import PUBLIC_KEY, Renter

TEMPLATE = {"name": "mine", "docker_image": "ada/train"}


def as_key(renter: Renter, **key: Any) -> Renter:
    return Renter(renter.sandbox, renter.sandbox.setup("lium", key=key)["key"]["secret"])


def test_both_ways_of_showing_the_key(renter: Renter) -> None:
    secret = renter.api.headers.pop("X-API-Key")
    assert renter.api.get("/users/me").status_code == 401
    assert renter.api.get("/users/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    wrong = renter.api.get("/users/me", headers={"X-API-KEY": "sk_wrong"})
    assert (wrong.status_code, wrong.json()) == (401, {"detail": "Invalid API key"})


def test_revoked_key(renter: Renter) -> None:
    renter.sandbox.setup("lium", revoke="notebook")
    assert renter.api.get("/pods").status_code == 401


def test_version_and_quote_need_no_key(renter: Renter) -> None:
    node = renter.nodes()[0]["id"]
    renter.api.headers.pop("X-API-Key")
    assert renter.api.get("/version").json()["features"] == ["rent_idempotency", "rent_by_spec", "run_record"]
    quote = renter.api.get(f"/executors/{node}/quote", params={"hours": "2", "volume_gb": "10"}).json()
    assert quote["rent_balance_required_usd"] is None
    assert quote["total_usd"] == pytest.approx(2 * 16.8 + 2 * 10 * 0.0002)


@pytest.mark.parametrize(
    ("scopes", "method", "path", "body", "status"),
    [
        (["rent"], "GET", "/pods", None, 403),
        (["read"], "GET", "/pods", None, 200),
        (["read"], "POST", "/templates", TEMPLATE, 403),
        (["read", "rent"], "POST", "/ssh-keys", {"name": "a", "public_key": PUBLIC_KEY}, 403),
        (["read", "rent"], "POST", "/volumes", {"name": "a"}, 403),
        (["manage"], "POST", "/volumes", {"name": "a"}, 200),
        (["billing"], "GET", "/users/me", None, 403),
    ],
)
def test_scopes(renter: Renter, scopes: list[str], method: str, path: str, body: object, status: int) -> None:
    other = as_key(renter, name="other", scopes=scopes)
    answer = other.api.request(method, path, json=body)
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["detail"].startswith("API key 'other' does not have the '")


def test_rent_needs_its_scope(renter: Renter) -> None:
    reader = as_key(renter, name="reader", scopes=["read"])
    answer = reader.order(reader.body())
    assert (answer.status_code, answer.json()["detail"]) == (403, "API key 'reader' does not have the 'rent' scope")


def test_rent_scope_covers_own_pods_only(renter: Renter) -> None:
    mine = renter.rent_running()[0]
    other = as_key(renter, name="other", scopes=["read", "rent"])
    own = other.rent_running()[0]
    assert other.api.post(f"/pods/{own}/reboot", json={}).status_code == 200
    assert other.api.post(f"/pods/{mine}/reboot", json={}).status_code == 403
    assert other.api.delete(f"/pods/{mine}").status_code == 403


def test_billing_must_be_alone(renter: Renter) -> None:
    with pytest.raises(ValueError, match="billing must be alone"):
        renter.sandbox.setup("lium", key={"name": "x", "scopes": ["read", "billing"]})


def test_customer_ref_of_the_key_and_of_the_rent(renter: Renter) -> None:
    tagged = as_key(renter, name="tagged", customer_ref="default")
    tagged.rent()
    tagged.order(tagged.body(), **{"X-Customer-Ref": "special"})
    assert [alive["customer_ref"] for alive in renter.books()["alive"]] == ["default"] * 2 + ["special"] * 2


def test_balance_falls_every_five_minutes(renter: Renter) -> None:
    renter.rent_running()
    assert renter.api.get("/users/me").json()["balance"] == 1000.0
    renter.sandbox.advance(300)
    assert 998 < renter.api.get("/users/me").json()["balance"] < 1000.0


def test_statement_by_day_and_key(renter: Renter) -> None:
    pods = renter.rent_running()
    other = as_key(renter, name="other")
    other.rent_running()
    renter.sandbox.advance(24 * 3600)
    whole = renter.api.get("/billing/statement").json()
    assert len(whole["pods"]) == 4
    assert whole["total"] == pytest.approx(renter.books()["bill"]["total"], abs=1e-4)
    assert [row["day"] for row in whole["pods"][0]["days"]] == ["2026-11-30", "2026-12-01"]
    mine = renter.api.get("/billing/statement", params={"api_key_id": renter.pod(pods[0])["api_key_id"]}).json()
    assert [row["pod_id"] for row in mine["pods"]] == pods
    first = renter.api.get("/billing/statement", params={"end_day": "2026-11-30"}).json()
    assert 0 < first["total"] < whole["total"]
    with renter.sandbox.contract.bad_requests():
        assert renter.api.get("/billing/statement", params={"start_day": "monday"}).status_code == 422


def test_audit_is_paged_and_filtered(renter: Renter) -> None:
    renter.api.headers["X-Source"] = "sdk"
    for name in ("a", "b", "c"):
        renter.api.post("/templates", json={**TEMPLATE, "name": name})
    renter.rent()
    page = renter.api.get("/account/audit", params={"limit": "3"}).json()
    assert [row["action"] for row in page["items"]] == ["rent", "create_template", "create_template"]
    rest = renter.api.get("/account/audit", params={"limit": "3", "cursor": page["next_cursor"]}).json()
    assert (len(rest["items"]), rest["next_cursor"]) == (1, None)
    assert len(renter.api.get("/account/audit", params={"action": "rent"}).json()["items"]) == 1
    assert renter.api.get("/account/audit", params={"source": "cli"}).json()["items"] == []
    with renter.sandbox.contract.bad_requests():
        assert renter.api.get("/account/audit", params={"limit": "501"}).status_code == 422


def test_account_events_newest_first(renter: Renter) -> None:
    pods = renter.rent_running()
    events = renter.api.get("/users/me/events", params={"limit": "3"}).json()
    assert [event["to_status"] for event in events] == ["RUNNING", "RUNNING", None]
    assert len(renter.api.get("/users/me/events", params={"pod_id": pods[0]}).json()) == 2
    assert renter.api.get("/users/me/events", params={"since": "2027-01-01T00:00:00Z"}).json() == []


def test_templates_are_made_changed_and_private(renter: Renter) -> None:
    made = renter.api.post("/templates", json={**TEMPLATE, "environment": {"A": "1"}}).json()
    url = f"/templates/{made['id']}"
    assert renter.api.get(url).json()["environment"] == {"A": "1"}
    changed = renter.api.put(url, json={**TEMPLATE, "docker_image_tag": "2"}).json()
    assert (changed["status"], changed["docker_image_tag"], changed["environment"]) == ("UPDATED", "2", {"A": "1"})
    bob = Renter(renter.sandbox, renter.sandbox.setup("lium", account="Bob", key={"name": "b"})["key"]["secret"])
    assert bob.api.get(url).status_code == 404
    vendor = next(row["id"] for row in bob.api.get("/templates").json())
    assert bob.api.put(f"/templates/{vendor}", json=TEMPLATE).status_code == 404


def test_changed_template_restarts_its_pods(renter: Renter) -> None:
    made = renter.api.post("/templates", json=TEMPLATE).json()
    node = next(row["id"] for row in renter.api.get("/executors").json() if "A6000" in row["machine_name"])
    body = {"pod_name": "one", "user_public_key": [PUBLIC_KEY], "template_id": made["id"]}
    pod = renter.api.post(f"/executors/{node}/rent", json=body).json()["pod_id"]
    renter.sandbox.advance(60)
    renter.api.put(f"/templates/{made['id']}", json=TEMPLATE)
    assert renter.pod(pod)["status"] == "REBOOT_PENDING"


@pytest.mark.parametrize(
    "body", [{"name": "a"}, {**TEMPLATE, "description": None}, {**TEMPLATE, "internal_ports": ["22"]}], ids=str
)
def test_bad_template(renter: Renter, body: dict[str, Any]) -> None:
    with renter.sandbox.contract.bad_requests():
        assert renter.api.post("/templates", json=body).status_code == 422
        assert renter.api.get("/templates/not-a-uuid").status_code == 422


def test_ssh_keys(renter: Renter) -> None:
    made = renter.api.post("/ssh-keys", json={"name": "laptop", "public_key": PUBLIC_KEY}).json()
    assert [row["id"] for row in renter.api.get("/ssh-keys").json()] == [made["id"]]
    assert renter.api.post("/ssh-keys", json={"name": "x", "public_key": "-----BEGIN KEY-----"}).status_code == 422
    assert renter.api.delete(f"/ssh-keys/{made['id']}").status_code == 200
    assert renter.api.delete(f"/ssh-keys/{made['id']}").status_code == 404


def test_volumes(renter: Renter) -> None:
    made = renter.api.post("/volumes", json={"name": "data"}).json()
    url = f"/volumes/{made['id']}"
    assert renter.api.put(url, json={"description": "sets"}).json()["description"] == "sets"
    assert [row["name"] for row in renter.api.get("/volumes").json()] == ["data"]
    with renter.sandbox.contract.bad_requests():
        assert renter.api.put(url, json={}).status_code == 422
    assert renter.api.post("/volumes", json={"name": "x" * 101}).status_code == 422
    pod = renter.rent_running()[0]
    renter.api.post(f"/pods/{pod}/reboot", json={"volume_id": made["id"]})
    assert renter.pod(pod)["volume"] == {"id": made["id"]}
    assert renter.api.delete(url).json()["error"]["code"] == "volume_in_use"
    renter.api.delete(f"/pods/{pod}")
    renter.sandbox.advance(10)
    assert renter.api.delete(url).status_code == 200
    assert renter.api.get(url).status_code == 404


def test_backups_from_configuration_to_restore(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    wish = {"pod_id": pod, "backup_frequency_hours": 6, "retention_days": 7, "backup_path": "/root"}
    refused = renter.api.post("/backup-configs", json={**wish, "backup_path": "/mnt"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_path")
    config = renter.api.post("/backup-configs", json=wish).json()
    url = f"/backup-configs/{config['id']}"
    assert renter.api.put(url, json={"is_active": False}).json()["is_active"] is False
    assert renter.api.get(f"/backup-configs/pod/{pod}").json()["id"] == config["id"]
    assert len(renter.api.get("/backup-configs").json()) == 1
    assert renter.api.delete(url).status_code == 200
    assert renter.api.get(f"/backup-configs/pod/{pod}").status_code == 404

    for number in range(3):
        renter.api.post(f"/pods/{pod}/backup", json={"name": f"b{number}"})
    page: httpx.Response = renter.api.get(f"/backup-logs/pod/{pod}", params={"page": "1", "limit": "2"})
    assert (len(page.json()["items"]), page.json()["has_next"]) == (2, True)
    first, second = page.json()["items"]
    assert renter.api.post(f"/backup-logs/{second['id']}/cancel").status_code == 200
    renter.sandbox.advance(30)
    assert renter.api.post(f"/backup-logs/{first['id']}/cancel").status_code == 400
    assert renter.api.get(f"/backup-logs/{first['id']}").json()["status"] == "COMPLETED"
    assert renter.api.delete(f"/backup-logs/{second['id']}").status_code == 200
    assert len(renter.api.get("/backup-logs/").json()["items"]) == 2

    order = {"backup_id": first["id"], "restore_path": "/root/old"}
    assert renter.api.post(f"/pods/{pod}/restore", json=order).status_code == 200
    assert renter.api.get(f"/pods/{pod}/restore-logs").json()["items"][0]["restore_path"] == "/root/old"

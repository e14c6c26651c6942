"""The routes below /pods."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .renter import Renter


def test_other_accounts_pods_are_not_found(renter: Renter) -> None:
    pod = renter.rent()[0]
    made = renter.sandbox.setup("lium", account="Bob", key={"name": "bobs"})["key"]
    bob = Renter(renter.sandbox, made["secret"])
    assert bob.pods() == []
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/record"), ("GET", "/logs")):
        assert bob.api.request(method, f"/pods/{pod}{path}").status_code == 404
    assert bob.api.get(f"/pods/{pod}").json()["error"]["code"] == "pod_not_found"


def test_listing_by_key(renter: Renter) -> None:
    made = renter.sandbox.setup("lium", key={"name": "second"})["key"]
    renter.rent()
    other = Renter(renter.sandbox, made["secret"]).rent()
    assert [pod["id"] for pod in renter.pods(api_key_id=made["id"])] == other
    assert len(renter.pods()) == 4


def test_pod_with_its_last_event(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    last = renter.pod(pod)["last_event"]
    assert (last["from_status"], last["to_status"]) == ("PENDING", "RUNNING")


@pytest.mark.parametrize("content", [None, {"feedback_text": "slow", "rating": 2, "reason": "unrent"}])
def test_deleting_a_pod(renter: Renter, content: dict[str, Any] | None) -> None:
    pod = renter.rent_running()[0]
    assert renter.api.request("DELETE", f"/pods/{pod}", json=content).json()["success"] is True
    assert renter.pod(pod)["status"] == "DELETING"
    assert renter.api.delete(f"/pods/{pod}").status_code == 200, "a second deletion is calm"
    renter.sandbox.advance(10)
    assert renter.api.get(f"/pods/{pod}").status_code == 404
    assert renter.api.delete(f"/pods/{pod}").status_code == 404
    assert len(renter.pods()) == 1


def test_bad_feedback_keeps_the_pod(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    with renter.sandbox.contract.bad_requests():
        assert renter.api.request("DELETE", f"/pods/{pod}", json={"rating": 9}).status_code == 422
    assert renter.pod(pod)["status"] == "RUNNING"
    assert renter.api.post(f"/pods/{pod}/feedback", json={"feedback_text": "", "rating": None}).status_code == 200


def test_removal_time_is_set_read_back_honoured(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    url = f"/pods/{pod}/schedule-removal"
    for _ in range(2):
        answer = renter.api.post(url, json={"removal_scheduled_at": "2026-11-30T03:00:00+01:00"})
        assert answer.json()["success"] is True
    assert renter.pod(pod)["removal_scheduled_at"] == "2026-11-30T02:00:00"
    renter.api.post(f"/pods/{pod}/reboot", json={})
    assert renter.pod(pod)["removal_scheduled_at"] == "2026-11-30T02:00:00", "it survives a reboot"
    renter.sandbox.advance(3600 + 345)
    assert renter.pod(pod)["status"] == "DELETING"
    assert renter.api.post(url, json={"removal_scheduled_at": "2026-11-30T09:00:00Z"}).status_code == 400
    renter.sandbox.advance(10)
    assert [row["id"] for row in renter.pods()] != [pod]
    events = renter.api.get(f"/pods/{pod}/events").json()
    assert (events[-2]["to_status"], events[-2]["reason"]) == ("DELETING", "scheduled_termination")


def test_removal_time_can_be_moved_and_cancelled(renter: Renter) -> None:
    pod = renter.rent_running(termination_hours=1)[0]
    url = f"/pods/{pod}/schedule-removal"
    renter.api.post(url, json={"removal_scheduled_at": "2026-11-30T05:00:00Z"})
    renter.sandbox.advance(2 * 3600)
    assert [row["status"] for row in renter.pods()] == ["RUNNING"], "the other member kept its hour and is gone"
    assert renter.api.delete(url).status_code == 200
    renter.sandbox.advance(10 * 3600)
    assert (renter.pod(pod)["status"], renter.pod(pod)["removal_scheduled_at"]) == ("RUNNING", None)


@pytest.mark.parametrize(
    "moment", ["2026-11-30T15:00:00", "tomorrow", "2026-02-30T00:00:00Z", 1_800_000_000, None], ids=str
)
def test_bad_removal_time(renter: Renter, moment: object) -> None:
    pod = renter.rent_running()[0]
    with renter.sandbox.contract.bad_requests():
        answer = renter.api.post(f"/pods/{pod}/schedule-removal", json={"removal_scheduled_at": moment})
    assert answer.status_code == 422


def test_removal_time_in_the_past(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    answer = renter.api.post(f"/pods/{pod}/schedule-removal", json={"removal_scheduled_at": "2026-11-30T00:00:00Z"})
    assert (answer.status_code, renter.pod(pod)["status"]) == (400, "RUNNING")


def test_removal_time_follows_a_skewed_clock(renter: Renter) -> None:
    renter.sandbox.set_clock(skew_s=3600)
    pod = renter.rent_running()[0]
    renter.api.post(f"/pods/{pod}/schedule-removal", json={"removal_scheduled_at": "2026-11-30T02:00:00Z"})
    assert renter.pod(pod)["removal_scheduled_at"] == "2026-11-30T02:00:00"
    assert renter.pod(pod)["created_at"] == "2026-11-30T01:53:20"
    renter.sandbox.advance(345)
    assert renter.pod(pod)["status"] == "DELETING"


@pytest.mark.parametrize("content", [None, {}])
def test_reboot_changes_the_host_key(renter: Renter, content: dict[str, Any] | None) -> None:
    pod = renter.rent_running()[0]
    assert renter.api.post(f"/pods/{pod}/reboot", json=content).json()["status"] == "REBOOT_PENDING"
    assert renter.pod(pod)["ssh_connect_cmd"] is None
    assert renter.api.post(f"/pods/{pod}/reboot").status_code == 400, "it is not running now"
    renter.sandbox.advance(17)
    assert renter.pod(pod)["status"] == "RUNNING"
    assert [alive["host_key"] for alive in renter.books()["alive"]] == [2, 1]


def test_broken_pod_takes_only_deletion(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    renter.sandbox.setup("lium", fate={"pod": pod, "status": "BROKEN"})
    for method, path, body in (
        ("POST", "reboot", {}),
        ("POST", "install-jupyter", {"jupyter_internal_port": 8888}),
        ("PUT", "switch-template", {"template_id": renter.api.get("/templates").json()[0]["id"]}),
    ):
        assert renter.api.request(method, f"/pods/{pod}/{path}", json=body).json()["error"]["code"] == "pod_broken"
    assert renter.books()["bill"]["rows"][0]["total"] == 0, "it is credited"
    assert renter.api.delete(f"/pods/{pod}").status_code == 200


def test_gpu_reset_runs_and_ends(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    started = renter.api.post(f"/pods/{pod}/reset-gpu", json={"gpu_indices": [0, 7]})
    assert (started.status_code, started.json()["status"]) == (202, "running")
    url = f"/pods/{pod}/reset-gpu/{started.json()['request_id']}"
    assert renter.api.get(url).json()["status"] == "running"
    limited = renter.api.post(f"/pods/{pod}/reset-gpu", json={"gpu_indices": None})
    assert (limited.status_code, limited.headers["Retry-After"]) == (429, "60")
    renter.sandbox.advance(20)
    done = renter.api.get(url).json()
    assert (done["status"], [gpu["index"] for gpu in done["gpus"]]) == ("done", [0, 7])
    assert renter.api.get(f"/pods/{pod}/reset-gpu/other").status_code == 404
    renter.sandbox.advance(40)
    refused = renter.api.post(f"/pods/{pod}/reset-gpu", json={"gpu_indices": [8]})
    assert (refused.status_code, refused.json()["message"]["gpus"]) == (409, [])


def test_logs_tail_in_both_line_forms(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    answer = renter.api.get(f"/pods/{pod}/logs", params={"tail": "7"})
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    lines = [line for line in answer.text.split("\n\n") if line]
    assert len(lines) == 7
    assert sum(line.startswith('data: {"log": "step ') for line in lines) == 6
    assert sum(line.startswith("step ") for line in lines) == 1


def test_logs_are_followed_until_the_pod_is_gone(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    with renter.api.stream("GET", f"/pods/{pod}/logs", params={"tail": "0", "follow": "true"}) as stream:
        lines = (line for line in stream.iter_lines() if line)
        renter.sandbox.advance(2)
        shown = [next(lines), next(lines)]
        renter.api.delete(f"/pods/{pod}")
        renter.sandbox.advance(10)
        rest = list(lines)
    numbers = [int(line.partition("step ")[2].split()[0]) for line in [*shown, *rest]]
    assert numbers == [*range(numbers[0], numbers[0] + len(numbers))]


def test_reader_of_logs_may_leave(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    with renter.api.stream("GET", f"/pods/{pod}/logs", params={"follow": "true"}) as stream:
        assert next(stream.iter_lines())
    assert renter.pod(pod)["status"] == "RUNNING"


@pytest.mark.parametrize("query", [{"tail": "all"}, {"tail": "-1"}, {"follow": "yes"}], ids=str)
def test_bad_log_query(renter: Renter, query: dict[str, str]) -> None:
    pod = renter.rent_running()[0]
    with renter.sandbox.contract.bad_requests():
        assert renter.api.get(f"/pods/{pod}/logs", params=query).status_code == 422


def test_events_and_record_outlive_the_pod(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    renter.api.delete(f"/pods/{pod}")
    renter.sandbox.advance(1000)
    events = renter.api.get(f"/pods/{pod}/events").json()
    assert [event["sub_event_type"] for event in events] == [
        "pod-rent.requested",
        "pod-status.running",
        "pod-delete.requested",
        "pod-status.deleting",
        "pod-status.gone",
    ]
    record = renter.api.get(f"/pods/{pod}/record").json()
    assert (record["removed"], record["billed_seconds"], record["close_reason"]) == (True, 60, "user_initiated")
    assert record["total"] == pytest.approx(16.8 * 60 / 3600)
    renter.sandbox.choose({"lium.features": "rent_by_spec"})
    assert renter.api.get(f"/pods/{pod}/record").status_code == 404


def test_switching_the_template(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    templates = {row["docker_image_tag"]: row["id"] for row in renter.api.get("/templates").json()}
    url = f"/pods/{pod}/switch-template"
    assert renter.api.put(url, json={"template_id": templates["2.9.0-cuda12.8"]}).status_code == 400
    assert renter.api.put(url, json={"template_id": "00000000-0000-4000-8000-000000000000"}).status_code == 404
    answer = renter.api.put(url, json={"template_id": templates["0.0.6"]}).json()
    assert (answer["status"], answer["template"]["docker_image_tag"]) == ("REBOOT_PENDING", "0.0.6")


def test_jupyter_is_installed_after_a_while(renter: Renter) -> None:
    pod = renter.rent_running()[0]
    assert renter.pod(pod)["jupyter_installation_status"] is None
    assert renter.api.post(f"/pods/{pod}/install-jupyter", json={"jupyter_internal_port": 8888}).status_code == 200
    assert renter.pod(pod)["jupyter_installation_status"] == "PENDING"
    renter.sandbox.advance(20)
    assert renter.pod(pod)["jupyter_url"].startswith("http://")
    with renter.sandbox.contract.bad_requests():
        assert renter.api.post(f"/pods/{pod}/install-jupyter", json={"jupyter_internal_port": 0}).status_code == 422


def test_polling_beyond_the_limit_is_refused(renter: Renter) -> None:
    assert renter.sandbox.world.choices["lium.pod_polls_per_minute"] == "60"
    renter.sandbox.choose({"lium.pod_polls_per_minute": "5"})
    pod = renter.rent()[0]
    polls = [renter.api.get("/pods").status_code for _ in range(4)]
    assert {*polls, renter.api.get(f"/pods/{pod}").status_code} == {200}
    renter.sandbox.advance(15)
    refused = renter.api.get("/pods")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "45")
    assert renter.api.get("/users/me").status_code == 200
    renter.sandbox.advance(45)
    assert renter.api.get("/pods").status_code == 200


@pytest.mark.parametrize(("billing", "total"), [("acceptance", 2 * 100.0), ("running", 2 * 80.0)])
def test_open_point_start_of_the_bill(renter: Renter, billing: str, total: float) -> None:
    renter.sandbox.choose({"lium.billing": billing, "lium.start_seconds": "20"})
    renter.rent()
    renter.sandbox.advance(100)
    assert renter.books()["bill"]["total"] == pytest.approx((16.8 + 16.88) / 2 * total / 3600)


def test_open_point_zero_balance(renter: Renter) -> None:
    renter.sandbox.choose({"lium.zero_balance": "delete"})
    renter.rent_running()
    renter.sandbox.setup("lium", balance=0.1)
    renter.sandbox.advance(600)
    assert {pod["status"] for pod in renter.pods()} == {"DELETING"}


def test_pod_stuck_in_its_start(renter: Renter) -> None:
    renter.sandbox.setup("lium", fate={"index": 0, "status": "PENDING", "after_s": 0})
    renter.rent_running()
    renter.sandbox.advance(100_000)
    assert [pod["status"] for pod in renter.pods()] == ["PENDING", "RUNNING"]


def test_unknown_route_is_404(renter: Renter) -> None:
    with renter.sandbox.contract.bad_requests():
        answers: list[httpx.Response] = [renter.api.get("/clusters"), renter.api.post("/pods", json={})]
    assert [answer.status_code for answer in answers] == [404, 404]

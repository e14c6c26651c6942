"""Clock, books, recorded requests, choices and control routes."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import jupyter_gpu_clusters.sandbox
from jupyter_gpu_clusters.sandbox import SCENARIOS, Call, Clock, Lifecycle, Sandbox
from jupyter_gpu_clusters.sandbox.records import Records
from tests.contracts.fixtures import CheckedSandbox, MakeSandbox
from tests.sandbox.toy import KEY, Toy
from tests.until import until

START = 1_800_000_000


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> CheckedSandbox:
    return make_sandbox(start=START, services=[Toy])


@pytest.fixture
def client(sandbox: CheckedSandbox) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=sandbox.url, headers={"X-Key": KEY}, timeout=10, verify=False) as client:
        yield client


def things(client: httpx.Client) -> list[dict[str, Any]]:
    return list(client.get("/toy/api/things").json()["rows"])


def test_clock_stands_jumps_and_runs() -> None:
    clock = Clock(speed=0, start=100.0)
    assert (clock.now(), clock.now()) == (100.0, 100.0)
    clock.advance(5)
    assert clock.now() == 105.0
    clock.run_at(1_000_000)
    assert until(lambda: clock.now() > 1_000.0)
    clock.run_at(0)
    assert clock.now() == clock.now()
    with clock.held_at(7.0):
        assert clock.now() == 7.0
    with pytest.raises(ValueError, match="not negative"):
        clock.advance(-1)


def test_skew_changes_what_is_shown_only() -> None:
    clock = Clock(speed=0, start=1000.0)
    clock.skew_s = 3600
    assert clock.now() == 1000.0
    assert clock.shown(1000.0).timestamp() == 4600.0
    assert clock.heard(clock.shown(1234.0)) == 1234.0


def test_lifecycle_is_read_lazily() -> None:
    life = Lifecycle(100, (0, "NEW"), (10, "UP"), (50, "OLD"))
    assert [life.state(t) for t in (0, 100, 109, 110, 150)] == ["NEW", "NEW", "NEW", "UP", "OLD"]
    life.plan(120, (0, "GOING"), (5, "GONE"))
    assert [life.state(t) for t in (119, 120, 125, 150)] == ["UP", "GOING", "GONE", "GONE"]
    assert life.seconds_in({"UP", "GOING"}, 0, 1000) == 15
    assert life.seconds_in({"UP"}, 115, 117) == 2
    assert life.first({"GONE"}, 124) is None
    life.add(112, (0, "BROKEN"))
    assert [life.state(t) for t in (111, 112, 500)] == ["UP", "BROKEN", "BROKEN"]


def test_states_follow_the_clock_over_http(client: httpx.Client) -> None:
    client.post("/toy/api/things", json={"name": "a"})
    assert things(client)[0]["status"] == "CREATING"
    moved = client.post("/_sandbox/clock", json={"advance_s": 10}).json()
    assert (moved["now"], moved["speed"]) == (START + 10, 0)
    assert things(client)[0]["status"] == "RUNNING"


def test_date_header_is_the_sandboxs_own_and_may_be_wrong(client: httpx.Client) -> None:
    assert client.get("/toy/api/things").headers["Date"] == "Fri, 15 Jan 2027 08:00:00 GMT"
    client.post("/_sandbox/clock", json={"skew_s": 25 * 3600})
    assert client.get("/toy/api/things").headers["Date"] == "Sat, 16 Jan 2027 09:00:00 GMT"


@pytest.mark.parametrize("body", [{"advance_s": -1}, {"speed": -1}, {"faster": 2}, {"advance_s": "soon"}], ids=str)
def test_wrong_clock_is_explained(client: httpx.Client, body: dict[str, Any]) -> None:
    answer = client.post("/_sandbox/clock", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert client.get("/_sandbox/clock").json()["now"] == START


def test_books_hold_writes_only_and_the_truth(client: httpx.Client) -> None:
    body = {"name": "a", "members": 2}
    made = client.post("/toy/api/things", json=body).json()["ids"]
    client.get("/toy/api/things")
    client.delete(f"/toy/api/things/{made[0]}")
    client.delete("/toy/api/things/none")
    books = client.get("/_sandbox/books").json()
    toy = books["services"]["toy"]
    assert [(e["action"], e["status"], e["made"], e["ended"]) for e in toy["entries"]] == [
        ("create", 201, made, []),
        ("delete", 200, [], made[:1]),
        ("delete", 404, [], []),
    ]
    assert {e["key"] for e in toy["entries"]} == {"toy-key"}
    assert (books["at"], books["dropped"]) == (START, 0)
    assert [thing["id"] for thing in toy["alive"]] == made[1:]


def test_books_note_what_a_fault_prevented(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(action="create", kind="drop_before")
    with pytest.raises(httpx.RemoteProtocolError):
        client.post("/toy/api/things", json={"name": "a"})
    (entry,) = sandbox.books()["services"]["toy"]["entries"]
    assert (entry["worked"], entry["fault"], entry["status"], entry["key"]) == (False, "drop_before", None, "toy-key")


def test_requests_are_recorded_without_secrets(client: httpx.Client) -> None:
    client.post("/toy/api/things?apikey=plain&page=1", json={"name": KEY})
    client.get("/toy/api/things", headers={"Authorization": "Bearer other", "Cookie": "a=b", "Idempotency-Key": "k"})
    text = client.get("/_sandbox/requests").text
    for secret in (KEY, "toy%20key%2Fwith%2Bodd%26signs%25", "plain", "other", "a=b"):
        assert secret not in text
    post, get = json.loads(text)
    assert (post["method"], post["path"], post["query"]) == ("POST", "/things", {"apikey": ["***"], "page": ["1"]})
    assert post["body"] == '{"name":"***"}'
    assert (get["headers"]["idempotency-key"], get["status"]) == ("k", 200)
    client.delete("/_sandbox/requests")
    assert client.get("/_sandbox/requests").json() == []


def test_record_of_requests_is_bounded() -> None:
    records = Records()
    for number in range(2500):
        call = Call("GET", "/x", {}, {}, b"y" * 100_000 if number == 2499 else b"", float(number), number)
        records.add("toy", call, status=200, secrets=[])
    assert len(records.all()) == 2000
    assert records.all()[0]["seq"] == 500
    assert len(records.all()[-1]["body"]) == 64 * 1024


def test_wrong_key_and_unknown_route(client: httpx.Client) -> None:
    assert client.get("/toy/api/things", headers={"X-Key": "no"}).status_code == 401
    assert client.get("/toy/api/nothing").status_code == 404
    assert client.get("/nowhere").status_code == 404


def test_huge_body_is_refused(client: httpx.Client) -> None:
    assert client.post("/toy/api/things", content=b" " * (8 * 1024 * 1024 + 1)).status_code == 413


def test_body_is_validated_strictly_with_all_problems(client: httpx.Client) -> None:
    answer = client.post("/toy/api/things", json={"members": "2", "extra": 1})
    assert answer.status_code == 422
    assert sorted(name for name, _ in answer.json()["problems"]) == ["extra", "members", "name"]
    assert client.post("/toy/api/things", content=b"").status_code == 422


def test_choices_are_set_drawn_and_refused(client: httpx.Client) -> None:
    chosen = client.post("/_sandbox/choices", json={"toy.names": "unique", "toy.start_seconds": "3"}).json()
    assert (chosen["toy.names"]["value"], chosen["toy.start_seconds"]["value"]) == ("unique", "3")
    for body, named in (
        ({"toy.names": "sometimes"}, "free, unique"),
        ({"toy.start_seconds": "soon"}, "could not convert"),
        ({"toy.colour": "red"}, "toy.names"),
        ({"nodes.addresses": "somewhere"}, "host:port"),
    ):
        answer = client.post("/_sandbox/choices", json=body)
        assert (answer.status_code, named in answer.json()["error"]) == (400, True)
    assert client.get("/_sandbox/choices").json()["toy.start_seconds"]["value"] == "3"


def test_random_choices_follow_the_seed() -> None:
    def drawn(seed: int) -> list[str]:
        sandbox = Sandbox(seed=seed, choices={"*": "random"})
        return [str(known["value"]) for known in sandbox.world.choices.describe().values()]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(8)}) > 1


def test_ids_follow_the_seed() -> None:
    assert Sandbox(seed=5).variables() == Sandbox(seed=5).variables()
    assert Sandbox(seed=5).variables() != Sandbox(seed=6).variables()


def test_setup_over_http(client: httpx.Client) -> None:
    made = client.post("/toy/api/things", json={"name": "a"}).json()["ids"][0]
    assert client.post("/_sandbox/setup/toy", json={"forget": made}).json() == {}
    assert things(client) == []
    assert client.post("/_sandbox/setup/toy", json={"more": 1}).status_code == 400
    assert client.post("/_sandbox/setup/nobody", json={}).status_code == 400


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_scenario_can_be_played(make_sandbox: MakeSandbox, name: str) -> None:
    sandbox = make_sandbox(scenarios=[name])
    scenario = SCENARIOS[name]
    assert len(sandbox.faults.active()) == len(scenario.faults)
    assert sandbox.clock_state()["skew_s"] == scenario.skew_s


def test_unknown_scenario_is_explained(client: httpx.Client) -> None:
    with pytest.raises(ValueError, match="lost-answer"):
        Sandbox(scenarios=["lost-answr"])
    assert client.post("/_sandbox/scenarios", json={"names": ["lost-answer"]}).json() == {"playing": ["lost-answer"]}
    assert client.post("/_sandbox/scenarios", json={"names": ["none"]}).status_code == 400


def test_index_says_that_it_is_a_sandbox(client: httpx.Client, sandbox: Sandbox) -> None:
    shown = client.get("/_sandbox").json()
    assert (shown["sandbox"], shown["services"]) == (True, {"toy": f"{sandbox.url}/toy/api"})


def test_sandbox_knows_nothing_of_the_clients_it_judges() -> None:
    folder = Path(jupyter_gpu_clusters.sandbox.__file__).parent
    imported = {
        node.module or ""
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    assert imported
    assert not [name for name in imported if {"providers", "core", "launch"} & set(name.split("."))]

"""Faults happen over real TCP connections, to the requests they are meant for, as often as asked."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import pytest

from jupyter_gpu_clusters.sandbox import Sandbox
from tests.contracts.fixtures import MakeSandbox
from tests.sandbox.toy import KEY, Toy


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> Sandbox:
    return make_sandbox(start=1_800_000_000, services=[Toy])


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[httpx.Client]:
    base_url = f"{sandbox.url}/toy/api"
    with httpx.Client(base_url=base_url, headers={"X-Key": KEY}, timeout=10, verify=False) as client:
        yield client


def create(client: httpx.Client, members: int = 1) -> httpx.Response:
    return client.post("/things", json={"name": "a", "members": members})


def rows(client: httpx.Client, **query: str) -> list[dict[str, Any]]:
    return list(client.get("/things", params=query).json()["rows"])


def alive(sandbox: Sandbox) -> int:
    return len(sandbox.books()["services"]["toy"]["alive"])


@pytest.mark.parametrize(("kind", "made"), [("drop_before", 0), ("drop_after", 1), ("cut_body", 1)])
def test_cut_connection_leaves_no_answer(sandbox: Sandbox, client: httpx.Client, kind: str, made: int) -> None:
    sandbox.fault(action="create", kind=kind)
    with pytest.raises(httpx.RemoteProtocolError):
        create(client)
    assert alive(sandbox) == made
    assert create(client).status_code == 201


def test_reset_reaches_the_client_as_a_reset(sandbox: Sandbox) -> None:
    sandbox.fault(kind="drop_after", reset=True)
    address = urlsplit(sandbox.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as raw:
        raw.sendall(b"GET /toy/api/things HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            raw.recv(1)


def test_cut_without_reset_is_an_orderly_end(sandbox: Sandbox) -> None:
    sandbox.fault(kind="drop_before")
    address = urlsplit(sandbox.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as raw:
        raw.sendall(b"GET /toy/api/things HTTP/1.1\r\nHost: x\r\n\r\n")
        assert raw.recv(1) == b""


def test_in_process_cut_is_an_error(sandbox: Sandbox) -> None:
    sandbox.fault(kind="drop_after")

    async def ask() -> None:
        transport = httpx.ASGITransport(app=sandbox.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
            await client.get("/toy/api/things")

    with pytest.raises(ConnectionResetError, match="sandbox cuts"):
        anyio.run(ask)


@pytest.mark.parametrize(
    ("fault", "status", "made"),
    [
        ({"kind": "status", "status": 503}, 503, 0),
        ({"kind": "status_after", "status": 502}, 502, 1),
        ({"kind": "html"}, 200, 1),
        ({"kind": "html", "status": 502}, 502, 0),
        ({"kind": "empty"}, 201, 1),
        ({"kind": "empty", "status": 500}, 500, 1),
        ({"kind": "truncated"}, 201, 1),
        ({"kind": "retry_after", "seconds": 7}, 429, 0),
        ({"kind": "redirect"}, 307, 0),
    ],
    ids=lambda value: json.dumps(value),
)
def test_answer_and_work_per_kind(
    sandbox: Sandbox, client: httpx.Client, fault: dict[str, Any], status: int, made: int
) -> None:
    sandbox.fault(action="create", **fault)
    answer = create(client)
    assert answer.status_code == status
    assert answer.headers["X-Sandbox-Fault"] == fault["kind"]
    assert alive(sandbox) == made


def test_bodies_of_spoilt_answers(sandbox: Sandbox, client: httpx.Client) -> None:
    whole = client.get("/things").content
    for kind in ("html", "empty", "truncated"):
        sandbox.fault(kind=kind)
    sandbox.clear_faults()
    sandbox.fault(kind="html")
    assert client.get("/things").headers["content-type"].startswith("text/html")
    sandbox.fault(kind="empty")
    assert client.get("/things").content == b""
    sandbox.fault(kind="truncated")
    assert client.get("/things").content == whole[: len(whole) // 2]


@pytest.mark.parametrize("shape", ["envelope", "bare"])
def test_status_in_every_known_shape(sandbox: Sandbox, client: httpx.Client, shape: str) -> None:
    assert shape in sandbox.shapes("toy")
    sandbox.fault(kind="status", status=409, shape=shape, text="in use")
    answer = client.get("/things")
    assert (answer.status_code, answer.json()["error" if shape == "envelope" else "detail"]) == (409, "in use")


def test_status_with_a_body_of_its_own(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(action="create", kind="status_after", status=201, body={"errors": ["quota"], "id": 7})
    answer = create(client)
    assert (answer.status_code, answer.json()) == (201, {"errors": ["quota"], "id": 7})
    assert alive(sandbox) == 1


def test_retry_after_as_seconds_and_as_date(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(kind="retry_after", seconds=7)
    assert client.get("/things").headers["Retry-After"] == "7"
    sandbox.fault(kind="retry_after", seconds=60, date=True, status=503)
    answer = client.get("/things")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "Fri, 15 Jan 2027 08:01:00 GMT")


def test_redirects_to_this_and_to_another_origin(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(kind="redirect")
    answer = client.get("/things", params={"page": "1"})
    assert answer.headers["Location"] == "/toy/api/things?page=1"
    assert client.get(answer.headers["Location"].removeprefix("/toy/api")).status_code == 200
    sandbox.fault(kind="redirect", to="http://127.0.0.1:9", status=302)
    answer = client.get("/things")
    assert (answer.status_code, answer.headers["Location"]) == (302, "http://127.0.0.1:9/toy/api/things")


@pytest.mark.parametrize("kind", ["delay", "slow_body"])
def test_slow_answers_are_late_and_whole(sandbox: Sandbox, client: httpx.Client, kind: str) -> None:
    sandbox.fault(kind=kind, seconds=0.3)
    begin = time.monotonic()
    answer = client.get("/things")
    assert time.monotonic() - begin >= 0.3
    assert answer.json() == {"total": 0, "rows": []}
    assert "X-Sandbox-Fault" not in answer.headers


def test_work_is_done_although_the_client_gives_up(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(action="create", kind="delay", seconds=20)
    with pytest.raises(httpx.ReadTimeout):
        client.post("/things", json={"name": "a"}, timeout=0.3)
    assert alive(sandbox) == 1


def test_late_commit_appears_when_it_is_due(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(action="create", kind="commit_late", seconds=60, status=504)
    assert create(client).status_code == 504
    assert rows(client) == []
    sandbox.advance(59)
    assert rows(client) == []
    sandbox.advance(30)
    assert [row["status"] for row in rows(client)] == ["RUNNING"], "it was made at its due time, not when looked at"
    refused, late = sandbox.books()["services"]["toy"]["entries"]
    assert (refused["worked"], refused["status"], refused["made"]) == (False, 504, [])
    assert (late["worked"], late["status"], len(late["made"])) == (True, 201, 1)
    assert (late["at"], late["note"]["accepted_seq"]) == (1_800_000_060, refused["seq"])


def test_late_commit_without_any_answer(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(action="create", kind="commit_late", seconds=5)
    with pytest.raises(httpx.RemoteProtocolError):
        create(client)
    sandbox.advance(5)
    assert alive(sandbox) == 1


def test_members_appear_late(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(action="list", kind="hide_rows", seconds=30, index=1, times=None)
    made = create(client, members=3).json()["ids"]
    assert [row["id"] for row in rows(client)] == [made[0], made[2]]
    assert client.get(f"/things/{made[1]}").status_code == 200
    sandbox.advance(30)
    assert [row["id"] for row in rows(client)] == made


def test_member_is_never_listed(sandbox: Sandbox, client: httpx.Client) -> None:
    made = create(client, members=2).json()["ids"]
    sandbox.fault(action="list", kind="hide_rows", ids=[made[0]], times=None)
    sandbox.advance(10_000)
    assert [row["id"] for row in rows(client)] == [made[1]]


def test_listing_is_empty_once(sandbox: Sandbox, client: httpx.Client) -> None:
    create(client)
    sandbox.fault(action="list", kind="empty_list", skip=1)
    assert [len(rows(client)) for _ in range(3)] == [1, 0, 1]


@pytest.mark.parametrize(("how", "seen"), [("skip", [0, 1, 3]), ("repeat", [0, 1, 1, 2, 3])])
def test_pages_drift(sandbox: Sandbox, client: httpx.Client, how: str, seen: list[int]) -> None:
    made = create(client, members=4).json()["ids"]
    sandbox.fault(action="list", kind="page_drift", how=how, times=None)
    pages = [rows(client, page=str(page), size="2") for page in (1, 2)]
    assert [made.index(row["id"]) for page in pages for row in page] == seen


@pytest.mark.parametrize(
    ("ops", "row"),
    [
        ([{"op": "set", "path": "/rows/*/status", "value": "MIGRATING"}], {"status": "MIGRATING", "size": 4}),
        ([{"op": "set", "path": "/rows/*/status", "value": None}], {"status": None, "size": 4}),
        ([{"op": "remove", "path": "/rows/*/status"}], {"size": 4}),
        ([{"op": "list", "path": "/rows/*/status"}], {"status": ["CREATING"], "size": 4}),
        ([{"op": "text", "path": "/rows/0/size"}], {"status": "CREATING", "size": "4"}),
        (
            [{"op": "set", "path": "/rows/*/extra", "value": {"a": 1}}],
            {"status": "CREATING", "size": 4, "extra": {"a": 1}},
        ),
        ([{"op": "remove", "path": "/rows/7/size"}], {"status": "CREATING", "size": 4}),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, list) else "",
)
def test_mutated_members(
    sandbox: Sandbox, client: httpx.Client, ops: list[dict[str, Any]], row: dict[str, Any]
) -> None:
    made = create(client).json()["ids"]
    sandbox.fault(action="list", kind="mutate", ops=ops)
    assert rows(client) == [{"id": made[0], **row}]


def test_mutation_can_take_rows_away_and_change_the_status(sandbox: Sandbox, client: httpx.Client) -> None:
    create(client, members=2)
    sandbox.fault(action="list", kind="mutate", status=207, ops=[{"op": "remove", "path": "/rows/*"}])
    answer = client.get("/things")
    assert (answer.status_code, answer.json()) == (207, {"total": 2, "rows": []})


def test_several_faults_hit_one_request(sandbox: Sandbox, client: httpx.Client) -> None:
    sandbox.fault(kind="delay", seconds=0.2, when="before")
    sandbox.fault(kind="status", status=500)
    begin = time.monotonic()
    assert client.get("/things").status_code == 500
    assert time.monotonic() - begin >= 0.2


@pytest.mark.parametrize(
    ("pick", "hit"),
    [
        ({"method": "GET"}, True),
        ({"method": "POST"}, False),
        ({"path": "/things/{id}"}, True),
        ({"path": "/things"}, False),
        ({"path": "/thi*"}, True),
        ({"path": "/things/{id}/more"}, False),
        ({"service": "other"}, False),
        ({"query": {"a": "1"}}, True),
        ({"query": {"a": "2"}}, False),
        ({"action": "read"}, True),
        ({"action": "list"}, False),
        ({"skip": 1}, False),
    ],
    ids=lambda value: json.dumps(value),
)
def test_fault_hits_only_what_it_names(sandbox: Sandbox, client: httpx.Client, pick: dict[str, Any], hit: bool) -> None:
    sandbox.fault(kind="status", status=599, **pick)
    assert (client.get("/things/x", params={"a": "1"}).status_code == 599) is hit


def test_faults_are_set_and_cleared_over_http(sandbox: Sandbox, client: httpx.Client) -> None:
    control = f"{sandbox.url}/_sandbox/faults"
    made = httpx.post(control, json={"kind": "status", "status": 500, "times": None}).json()["id"]
    assert client.get("/things").status_code == 500
    shown = httpx.get(control).json()
    assert [fault["id"] for fault in shown["active"]] == [made]
    assert shown["shapes"] == {"toy": ["envelope", "bare"]}
    httpx.delete(control, params={"id": made})
    assert client.get("/things").status_code == 200


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"kind": "explode"}, "kind"),
        ({"kind": "status", "shape": "no-such"}, "envelope"),
        ({"kind": "status", "statsu": 500}, "statsu"),
        ({"kind": "status", "times": 0}, "times"),
        ([], "JSON object"),
    ],
    ids=lambda value: json.dumps(value),
)
def test_wrong_fault_is_explained(sandbox: Sandbox, body: object, named: str) -> None:
    answer = httpx.post(f"{sandbox.url}/_sandbox/faults", json=body)
    assert answer.status_code == 400
    assert named in answer.json()["error"]

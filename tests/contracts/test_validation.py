"""The validation can fail: each kind of broken request and answer is named by operation and field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tests.contracts.document import _FOLDER, document
from tests.contracts.fixtures import Switchboard, switchboard
from tests.contracts.validate import Checked

__all__ = ["switchboard"]

JSON = {"Content-Type": "application/json"}
RENT = {"pod_name": "a", "executor_uuids": ["x", "y"], "user_public_key": ["ssh-ed25519 AAAA"]}
EXECUTOR = "5b8b1d50-3f0e-4f0a-9d0c-8a3f6f1c0a01"


class Liar:
    """A service that answers whatever it is told to."""

    def __init__(self, switchboard: Switchboard) -> None:
        self.answer: Response = JSONResponse({"success": True, "pod_ids": ["1"]})

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await Request(scope, receive).body()
            await self.answer(scope, receive, send)

        self.checked = Checked(app, {"/lium/api": document("lium"), "/runai": document("runai")})
        switchboard.app = self.checked
        self.client = httpx.Client(base_url=switchboard.url, verify=False)

    def ask(self, method: str, path: str, **more: Any) -> list[str]:
        self.checked.violations.clear()
        self.client.request(method, path, **more)
        return list(self.checked.violations)


@pytest.fixture
def liar(switchboard: Switchboard) -> Iterator[Liar]:
    liar = Liar(switchboard)
    with liar.client:
        yield liar
    switchboard.app = None


def test_right_request_and_answer_pass(liar: Liar) -> None:
    assert liar.ask("POST", "/lium/api/executors/cluster/rent", json=RENT) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"termination_hours": "6"}, "body termination_hours"),
        ({"executor_uuids": ["x"]}, "body executor_uuids"),
        ({"executor_uuids": ["x", "x"]}, "body executor_uuids"),
        ({"template_id": "not-a-uuid"}, "body template_id"),
        ({"enable_backups": None}, "body enable_backups"),
        ({"gpus": 8}, "gpus"),
    ],
    ids=str,
)
def test_bad_bodies_are_named(liar: Liar, change: dict[str, Any], named: str) -> None:
    (violation,) = liar.ask("POST", "/lium/api/executors/cluster/rent", json={**RENT, **change})
    assert violation.startswith("lium rentCluster request, ")
    assert named in violation


@pytest.mark.parametrize(
    ("method", "path", "more", "named"),
    [
        ("POST", "/executors/cluster/rent", {}, "rentCluster request, body: missing"),
        (
            "POST",
            "/executors/cluster/rent",
            {"content": b"{", "headers": {"Content-Type": "application/json"}},
            "no JSON",
        ),
        ("POST", "/executors/cluster/rent", {"content": json.dumps(RENT)}, "content type missing"),
        ("POST", "/executors/cluster/rent", {"json": RENT, "headers": {"Idempotency-Key": ""}}, "Idempotency-Key"),
        ("GET", "/executors?page=0", {}, "query parameter page"),
        ("GET", "/executors?page=two", {}, "query parameter page"),
        ("GET", "/executors?nvlink=1", {}, "query parameter nvlink"),
        ("GET", "/executors?color=red", {}, "query parameter color: unknown"),
        ("GET", f"/executors/{EXECUTOR}/quote", {}, "query parameter hours: missing"),
        ("GET", "/executors/not-a-uuid/quote?hours=1", {}, "path parameter executor_uuid"),
        ("GET", "/machines", {"json": {}}, "the contract has none"),
        ("GET", "/clusters", {}, "GET /clusters is no operation"),
        ("PATCH", "/pods/1", {}, "PATCH /pods/1 is no operation"),
    ],
)
def test_bad_requests_are_named(liar: Liar, method: str, path: str, more: dict[str, Any], named: str) -> None:
    liar.answer = JSONResponse([])
    violations = liar.ask(method, f"/lium/api{path}", **more)
    assert any(named in violation for violation in violations), violations


def test_bad_requests_are_allowed_only_if_refused(liar: Liar) -> None:
    with liar.checked.bad_requests():
        liar.answer = JSONResponse({"detail": "no"}, 422)
        assert liar.ask("POST", "/lium/api/executors/cluster/rent", json={}) == []
        liar.answer = JSONResponse({"success": True})
        assert any("and it was accepted" in v for v in liar.ask("POST", "/lium/api/executors/cluster/rent", json={}))
    assert liar.ask("POST", "/lium/api/executors/cluster/rent", json={}) != []


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (JSONResponse([{"status": "RUNNING"}]), "'id' is a required property"),
        (JSONResponse([{"id": 1, "status": "RUNNING"}]), "answer 200 0.id"),
        (JSONResponse([{"id": "1", "status": "R", "ssh_connect_cmd": "ssh x"}]), "0.ssh_connect_cmd"),
        (JSONResponse({"pods": []}), "is not of type 'array'"),
        (Response(b"[", media_type="application/json"), "no JSON"),
        (PlainTextResponse("ok"), "text/plain where the contract has application/json"),
        (JSONResponse([], 201), "status 201: not in the contract"),
        (JSONResponse({"error": {"code": 7}}, 401), "answer 401 error"),
        (JSONResponse({"message": 7}, 418), "answer 418 message"),
    ],
)
def test_bad_answers_are_named(liar: Liar, answer: Response, named: str) -> None:
    liar.answer = answer
    (violation, *_) = liar.ask("GET", "/lium/api/pods")
    assert violation.startswith("lium listPods, ")
    assert named in violation


def test_answer_headers_are_checked(liar: Liar) -> None:
    liar.answer = JSONResponse({"success": True}, headers={"Idempotent-Replayed": "yes"})
    (violation,) = liar.ask("POST", "/lium/api/executors/cluster/rent", json=RENT)
    assert "answer header Idempotent-Replayed" in violation


def test_marked_faults_are_exempt_and_only_their_answers(liar: Liar) -> None:
    liar.answer = PlainTextResponse("oops", 599, headers={"X-Sandbox-Fault": "status"})
    assert liar.ask("GET", "/lium/api/pods") == []
    assert liar.ask("GET", "/lium/api/pods?x=1") != []


def test_closed_request_models_of_other_documents(liar: Liar) -> None:
    liar.answer = JSONResponse({"code": 400, "message": "no"}, 400)
    violations = liar.ask("POST", "/runai/api/v1/workloads/distributed", json={"name": "a", "projectId": 1})
    assert any("body" in violation and "createDistributed" in violation for violation in violations), violations


def test_sandbox_that_breaks_its_contract_fails_the_test() -> None:
    """The fixture's last assertion, on the smallest broken exchange."""
    from tests.contracts import fixtures

    board = fixtures.Switchboard()
    make = fixtures.make_sandbox.__wrapped__(board)  # type: ignore[attr-defined]
    sandbox = next(make)()
    sandbox.contract.violations.append("lium listPods, answer 200 0.id: wrong")
    with pytest.raises(AssertionError, match=r"listPods, answer 200 0\.id"):
        next(make)


@pytest.mark.parametrize("name", ["e2e", "lium", "runai"])
def test_every_reference_of_a_document_leads_somewhere(name: str) -> None:
    contract = document(name)
    operations = list(contract.operations())
    assert operations
    for method, template in operations:
        path = template.replace("{", "").replace("}", "")
        operation = contract.find(method, path)
        assert operation is not None
        list(contract.request_problems(operation, {}, {}, b""))
        for status in operation.body["responses"]:
            code = int(str(status).replace("X", "0").replace("default", "500"))
            list(contract.answer_problems(operation, code, "application/json", b"{}", {}))


def test_examples_of_the_lium_document_are_valid() -> None:
    contract = document("lium")
    root = yaml.safe_load((_FOLDER / "lium.openapi.yaml").read_text())
    checked = 0
    for template, item in root["paths"].items():
        for method in {"get", "post", "put", "delete"} & set(item):
            operation = contract.find(method, template.replace("{", "").replace("}", ""))
            assert operation is not None
            for status, response in item[method]["responses"].items():
                content = response.get("content", {}).get("application/json", {})
                examples = [content["example"]] if "example" in content else []
                examples += [example["value"] for example in content.get("examples", {}).values()]
                for example in examples:
                    body = json.dumps(example).encode()
                    assert list(contract.answer_problems(operation, int(status), "application/json", body, {})) == []
                    checked += 1
    assert checked >= 8

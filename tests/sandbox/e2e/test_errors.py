"""Every error body of the contract on demand, lost slashes, and what set-up refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from jupyter_gpu_clusters.sandbox import Sandbox
from jupyter_gpu_clusters.sandbox.e2e import E2E
from jupyter_gpu_clusters.sandbox.service import Call
from tests.contracts.document import document
from tests.contracts.fixtures import CheckedSandbox
from tests.sandbox.e2e.caller import CLUSTERS, DELHI, Caller

TEXT = "it's <over>"
SHAPES: dict[str, tuple[int, Any]] = {
    "fields": (418, {"code": 418, "errors": {"name": [TEXT]}, "message": TEXT}),
    "bare_field_text": (418, {"code": 418, "errors": {"name": TEXT}, "message": TEXT}),
    "unauthorized": (418, {"code": 418, "message": TEXT}),
    "detail": (418, {"detail": TEXT}),
    "detail_list": (418, {"detail": [TEXT]}),
    "status_code": (418, {"status_code": 418, "errors": TEXT}),
    "errors_text": (418, {"code": 418, "data": {}, "errors": TEXT, "message": "Failed"}),
    "errors_list": (418, {"code": 418, "data": {}, "errors": [TEXT], "message": ""}),
    "errors_boolean": (418, {"errors": True, "message": TEXT}),
    "errors_null": (418, {"code": 418, "data": None, "errors": None, "message": TEXT}),
    "errors_detail": (418, {"code": 418, "data": {}, "errors": {"detail": [TEXT]}, "message": TEXT}),
    "message_object": (418, {"code": 418, "errors": {}, "message": {"text": TEXT}}),
    "message_list": (418, {"code": 418, "errors": {}, "message": [TEXT]}),
    "under_200": (200, {"code": 418, "data": {}, "errors": {"detail": [TEXT]}, "message": TEXT}),
    "under_200_status_code": (200, {"status_code": 418, "errors": TEXT}),
    "under_200_errors": (200, {"code": 200, "data": {}, "errors": {"name": [TEXT]}, "message": "Success"}),
    "under_200_boolean": (200, {"code": 200, "data": {}, "errors": True, "message": TEXT}),
    "under_200_detail": (200, {"detail": TEXT}),
    "html": (418, None),
    "plain": (418, None),
    "empty": (418, None),
}


def test_every_shape_is_known_here(sandbox: CheckedSandbox) -> None:
    assert set(sandbox.shapes("e2e")) == set(SHAPES)


@pytest.mark.parametrize("shape", SHAPES)
def test_shape_comes_on_demand(sandbox: CheckedSandbox, tir: Caller, shape: str) -> None:
    sandbox.fault(kind="status", status=418, shape=shape, text=TEXT)
    status, body = SHAPES[shape]
    answer = tir.ask("POST", CLUSTERS, json=DELHI)
    assert answer.status_code == status
    if body is not None:
        assert answer.json() == body
    assert tir.data("GET", CLUSTERS) == [], "nothing was done"


def test_bodies_that_are_no_json(sandbox: CheckedSandbox, tir: Caller) -> None:
    found = {}
    for shape in ("html", "plain", "empty"):
        sandbox.fault(kind="status", status=503, shape=shape, text=TEXT)
        answer = tir.ask("GET", CLUSTERS)
        found[shape] = answer.headers.get("content-type"), answer.text
    assert found["html"] == (
        "text/html; charset=utf-8",
        "<html><head><title>503</title></head><body><h1>it&#x27;s &lt;over&gt;</h1></body></html>\n",
    )
    assert found["plain"] == ("text/plain; charset=utf-8", TEXT)
    assert found["empty"] == (None, "")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 429, 500, 502, 503])
def test_usual_shape_of_every_status_keeps_the_contract(sandbox: CheckedSandbox, tir: Caller, status: int) -> None:
    sandbox.fault(kind="status", status=status, text=TEXT)
    answer = tir.ask("POST", CLUSTERS, json=DELHI)
    contract = document("e2e")
    operation = contract.find("POST", CLUSTERS)
    assert operation is not None
    media_type = answer.headers["content-type"].partition(";")[0]
    problems = contract.answer_problems(operation, status, media_type, answer.content, answer.headers)
    assert list(problems) == []
    assert "it" in answer.text


def test_retry_after_on_429(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.fault(kind="retry_after", seconds=7)
    answer = tir.ask("GET", CLUSTERS)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert answer.json() == {"status_code": 429, "errors": "Too Many Requests"}


def test_work_done_under_a_failure(sandbox: CheckedSandbox, tir: Caller) -> None:
    sandbox.fault(action="create", kind="status_after", status=500, shape="under_200")
    answer = tir.ask("POST", CLUSTERS, json=DELHI)
    assert (answer.status_code, answer.json()["code"]) == (200, 500)
    assert len(tir.data("GET", CLUSTERS)) == 1


@pytest.fixture
def loose() -> Iterator[Sandbox]:
    """Without validation: a path that lacks its last slash is no operation of the contract."""
    with Sandbox(speed=0, services=[E2E]).serve() as sandbox:
        yield sandbox


def post_without_slash(loose: Sandbox, *, follow: bool = False, path: str = CLUSTERS.rstrip("/")) -> httpx.Response:
    variables = loose.variables()
    return httpx.post(
        f"{variables['E2E_TIR_API_HOST']}api/v1/gpu{path}",
        params={"apikey": variables["E2E_TIR_API_KEY"], "project_id": "31007", "location": "Delhi"},
        headers={"Authorization": f"Bearer {variables['E2E_TIR_ACCESS_TOKEN']}"},
        json=DELHI,
        follow_redirects=follow,
        verify=False,
    )


@pytest.mark.parametrize(("choice", "status"), [("redirect", 301), ("redirect_308", 308), ("not_found", 404)])
def test_path_without_its_last_slash_is_a_choice(loose: Sandbox, choice: str, status: int) -> None:
    loose.choose({"e2e.no_slash": choice})
    answer = post_without_slash(loose)
    assert answer.status_code == status
    if status != 404:
        assert answer.headers["Location"].startswith(f"/e2e/myaccount/api/v1/gpu{CLUSTERS}?")
        assert "project_id=31007" in answer.headers["Location"]
    assert loose.books()["services"]["e2e"]["entries"] == []


def test_redirected_post_loses_its_body(loose: Sandbox) -> None:
    answer = post_without_slash(loose, follow=True)
    assert (answer.request.method, answer.status_code, answer.json()["data"]) == ("GET", 200, [])
    loose.choose({"e2e.no_slash": "redirect_308"})
    answer = post_without_slash(loose, follow=True)
    assert (answer.request.method, answer.status_code) == ("POST", 201)


def test_path_without_its_last_slash_may_be_served(loose: Sandbox) -> None:
    loose.choose({"e2e.no_slash": "served"})
    assert post_without_slash(loose).status_code == 201
    assert post_without_slash(loose, path="/nowhere").status_code == 404


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ({"moon": 1}, "moon"),
        ({"price": {"sku_item_price_id": 1}}, "price 1"),
        ({"stock": {"sku_id": 1, "nodes": 1}}, "SKU 1"),
        ({"status": {"cluster": 1, "word": "x"}}, "cluster 1"),
        ({"revoke": "x"}, "credential x"),
        ({"credential": {"label": "a", "api_key": "b", "token": "c", "account": 1}}, "account 1"),
        ({"cluster": {"project_id": 1, "location": "Delhi", "body": DELHI}}, "project 1"),
        ({"cluster": {"project_id": 31007, "location": "Chennai", "body": DELHI}}, "sku_id"),
        ({"credit": "much"}, "much"),
    ],
    ids=str,
)
def test_wrong_set_up_is_explained(sandbox: CheckedSandbox, what: dict[str, Any], named: str) -> None:
    answer = httpx.post(f"{sandbox.url}/_sandbox/setup/e2e", json=what, verify=False)
    assert answer.status_code == 400
    assert named in answer.json()["error"]


def test_operations_are_those_of_the_contract(sandbox: CheckedSandbox) -> None:
    """Every operation of the documents is served, and nothing else but the sibling's listing of projects."""

    def plain(template: str) -> str:
        return "/".join("{}" if part.startswith("{") else part for part in template.split("/"))

    served = {(route.method, plain(route.template)) for route in E2E(sandbox.world).routes()}
    wanted = {(method, plain(template)) for method, template in document("e2e").operations()}
    assert served - wanted == {("GET", "/e2e/myaccount/api/v1/pbac/project/")}
    assert wanted <= served


@pytest.mark.parametrize(("choice", "ids"), [("other", [40110, 40111]), ("same", [31007, 31008])])
def test_sibling_projects_may_have_ids_of_their_own(
    sandbox: CheckedSandbox, tir: Caller, choice: str, ids: list[int]
) -> None:
    sandbox.choose({"e2e.sibling_project_ids": choice})
    service = sandbox.services["e2e"]
    headers = {"authorization": f"Bearer {tir.token}"}
    call = Call("GET", "/e2e/myaccount/api/v1/pbac/project/", {"apikey": [tir.key]}, headers, b"", 0.0, 1)
    answer = service.answer(call, service.find(call))
    assert answer.status == 200
    assert [row["project_id"] for row in httpx.Response(200, content=answer.body).json()["data"]] == ids


def test_variables_and_account_point_here(sandbox: CheckedSandbox) -> None:
    variables = sandbox.variables()
    assert set(variables) == {
        "SANDBOX_URL",
        "E2E_TIR_API_HOST",
        "E2E_TIR_API_KEY",
        "E2E_TIR_ACCESS_TOKEN",
        "E2E_TIR_PROJECT_ID",
    }
    assert variables["E2E_TIR_API_HOST"].endswith("/myaccount/")
    options, secret = sandbox.services["e2e"].account(sandbox.url)
    assert options["base_url"] == f"{variables['E2E_TIR_API_HOST']}api/v1/gpu"
    halves = httpx.Response(200, content=secret).json()
    assert halves == {"api_key": variables["E2E_TIR_API_KEY"], "auth_token": variables["E2E_TIR_ACCESS_TOKEN"]}

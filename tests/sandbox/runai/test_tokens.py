"""Tokens: two calls, their errors, and their end."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest

from jupyter_gpu_clusters.sandbox import Sandbox
from jupyter_gpu_clusters.sandbox.runai import Runai
from tests.contracts.fixtures import START, CheckedSandbox
from tests.sandbox.runai.caller import DISTRIBUTED, WORKLOADS, Caller

V1, V2 = "/api/v1/token", "/api/v2/token"


def claims(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    read: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return read


def test_v2_token_is_a_jwt_that_tells_its_end(runai: Caller) -> None:
    form = {"grant_type": "client_credentials", "client_id": runai.client_id, "client_secret": runai.secret}
    body = runai.http.post(V2, data=form).json()
    assert (body["token_type"], body["expires_in"]) == ("Bearer", 3600)
    assert claims(body["access_token"])["exp"] == START + 3600


def test_v1_token_works_like_v2(runai: Caller) -> None:
    wanted = {"grantType": "client_credentials", "clientID": runai.client_id, "clientSecret": runai.secret}
    body = runai.http.post(V1, json=wanted).json()
    assert body["expiresIn"] == 3600
    headers = {"Authorization": f"bearer {body['accessToken']}"}
    assert runai.http.get(WORKLOADS, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "spelling",
    [
        ("grantType", "client_credentials", "clientId", "clientSecret"),
        ("granttype", "client_credentials", "CLIENTID", "clientsecret"),
        ("GrantType", "app_token", "AppId", "AppSecret"),
    ],
    ids=lambda value: value[2],
)
def test_v1_reads_keys_in_any_case(spelling: tuple[str, str, str, str]) -> None:
    grant, value, client, secret = spelling
    with Sandbox(speed=0, services=[Runai]).serve() as sandbox:
        known = sandbox.variables()
        body = {grant: value, client: known["RUNAI_CLIENT_ID"], secret: known["RUNAI_CLIENT_SECRET"]}
        assert httpx.post(known["RUNAI_URL"] + V1, json=body, verify=False).status_code == 200


@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        ({"grant_type": ""}, 400, "invalid_request"),
        ({"grant_type": "password"}, 400, "unauthorized_client"),
        ({"grant_type": "magic"}, 400, "unsupported_grant_type"),
        ({"client_id": ""}, 400, "invalid_request"),
        ({"client_id": "x" * 256}, 400, "invalid_request"),
        ({"client_secret": "x" * 501}, 400, "invalid_request"),
        ({"client_secret": "wrong"}, 401, "invalid_client"),
        ({"client_id": "nobody"}, 401, "invalid_client"),
    ],
    ids=str,
)
def test_v2_errors_are_oauth(runai: Caller, change: dict[str, str], status: int, error: str) -> None:
    form = {"grant_type": "client_credentials", "client_id": runai.client_id, "client_secret": runai.secret, **change}
    answer = runai.bad("POST", V2, data=form)
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert "code" not in answer.json()


def test_v2_takes_forms_only(runai: Caller) -> None:
    answer = runai.bad("POST", V2, json={"grant_type": "client_credentials"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"grantType": "client_credentials", "clientID": "svc-jupyter", "clientSecret": "wrong"}, 401),
        ({"grantType": "client_credentials", "clientID": "svc-jupyter"}, 400),
        ({"grantType": "refresh_token", "refreshToken": "x"}, 400),
        ({"clientID": "svc-jupyter"}, 400),
        ({"grantType": "client_credentials", "clientID": "x" * 256, "clientSecret": "y"}, 400),
        ([], 400),
    ],
    ids=str,
)
def test_v1_errors_have_code_and_message(runai: Caller, body: object, status: int) -> None:
    answer = runai.bad("POST", V1, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, status)


def test_wrong_v1_credentials_may_be_400(runai: Caller) -> None:
    runai.sandbox.choose({"runai.v1_refusal": "400"})
    body = {"grantType": "client_credentials", "clientID": runai.client_id, "clientSecret": "wrong"}
    assert runai.http.post(V1, json=body).status_code == 400


def test_old_control_plane_has_no_v2(runai: Caller) -> None:
    runai.sandbox.choose({"runai.token_v2": "missing"})
    form = {"grant_type": "client_credentials", "client_id": runai.client_id, "client_secret": runai.secret}
    answer = runai.http.post(V2, data=form)
    assert (answer.status_code, answer.json()["code"]) == (404, 404)


def test_expiry_may_be_told_by_the_jwt_alone(runai: Caller) -> None:
    runai.sandbox.choose({"runai.expires_in": "missing", "runai.token_seconds": "60"})
    form = {"grant_type": "client_credentials", "client_id": runai.client_id, "client_secret": runai.secret}
    body = runai.http.post(V2, data=form).json()
    assert "expires_in" not in body
    assert claims(body["access_token"])["exp"] == START + 60


def test_token_ends_on_the_sandbox_clock(runai: Caller) -> None:
    runai.sandbox.advance(3599)
    assert runai.http.get(WORKLOADS).status_code == 200
    runai.sandbox.advance(1)
    answer = runai.http.get(WORKLOADS)
    assert (answer.status_code, answer.json()) == (401, {"code": 401, "message": "token has expired"})
    runai.log_in()
    assert runai.http.get(WORKLOADS).status_code == 200


def test_skewed_clock_shows_in_the_jwt_and_changes_no_lifetime(sandbox: CheckedSandbox) -> None:
    sandbox.set_clock(skew_s=90_000)
    runai = Caller(sandbox)
    assert claims(runai.token())["exp"] == START + 90_000 + 3600
    sandbox.advance(3599)
    assert runai.http.get(WORKLOADS).status_code == 200


@pytest.mark.parametrize("header", ["", "Basic x", "Bearer", "Bearer a.b.c", "Bearer xyz", "Bearer ä"])
def test_call_without_a_good_token_is_401(runai: Caller, header: str) -> None:
    answer = runai.http.get(WORKLOADS, headers=[(b"Authorization", header.encode("latin-1"))])
    assert (answer.status_code, answer.json()["code"]) == (401, 401)


def test_revoked_tokens_are_from_another_issuer(runai: Caller) -> None:
    runai.sandbox.setup("runai", revoke_tokens=True)
    answer = runai.http.get(WORKLOADS)
    assert (answer.status_code, answer.json()["message"]) == (401, "issuer not recognised")


def test_new_secret_revokes_the_old_one(runai: Caller) -> None:
    runai.sandbox.setup("runai", credential={"client_id": runai.client_id, "secret": "fresh"})
    form = {"grant_type": "client_credentials", "client_id": runai.client_id, "client_secret": runai.secret}
    assert runai.http.post(V2, data=form).status_code == 401
    assert runai.http.post(V2, data={**form, "client_secret": "fresh"}).status_code == 200


def test_account_without_a_role_gets_a_token_and_403_on_use(runai: Caller) -> None:
    made = runai.sandbox.setup("runai", credential={"client_id": "svc-new", "role": "none"})["credential"]
    other = Caller(runai.sandbox, made["client_id"], made["secret"])
    assert other.http.get(WORKLOADS).status_code == 403


def test_viewer_reads_and_changes_nothing(runai: Caller) -> None:
    workload = runai.submit()["workloadId"]
    made = runai.sandbox.setup("runai", credential={"client_id": "svc-viewer", "role": "viewer"})["credential"]
    viewer = Caller(runai.sandbox, made["client_id"], made["secret"])
    assert viewer.phase(workload) == "Unknown"
    assert viewer.http.post(DISTRIBUTED, json=runai.body()).status_code == 403
    assert viewer.http.delete(f"{DISTRIBUTED}/{workload}").status_code == 403
    assert viewer.http.post(f"{DISTRIBUTED}/{workload}/suspend").status_code == 403
    batch = {"ids": [workload], "action": "delete"}
    assert viewer.http.post(f"{WORKLOADS}/batch", json=batch).status_code == 403


def test_secrets_and_tokens_stay_out_of_the_record(runai: Caller) -> None:
    body = {"grantType": "client_credentials", "clientID": runai.client_id, "clientSecret": runai.secret}
    token = runai.http.post(V1, json=body).json()["accessToken"]
    runai.get(WORKLOADS)
    kept = json.dumps(runai.sandbox.requests())
    assert runai.secret not in kept
    assert str(httpx.QueryParams({"s": runai.secret})) not in kept
    assert token not in kept
    assert runai.http.headers["Authorization"].removeprefix("Bearer ") not in kept

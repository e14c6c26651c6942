"""Credentials, tokens, and what is said of the account."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import AuthError
from jupyter_gpu_clusters.core.provider import abilities_of
from jupyter_gpu_clusters.core.settings import Account
from jupyter_gpu_clusters.providers.runai import tokens
from jupyter_gpu_clusters.providers.runai.found import find_account
from jupyter_gpu_clusters.providers.runai.options import Options
from jupyter_gpu_clusters.providers.runai.provider import RunaiProvider
from tests.contracts.fixtures import CheckedSandbox

from .conftest import TRAIN, Runner

pytestmark = pytest.mark.anyio


def asked_for_tokens(runai: Runner) -> list[str]:
    return [row["path"].removeprefix("/runai") for row in runai.sent("POST", "/token")]


async def test_concurrent_calls_share_one_token(runai: Runner) -> None:
    await asyncio.gather(*(runai.provider.list_clusters() for _ in range(10)))
    await runai.provider.list_clusters()
    assert asked_for_tokens(runai) == ["/api/v2/token"]


async def test_older_control_planes_are_asked_the_older_way_and_only_once_the_newer(runai: Runner) -> None:
    runai.sandbox.choose({"runai.token_v2": "missing", "runai.token_seconds": "1"})
    runai.sandbox.fault(service="runai", path="/api/v2/token", kind="status", status=404, times=None)
    await runai.provider.list_clusters()
    runai.sandbox.setup("runai", revoke_tokens=True)
    await runai.provider.list_clusters()
    assert asked_for_tokens(runai) == ["/api/v2/token", "/api/v1/token", "/api/v1/token"]
    assert json.loads(runai.sent("POST", "/v1/token")[0]["body"]).keys() == {"grantType", "clientID", "clientSecret"}


@pytest.mark.parametrize("told", ["present", "missing"])
@pytest.mark.parametrize("skew", [0.0, 7200.0, -7200.0])
async def test_a_token_is_replaced_shortly_before_its_end(
    runai: Runner, told: str, skew: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    runai.sandbox.choose({"runai.token_seconds": "3600", "runai.expires_in": told})
    runai.sandbox.set_clock(skew_s=skew)
    client = await runai.provider._access.client()
    await client.list_clusters()
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now + 3500)
    await client.token()
    assert len(asked_for_tokens(runai)) == 1
    monkeypatch.setattr(loop, "time", lambda: now + 3545)
    await client.token()
    assert len(asked_for_tokens(runai)) == 2


@pytest.mark.parametrize(
    ("life", "used"), [(3600.0, 3540.0), (120.0, 60.0), (10.0, 5.0), (None, 240.0), (-5.0, 240.0), (1e12, 86_340.0)]
)
def test_how_long_a_token_is_used(life: float | None, used: float) -> None:
    assert tokens._use_for_s(SecretStr("no.jwt"), life) == used


async def test_a_refused_token_is_replaced_once(runai: Runner) -> None:
    await runai.provider.list_clusters()
    runai.sandbox.setup("runai", revoke_tokens=True)
    assert len((await runai.provider.list_clusters()).items) == 2
    assert len(asked_for_tokens(runai)) == 2
    runai.sandbox.fault(service="runai", path="/api/v1/clusters", kind="status", status=401, times=None)
    with pytest.raises(AuthError) as caught:
        await runai.provider.list_clusters()
    assert len(asked_for_tokens(runai)) == 3
    assert "typed just now" in str(caught.value.hint)


async def test_a_refused_token_of_a_submit_is_replaced_and_one_workload_made(runai: Runner) -> None:
    plan, launcher = await runai.plan(TRAIN), await runai.launcher()
    runai.sandbox.setup("runai", revoke_tokens=True)
    from .conftest import order_of

    await launcher.submit_workload(plan, order_of(plan))
    assert len(runai.alive()) == 1


@pytest.mark.parametrize(
    "how", [{}, {"runai.token_v2": "missing"}, {"runai.token_v2": "missing", "runai.v1_refusal": "400"}]
)
async def test_a_wrong_secret_is_said_with_its_source(sandbox: CheckedSandbox, how: dict[str, str]) -> None:
    sandbox.choose(how)
    if how:
        sandbox.fault(service="runai", path="/api/v2/token", kind="status", status=404, times=None)
    wrong = 'wrong-%+&"secret'
    runner = Runner(sandbox)
    provider = RunaiProvider(runner.account.with_secret(SecretStr(wrong)))
    status = await provider.check_account()
    assert not status.is_usable
    assert status.detail.count("typed just now") == 1
    assert "svc-jupyter" in status.detail
    assert "wrong-" not in status.model_dump_json()
    with pytest.raises(AuthError) as caught:
        await provider.list_clusters()
    assert "wrong-" not in repr(caught.value) + str(caught.value)
    assert isinstance(caught.value, AuthError)
    await provider.aclose()


async def test_the_token_never_shows(runai: Runner, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    client = await runai.provider._access.client()
    token = (await client.token()).get_secret_value()
    runai.sandbox.fault(service="runai", path="/api/v1/clusters", kind="status", status=500, text=token, times=None)
    with pytest.raises(Exception, match="500") as caught:
        await runai.provider.list_clusters()
    secret = runai.sandbox.variables()["RUNAI_CLIENT_SECRET"]
    texts = str(caught.value) + repr(caught.value) + caplog.text + repr(vars(runai.provider)) + repr(vars(client))
    for hidden in (token, secret, base64.b64encode(secret.encode()).decode()):
        assert hidden not in texts


# What is said of the account


async def test_what_the_account_sees(runai: Runner) -> None:
    status = await runai.provider.check_account()
    assert (status.is_usable, status.expires_at, status.balance) == (True, None, None)
    assert "4 projects" in status.detail


@pytest.mark.parametrize(
    ("project", "is_usable"), [("vision", True), ("4500012", True), (4500012, True), ("visoin", False)]
)
async def test_the_accounts_project(sandbox: CheckedSandbox, project: Any, is_usable: bool) -> None:
    runner = Runner(sandbox, project=project)
    status = await runner.provider.check_account()
    assert status.is_usable is is_usable
    if not is_usable:
        assert "'vision'" in status.detail
    await runner.provider.aclose()


async def test_a_service_account_without_a_role(sandbox: CheckedSandbox) -> None:
    sandbox.setup("runai", credential={"client_id": "svc-bare", "role": "none", "secret": "bare-secret-value"})
    runner = Runner(sandbox, client_id="svc-bare")
    provider = RunaiProvider(runner.account.with_secret(SecretStr("bare-secret-value")))
    status = await provider.check_account()
    assert not status.is_usable
    assert "role" in status.detail
    await provider.aclose()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "base_url"),
        ({"base_url": "runai.example.org", "client_id": "x"}, "https://host"),
        ({"base_url": "https://user:pw@a.example", "client_id": "x"}, "no user"),
        ({"base_url": "http://127.0.0.1:9", "client_id": "x", "ca_file": "/a"}, "SSL_CERT_FILE"),
        ({"base_url": "http://127.0.0.1:9", "client_id": "x", "verify": False}, "always checked"),
        ({"base_url": "http://127.0.0.1:9", "clientid": "x"}, "client_id"),
        ({"base_url": "http://127.0.0.1:9"}, "no client_id"),
        ({"base_url": "http://127.0.0.1:9", "client_id": "x"}, "no connection"),
    ],
)
async def test_wrong_settings_are_said_and_nothing_raises(
    options: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    provider = RunaiProvider(
        Account(name="lab", provider="runai", options=options).with_secret(SecretStr("some-secret"))
    )
    status = await provider.check_account()
    assert not status.is_usable
    assert words in status.detail
    assert (await provider.identity()).provider == "runai"
    await provider.aclose()


async def test_identity_needs_no_secret_and_differs_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"base_url": "https://a.example/api/v1/", "client_id": "x"}
    account = Account(name="lab", provider="runai", secret_ref="env:NO_SUCH_SECRET", options=options)
    monkeypatch.delenv("NO_SUCH_SECRET", raising=False)
    bare = await RunaiProvider(account).identity()
    assert (bare.origin, bare.scope, bare.credential) == ("https://a.example", "", "")
    one = await RunaiProvider(account.with_secret(SecretStr("first-secret"))).identity()
    other = await RunaiProvider(account.with_secret(SecretStr("second-secret"))).identity()
    assert len({bare.key, one.key, other.key}) == 3
    named = account.model_copy(update={"options": {**options, "project": "other"}})
    assert (await RunaiProvider(named.with_secret(SecretStr("first-secret"))).identity()).key == one.key


@pytest.mark.parametrize(
    ("written", "base"),
    [
        ("https://a.run.ai", "https://a.run.ai"),
        ("https://a.run.ai/", "https://a.run.ai"),
        ("https://a.run.ai/api/v1", "https://a.run.ai"),
        ("https://a.run.ai/api/v1/", "https://a.run.ai"),
        ("https://a.run.ai/api/v2", "https://a.run.ai"),
        ("https://a.run.ai/api", "https://a.run.ai"),
        (" https://a.example/runai/api/v1 ", "https://a.example/runai"),
        ("https://a.example/rapi", "https://a.example/rapi"),
    ],
)
def test_addresses_are_taken_with_and_without_their_prefix(written: str, base: str) -> None:
    assert Options.of(Account(name="a", provider="runai", options={"base_url": written})).url == base


async def test_address_with_the_prefix_works(sandbox: CheckedSandbox) -> None:
    runner = Runner(sandbox, base_url=f"{sandbox.url}/runai/api/v1/")
    assert (await runner.provider.check_account()).is_usable
    await runner.provider.aclose()


def test_what_it_can_do_and_why_not_the_rest() -> None:
    able = {"offers", "workloads", "suspend", "choices", "details"}
    assert abilities_of(RunaiProvider) == able
    assert set(RunaiProvider.reasons) == {"create", "delete", "scale", "actions", "ssh_keys"}
    assert [(one.name, one.is_secret, one.is_required) for one in RunaiProvider.asks] == [
        ("base_url", False, True), ("client_id", False, True), ("client_secret", True, True), ("project", False, False),
    ]  # fmt: skip


# The login of Run:ai's own command line


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("RUNAI_URL", "RUNAI_CLIENT_ID", "RUNAI_CLIENT_SECRET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".runai").mkdir()
    return tmp_path


def log_in(home: Path, url: str, token: str) -> None:
    file = home / ".runai/authentication.json"
    file.write_text(json.dumps({"accessToken": base64.b64encode(token.encode()).decode()}))
    file.chmod(0o600)
    (home / ".runai/config.json").write_text(json.dumps({"control_plane": {"url": url}, "cluster": {"uuid": "x"}}))


async def test_login_of_the_command_line_works_until_it_ends(sandbox: CheckedSandbox, home: Path) -> None:
    assert find_account() is None
    first = Runner(sandbox)
    token = (await (await first.provider._access.client()).token()).get_secret_value()
    log_in(home, f"{sandbox.url}/runai", token)
    account = find_account()
    assert account is not None
    provider = RunaiProvider(account)
    status = await provider.check_account()
    assert status.is_usable, status.detail
    assert status.expires_at is not None
    assert "authentication.json" in status.credential
    before = await provider.identity()
    sandbox.setup("runai", revoke_tokens=True)
    with pytest.raises(AuthError) as caught:
        await provider.list_clusters()
    assert "runai login" in str(caught.value.hint)
    assert token not in str(caught.value)
    await first.provider.list_clusters()
    renewed = (await (await first.provider._access.client()).token()).get_secret_value()
    log_in(home, f"{sandbox.url}/runai", renewed)
    assert len((await provider.list_clusters()).items) == 2
    assert (await provider.identity()).key == before.key
    await provider.aclose()
    await first.provider.aclose()


@pytest.mark.parametrize("text", ["not json", "[]", '{"accessToken": 5}', '{"accessToken": "%%%"}', "{}"])
async def test_a_login_file_that_cannot_be_read_is_said(home: Path, sandbox: CheckedSandbox, text: str) -> None:
    log_in(home, f"{sandbox.url}/runai", "x")
    (home / ".runai/authentication.json").write_text(text)
    account = find_account()
    assert account is not None
    status = await RunaiProvider(account).check_account()
    assert not status.is_usable
    assert "client_id" in status.detail


def test_variables_are_found_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(home, "https://a.example", "x")
    monkeypatch.setenv("RUNAI_URL", "https://b.example")
    monkeypatch.setenv("RUNAI_CLIENT_ID", "me")
    monkeypatch.setenv("RUNAI_CLIENT_SECRET", "s")
    account = find_account()
    assert account is not None
    assert (account.options["base_url"], account.secret_ref) == ("https://b.example", "env:RUNAI_CLIENT_SECRET")

"""The account: its address, its places, and a credential in any of the vendor's forms."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.core.settings import Account
from jupyter_gpu_clusters.providers.e2e.options import DEFAULT_URL, Options, credential_of, normalised
from jupyter_gpu_clusters.providers.e2e.provider import E2EProvider
from tests.contracts.fixtures import CheckedSandbox

pytestmark = pytest.mark.anyio

PAIR = {"api_key": "k%+&", "auth_token": "t"}


def account(secret: object = None, **options: Any) -> Account:
    made = Account(name="e2e", provider="e2e", options=options)
    return made if secret is None else made.with_secret(SecretStr(json.dumps(secret)))


@pytest.mark.parametrize(
    "address",
    [
        "api.e2enetworks.com",
        "https://api.e2enetworks.com",
        "https://api.e2enetworks.com/myaccount/",
        "https://api.e2enetworks.com/myaccount/api/v1/gpu",
        "https://api.e2enetworks.com/myaccount/api/v1/gpu/",
    ],
)
def test_all_forms_of_the_address_are_one(address: str) -> None:
    assert normalised(address) == DEFAULT_URL
    assert Options.of(account(base_url=address)).base_url == DEFAULT_URL


@pytest.mark.parametrize(
    "address", ["", "ftp://host", "https://user:pass@host", "http://[::bad", "https://host?x=1", 7]
)
async def test_an_address_that_is_none_is_told_and_breaks_nothing(address: Any) -> None:
    wrong = account(PAIR, base_url=address, project_id=1)
    with pytest.raises(SettingsError) as caught:
        Options.of(wrong)
    assert [problem.field for problem in caught.value.problems] == ["base_url"]
    provider = E2EProvider(wrong)
    assert (await provider.identity()).provider == "e2e"
    status = await provider.check_account()
    assert not status.is_usable
    assert "base_url" in status.detail


def test_every_wrong_option_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Options.of(account(project_id="x", location="Mumbai", active_iam=-1, variant="", nonsense=1))
    fields = {problem.field for problem in caught.value.problems}
    assert fields == {"project_id", "location", "active_iam", "variant", "nonsense"}


def test_new_clusters_go_where_they_are_listed() -> None:
    assert Options.of(account()).location == "Delhi"
    assert Options.of(account(locations=["Chennai"])).location == "Chennai"
    with pytest.raises(SettingsError, match="must be one of `locations`"):
        Options.of(account(location="Delhi", locations=["Chennai"]))


@pytest.mark.parametrize(
    ("secret", "options", "project"),
    [
        (PAIR, {}, None),
        ({**PAIR, "team_id": 4, "project_id": 31007}, {}, 31007),
        ({**PAIR, "project_id": "31007"}, {}, 31007),
        ({"api_key": PAIR["api_key"], "api_auth_token": "t"}, {}, None),
        ({"work": {"api_key": PAIR["api_key"], "api_auth_token": "t"}}, {}, None),
        ({"work": {"api_key": PAIR["api_key"], "api_auth_token": "t"}, "home": {}}, {"alias": "work"}, None),
    ],
)
def test_both_downloads_of_the_vendor_are_read(secret: object, options: dict[str, Any], project: int | None) -> None:
    made = account(secret, **options)
    found = credential_of(made, Options.of(made), "https://api.e2enetworks.com")
    assert (found.api_key.get_secret_value(), found.auth_token.get_secret_value()) == ("k%+&", "t")
    assert found.project_id == project


@pytest.mark.parametrize(
    ("secret", "options", "said"),
    [
        (None, {}, "has no secret"),
        ("text", {}, "both `api_key` and `auth_token`"),
        ([PAIR], {}, "both `api_key` and `auth_token`"),
        ({"api_key": "k"}, {}, "both `api_key` and `auth_token`"),
        ({"api_key": "k", "auth_token": ""}, {}, "both `api_key` and `auth_token`"),
        ({"a": PAIR, "b": PAIR}, {}, "option `alias`"),
        ({"a": PAIR, "b": PAIR}, {"alias": "c"}, "option `alias`"),
    ],
)
def test_what_a_credential_lacks_is_said(secret: object, options: dict[str, Any], said: str) -> None:
    made = account(secret, **options)
    with pytest.raises(SettingsError) as caught:
        credential_of(made, Options.of(made), "https://api.e2enetworks.com")
    assert said in str(caught.value)
    assert PAIR["api_key"] not in str(caught.value)


async def test_the_project_of_the_file_stands_in_for_the_option(sandbox: CheckedSandbox) -> None:
    known = sandbox.variables()
    secret = {
        "api_key": known["E2E_TIR_API_KEY"],
        "auth_token": known["E2E_TIR_ACCESS_TOKEN"],
        "project_id": int(known["E2E_TIR_PROJECT_ID"]),
        "team_id": 1,
    }
    provider = E2EProvider(account(secret, base_url=known["E2E_TIR_API_HOST"]))
    status = await provider.check_account()
    await provider.aclose()
    assert status.is_usable, status.detail
    assert (await provider.identity()).scope == f"project {known['E2E_TIR_PROJECT_ID']}"


async def test_a_credential_that_is_too_old_is_said_to_be(sandbox: CheckedSandbox) -> None:
    sandbox.setup("e2e", credential={"label": "old", "api_key": "old-key", "token": "old-token", "age_days": 366})
    options = {"base_url": sandbox.variables()["E2E_TIR_API_HOST"], "project_id": 31007}
    provider = E2EProvider(account({"api_key": "old-key", "auth_token": "old-token"}, **options))
    status = await provider.check_account()
    await provider.aclose()
    assert not status.is_usable
    assert "expired" in status.detail
    assert "old-key" not in status.detail + repr(provider.account)

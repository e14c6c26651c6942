"""The account: found in the environment, its options, its key, and who it is without any of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.core.settings import Account, Settings
from jupyter_gpu_clusters.providers.lium.found import find_account
from jupyter_gpu_clusters.providers.lium.options import DEFAULT_URL, Options, key_of
from jupyter_gpu_clusters.providers.lium.provider import LiumProvider
from tests.contracts.fixtures import CheckedSandbox

pytestmark = pytest.mark.anyio


def account(secret: str | None = "sk_1", **options: Any) -> Account:
    made = Account(name="lab", provider="lium", options=options)
    return made if secret is None else made.with_secret(SecretStr(secret))


def test_without_a_key_in_the_environment_there_is_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_account() is None
    monkeypatch.setenv("LIUM_API_KEY", "")
    monkeypatch.setenv("LIUM_BASE_URL", "https://example.org/api")
    assert find_account() is None


@pytest.mark.parametrize(("url", "options"), [(None, {}), ("https://x.test/api", {"base_url": "https://x.test/api"})])
def test_the_variables_of_the_vendors_tools_make_an_account(
    monkeypatch: pytest.MonkeyPatch, url: str | None, options: dict[str, str]
) -> None:
    monkeypatch.setenv("LIUM_API_KEY", "sk_1")
    if url:
        monkeypatch.setenv("LIUM_BASE_URL", url)
    found = Settings.load().account("lium")
    assert (found.secret_ref, dict(found.options)) == ("env:LIUM_API_KEY", options)
    assert "sk_1" not in repr(found)


def test_usual_options() -> None:
    options = Options.of(account())
    assert (options.base_url, options.customer_ref) == (DEFAULT_URL, None) == ("https://lium.io/api", None)


def test_every_wrong_option_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Options.of(account(base_url=7, customer_ref="", nonsense=1))
    assert {problem.field for problem in caught.value.problems} == {"base_url", "customer_ref", "nonsense"}
    assert "lab" in (caught.value.hint or "")


@pytest.mark.parametrize("reference", [" a", "a ", "a\nb", "a\r\nX-Other: 1", "ü", "a\x00", "a\n", "", 7, ["a"]])
def test_a_reference_that_no_header_can_carry_is_no_option(reference: Any) -> None:
    with pytest.raises(SettingsError):
        Options.of(account(customer_ref=reference))


@pytest.mark.parametrize("address", ["", "ftp://host", "https://user:pass@host", "http://[::bad", "https://host?x=1"])
async def test_an_address_that_is_none_is_told_and_breaks_nothing(address: str) -> None:
    provider = LiumProvider(account(base_url=address))
    assert (await provider.identity()).credential == ""
    status = await provider.check_account()
    assert not status.is_usable
    assert "base_url" in status.detail


async def test_without_a_key_nothing_is_sent_and_what_was_known_can_be_shown(sandbox: CheckedSandbox) -> None:
    bare = account(None, base_url=sandbox.variables()["LIUM_BASE_URL"])
    with pytest.raises(SettingsError, match="has no API key"):
        key_of(bare, "https://lium.io")
    provider = LiumProvider(bare)
    status = await provider.check_account()
    assert not status.is_usable
    assert "%cluster_login lab" in status.detail
    assert (await provider.identity()).provider == "lium"
    assert sandbox.requests() == []


async def test_a_key_that_was_stored_for_another_host_is_not_sent(sandbox: CheckedSandbox) -> None:
    stored = Account(
        name="lab",
        provider="lium",
        secret_ref="env:LIUM_API_KEY",
        secret_origin="https://lium.io",
        options={"base_url": sandbox.variables()["LIUM_BASE_URL"]},
    )
    provider = LiumProvider(stored)
    status = await provider.check_account()
    assert not status.is_usable
    assert "stored for https://lium.io" in status.detail
    assert sandbox.requests() == []


async def test_who_it_is_depends_on_key_and_host_and_not_on_path_or_name() -> None:
    async def key(made: Account) -> str:
        return (await LiumProvider(made).identity()).key

    mine = await key(account(base_url="https://a.test/api"))
    assert await key(account(base_url="https://a.test/api/")) == mine
    assert await key(account("sk_2", base_url="https://a.test/api")) != mine
    assert await key(account(base_url="https://b.test/api")) != mine
    assert "sk_1" not in mine


async def test_no_network_is_said_and_is_no_exception() -> None:
    provider = LiumProvider(account(base_url="http://127.0.0.1:9/lium/api"))
    status = await provider.check_account()
    await provider.aclose()
    assert not status.is_usable
    assert "127.0.0.1:9" in status.detail


async def test_the_key_goes_only_into_its_header(sandbox: CheckedSandbox, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{sandbox.variables()['LIUM_API_KEY']}\n")
    file.chmod(0o600)
    options = {"base_url": sandbox.variables()["LIUM_BASE_URL"]}
    provider = LiumProvider(Account(name="lab", provider="lium", secret_ref=f"file:{file}", options=options))
    status = await provider.check_account()
    await provider.aclose()
    assert status.is_usable, status.detail
    assert status.credential == f"file {file}"
    for sent in sandbox.requests():
        headers = {name.lower() for name in sent["headers"]}
        assert "x-api-key" in headers
        assert "authorization" not in headers

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.accounts import Accounts
from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.core.paths import accounts_file
from jupyter_gpu_clusters.core.settings import Settings

PLANTED = "planted-s3cr3t%+&"


def write(text: str) -> Path:
    file = accounts_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_without_a_file_there_is_local_alone() -> None:
    assert list(Settings.load().accounts) == ["local"]


def test_accounts_have_a_provider_settings_and_a_reference() -> None:
    write('[accounts.lab]\nprovider = "slurm"\nsecret = "env:LAB_TOKEN"\nhost = "login.example.org"\n')
    account = Settings.load().account("lab")
    assert (account.provider, account.secret_ref, account.options) == (
        "slurm",
        "env:LAB_TOKEN",
        {"host": "login.example.org"},
    )
    assert Settings.load().secret_variables() == {"LAB_TOKEN"}


def test_an_unknown_account_is_told_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'local'"):
        Settings.load().account("lokal")


def test_every_mistake_of_the_file_is_told_at_once_and_no_secret_is_shown() -> None:
    write(f'[account.x]\n[accounts.a]\nsecret = "{PLANTED}"\n[accounts]\nb = 3\n'.replace("[accounts]\nb = 3\n", ""))
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    text = "\n".join(caught.value.lines())
    assert "account: is not known here. Did you mean 'accounts'?" in text
    assert "accounts.a.provider: is needed" in text
    assert "accounts.a.secret: must be" in text
    assert PLANTED not in text


def test_a_file_that_is_no_toml_is_told_with_the_place() -> None:
    write("[accounts\n")
    with pytest.raises(SettingsError, match="line 1"):
        Settings.load()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("accounts = 3\n", "accounts: must be a table"),
        ('[accounts."a/b"]\nprovider = "local"\n', "a/b: the name must be"),
        ("[accounts]\nlab = 3\n", "accounts.lab: must be a table"),
    ],
)
def test_shapes_that_are_no_accounts_are_told(text: str, words: str) -> None:
    write(text)
    with pytest.raises(SettingsError, match=words):
        Settings.load()


def test_an_unknown_provider_is_told_with_its_account_and_file() -> None:
    write('[accounts.lab]\nprovider = "lokal"\n')
    with pytest.raises(SettingsError, match=r"Account 'lab' in .*accounts.toml: .*Did you mean 'local'"):
        Accounts().provider("lab")


def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write('[accounts.lab]\nprovider = "slurm"\nsecret = "env:LAB_TOKEN"\n')
    account = Settings.load().account("lab")
    with pytest.raises(SettingsError, match=r"\$LAB_TOKEN, which is not set"):
        account.secret()
    monkeypatch.setenv("LAB_TOKEN", PLANTED)
    secret = account.secret()
    assert secret is not None
    assert secret.get_secret_value() == PLANTED
    assert PLANTED not in repr(secret) + repr(account) + str(secret)


def test_secrets_come_from_private_files_only(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(PLANTED + "\n")
    write(f'[accounts.lab]\nprovider = "slurm"\nsecret = "file:{file}"\n')
    account = Settings.load().account("lab")
    file.chmod(0o644)
    with pytest.raises(SettingsError, match="can be read by others"):
        account.secret()
    file.chmod(0o600)
    secret = account.secret()
    assert secret is not None
    assert secret.get_secret_value() == PLANTED
    file.unlink()
    with pytest.raises(SettingsError, match="cannot be read"):
        account.secret()


def test_a_changed_file_is_read_again() -> None:
    accounts = Accounts()
    before = accounts.provider("local")
    assert accounts.names() == ("local",)
    write('[accounts.second]\nprovider = "local"\n')
    assert accounts.names() == ("local", "second")
    assert accounts.provider("local") is before


def test_a_secret_of_several_parts_is_read_as_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "k")
    monkeypatch.setenv("LAB_TOKEN", 't"')
    write('[accounts.lab]\nprovider = "e2e"\nsecret = {api_key = "env:LAB_KEY", auth_token = "env:LAB_TOKEN"}\n')
    account = Settings.load().account("lab")
    secret = account.secret()
    assert secret is not None
    assert json.loads(secret.get_secret_value()) == {"api_key": "k", "auth_token": 't"'}
    assert account.credential == "$LAB_KEY and $LAB_TOKEN"
    assert Settings.load().secret_variables() == {"LAB_KEY", "LAB_TOKEN"}


def test_a_part_that_is_a_secret_itself_is_refused_and_not_shown() -> None:
    write(f'[accounts.lab]\nprovider = "e2e"\nsecret = {{api_key = "{PLANTED}"}}\n')
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert "accounts.lab.secret: must be" in str(caught.value)
    assert PLANTED not in str(caught.value)


def test_a_secret_goes_only_where_it_was_stored_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", PLANTED)
    origin = "https://api.example.org"
    write(f'[accounts.lab]\nprovider = "lium"\nsecret = "env:LAB_KEY"\nsecret_origin = "{origin}"\n')
    account = Settings.load().account("lab")
    secret = account.secret(origin)
    assert secret is not None
    assert secret.get_secret_value() == PLANTED
    with pytest.raises(SettingsError, match="%cluster_login lab"):
        account.secret("https://api.example.org.evil.example")


@pytest.mark.parametrize(
    ("variables", "account", "options", "credential"),
    [
        ({"LIUM_API_KEY": "k"}, "lium", {}, "$LIUM_API_KEY"),
        (
            {"E2E_TIR_API_KEY": "k", "E2E_TIR_ACCESS_TOKEN": "t", "E2E_TIR_PROJECT_ID": "7"},
            "e2e",
            {"project_id": "7"},
            "$E2E_TIR_API_KEY and $E2E_TIR_ACCESS_TOKEN",
        ),
        (
            {"E2E_API_KEY": "k", "E2E_AUTH_TOKEN": "t", "E2E_LOCATION": "Chennai"},
            "e2e",
            {"location": "Chennai"},
            "$E2E_API_KEY and $E2E_AUTH_TOKEN",
        ),
        (
            {"RUNAI_URL": "https://x.example", "RUNAI_CLIENT_ID": "i", "RUNAI_CLIENT_SECRET": "s"},
            "runai",
            {"base_url": "https://x.example", "client_id": "i"},
            "$RUNAI_CLIENT_SECRET",
        ),
    ],
)
def test_credentials_of_the_services_own_tools_are_found(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], account: str, options: dict[str, str], credential: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = Settings.load().accounts
    assert list(found) == ["local", account]
    assert (found[account].options, found[account].credential) == (options, credential)


def test_an_account_of_the_file_comes_before_a_found_one_and_neither_secret_is_inherited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LIUM_API_KEY", "k")
    write('[accounts.lium]\nprovider = "lium"\nsecret = "env:MINE"\n')
    settings = Settings.load()
    assert settings.account("lium").secret_ref == "env:MINE"
    assert settings.secret_variables() == {"MINE", "LIUM_API_KEY"}


def test_a_variable_that_is_set_later_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = Accounts()
    assert accounts.names() == ("local",)
    monkeypatch.setenv("LIUM_API_KEY", "k")
    assert accounts.names() == ("local", "lium")


def test_accounts_that_point_to_the_sandbox_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIUM_API_KEY", "k")
    monkeypatch.setenv("SANDBOX_URL", "http://127.0.0.1:8000")
    monkeypatch.setenv("LIUM_BASE_URL", "http://127.0.0.1:8000/lium/api")
    assert Settings.load().account("lium").is_sandbox
    monkeypatch.setenv("LIUM_BASE_URL", "http://127.0.0.1:80001/lium/api")
    assert not Settings.load().account("lium").is_sandbox
    write('[accounts.lab]\nprovider = "lium"\nsandbox = true\n')
    assert Settings.load().account("lab").is_sandbox

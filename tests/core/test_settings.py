from __future__ import annotations

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

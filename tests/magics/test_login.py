"""Logging in: asked for, checked, stored by reference, never shown."""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from jupyter_gpu_clusters.core import bridge
from jupyter_gpu_clusters.core.errors import AuthError, SettingsError
from jupyter_gpu_clusters.core.paths import accounts_file, data_dir

from .shell import Shell

PLANTED = 'pl%nt+d&"k3y'

Type = Callable[..., list[str]]


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Type:
    """Answers to what is asked, in order; the prompts that were shown."""
    prompts: list[str] = []

    def type_in(*answers: str) -> list[str]:
        left = list(answers)

        def answer(prompt: str = "") -> str:
            prompts.append(prompt)
            return left.pop(0)

        monkeypatch.setattr("builtins.input", answer)
        monkeypatch.setattr("jupyter_gpu_clusters.magics.login.getpass", answer)
        return prompts

    return type_in


def places_of(secret: str, *folders: Path) -> list[str]:
    """Files that hold the secret, plain, URL-encoded, in base64 or as JSON text."""
    plain = secret.encode()
    shapes = [plain, quote(secret, safe="").encode(), base64.b64encode(plain), json.dumps(secret)[1:-1].encode()]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if any(shape in file.read_bytes() for shape in shapes)]


def test_a_login_is_asked_for_checked_and_kept_by_reference(
    shell: Shell, slowcloud: Path, type_in: Type, jupyter_folders: Path
) -> None:
    (slowcloud / "key").write_text(PLANTED)
    prompts = type_in("", PLANTED)
    shown, printed = shell.capture("%cluster_login slowcloud --store file")
    assert prompts == ["Zone [north]: ", "API key: "]
    table = tomllib.loads(accounts_file().read_text())["accounts"]["slowcloud"]
    secret_file = accounts_file().with_name("secrets") / "slowcloud"
    assert table == {
        "provider": "slowcloud",
        "secret": f"file:{secret_file}",
        "secret_origin": slowcloud.as_uri(),
        "zone": "north",
    }
    assert secret_file.stat().st_mode & 0o777 == 0o600
    assert secret_file.parent.stat().st_mode & 0o777 == 0o700
    assert "✔ works" in str(shown)
    assert shown.value[0].credential == f"file {secret_file}"
    assert PLANTED not in printed + str(shown) + repr(shown._repr_mimebundle_())
    assert "✔ works" in str(shell.run("%cluster_accounts slowcloud"))
    assert sorted(places_of(PLANTED, jupyter_folders)) == ["key", "slowcloud"]
    assert places_of(PLANTED, data_dir()) == []


def test_a_wrong_key_is_not_stored(shell: Shell, slowcloud: Path, type_in: Type) -> None:
    (slowcloud / "key").write_text("right")
    before = accounts_file().read_text()
    type_in("", PLANTED)
    error = shell.fail("%cluster_login slowcloud --store file", AuthError)
    assert "The key is wrong." in error.message
    assert PLANTED not in str(error)
    assert accounts_file().read_text() == before
    assert not accounts_file().with_name("secrets").exists()


def test_what_the_user_wrote_in_the_accounts_file_stays(shell: Shell, slowcloud: Path, type_in: Type) -> None:
    mine = '# mine\n[accounts.slow]   # the slow one\nprovider = "slowcloud"\n# mine too\n'
    accounts_file().write_text(mine)
    type_in("one")
    shell.run("%cluster_login slow --store file --zone south")
    text = accounts_file().read_text()
    assert text.startswith('# mine\n[accounts.slow]   # the slow one\nprovider = "slowcloud"\n')
    table = tomllib.loads(text)["accounts"]["slow"]
    assert table["zone"] == "south"
    assert "# mine too" in text


def test_another_name_makes_another_account(shell: Shell, slowcloud: Path, type_in: Type) -> None:
    type_in("", "one")
    shell.run("%cluster_login slowcloud --name second --store file")
    assert set(bridge.service().account_names()) == {"local", "slow", "second"}


def test_a_secret_in_the_line_is_refused_and_not_repeated(shell: Shell, slowcloud: Path) -> None:
    error = shell.fail(f"%cluster_login slowcloud --api-key '{PLANTED}' --colour red", SettingsError)
    assert [problem.field for problem in error.problems] == ["--api-key", "--colour"]
    assert "must not stand in a cell" in str(error)
    assert PLANTED not in str(error)


def test_nothing_typed_is_said(shell: Shell, slowcloud: Path, type_in: Type) -> None:
    type_in("", "  ")
    assert "API key is needed" in shell.fail("%cluster_login slowcloud", SettingsError).message


def test_where_nobody_can_type_nothing_is_stored(
    shell: Shell, slowcloud: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_: str = "") -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    assert "Nobody can be asked" in shell.fail("%cluster_login slowcloud", SettingsError).message


def test_a_provider_without_a_login_says_so(shell: Shell) -> None:
    assert "needs no login" in shell.fail("%cluster_login local", SettingsError).message


def test_an_unknown_provider_is_told_with_the_nearest(shell: Shell) -> None:
    assert "Did you mean 'lium'" in shell.fail("%cluster_login liun", SettingsError).message


def test_a_secret_is_not_sent_to_another_place(shell: Shell, slowcloud: Path, type_in: Type) -> None:
    type_in("", "one")
    shell.run("%cluster_login slowcloud --store file")
    text = accounts_file().read_text().replace(slowcloud.as_uri(), "https://elsewhere.example")
    accounts_file().write_text(text)
    account = bridge.service()._accounts.account("slowcloud")
    with pytest.raises(SettingsError, match=r"was stored for https://elsewhere\.example"):
        account.secret(slowcloud.as_uri())


def test_a_provider_without_an_account_is_told_how_to_get_one(shell: Shell) -> None:
    error = shell.fail("%cluster_create lium --name x", SettingsError)
    assert "no account for lium" in error.message
    assert "%cluster_login lium" in (error.hint or "")


def test_a_login_elsewhere_says_what_lives_under_the_earlier_one(shell: Shell, slowcloud: Path, type_in: Type) -> None:
    type_in("", PLANTED)
    assert "earlier settings" not in repr(shell.run("%cluster_login slow --store file"))
    shell.run("%cluster_create slow --name demo --yes")
    type_in("", PLANTED)
    assert "earlier settings" not in repr(shell.run("%cluster_login slow --store file"))
    type_in("south", PLANTED)
    assert "under the earlier settings: 1" in repr(shell.run("%cluster_login slow --store file").value)

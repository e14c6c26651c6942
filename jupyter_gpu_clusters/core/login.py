"""Keeping a secret that was typed: checked first, then stored in the keyring or a private file, and named in the
accounts file by reference. The accounts file is edited, not rewritten: what the user wrote there stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import tomlkit
from pydantic import SecretStr
from tomlkit.exceptions import TOMLKitError

from .errors import AuthError, SettingsError
from .locks import file_lock
from .models import AccountStatus
from .nearest import did_you_mean
from .paths import accounts_file, make_private, write_durably
from .provider import Provider
from .registry import load, provider_names
from .settings import KEYRING_SERVICE, Account, Settings

_LOCKED_WITHIN_S = 10.0


class Place(StrEnum):
    """Where a secret is kept."""

    KEYRING = "keyring"
    FILE = "file"


def usual_place() -> Place:
    """The system's keyring where there is one that works, else a file that only the user can read."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return Place.FILE
    with suppress(KeyringError):
        if keyring.get_keyring().priority >= 1:
            return Place.KEYRING
    return Place.FILE


def candidate(name: str, provider: str | None, options: Mapping[str, str], secrets: Mapping[str, SecretStr]) -> Account:
    """The account as it would be, with the secret in memory only.

    Parameters
    ----------
    provider : ``None`` for that of the account that is there, or the one of that name.
    options : settings that change; the account's others stay.
    secrets : one part, or several that make a JSON object.

    Raises
    ------
    SettingsError : the account is of another provider, or there is no such provider.
    """
    known = Settings.load().accounts.get(name)
    wanted = provider or (known.provider if known is not None else name)
    if wanted not in provider_names():
        raise SettingsError(
            f"There is no provider {wanted!r}.{did_you_mean(wanted, provider_names())}",
            hint=f"Known here: {', '.join(provider_names())}.",
        )
    if known is not None and known.provider != wanted:
        raise SettingsError(
            f"The account {name!r} is of {known.provider}, not of {wanted}.", hint="Take another --name."
        )
    old = known.options if known is not None else {}
    return Account(name=name, provider=wanted, options={**old, **options}).with_secret(_joined(secrets))


async def check(account: Account) -> tuple[AccountStatus, str]:
    """Whether the account works, and the origin that its secret is for.

    Raises
    ------
    AuthError : it does not; nothing was stored.
    """
    provider: Provider = load(account.provider)(account)
    try:
        status = await provider.check_account()
        origin = (await provider.identity()).origin
    finally:
        await provider.aclose()
    if not status.is_usable:
        raise AuthError(
            f"The login does not work: {status.detail}",
            hint="Nothing was stored. Correct it and run %cluster_login again.",
            provider=account.provider,
        )
    return status, origin


def keep(account: Account, origin: str, place: Place) -> str:
    """Store the account's typed secret for `origin` and name it in the accounts file; where it is, in words.

    Blocks for a few disk writes.

    Raises
    ------
    SettingsError : it cannot be stored; what is there stays as it was.
    """
    secret = account.secret()
    assert secret is not None
    file = accounts_file()
    try:
        make_private(file.parent)
        with file_lock(file.with_name(".accounts.lock"), within_s=_LOCKED_WITHIN_S):
            text = _with_account(file, account, origin, reference := _reference(account.name, place))
            _put(account.name, secret, place)
            write_durably(file, text.encode())
    except OSError as exc:
        raise SettingsError(
            f"The login cannot be stored in {file.parent} ({exc.strerror or exc}).",
            hint="Make room there or make it writable.",
        ) from exc
    return Account(name=account.name, provider=account.provider, secret_ref=reference).credential


def _joined(secrets: Mapping[str, SecretStr]) -> SecretStr:
    values = {name: secret.get_secret_value() for name, secret in secrets.items()}
    return SecretStr(next(iter(values.values())) if len(values) == 1 else json.dumps(values))


def _secret_file(name: str) -> Path:
    return accounts_file().with_name("secrets") / name


def _reference(name: str, place: Place) -> str:
    return "keyring:" if place is Place.KEYRING else f"file:{_secret_file(name)}"


def _put(name: str, secret: SecretStr, place: Place) -> None:
    if place is Place.FILE:
        path = _secret_file(name)
        make_private(path.parent)
        write_durably(path, secret.get_secret_value().encode())
        return
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise SettingsError(
            "The keyring package is not installed.",
            hint="Run: pip install 'jupyter-gpu-clusters[keyring]', or pass --store file",
        ) from None
    try:
        keyring.set_password(KEYRING_SERVICE, name, secret.get_secret_value())
    except KeyringError as exc:
        raise SettingsError(
            f"The keyring refused the secret ({type(exc).__name__}).", hint="Unlock it, or pass --store file"
        ) from None


def _with_account(file: Path, account: Account, origin: str, reference: str) -> str:
    """The accounts file's text with the account in it."""
    try:
        document = tomlkit.parse(file.read_text() if file.exists() else "")
    except TOMLKitError as exc:
        raise SettingsError(f"{file} cannot be read: {exc}.", hint="Correct the file; nothing was stored.") from None
    accounts = document.setdefault("accounts", tomlkit.table(is_super_table=True))
    table = accounts.setdefault(account.name, tomlkit.table())
    table.update({"provider": account.provider, "secret": reference, "secret_origin": origin, **dict(account.options)})
    return tomlkit.dumps(document)

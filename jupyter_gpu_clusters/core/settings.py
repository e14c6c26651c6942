"""Accounts: named settings for one provider each, with a *reference* to a secret, never the secret itself.

``accounts.toml`` in the ``jupyter_gpu_clusters`` folder of Jupyter's configuration::

    [accounts.lab]
    provider = "slurm"
    secret = "env:LAB_TOKEN"        # or "keyring:" or "file:/home/me/.lab-token"
    host = "login.example.org"

The account ``local`` is always there.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from .errors import Problem, SettingsError
from .nearest import did_you_mean
from .paths import accounts_file

_KEYRING_SERVICE = "jupyter-gpu-clusters"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Account(BaseModel):
    """One account.

    ``options`` are the provider's own settings, checked by the provider; ``secret_ref`` is ``env:VAR``,
    ``keyring:`` or ``file:PATH``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    provider: str = Field(min_length=1)
    secret_ref: str | None = Field(default=None, pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|keyring:|file:.+)$")
    options: Mapping[str, Any] = Field(default_factory=dict)

    def secret(self) -> SecretStr | None:
        """The secret itself, read now; ``None`` when the account has none.

        Raises
        ------
        SettingsError : the reference leads nowhere, or to a file that others can read.
        """
        if self.secret_ref is None:
            return None
        kind, _, where = self.secret_ref.partition(":")
        value = {"env": _from_env, "file": _from_file, "keyring": _from_keyring}[kind](where, self.name)
        return SecretStr(value)


def _from_env(variable: str, account: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise SettingsError(
            f"Account {account!r} takes its secret from ${variable}, which is not set.",
            hint=f"Set {variable} before Jupyter starts, or change `secret` in {accounts_file()}.",
        )
    return value


def _from_file(path: str, account: str) -> str:
    file = Path(path).expanduser()
    try:
        if file.stat().st_mode & 0o077:
            raise SettingsError(f"The secret file {file} can be read by others.", hint=f"Run: chmod 600 {file}")
        return file.read_text().strip()
    except OSError as exc:
        raise SettingsError(
            f"Account {account!r} takes its secret from {file}, which cannot be read ({exc.strerror}).",
            hint=f"Write the secret there with mode 0600, or change `secret` in {accounts_file()}.",
        ) from exc


def _from_keyring(_: str, account: str) -> str:
    try:
        import keyring
    except ImportError:
        raise SettingsError(
            f"Account {account!r} keeps its secret in the keyring, and the keyring package is not installed.",
            hint="Run: pip install 'jupyter-gpu-clusters[keyring]'",
        ) from None
    value = keyring.get_password(_KEYRING_SERVICE, account)
    if not value:
        raise SettingsError(
            f"The keyring has no secret for account {account!r}.",
            hint=f"Store it: keyring set {_KEYRING_SERVICE} {account}",
        )
    return str(value)


class Settings(BaseModel):
    """All accounts of this user, by name; ``local`` first."""

    model_config = ConfigDict(frozen=True)

    accounts: Mapping[str, Account]

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Read the accounts file; without one there is ``local`` alone.

        Raises
        ------
        SettingsError : with every problem of the file.
        """
        file = path or accounts_file()
        accounts = {"local": Account(name="local", provider="local")}
        try:
            tables = tomllib.loads(file.read_text())
        except FileNotFoundError:
            return cls(accounts=accounts)
        except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as exc:
            raise SettingsError(f"{file} cannot be read: {exc}.", hint="Correct the file; nothing was sent.") from exc
        problems = [*_unknown_tables(tables)]
        section = tables.get("accounts", {})
        if not isinstance(section, dict):
            problems.append(Problem("accounts", "must be a table of accounts: [accounts.NAME]."))
            section = {}
        for name, table in section.items():
            try:
                accounts[name] = _account(name, table)
            except SettingsError as exc:
                problems.extend(exc.problems)
        if problems:
            raise SettingsError(f"{file} has mistakes.", problems=problems, hint="Correct them; nothing was sent.")
        return cls(accounts=accounts)

    def account(self, name: str) -> Account:
        """The account of that name.

        Raises
        ------
        SettingsError : there is none; the nearest name is offered.
        """
        if name in self.accounts:
            return self.accounts[name]
        raise SettingsError(
            f"There is no account or provider {name!r}.{did_you_mean(name, self.accounts)}",
            hint=f"Known here: {', '.join(self.accounts)}. More accounts go into {accounts_file()}.",
        )

    def secret_variables(self) -> frozenset[str]:
        """Names of environment variables that hold secrets of accounts; no workload may inherit them."""
        refs = (account.secret_ref or "" for account in self.accounts.values())
        return frozenset(ref.removeprefix("env:") for ref in refs if ref.startswith("env:"))


def _unknown_tables(tables: Mapping[str, Any]) -> list[Problem]:
    return [Problem(key, f"is not known here.{did_you_mean(key, ['accounts'])}") for key in tables if key != "accounts"]


def _account(name: str, table: object) -> Account:
    where = f"accounts.{name}"
    if not _NAME.fullmatch(name):
        raise SettingsError("", problems=[Problem(where, "the name must be letters, digits, '.', '_' and '-'.")])
    if not isinstance(table, dict):
        raise SettingsError("", problems=[Problem(where, "must be a table with at least `provider`.")])
    options = {key: value for key, value in table.items() if key not in ("provider", "secret")}
    try:
        return Account(name=name, provider=table.get("provider", ""), secret_ref=table.get("secret"), options=options)
    except ValidationError as exc:
        texts = {
            "provider": 'is needed: the name of a provider, for example "local".',
            "secret_ref": 'must be "env:VARIABLE", "keyring:" or "file:PATH"; the secret itself never goes here.',
        }
        fields = [str(error["loc"][0]) for error in exc.errors()]
        shown = {"secret_ref": "secret"}
        problems = [Problem(f"{where}.{shown.get(f, f)}", texts.get(f, "is wrong.")) for f in fields]
        raise SettingsError("", problems=problems) from None

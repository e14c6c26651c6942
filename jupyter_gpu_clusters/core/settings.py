"""Accounts: named settings for one provider each, with a *reference* to a secret, never the secret itself.

``accounts.toml`` in the ``jupyter_gpu_clusters`` folder of Jupyter's configuration::

    [accounts.lab]
    provider = "slurm"
    secret = "env:LAB_TOKEN"        # or "keyring:" or "file:/home/me/.lab-token"
    host = "login.example.org"

A secret of several parts is a table of references: ``secret = {api_key = "env:KEY", auth_token = "env:TOKEN"}``.
``secret_origin`` says for which host a secret was stored; it is not read for another one. ``sandbox = true`` marks
everything of an account as simulated. ``[limits]`` and ``[accounts.NAME.limits]`` limit what may be spent (`limits`).
The account ``local`` is always there, and one for each credential found where the services' own tools keep it
(see ``found``), unless the file has an account of that name.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationError

from . import found
from .errors import Problem, SettingsError
from .limits import AllLimits, Limits, read_limits
from .nearest import did_you_mean
from .paths import accounts_file

KEYRING_SERVICE = "jupyter-gpu-clusters"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Reference = Annotated[str, Field(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|keyring:|file:.+)$")]


class Account(BaseModel):
    """One account.

    ``options`` are the provider's own settings, checked by the provider; ``secret_ref`` is ``env:VAR``,
    ``keyring:`` or ``file:PATH``, or a mapping of such for a secret of several parts. ``secret_origin`` (scheme, host
    and port) is the only place the secret may be sent to, where it is given. What ``is_sandbox`` is shown as such.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    provider: str = Field(min_length=1)
    secret_ref: Reference | Mapping[str, Reference] | None = None
    secret_origin: str | None = None
    is_sandbox: bool = Field(default=False, strict=True)
    options: Mapping[str, Any] = Field(default_factory=dict)
    _typed: SecretStr | None = PrivateAttr(default=None)

    def with_secret(self, secret: SecretStr) -> Self:
        """This account with a secret that was just typed and is stored nowhere yet."""
        account = self.model_copy()
        account._typed = secret
        return account

    def secret(self, origin: str | None = None) -> SecretStr | None:
        """The secret itself, read now; ``None`` when the account has none. Several parts come as a JSON object.

        Parameters
        ----------
        origin : where it is going to be sent (``https://host`` or ``https://host:port``).

        Raises
        ------
        SettingsError : the reference leads nowhere or to a file that others can read, or the secret belongs elsewhere.
        """
        if self._typed is not None or self.secret_ref is None:
            return self._typed
        if origin is not None and self.secret_origin not in (None, origin):
            raise SettingsError(
                f"The secret of account {self.name!r} was stored for {self.secret_origin}, not for {origin}; "
                "nothing was sent.",
                hint=f"Log in there: %cluster_login {self.name}",
            )
        if isinstance(self.secret_ref, str):
            return SecretStr(self._read(self.secret_ref))
        parts = {name: self._read(reference) for name, reference in self.secret_ref.items()}
        return SecretStr(json.dumps(parts))

    def _read(self, reference: str) -> str:
        kind, _, where = reference.partition(":")
        return {"env": _from_env, "file": _from_file, "keyring": _from_keyring}[kind](where, self.name)

    @property
    def credential(self) -> str:
        """Where the secret comes from, in words; never what it is."""
        if self._typed is not None:
            return "typed just now"
        return " and ".join(dict.fromkeys(_in_words(reference) for reference in self._references())) or "none needed"

    def _references(self) -> tuple[str, ...]:
        if self.secret_ref is None:
            return ()
        return (self.secret_ref,) if isinstance(self.secret_ref, str) else tuple(self.secret_ref.values())

    def secret_variables(self) -> frozenset[str]:
        """Names of environment variables that the secret comes from."""
        return frozenset(ref.removeprefix("env:") for ref in self._references() if ref.startswith("env:"))


def _in_words(reference: str) -> str:
    kind, _, where = reference.partition(":")
    return {"env": f"${where}", "file": f"file {where}", "keyring": "keyring"}[kind]


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
    value = keyring.get_password(KEYRING_SERVICE, account)
    if not value:
        raise SettingsError(
            f"The keyring has no secret for account {account!r}.",
            hint=f"Store it: keyring set {KEYRING_SERVICE} {account}",
        )
    return str(value)


class Settings(BaseModel):
    """All accounts of this user, by name; ``local`` first. ``found`` are those that no file names.

    ``limits`` stand apart from the accounts: they may change while a provider is at work.
    """

    model_config = ConfigDict(frozen=True)

    accounts: Mapping[str, Account]
    found: Mapping[str, Account] = Field(default_factory=dict)
    limits: AllLimits = AllLimits()

    @classmethod
    def load(cls, path: Path | None = None) -> Settings:
        """Read the accounts file and what the services' own tools left; without any there is ``local`` alone.

        Raises
        ------
        SettingsError : with every problem of the file.
        """
        file = path or accounts_file()
        others = found.accounts()
        accounts = {"local": Account(name="local", provider="local"), **others}
        try:
            tables = tomllib.loads(file.read_text())
        except FileNotFoundError:
            return cls(accounts=accounts, found=others)
        except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as exc:
            raise SettingsError(f"{file} cannot be read: {exc}.", hint="Correct the file; nothing was sent.") from exc
        problems = [*_unknown_tables(tables)]
        section = tables.get("accounts", {})
        if not isinstance(section, dict):
            problems.append(Problem("accounts", "must be a table of accounts: [accounts.NAME]."))
            section = {}
        limits, wrong = _limits(tables, section)
        problems += wrong
        for name, table in section.items():
            if name in accounts and isinstance(table, dict) and set(table) == {"limits"}:
                continue
            try:
                accounts[name] = _account(name, table)
            except SettingsError as exc:
                problems.extend(exc.problems)
        if problems:
            raise SettingsError(f"{file} has mistakes.", problems=problems, hint="Correct them; nothing was sent.")
        return cls(accounts=accounts, found=others, limits=limits)

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
        everyone = (*self.accounts.values(), *self.found.values())
        return frozenset(variable for account in everyone for variable in account.secret_variables())


def _unknown_tables(tables: Mapping[str, Any]) -> list[Problem]:
    known = ("accounts", "limits")
    return [Problem(key, f"is not known here.{did_you_mean(key, known)}") for key in tables if key not in known]


def _limits(tables: Mapping[str, Any], section: Mapping[str, Any]) -> tuple[AllLimits, list[Problem]]:
    """The limits of the file; a table of an account that is there without one may hold nothing else."""
    overall, problems = read_limits(tables.get("limits", {}), "limits")
    single: dict[str, Limits] = {}
    for name, table in section.items():
        if isinstance(table, dict) and "limits" in table:
            single[name], wrong = read_limits(table["limits"], f"accounts.{name}.limits")
            problems += wrong
    return AllLimits(overall=overall, accounts=single), problems


def _account(name: str, table: object) -> Account:
    where = f"accounts.{name}"
    if not _NAME.fullmatch(name):
        raise SettingsError("", problems=[Problem(where, "the name must be letters, digits, '.', '_' and '-'.")])
    if not isinstance(table, dict):
        raise SettingsError("", problems=[Problem(where, "must be a table with at least `provider`.")])
    fields = {"provider": "provider", "secret": "secret_ref", "secret_origin": "secret_origin", "sandbox": "is_sandbox"}
    options = {key: value for key, value in table.items() if key not in fields and key != "limits"}
    given = {field: table[key] for key, field in fields.items() if key in table}
    try:
        return Account(**{"name": name, "provider": "", "options": options, **given})
    except ValidationError as exc:
        texts = {
            "provider": 'is needed: the name of a provider, for example "local".',
            "secret_ref": 'must be "env:VARIABLE", "keyring:" or "file:PATH", or a table of such; the secret itself '
            "never goes here.",
        }
        wrong = dict.fromkeys(str(error["loc"][0]) for error in exc.errors())
        written = {field: key for key, field in fields.items()}
        problems = [Problem(f"{where}.{written.get(f, f)}", texts.get(f, "is wrong.")) for f in wrong]
        raise SettingsError("", problems=problems) from None

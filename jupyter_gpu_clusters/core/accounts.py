"""Account name -> provider object, made at first use and remade when the accounts file changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from . import found
from .errors import NotSupportedError, SettingsError
from .paths import accounts_file
from .provider import Provider
from .registry import load, provider_names
from .settings import Account, Settings

B = TypeVar("B", bound=Provider)


class Accounts:
    """The accounts of this user and one provider object for each.

    Raises
    ------
    SettingsError : the accounts file has mistakes.
    """

    def __init__(self) -> None:
        self._stamp: object = None
        self._settings = Settings.load()
        self._stamp = _stamp()
        self._providers: dict[str, Provider] = {}
        self._retired: list[Provider] = []

    @property
    def settings(self) -> Settings:
        """The settings as file and environment have them now."""
        if (now := _stamp()) != self._stamp:
            self._settings, self._stamp = Settings.load(), now
        return self._settings

    def names(self) -> tuple[str, ...]:
        """All account names, ``local`` first."""
        return tuple(self.settings.accounts)

    def account(self, name: str) -> Account:
        """One account; raises `SettingsError` with the nearest name, or with how to log in."""
        if name not in self.settings.accounts and name in provider_names():
            raise SettingsError(
                f"There is no account for {name} yet.",
                hint=f"Log in with %cluster_login {name}, or add one to {accounts_file()}.",
            )
        return self.settings.account(name)

    def provider_class(self, name: str) -> type[Provider]:
        """The class behind an account."""
        return _class_of(self.account(name))

    def provider(self, name: str) -> Provider:
        """The provider object of an account, the same at every call while its settings stay."""
        account = self.account(name)
        known = self._providers.get(name)
        if known is not None and known.account != account:
            self._retired.append(known)
        if known is None or known.account != account:
            known = self._providers[name] = _class_of(account)(account)
        return known

    def usable(self, names: Sequence[str] = ()) -> tuple[dict[str, Provider], dict[str, SettingsError]]:
        """The providers of these accounts (all by default), and why some have none (its package is gone).

        Raises
        ------
        SettingsError : there is no account of a name.
        """
        providers: dict[str, Provider] = {}
        broken: dict[str, SettingsError] = {}
        for name in names or self.names():
            self.account(name)
            try:
                providers[name] = self.provider(name)
            except SettingsError as exc:
                broken[name] = exc
        return providers, broken

    def able(self, name: str, base: type[B], ability: str) -> B:
        """The provider of an account as one that has an ability.

        Raises
        ------
        NotSupportedError : it lacks it; the provider's reason is the message.
        """
        provider = self.provider(name)
        if isinstance(provider, base):
            return provider
        raise NotSupportedError(f"{name}: {provider.why_not(ability)}", provider=provider.name)

    async def aclose(self) -> None:
        """Close every provider, also those whose settings changed: they may have been at work until now."""
        for provider in (*self._retired, *self._providers.values()):
            await provider.aclose()
        self._retired.clear()
        self._providers.clear()


def _class_of(account: Account) -> type[Provider]:
    try:
        return load(account.provider)
    except SettingsError as exc:
        raise SettingsError(
            f"Account {account.name!r} in {accounts_file()}: {exc.message}", hint=exc.hint, problems=exc.problems
        ) from exc


def _stamp() -> object:
    others = found.accounts()
    try:
        stat = accounts_file().stat()
    except OSError:
        return None, others
    return (stat.st_mtime_ns, stat.st_size), others

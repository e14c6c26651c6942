"""An account's own settings as a model, with every problem told at once."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import Problem, SettingsError
from .http_request import Base
from .settings import Account
from .spec_problems import problems_of


class AccountOptions(BaseModel):
    """What an account's table may hold besides provider and secret; a service's has a ``base_url``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, account: Account) -> Self:
        """The options of `account`.

        Raises
        ------
        SettingsError : with every problem.
        """
        given = dict(account.options)
        try:
            options = cls.model_validate(given)
        except ValidationError as exc:
            raise wrong_options(account, problems_of(exc, cls, given)) from None
        if problems := address_problems(getattr(options, "base_url", None)):
            raise wrong_options(account, problems)
        return options


def address_problems(base_url: Any) -> list[Problem]:
    """What is wrong with the address of a service; nothing where there is none."""
    if base_url is None:
        return []
    try:
        Base.parse(base_url)
    except SettingsError as exc:
        return [Problem("base_url", exc.message)]
    return []


def wrong_options(account: Account, problems: list[Problem]) -> SettingsError:
    """The error to raise."""
    return SettingsError(
        f"The settings of account {account.name!r} are wrong; nothing was sent.",
        problems=problems,
        hint=f"Log in: %cluster_login {account.name}",
        provider=account.provider,
    )

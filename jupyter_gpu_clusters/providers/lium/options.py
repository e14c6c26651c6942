"""The settings of a Lium account. Source: contract, section 1."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StrictStr, ValidationError

from ...core.errors import Problem, SettingsError
from ...core.http_request import Base
from ...core.settings import Account
from ...core.spec_problems import problems_of

DEFAULT_URL = "https://lium.io/api"


class Options(BaseModel):
    """An account's own settings. ``customer_ref`` tags every rental that says no other."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: StrictStr = DEFAULT_URL
    customer_ref: StrictStr | None = Field(None, min_length=1, pattern=r"^[!-~]+( [!-~]+)*$")

    @classmethod
    def of(cls, account: Account) -> Options:
        """The options of `account`.

        Raises
        ------
        SettingsError : with every problem.
        """
        given = dict(account.options)
        problems: list[Problem] = []
        try:
            options = cls.model_validate(given)
            Base.parse(options.base_url)
        except ValidationError as exc:
            problems = problems_of(exc, cls, given)
        except SettingsError as exc:
            problems = [Problem("base_url", exc.message)]
        if problems:
            raise SettingsError(
                f"The settings of account {account.name!r} are wrong; nothing was sent.",
                problems=problems,
                hint=f"Log in: %cluster_login {account.name}",
                provider=account.provider,
            )
        return options


def key_of(account: Account, origin: str) -> SecretStr:
    """The account's API key. Blocks for one small file.

    Raises
    ------
    SettingsError : there is none.
    """
    key = account.secret(origin)
    if key is None:
        raise SettingsError(
            f"Account {account.name!r} has no API key.", hint=f"Log in: %cluster_login {account.name}", provider="lium"
        )
    return key

"""The magic that logs in."""

from __future__ import annotations

from collections.abc import Sequence
from getpass import getpass

from IPython.core.error import StdinNotImplementedError
from pydantic import SecretStr

from ..core import bridge
from ..core.errors import GpuClustersError, Problem, SettingsError
from ..core.format import clean
from ..core.login import Place
from ..core.provider import Asked
from ..core.registry import load
from ..core.specs import unknown_field
from .arguments import Login
from .run import Call
from .shown import Shown
from .views import accounts_view


def log_in(call: Call[Login]) -> Shown:
    """``%cluster_login``."""
    arguments, service = call.arguments, bridge.service()
    name = arguments.name or arguments.account
    provider = _provider_of(arguments.account)
    asked = load(provider).asks
    if not asked:
        raise SettingsError(f"{provider} needs no login.", hint="Use it as it is.")
    options = _options(call, asked)
    options |= {one.name: _typed(one) for one in asked if not one.is_secret and one.name not in options}
    secrets = {one.name: SecretStr(_typed(one)) for one in asked if one.is_secret}
    place = Place(arguments.store) if arguments.store else None
    given = {key: value for key, value in options.items() if value}
    status = bridge.call(service.log_in, name, provider, given, secrets, place)
    shown = accounts_view([status])
    call.keep(status)
    return shown


def _provider_of(name: str) -> str:
    """The provider that an account's name or a provider's own name stands for."""
    try:
        return bridge.service().provider_class(name).name
    except GpuClustersError:
        return load(name).name


def _options(call: Call[Login], asked: Sequence[Asked]) -> dict[str, str]:
    """The settings given in the line; a secret there is refused, and so is what nobody asks for."""
    plain = [one.name for one in asked if not one.is_secret]
    secret = {one.name for one in asked if one.is_secret}
    problems = []
    for key, value in call.parsed.fields.items():
        written = f"--{key.replace('_', '-')}"
        if key in secret:
            problems.append(
                Problem(written, "is a secret and must not stand in a cell; leave it out, you are asked for it.")
            )
        elif key not in plain:
            problems.append(Problem(written, unknown_field(written, [f"--{one.replace('_', '-')}" for one in plain])))
        elif value is True:
            problems.append(Problem(written, "needs a value."))
    if problems:
        raise SettingsError(
            "The login cannot be done like this; nothing was stored.",
            problems=problems,
            hint="If a real secret stood there, remove it from the notebook.",
        )
    return {key: str(value) for key, value in call.parsed.fields.items()}


def _typed(one: Asked) -> str:
    """What the user types. Without a keyboard there is no login.

    Raises
    ------
    SettingsError : nobody can be asked, nothing was typed, or it was interrupted.
    """
    default = f" [{one.default}]" if one.default else "" if one.is_required else " (may be empty)"
    prompt = clean(f"{one.label}{default}: ")
    try:
        text = (getpass(prompt) if one.is_secret else input(prompt)).strip() or one.default or ""
    except (StdinNotImplementedError, EOFError):
        raise SettingsError(
            f"Nobody can be asked for {one.label} here, and nothing was stored.",
            hint="Run %cluster_login where you can type, or set the variables that `%cluster_login?` names.",
        ) from None
    except KeyboardInterrupt:
        raise SettingsError("Interrupted; nothing was stored.") from None
    if not text and one.is_required:
        raise SettingsError(f"{one.label} is needed; nothing was stored.", hint="Run %cluster_login again.")
    return text

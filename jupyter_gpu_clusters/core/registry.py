"""Provider name -> class, imported at first use.

Providers outside this package announce themselves by the entry-point group
``jupyter_gpu_clusters.providers`` (name = "module:Class").
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points

from .errors import SettingsError
from .nearest import did_you_mean
from .provider import Provider
from .settings import Account

GROUP = "jupyter_gpu_clusters.providers"

_BUILT_IN: Mapping[str, str] = {
    "local": "jupyter_gpu_clusters.providers.local:LocalProvider",
    "e2e": "jupyter_gpu_clusters.providers.e2e.provider:E2EProvider",
    "lium": "jupyter_gpu_clusters.providers.lium.provider:LiumProvider",
    "runai": "jupyter_gpu_clusters.providers.runai.provider:RunaiProvider",
}


@functools.cache
def _known() -> Mapping[str, str]:
    outside = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return {**outside, **_BUILT_IN}


def provider_names() -> tuple[str, ...]:
    """All providers that could be used, without importing any."""
    return tuple(_known())


@functools.cache
def load(name: str) -> type[Provider]:
    """Import the provider's class.

    Raises
    ------
    SettingsError : unknown name (the nearest is offered), or an outside package that cannot be imported.
    """
    where = _known().get(name)
    if where is None:
        raise SettingsError(
            f"There is no provider {name!r}.{did_you_mean(name, _known())}",
            hint=f"Known here: {', '.join(_known())}.",
        )
    module, _, attribute = where.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as exc:
        raise SettingsError(
            f"The provider {name!r} ({where}) cannot be imported: {exc}.",
            hint="Reinstall or remove the package that brings it.",
        ) from exc
    if not (isinstance(found, type) and issubclass(found, Provider)):
        raise SettingsError(f"{where} is not a Provider.", hint="Tell the author of the package that brings it.")
    return found


def make(account: Account) -> Provider:
    """The provider object of an account; does no I/O."""
    return load(account.provider)(account)

"""The magics: parse, ask, show. `register` is cheap; what they need is imported when one is first used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .completion import Completer
from .table import MAGICS, Magic

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_ATTRIBUTE = "_jupyter_gpu_clusters_completer"


class MagicFunction:
    """One registered magic. IPython calls it, and asks `getdoc` for its help."""

    # Read by IPython: arguments are not expanded, and `$name` may also be a local variable of a function.
    _ipython_magic_no_var_expand = True
    needs_local_scope = True

    def __init__(self, magic: Magic, shell: InteractiveShell) -> None:
        self._magic = magic
        self._shell = shell
        self.__name__ = magic.name
        self.__doc__ = magic.summary

    def __call__(self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None) -> object:
        from .run import run

        return run(self._magic, self._shell, line, cell, local_ns or {})

    def getdoc(self) -> str:
        """The typed help, built from the models when somebody asks for it."""
        from .help import help_text

        return help_text(self._magic)


def register(ipython: InteractiveShell) -> None:
    """Add the magics and their completion to a shell. No network, no output."""
    manager = ipython.magics_manager
    for magic in MAGICS:
        manager.register_function(MagicFunction(magic, ipython), magic.kind, magic.name)
    completer = Completer()
    setattr(ipython, _ATTRIBUTE, completer.matcher)
    ipython.Completer.custom_matchers.append(completer.matcher)


def unregister(ipython: InteractiveShell) -> None:
    """Undo `register`."""
    manager = ipython.magics_manager
    for magic in MAGICS:
        for kind in ("line", "cell"):
            if isinstance(manager.magics[kind].get(magic.name), MagicFunction):
                del manager.magics[kind][magic.name]
        if isinstance(vars(manager.user_magics).get(magic.name), MagicFunction):
            delattr(manager.user_magics, magic.name)
    matcher = getattr(ipython, _ATTRIBUTE, None)
    if matcher in ipython.Completer.custom_matchers:
        ipython.Completer.custom_matchers.remove(matcher)
        delattr(ipython, _ATTRIBUTE)

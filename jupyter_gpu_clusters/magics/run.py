"""One call of a magic: read its line, find its handler, keep its result."""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..core.errors import WaitInterruptedError
from . import arguments as models
from .arguments import Arguments
from .parsing import Parsed, parse
from .table import Magic

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """What a handler gets. ``namespace`` is where ``$name`` is looked up."""

    magic: str
    shell: InteractiveShell
    namespace: Mapping[str, Any]
    parsed: Parsed[A]
    cell: str | None

    @property
    def arguments(self) -> A:
        """The typed arguments."""
        return self.parsed.arguments

    def keep(self, value: Any) -> None:
        """Store a result under the name given with ``-o``, if one was."""
        if self.arguments.output is not None:
            self.shell.user_ns[self.arguments.output] = value


def argument_model(magic: Magic) -> type[Arguments]:
    """The model of a magic's arguments."""
    model: type[Arguments] = getattr(models, magic.arguments)
    return model


def run(magic: Magic, shell: InteractiveShell, line: str, cell: str | None, local_names: Mapping[str, Any]) -> object:
    """Run a magic and give back what it shows.

    Raises
    ------
    GpuClustersError : shown by IPython as its lines, without a stack. An interrupt that no wait has put into words
        is one too.
    """
    try:
        return _run(magic, shell, line, cell, local_names)
    except KeyboardInterrupt:
        raise WaitInterruptedError(
            f"%{magic.name} was interrupted. It sends nothing more; what it had sent before goes on."
        ) from None


def _run(magic: Magic, shell: InteractiveShell, line: str, cell: str | None, local_names: Mapping[str, Any]) -> object:
    namespace = ChainMap(dict(local_names), shell.user_ns)
    parsed = parse(magic.name, argument_model(magic), line, namespace)
    module, _, function = magic.handler.partition(":")
    handler = getattr(importlib.import_module(f".{module}", __package__), function)
    return handler(Call(magic.name, shell, namespace, parsed, cell))

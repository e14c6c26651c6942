"""What a form holds between the controls and the spec: plain data in which some values are only referred to.

A secret never enters a form. Its place is taken by a `Reference`, looked up at the moment of planning:
``env:NAME`` reads an environment variable of the kernel, ``$name`` a variable of the notebook, as in the
YAML of a cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import Problem
from ..core.yaml_text import VARIABLE, Path, dotted

ENVIRONMENT = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that lies elsewhere: ``source`` is ``env`` or ``notebook``."""

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class Masked:
    """A value (or reference) that must not be written into a cell."""

    value: Any = field(repr=False)


def reference_in(text: str) -> Reference | None:
    """The reference that `text` is, if it is one and nothing else."""
    if found := VARIABLE.fullmatch(text.strip()):
        return Reference("notebook", found[1])
    return None


def secret_reference_in(text: str) -> Reference | None:
    """Like `reference_in`; for secrets ``env:NAME`` counts too."""
    if found := ENVIRONMENT.fullmatch(text.strip()):
        return Reference("env", found[1])
    return reference_in(text)


@dataclass
class Lookup:
    """Replaces references by what they stand for.

    Parameters
    ----------
    notebook, environment : where ``$name`` and ``env:NAME`` are looked up.
    problems : references that lead nowhere.
    hidden : where values were filled in or are masked; no message may repeat them.
    """

    notebook: Mapping[str, Any]
    environment: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    hidden: set[Path] = field(default_factory=set)

    def plain(self, value: Any, path: Path = ()) -> Any:
        """`value` without references and masks, as `core.specs.build_spec` wants it."""
        match value:
            case Masked(value=inner):
                self.hidden.add(path)
                return self.plain(inner, path)
            case Reference():
                return self._found(value, path)
            case dict():
                return {key: self.plain(inner, (*path, key)) for key, inner in value.items()}
            case list():
                return [self.plain(inner, (*path, index)) for index, inner in enumerate(value)]
        return value

    def _found(self, reference: Reference, path: Path) -> Any:
        self.hidden.add(path)
        if reference.source == "env":
            if self.environment.get(reference.name):
                return self.environment[reference.name]
            text = f"the environment variable {reference.name} is not set in this kernel"
        else:
            if reference.name in self.notebook:
                return _plain_scalar(self.notebook[reference.name])
            text = f"there is no notebook variable {reference.name!r}"
        self.problems.append(Problem(dotted(path), text))
        return None


def _plain_scalar(value: Any) -> Any:
    """A numpy scalar as the Python value it stands for; anything else as it is."""
    is_array_scalar = getattr(value, "shape", None) == () and callable(getattr(value, "item", None))
    return value.item() if is_array_scalar else value

"""What a form holds becomes what the spec is read from: plain data in which some values are only referred to.

A secret never enters a form. Its place is taken by a `Reference`, looked up at the moment of planning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import Problem
from ..core.references import Masked, Reference
from ..core.yaml_text import Path, dotted


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

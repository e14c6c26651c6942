"""From what stands in a form to a spec, or to everything that is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from IPython import get_ipython
from pydantic import BaseModel

from ..core.errors import Problem, SpecError
from ..core.specs import build_spec, field_names
from .editor import Collected, Editor
from .shapes import MISSING
from .values import Lookup

NAME = "name"
"""The form's own field; where a spec has it too, it is the same."""


def written_in(root: Editor, collected: Collected | None = None) -> dict[str, Any]:
    """What was filled in, with references and masks (see `values`)."""
    written = root.written(collected or Collected())
    return {} if written is MISSING else dict(written)


def given_in(root: Editor) -> dict[str, Any]:
    """What was filled in as plain data, however wrong it is; references that lead nowhere are ``None``."""
    plain: dict[str, Any] = _lookup().plain(written_in(root))
    return plain


def filled_in_spec(
    model: type[BaseModel], root: Editor, name: str | None, name_problems: Sequence[Problem]
) -> BaseModel:
    """The spec as filled in, with references looked up in the environment and the notebook.

    Raises
    ------
    SpecError : with every problem of the name, the fields and the spec as a whole.
    """
    collected = Collected()
    lookup = _lookup()
    data = lookup.plain(written_in(root, collected))
    if name and NAME in field_names(model):
        data[NAME] = name
    problems = [*name_problems, *collected.problems, *lookup.problems]
    told = {problem.field for problem in problems}
    try:
        spec = build_spec(model, data, collected.lines, hidden=lookup.hidden)
    except SpecError as exc:
        problems += [problem for problem in exc.problems if problem.field not in told]
    if problems:
        raise SpecError("Not ready yet.", problems=problems)
    return spec


def _lookup() -> Lookup:
    shell = get_ipython()
    return Lookup(shell.user_ns if shell is not None else {}, os.environ)

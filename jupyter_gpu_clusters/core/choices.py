"""What may be chosen for a field, looked up at the service: declared next to the field, asked for by the faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .models import Frozen


class Choice(Frozen):
    """One thing that can be chosen.

    ``value`` goes into the field, ``label`` is for people, ``detail`` is what else the service tells (a row of a
    table: short texts and numbers, never a secret). ``why_not`` is the reason where it cannot be chosen now.
    """

    value: str | int
    label: str
    detail: Mapping[str, str | int | float | None] = {}
    why_not: str | None = None


class LookUp(Frozen):
    """A list of choices that a provider can look up.

    ``depends_on`` names fields of the spec whose values change the answer; ``needs`` those without which it cannot be
    asked.
    """

    title: str
    depends_on: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def looked_up(name: str, depends_on: Sequence[str] = ()) -> dict[str, Any]:
    """The mark of a field whose choices come from the look-up `name`, for ``Field(json_schema_extra=...)``.

    A list field takes several of them. Free text stays possible: a look-up can fail, and the service decides.

    Parameters
    ----------
    depends_on : dotted paths, from the top of the spec, of the fields whose change makes the list void.
    """
    return {"choices": name, "depends_on": list(depends_on)}

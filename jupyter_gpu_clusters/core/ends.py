"""End times: as a field of the provider's own request, or kept by us."""

from __future__ import annotations

import math

from pydantic import BaseModel

from .errors import Problem, SpecError
from .specs import build_spec

KEPT_BY_US = (
    "The service ends nothing by itself: a Jupyter server or a kernel of yours must be running at that time to delete "
    "it; until a Jupyter server has taken it over, it is shown as NO END TIME."
)


def ending_after(spec: BaseModel, field: str, hours: float) -> BaseModel:
    """The spec with whole hours (rounded up) in `field`.

    Raises
    ------
    SpecError : the spec says another time, or the service does not take this one.
    """
    whole, said = math.ceil(hours), getattr(spec, field)
    if said is not None and said != whole:
        problem = Problem(field, f"says {said} and --max-hours says {hours:g}; leave one out.")
        raise SpecError("Two end times.", problems=[problem])
    values = {**spec.model_dump(exclude_unset=True), field: whole}
    return build_spec(type(spec), values)

"""What callers may send, as small models, and every problem of it at once."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Json, ValidationError

from ..core.errors import Problem, SpecError

Q = TypeVar("Q", bound=BaseModel)

# Launchers give chunks of 64 KiB at most, and an answer has at least one.
MIN_LOG_BYTES = 64 * 1024
MAX_LOG_BYTES = 1024 * 1024
Natural = Annotated[int, Field(ge=0)]


class LogQuery(BaseModel):
    """The query of a look at a log.

    Parameters
    ----------
    offsets : rank -> byte position to go on from, as a JSON object.
    tail : lines to begin with, for every rank that `offsets` does not name.
    limit : bytes of log in the answer at most.
    """

    # JupyterLab adds a number to the query against caches, and a token may stand there.
    model_config = ConfigDict(extra="ignore")

    offsets: Json[dict[Natural, Natural]] = {}
    tail: Annotated[int, Field(ge=1, le=100_000)] = 500
    limit: Annotated[int, Field(ge=MIN_LOG_BYTES, le=MAX_LOG_BYTES)] = 262_144


class NoBody(BaseModel):
    """The body of a request that needs none: empty or ``{}``."""

    model_config = ConfigDict(extra="forbid")


def parse_query(model: type[Q], arguments: dict[str, str]) -> Q:
    """The query as a model.

    Raises
    ------
    SpecError : with every problem.
    """
    try:
        return model.model_validate(arguments)
    except ValidationError as exc:
        raise _refusal("The query of this request is not understood.", exc) from None


def parse_body(model: type[Q], body: bytes) -> Q:
    """The body as a model; an empty one counts as ``{}``.

    Raises
    ------
    SpecError : with every problem.
    """
    try:
        return model.model_validate_json(body.strip() or b"{}")
    except ValidationError as exc:
        raise _refusal("The body of this request is not understood.", exc) from None


def _refusal(message: str, error: ValidationError) -> SpecError:
    problems = [
        Problem(".".join(map(str, fault["loc"])), f"{fault['msg']}.")
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return SpecError(message, problems=problems, hint="Nothing was done. Correct the fields and send it again.")

"""JSON bodies as strict models."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..choices import Choices
from ..service import Call, Refused

M = TypeVar("M", bound=BaseModel)


def read_body(call: Call, model: type[M], choices: Choices) -> M:
    """The body of a call.

    Raises
    ------
    Refused : 400 with every problem at once.
    """
    if call.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(400, "request body has an error: the content type must be application/json")
    try:
        return model.model_validate_json(call.body, strict=True)
    except ValidationError as exc:
        unknown = [error["loc"] for error in exc.errors() if error["type"] == "extra_forbidden"]
        if not unknown or choices["runai.unknown_keys"] == "refuse":
            raise _refused(exc) from None
    try:
        return model.model_validate_json(_without(call.body, unknown), strict=True)
    except ValidationError as exc:
        raise _refused(exc) from None


def _without(body: bytes, places: list[tuple[int | str, ...]]) -> str:
    data: Any = json.loads(body)
    for *parents, last in places:
        holder = data
        for name in parents:
            holder = holder[name]
        del holder[last]
    return json.dumps(data)


def _refused(exc: ValidationError) -> Refused:
    problems = [(".".join(map(str, e["loc"])), e["msg"]) for e in exc.errors(include_url=False)]
    return Refused(400, "request body has an error: it does not match the schema", problems=problems)


def plain(part: BaseModel | None) -> dict[str, Any]:
    """What was said in a part of a request: no defaults, no nulls."""
    return {} if part is None else part.model_dump(exclude_unset=True, exclude_none=True)

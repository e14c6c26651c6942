"""The help behind ``?``: built from the table, the argument models and the providers' spec models."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator

from pydantic import BaseModel

from ..core import bridge
from ..core.errors import GpuClustersError, NotSupportedError
from ..core.service import Service
from ..core.specs import FieldHelp, describe_fields
from .arguments import Option
from .parsing import Parameter, parameters
from .run import argument_model
from .table import Magic

_WIDTH = 100
_INDENT = "        "


def help_text(magic: Magic) -> str:
    """Usage, explanation, options and, where a spec is taken, its fields for every provider."""
    model = argument_model(magic)
    known = parameters(model)
    described = {entry.name: entry for entry in describe_fields(model)}
    lines = [*_usage(magic, known), "", inspect.cleandoc(model.__doc__ or magic.summary), "", "Arguments"]
    for parameter in known:
        lines += _argument_lines(parameter, described[parameter.field])
    if magic.name == "cluster_create":
        lines += _spec_lines("Fields of the spec", lambda service, account: service.spec_model(account))
    if magic.name == "workload_submit":
        lines += _spec_lines("Fields of the YAML body", lambda service, account: service.workload_model(account))
    return "\n".join(lines)


def _usage(magic: Magic, known: list[Parameter]) -> Iterator[str]:
    positionals = " ".join(_placeholder(p) for p in known if p.is_positional)
    line = f"{magic.name} {positionals} [options]".replace("  ", " ")
    if magic.name == "workload_submit":
        yield f"%{line} -- COMMAND"
    elif magic.name == "cluster_create":
        yield f"%{line} [--FIELD VALUE ...]"
    else:
        yield f"%{line}"
    if magic.kind == "line_cell":
        yield f"%%{line}"


def _placeholder(parameter: Parameter) -> str:
    name = parameter.mark.metavar
    return f"[{name} ...]" if parameter.is_repeated else name


def _argument_lines(parameter: Parameter, entry: FieldHelp) -> Iterator[str]:
    written = parameter.written
    if isinstance(parameter.mark, Option):
        written = f"{parameter.mark.short}, {written}" if parameter.mark.short else written
        written += "" if parameter.is_flag else f" {parameter.mark.metavar}"
    details = "" if parameter.is_flag or parameter.is_repeated else _details(entry)
    yield f"    {written}{f'  ({details})' if details else ''}"
    yield from _wrapped(entry.description)


def _details(entry: FieldHelp) -> str:
    default = f"default {entry.default_text}" if entry.default_text else ""
    needed = "needed" if entry.required else ""
    return ", ".join(part for part in (entry.type_text, entry.limits_text, needed, default) if part)


def _spec_lines(title: str, model_of: Callable[[Service, str], type[BaseModel]]) -> Iterator[str]:
    try:
        service = bridge.service()
    except GpuClustersError as exc:
        yield from ("", f"{title} cannot be shown: {exc}")
        return
    seen: set[type[BaseModel]] = set()
    for account in service.account_names():
        try:
            model = model_of(service, account)
        except NotSupportedError:
            continue
        except GpuClustersError as exc:
            yield from ("", f"{title} of {account} cannot be shown: {exc}")
            continue
        if model not in seen:
            seen.add(model)
            yield from ("", f"{title} ({account})")
            for entry in describe_fields(model):
                yield f"    {entry.name}  ({_details(entry)})"
                yield from _wrapped(entry.description)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)

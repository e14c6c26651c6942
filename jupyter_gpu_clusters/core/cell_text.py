"""The cell that does what a form does ("show as magic"). Pure.

Environment values, scripts and secrets are not written out: a cell is saved and shared. They become
``$name``, which the magics take from the notebook, with a comment that says what to set first.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from .references import Masked, Reference
from .yaml_text import VARIABLE, read_scalar

_NO_FOLDING = 1_000_000
_TO_FILL_IN = "..."
_UNUSUAL = re.compile(r"[^\S \n]|[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def create_cell(account: str, name: str | None, written: Mapping[str, Any]) -> str:
    """The text of a ``%%cluster_create`` cell (the line form when there is nothing to set)."""
    return _cell("cluster_create", account, name, written)


def action_cell(cluster: str, action: str, written: Mapping[str, Any]) -> str:
    """The text of a ``%%cluster_action`` cell (the line form when the action needs nothing)."""
    return _cell(f"cluster_action {shlex.quote(cluster)}", action, None, written)


def submit_cell(cluster: str, name: str | None, written: Mapping[str, Any]) -> str:
    """The text of a ``%%workload_submit`` cell."""
    return _cell("workload_submit", cluster, name, written)


def _cell(magic: str, target: str, name: str | None, written: Mapping[str, Any]) -> str:
    words = [target, *(["--name", name] if name else [])]
    line = " ".join([magic, *(shlex.quote(word) for word in words)])
    if not written:
        return f"%{line}\n"
    masks = _Masks()
    data = masks.replaced(dict(written))
    body = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_NO_FOLDING)
    return f"%%{line}\n{masks.comment()}{body}"


class _Variable(str):
    """A scalar that stands unquoted in the YAML: ``$name``."""


@dataclass
class _Masks:
    """Gives every masked value a notebook variable of its own."""

    settings: dict[str, str] = field(default_factory=dict)

    def replaced(self, value: Any, key: str = "value") -> Any:
        match value:
            case Masked(value=Reference(source="notebook") as reference) | (Reference() as reference):
                return _Variable(f"${reference.name}")
            case Masked(value=Reference(name=name)):
                return self._variable(name, f"os.environ[{name!r}]")
            case Masked():
                return self._variable(key, _TO_FILL_IN)
            case dict():
                return {at: self.replaced(inner, _spoken(at, value)) for at, inner in value.items()}
            case list():
                return [self.replaced(inner, key) for inner in value]
        return value

    def comment(self) -> str:
        if not self.settings:
            return ""
        lines = ["Values that may be secret are not written into cells. Set these variables first:"]
        lines += [f"  {name} = {source}" for name, source in self.settings.items()]
        return "".join(f"# {line}\n" for line in lines)

    def _variable(self, key: str, source: str) -> _Variable:
        base = re.sub(r"\W", "_", key, flags=re.ASCII)
        base = base if base[:1].isalpha() or base[:1] == "_" else f"_{base}"
        name, number = base, 2
        while name in self.settings and (self.settings[name] != source or source == _TO_FILL_IN):
            name, number = f"{base}_{number}", number + 1
        self.settings[name] = source
        return _Variable(f"${name}")


def _spoken(key: str, beside: Mapping[str, Any]) -> str:
    """What a variable for this value is called: the ``value`` of something with a name after that name."""
    name = beside.get("name")
    return name if key == "value" and isinstance(name, str) else key


class _Dumper(yaml.SafeDumper):
    """Writes text so that a reader of YAML 1.2 gets text back: what looks like a number there is quoted."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists inside mappings, as people do."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal values out; our reader takes no aliases."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _UNUSUAL.search(text):
        style = '"'
    elif "\n" in text:
        style = "|" if not text.endswith("\n\n") and text[:1] not in " \n" else '"'
    elif not isinstance(read_scalar(text), str) or VARIABLE.fullmatch(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _variable(dumper: yaml.SafeDumper, name: _Variable) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", str(name), style="")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Variable, _variable)

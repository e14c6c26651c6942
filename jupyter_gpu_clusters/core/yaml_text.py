"""YAML as people write it into a cell.

Only a mapping at the top, YAML 1.2 scalars (``no`` and ``017`` are text), no duplicate keys, no tags,
no aliases. Faults are told in plain words with the 1-based line of the cell body, all that can be found
at once. The walk over PyYAML's nodes is ours, so that every value keeps the line it was written on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import Field

from .errors import Problem, SpecError
from .models import Frozen

Path = tuple[str | int, ...]

VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_MAX_CHARACTERS = 262_144
_MAX_DEPTH = 40
_TAG = "tag:yaml.org,2002:"
_SCALARS = (
    ("null", re.compile(r"(?:~|null|Null|NULL|)\Z")),
    ("bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")),
    ("int", re.compile(r"(?:[-+]?(?:0|[1-9][0-9]{0,39})|0o[0-7]{1,40}|0x[0-9a-fA-F]{1,40})\Z")),
    (
        "float",
        re.compile(
            r"(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
        ),
    ),
)
_PLAIN_WORDS = (
    (
        "mapping values are not allowed",
        "there is a ': ' too many here or none in the line above; check the indentation, or put the value in quotes",
    ),
    ("while scanning an alias", "a value that starts with '*' needs quotes"),
    ("while scanning an anchor", "a value that starts with '&' needs quotes"),
    ("could not find expected ':'", "there is no ': ' between a key and its value"),
    ("expected <block end>", "the indentation does not match the lines above"),
    ("found unexpected end of stream", "a quote or bracket is opened here and never closed"),
    ("expected ',' or", "a bracket is opened here and never closed, or a comma is missing"),
    ("expected a single document", "only one YAML document fits into a cell; remove the second '---'"),
)
_POINT_AT_START = ("could not find expected ':'", "found unexpected end of stream", "expected ',' or")


def dotted(path: Path) -> str:
    """A path as people write it: ``env.NAME``, ``disks[0].size``."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out


class SpecText(Frozen):
    """A body that was read.

    ``lines`` has the line of every key and list item by its path, ``variables`` the paths whose value is an
    unquoted ``$name`` (the value in ``data`` is then the text ``$name`` itself).
    """

    data: dict[str, Any]
    lines: dict[Path, int]
    variables: dict[Path, str] = Field(default_factory=dict)


def read_scalar(text: str) -> Any:
    """One unquoted scalar by the rules of YAML 1.2: a number, true, false, nothing, else the text itself."""
    for kind, pattern in _SCALARS:
        if pattern.match(text):
            return _construct(kind, text)
    return text


def load_yaml(text: str, *, first_line: int = 1) -> SpecText:
    """Read a cell body.

    Parameters
    ----------
    text : at most 262144 characters.
    first_line : the line number of the first line of `text`.

    Raises
    ------
    SpecError : with every fault found and its line.
    """
    if len(text) > _MAX_CHARACTERS:
        raise SpecError(f"The spec has {len(text):,} characters; {_MAX_CHARACTERS:,} is the most that is read.")
    reader = _Reader(first_line)
    node = reader.compose(text)
    is_empty = node is None or (isinstance(node, yaml.ScalarNode) and not node.value)
    if is_empty and not reader.problems:
        raise SpecError(
            "The body is empty; it should hold the spec as YAML.",
            hint="Write it as `key: value` lines, one field a line.",
        )
    data = reader.top(node)
    if reader.problems:
        count = len(reader.problems)
        raise SpecError(f"The YAML has {count} problem{'s' * (count > 1)}.", problems=reader.problems)
    return SpecText(data=data, lines=reader.lines, variables=reader.variables)


class _Loader(yaml.SafeLoader):
    """Composes nodes only; nothing is ever constructed from a tag."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse what could grow without bound: deep nesting and aliases."""
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="a value that starts with '*' needs quotes (YAML aliases are not supported)",
                problem_mark=_mark(event),
            )
        if self.depth >= _MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="this is nested too deeply", problem_mark=_mark(event))
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _mark(event: yaml.Event) -> yaml.Mark | None:
    mark: yaml.Mark | None = event.start_mark  # type: ignore[assignment]  # the pure-Python reader has one kind
    return mark


_Loader.yaml_implicit_resolvers = {}
for _kind, _pattern in _SCALARS:
    _Loader.add_implicit_resolver(_TAG + _kind, _pattern, None)


@dataclass
class _Reader:
    first_line: int
    problems: list[Problem] = field(default_factory=list)
    lines: dict[Path, int] = field(default_factory=dict)
    variables: dict[Path, str] = field(default_factory=dict)

    def compose(self, text: str) -> yaml.Node | None:
        """Parse; a fault of syntax ends the reading, except that all lines that start with a tab are told."""
        try:
            return yaml.compose(text, Loader=_Loader)
        except yaml.reader.ReaderError as exc:
            line = text.count("\n", 0, exc.position) + self.first_line
            self._add("", f"the character U+{ord(text[exc.position]):04X} is not allowed in YAML", line)
        except yaml.MarkedYAMLError as exc:
            mark = exc.problem_mark or exc.context_mark
            if mark is not None and text[mark.index : mark.index + 1] == "\t":
                self._note_tabs(text, mark.line)
            else:
                self._note_syntax(exc)
        return None

    def top(self, node: yaml.Node | None) -> dict[str, Any]:
        """The mapping at the top."""
        if node is None:
            return {}
        self.lines[()] = self._line(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, ())
        text = "a list" if isinstance(node, yaml.SequenceNode) else "text without a ': '"
        self._add("", f"the body should be `key: value` lines, this is {text}", self._line(node))
        return {}

    def _note_tabs(self, text: str, first: int) -> None:
        for index, line in enumerate(text.splitlines()):
            if index == first or (index > first and line.startswith("\t")):
                self._add("", "there is a tab; YAML is indented with spaces only", index + self.first_line)

    def _note_syntax(self, exc: yaml.MarkedYAMLError) -> None:
        said = f"{exc.context or ''} {exc.problem or 'this is not YAML'}".strip()
        mark = exc.problem_mark or exc.context_mark
        if exc.context_mark is not None and any(part in said for part in _POINT_AT_START):
            mark = exc.context_mark
        if starts := re.search(r"found character '(.+)' that cannot start", said):
            said = f"a value that starts with {starts[1]!r} needs quotes"
        text = next((plain for part, plain in _PLAIN_WORDS if part in said), said)
        self._add("", text, mark.line + self.first_line if mark is not None else None)

    def _add(self, field: str, text: str, line: int | None) -> None:
        self.problems.append(Problem(field, f"{text}.", line))

    def _line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + self.first_line

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = self._line(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self._add(dotted(path), "a key must be text", line)
                continue
            key: str = key_node.value
            here = (*path, key)
            if key in out:
                self._add(dotted(here), f"is written twice (first on line {self.lines[here]})", line)
                continue
            self.lines[here] = line
            out[key] = self._value(value_node, here)
        return out

    def _value(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(child, (*path, index)) for index, child in enumerate(node.value)]
        kind = node.tag.removeprefix(_TAG)
        is_plain = isinstance(node, yaml.ScalarNode) and node.style is None
        if is_plain and (name := VARIABLE.fullmatch(node.value)):
            self.variables[path] = name[1]
        if kind != "str" and not _is_written_as(kind, node.value):
            self._add(dotted(path), f"the tag {node.tag!r} is not supported", self._line(node))
            return None
        return _construct(kind, node.value)

    def _item(self, node: yaml.Node, path: Path) -> Any:
        self.lines[path] = self._line(node)
        return self._value(node, path)


def _is_written_as(kind: str, text: str) -> bool:
    return any(kind == known and pattern.match(text) for known, pattern in _SCALARS)


def _construct(kind: str, text: str) -> Any:
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text, 0)
        case "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text

"""Contract -> code -> test: where every field of a create call or an action, and every call, is built and tested.

``python tests/contracts/fields.py [e2e|lium|runai ...]`` prints the table in Markdown.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from jupyter_gpu_clusters.core import registry
from jupyter_gpu_clusters.core.spec_fields import models_inside, written_name
from jupyter_gpu_clusters.testing.schemas import models_of

_FOLDER = Path(__file__).parent
_TESTS = _FOLDER.parent
_PROVIDERS = _TESTS.parent / "jupyter_gpu_clusters" / "providers"
_METHODS = ("get", "post", "put", "delete", "patch")
_DEEPEST = 8

BODIES: Mapping[str, tuple[str, ...]] = {
    "e2e": ("createCluster", "actOnCluster"),
    "lium": ("rentCluster", "rentExecutor"),
    "runai": ("createDistributed",),
}
"""Operations whose request bodies are looked at field by field."""

NOT_OURS: Mapping[str, Mapping[str, str]] = {
    "e2e": {
        "listAuthTokens": "its answer holds the secrets themselves (contract, section 1)",
        "listOldProjects": "teams are gone since 2026-05-07 (contract, section 1)",
    },
}
"""Per service: calls of the contract that nothing here may or needs to send, with the reason."""


@dataclass(frozen=True)
class Row:
    """One line of the table; empty where nothing was found."""

    what: str
    built: str
    tested: str


def table(service: str) -> list[Row]:
    """All rows of one service: calls first, then fields."""
    return [*_calls(service), *_fields(service)]


# Calls


def _calls(service: str) -> Iterator[Row]:
    functions = [found for path in _sources(service) for found in _functions(path)]
    for document in _documents(service):
        for template, item in document["paths"].items():
            for method in (name for name in _METHODS if name in item):
                name, reason = item[method]["operationId"], NOT_OURS.get(service, {}).get(item[method]["operationId"])
                sender = _sender(functions, method, template)
                built = f"{sender.where}.{sender.name}" if sender else f"not sent: {reason}" if reason else ""
                words = [sender.name, name] if sender else [name]
                tested = _mention(service, [*words, *_fixed(template)[-1:]]) or _asked_by_suite(service, words)
                yield Row(f"{method.upper()} {template}", built, "-" if reason and not sender else tested)


@dataclass(frozen=True)
class _Function:
    """A function of a provider: texts it may use as a path, and the words in it and in what it calls."""

    where: str
    name: str
    paths: frozenset[str]
    words: frozenset[str]


def _functions(path: Path) -> Iterator[_Function]:
    tree = ast.parse(path.read_text())
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    made = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    for name, node in made.items():
        paths = frozenset(_text(part, constants, made) for part in ast.walk(node) if isinstance(part, ast.expr))
        yield _Function(path.stem, name, paths, frozenset(_words(name, made, set())))


def _text(node: ast.expr, constants: Mapping[str, ast.expr], made: Mapping[str, Any], depth: int = 0) -> str:
    """An expression as a path, ``{}`` for what is only known when it runs."""
    if depth > _DEEPEST:
        return "{}"
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "{}"
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, constants, made, depth + 1) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, constants, made, depth + 1)
    if isinstance(node, ast.BinOp):
        return _text(node.left, constants, made, depth + 1) + _text(node.right, constants, made, depth + 1)
    if isinstance(node, ast.Name) and node.id in constants:
        return _text(constants[node.id], constants, made, depth + 1)
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    returned = [part.value for part in ast.walk(made[name]) if isinstance(part, ast.Return)] if name in made else []
    return _text(returned[0], constants, made, depth + 1) if len(returned) == 1 and returned[0] else "{}"


def _words(name: str, made: Mapping[str, Any], seen: set[str]) -> Iterator[str]:
    """Lower-case names and texts in a function and in those it calls."""
    seen.add(name)
    for node in ast.walk(made[name]):
        word = node.attr if isinstance(node, ast.Attribute) else getattr(node, "value", None)
        if isinstance(word, str):
            yield word.lower()
            if word in made and word not in seen:
                yield from _words(word, made, seen)


def _sender(functions: list[_Function], method: str, template: str) -> _Function | None:
    """The function that sends such a request: it knows the method and the path, the more of it the better."""
    scored = [
        (score, -number, function)
        for number, function in enumerate(functions)
        if function.words & ({"get", "lines"} if method == "get" else {method})
        for score in [max((_likeness(template, path) for path in function.paths), default=0)]
        if score
    ]
    return _named(max(scored, key=lambda found: found[:2])[2], functions, _fixed(template)[-1]) if scored else None


def _named(sender: _Function, functions: list[_Function], last: str) -> _Function:
    """For a helper the public function of its file that calls it with the last part of the path."""
    callers = [
        one
        for one in functions
        if sender.name.startswith("_") and one.where == sender.where and {sender.name, last} <= one.words
    ]
    return min(callers, key=lambda one: len(one.words), default=sender)


def _segments(path: str) -> list[str]:
    return re.sub(r"\{[^/}]*\}", "{}", path.partition("?")[0]).strip("/").split("/")


def _likeness(template: str, path: str) -> int:
    """How many fixed segments of `path` the template has, 0 where it is another path.

    ``{}`` in the code may be anything: one segment in the middle, several at the beginning (a base that was put
    together before) or at the end (a kind with a slash, behind three fixed segments).
    """
    parts, fixed = _segments(path), len(_fixed(path))
    if not fixed:
        return 0
    texts = [re.escape(part).replace(r"\{\}", "[^/]+") for part in parts]
    if parts[0] == "{}":
        texts[0] = ".+"
    if parts[-1] == "{}" and fixed >= 3:
        texts[-1] = ".+"
    whole = "/".join(_segments(template))
    return 2 * fixed + (len(parts) == len(_segments(template))) if re.fullmatch("/".join(texts), whole) else 0


def _fixed(path: str) -> list[str]:
    return [part for part in _segments(path) if "{}" not in part]


# Fields


def _fields(service: str) -> Iterator[Row]:
    for document in _documents(service):
        operations = [(verb, op) for item in document["paths"].values() for verb, op in item.items()]
        for verb, operation in operations:
            if verb not in _METHODS or operation["operationId"] not in BODIES[service]:
                continue
            models = _model_fields(service, of_actions=verb == "put")
            body = _resolved(operation["requestBody"], document)["content"]["application/json"]["schema"]
            for field in dict.fromkeys(_properties(body, document)):
                name = field.rpartition(".")[2]
                built = models.get(field) or models.get(name) or _written(service, name)
                yield Row(f"{operation['operationId']}: {field}", built, _mention(service, [name]))


def _resolved(node: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        found: Any = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def _properties(node: Mapping[str, Any], document: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Dotted names of all properties of a schema; lists leave no mark."""
    schema = _resolved(node, document)
    if depth > _DEEPEST:
        return
    for part in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _properties(part, document, depth)
    if isinstance(schema.get("items"), dict):
        yield from _properties(schema["items"], document, depth)
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from (f"{name}.{deeper}" for deeper in _properties(inner, document, depth + 1))


@cache
def _model_fields(service: str, *, of_actions: bool) -> dict[str, str]:
    """Dotted name -> model and field, over spec, workload and action models; the kind that is meant goes first."""
    found: dict[str, str] = {}
    models = models_of(registry.load(service))
    for label in sorted(models, key=lambda label: label.startswith("action") is not of_actions):
        model = models[label]
        for name, where in _walk(model, 0):
            found.setdefault(name, where)
    return found


def _walk(model: type[BaseModel], depth: int) -> Iterator[tuple[str, str]]:
    for name, info in model.model_fields.items():
        shown = written_name(name, info)
        yield shown, f"{model.__module__.rpartition('providers.')[2]}.{model.__name__}.{name}"
        for inner in models_inside(info.annotation) if depth < _DEEPEST else ():
            yield from ((f"{shown}.{deeper}", where) for deeper, where in _walk(inner, depth + 1))


def _written(service: str, name: str) -> str:
    """The file and line where a provider puts a field into a request itself: as a key or as a keyword."""
    for path in _sources(service):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if path.stem not in ("wire", "found") and re.search(rf"[\"']{name}[\"']\s*[\]:]|\b{name}=", line):
                return f"{service}.{path.stem}, line {number}"
    return ""


# Files


@cache
def _documents(service: str) -> list[Any]:
    files = [_FOLDER / f"{service}.openapi.yaml", _FOLDER / f"{service}.additions.openapi.yaml"]
    return [yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) for file in files]


@cache
def _sources(service: str) -> list[Path]:
    return sorted((_PROVIDERS / service).glob("*.py"), key=lambda path: (path.stem != "client", path.stem))


@cache
def _test_words(service: str) -> dict[str, frozenset[str]]:
    """Test file -> its words: the provider's own tests, then others, then what they import of the sandbox's tests."""
    folders = (_TESTS / "providers" / service, _TESTS / "testing", _TESTS / "magics")
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    found = {str(path.relative_to(_TESTS.parent)): path.read_text() for path in files}
    modules = {name for text in found.values() for name in re.findall(r"from (tests\.sandbox\.[\w.]+) import", text)}
    borrowed = [Path(*module.split(".")).with_suffix(".py") for module in sorted(modules)]
    found |= {str(path): (_TESTS.parent / path).read_text() for path in borrowed}
    return {name: frozenset(re.findall(r"[\w-]+", text)) for name, text in found.items()}


def _mention(service: str, words: list[str]) -> str:
    """The first test file that has one of `words`."""
    return next((name for name, known in _test_words(service).items() if known.intersection(words)), "")


def _asked_by_suite(service: str, words: list[str]) -> str:
    """The contract suite asks for every look-up and every table, so for what their modules call."""
    texts = [path.read_text() for path in _sources(service) if path.stem in ("choices", "details")]
    if any(f".{words[0]}" in text for text in texts):
        return f"tests/testing/test_{service}.py (every look-up and table)"
    return ""


def main(services: list[str]) -> None:
    """Print the tables."""
    for service in services or list(BODIES):
        sys.stdout.write(f"\n## {service}\n\n| contract | built in | tested in |\n| --- | --- | --- |\n")
        for row in table(service):
            sys.stdout.write(f"| {row.what} | {row.built or '**missing**'} | {row.tested or '**missing**'} |\n")


if __name__ == "__main__":
    main(sys.argv[1:])

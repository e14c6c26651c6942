"""One OpenAPI 3.1 document: which operation a request is, and whether request and answer are as it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin
from uuid import UUID

import yaml
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT202012

_FOLDER = Path(__file__).parent
_BASE = "https://contracts.invalid/"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
_ERROR_SCHEMAS = {"lium": "AnyError", "runai": "Error"}
"""What an error answer looks like when the operation does not list its status; e2e has a ``default`` everywhere."""

formats = FormatChecker(formats=())


@formats.checks("uuid", raises=ValueError)
def _uuid(value: object) -> bool:
    return not isinstance(value, str) or str(UUID(value)) == value.lower()


@formats.checks("date-time", raises=ValueError)
def _date_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@formats.checks("date", raises=ValueError)
def _date(value: object) -> bool:
    return not isinstance(value, str) or date.fromisoformat(value).isoformat() == value


@formats.checks("int32")
def _int32(value: object) -> bool:
    return not isinstance(value, int) or -(2**31) <= value < 2**31


@dataclass(frozen=True)
class Operation:
    """One method of one path, where it lies in its document, and the path parameters of the request at hand."""

    pointer: str
    body: Mapping[str, Any]
    shared: Sequence[Any]
    params: Mapping[str, str]

    @property
    def name(self) -> str:
        """The operationId."""
        return str(self.body.get("operationId", self.pointer))


class Document:
    """A contract with its additions, ready to check."""

    def __init__(self, name: str, roots: Mapping[str, Mapping[str, Any]]) -> None:
        self.name = name
        self._roots = roots
        resources = [(uri, DRAFT202012.create_resource(root)) for uri, root in roots.items()]
        self._registry: Registry[Any] = Registry().with_resources(resources)
        self._validators: dict[tuple[str, bool], Draft202012Validator] = {}

    @property
    def schemas(self) -> Mapping[str, Any]:
        """The named schemas of the main document, as they are written."""
        found: Mapping[str, Any] = self._roots[f"{_BASE}{self.name}.openapi.yaml"]["components"]["schemas"]
        return found

    def find(self, method: str, path: str) -> Operation | None:
        """The operation of a request; `path` is percent-encoded and begins behind the base URL."""
        segments = [unquote(segment) for segment in path.split("/")]
        hits = []
        for uri, root in self._roots.items():
            for template, item in root["paths"].items():
                params = _match(template.split("/"), segments)
                if params is not None and method.lower() in item:
                    pointer = f"{uri}#/paths/{_escape(template)}/{method.lower()}"
                    hits.append(Operation(pointer, item[method.lower()], item.get("parameters", ()), params))
        return min(hits, key=lambda hit: len(hit.params), default=None)

    def operations(self) -> Iterator[tuple[str, str]]:
        """Every method and path template."""
        for root in self._roots.values():
            for template, item in root["paths"].items():
                yield from ((method.upper(), template) for method in _METHODS if method in item)

    def request_problems(
        self, operation: Operation, query: Mapping[str, Sequence[str]], headers: Mapping[str, str], body: bytes
    ) -> Iterator[str]:
        """What is wrong with a request, field by field."""
        known = {"path": operation.params, "header": headers, "query": {name: v[-1] for name, v in query.items()}}
        declared = set(self._query_secrets())
        for base, parameter in self._parameters(operation):
            place, name = parameter["in"], parameter["name"]
            if place == "query":
                declared.add(name)
            value = known[place].get(name.lower() if place == "header" else name)
            if value is None:
                if parameter.get("required"):
                    yield f"{place} parameter {name}: missing"
                continue
            yield from self._problems(f"{base}/schema", _typed(value, parameter, self), f"{place} parameter {name}")
        yield from (f"query parameter {name}: unknown" for name in query if name not in declared)
        yield from self._body_problems(operation, headers, body)

    def answer_problems(
        self, operation: Operation, status: int, media_type: str, body: bytes, headers: Mapping[str, str]
    ) -> Iterator[str]:
        """What is wrong with an answer, field by field."""
        responses = operation.body["responses"]
        keys = [str(status), f"{status // 100}XX", *(["default"] if status >= 400 else [])]
        key = next((key for key in keys if key in responses), None)
        if key is None:
            schema = _ERROR_SCHEMAS.get(self.name)
            if status < 400 or schema is None:
                yield f"status {status}: not in the contract"
            else:
                schema_at = f"{_BASE}{self.name}.openapi.yaml#/components/schemas/{schema}"
                yield from self._json_problems(schema_at, body, f"answer {status}")
            return
        base, response = self._resolve(f"{operation.pointer}/responses/{key}", responses[key])
        for name, header in response.get("headers", {}).items():
            if name.lower() in headers:
                where, found = self._resolve(f"{base}/headers/{_escape(name)}", header)
                value = _typed(headers[name.lower()], found, self)
                yield from self._problems(f"{where}/schema", value, f"answer header {name}")
        content = response.get("content", {})
        if content and media_type not in content:
            yield f"answer {status}: {media_type or 'no content type'} where the contract has {', '.join(content)}"
        elif media_type == "application/json" and content:
            schema_at = f"{base}/content/application~1json/schema"
            yield from self._json_problems(schema_at, body, f"answer {status}")

    def _body_problems(self, operation: Operation, headers: Mapping[str, str], body: bytes) -> Iterator[str]:
        if "requestBody" not in operation.body:
            if body:
                yield "body: the contract has none here"
            return
        base, wanted = self._resolve(f"{operation.pointer}/requestBody", operation.body["requestBody"])
        if not body:
            if wanted.get("required"):
                yield "body: missing"
            return
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in wanted["content"]:
            yield f"body: content type {media_type or 'missing'} is not in the contract"
        elif media_type == "application/json":
            schema_at = f"{base}/content/application~1json/schema"
            problems = list(self._json_problems(schema_at, body, "body"))
            yield from problems or self._problems(schema_at, json.loads(body), "body", closed=True)

    def _json_problems(self, pointer: str, body: bytes, where: str) -> Iterator[str]:
        try:
            value = json.loads(body)
        except ValueError:
            yield f"{where}: no JSON"
            return
        yield from self._problems(pointer, value, where)

    def _problems(self, pointer: str, value: Any, where: str, *, closed: bool = False) -> Iterator[str]:
        """With `closed`, fields that the schema does not know are problems too."""
        validator = self._validator(pointer, closed)
        for error in sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path))):
            field = ".".join(map(str, error.absolute_path))
            yield f"{where}{' ' + field if field else ''}: {error.message[:300]}"

    def _validator(self, pointer: str, closed: bool) -> Draft202012Validator:
        key = pointer, closed
        if key not in self._validators:
            schema: dict[str, Any] = {"$ref": pointer}
            if closed:
                schema["unevaluatedProperties"] = False
            self._validators[key] = Draft202012Validator(schema, registry=self._registry, format_checker=formats)
        return self._validators[key]

    def _parameters(self, operation: Operation) -> Iterator[tuple[str, Mapping[str, Any]]]:
        path_pointer = operation.pointer.rpartition("/")[0]
        for base, parameters in (
            (path_pointer, operation.shared),
            (operation.pointer, operation.body.get("parameters", ())),
        ):
            for number, parameter in enumerate(parameters):
                yield self._resolve(f"{base}/parameters/{number}", parameter)

    def _query_secrets(self) -> Iterator[str]:
        for root in self._roots.values():
            for scheme in root.get("components", {}).get("securitySchemes", {}).values():
                if scheme.get("in") == "query":
                    yield scheme["name"]

    def _resolve(self, pointer: str, node: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """A node and where it lies, behind its ``$ref`` if it is one."""
        if "$ref" not in node:
            return pointer, node
        uri, _, fragment = urljoin(pointer, node["$ref"]).partition("#")
        found: Any = self._roots[uri]
        for segment in fragment.strip("/").split("/"):
            found = found[segment.replace("~1", "/").replace("~0", "~")]
        return self._resolve(f"{uri}#{fragment}", found)

    def type_of(self, schema: Mapping[str, Any]) -> str:
        """The JSON type that a parameter's schema asks for."""
        for uri in self._roots:
            if "$ref" not in schema:
                break
            schema = self._resolve(f"{uri}#", schema)[1]
        return str(schema.get("type", "string"))


@cache
def document(name: str) -> Document:
    """The contract of one service, its additions included."""
    files = [_FOLDER / f"{name}.openapi.yaml", _FOLDER / f"{name}.additions.openapi.yaml"]
    roots = {_BASE + file.name: yaml.load(file.read_text(), _LOADER) for file in files if file.exists()}
    return Document(name, roots)


def has_contract(name: str) -> bool:
    """Whether there is a document for a service of that name."""
    return (_FOLDER / f"{name}.openapi.yaml").exists()


def _match(template: Sequence[str], segments: Sequence[str]) -> dict[str, str] | None:
    if len(template) != len(segments):
        return None
    params = {}
    for want, have in zip(template, segments, strict=True):
        if want.startswith("{"):
            params[want[1:-1]] = have
        elif want != have:
            return None
    return params if all(params.values()) else None


def _typed(text: str, parameter: Mapping[str, Any], document: Document) -> Any:
    kind = document.type_of(parameter.get("schema", {}))
    if kind == "array":
        return text.split(",") if text else []
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind == "integer" and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if kind == "number":
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _escape(segment: str) -> str:
    return segment.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")

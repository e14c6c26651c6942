"""The object that every magic returns: text, HTML and JSON of the same thing, and the thing itself."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from .blocks import Block, as_html, as_text

MIME_TYPE = "application/vnd.jupyter-gpu-clusters+json"
_SCHEMA_VERSION = 1
_WIDTH_WITHOUT_TERMINAL = 100


class Shown:
    """A result with its three representations.

    Parameters
    ----------
    kind : what it is, for programs that read the JSON: ``cluster``, ``workloads``, ``plan``, ...
    value : the model or list of models; ``-o`` stores it.
    blocks : how it looks.
    """

    def __init__(self, kind: str, value: Any, blocks: Sequence[Block]) -> None:
        self.kind = kind
        self.value = value
        self._blocks = tuple(blocks)

    def __repr__(self) -> str:
        return as_text(self._blocks, _text_width())

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"text/plain": repr(self), "text/html": as_html(self._blocks), MIME_TYPE: self.as_json()}, {}

    def as_json(self) -> Mapping[str, Any]:
        """The value as JSON data; requests are never in it, plans have the masked one."""
        return {"schema_version": _SCHEMA_VERSION, "kind": self.kind, "value": _plain(self.value)}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _text_width() -> int:
    if not sys.stdout.isatty():
        return _WIDTH_WITHOUT_TERMINAL
    return shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns

"""What results are made of: headings, facts, tables, notes; each as aligned text and as HTML.

HTML is escaped, has no scripts and no colours of its own (borders and faint text follow the theme's text
colour), so that it reads the same in light and dark themes, in exported notebooks and in other front ends.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.format import clean

_MIN_WIDTH = 8
_GAP = "  "
_LONGEST_UNBROKEN = 40
# Pages in quirks mode do not pass colour and size on to tables by themselves.
_TABLE = "border-collapse:collapse;color:inherit;font-size:inherit"
_LINE = "border-bottom:1px solid;border-color:color-mix(in srgb, currentColor 25%, transparent)"


@dataclass(frozen=True, slots=True)
class Heading:
    """The first line of a result."""

    words: str

    def text(self, width: int) -> Iterator[str]:
        """Its line."""
        yield clean(self.words)

    def html(self) -> str:
        """Its element."""
        return f'<div style="font-weight:600;margin-bottom:2px">{_escape(self.words)}</div>'


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence below."""

    words: str

    def text(self, width: int) -> Iterator[str]:
        """Its line."""
        yield clean(self.words)

    def html(self) -> str:
        """Its element."""
        return f'<div style="opacity:.75;margin-top:2px">{_escape(self.words)}</div>'


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with values, one pair a line; pairs without a value are left out."""

    pairs: Sequence[tuple[str, str]]

    def text(self, width: int) -> Iterator[str]:
        """Names padded to one width."""
        pairs = [(clean(name), clean(value)) for name, value in self.pairs if value]
        widest = max((_width(name) for name, _ in pairs), default=0)
        for name, value in pairs:
            yield f"  {_padded(name, widest)}{_GAP}{value}"

    def html(self) -> str:
        """A table without lines."""
        rows = "".join(
            f'<tr style="background:none"><th style="text-align:left;font-weight:normal;opacity:.75;'
            f'padding:1px 12px 1px 0">{_escape(name)}</th>'
            f'<td style="text-align:left;padding:1px 0">{_escape(value)}</td></tr>'
            for name, value in self.pairs
            if value
        )
        return f'<table style="{_TABLE};margin:0">{rows}</table>'


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headers; columns named in `right` are set flush right, empty columns are left out."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[str] = frozenset()

    def text(self, width: int) -> Iterator[str]:
        """Aligned columns; the widest are cut until a line fits into `width`."""
        headers, rows = self._filled()
        cells = [[header.upper() for header in headers], *rows]
        widths = _fitted([max(_width(row[i]) for row in cells) for i in range(len(headers))], width)
        for row in cells:
            parts = [
                _padded(_cut(cell, size), size, is_right=header in self.right)
                for header, cell, size in zip(headers, row, widths, strict=True)
            ]
            yield _GAP.join(parts).rstrip()

    def html(self) -> str:
        """A table with a line under each row."""
        headers, rows = self._filled()
        sides = ["right" if header in self.right else "left" for header in headers]
        head = "".join(
            f'<th style="text-align:{side};padding:2px 12px 2px 0;opacity:.75;{_LINE}">{_escape(header)}</th>'
            for header, side in zip(headers, sides, strict=True)
        )
        body = "".join(f'<tr style="background:none">{_row(row, sides)}</tr>' for row in rows)
        return f'<table style="{_TABLE};margin:2px 0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def _filled(self) -> tuple[list[str], list[list[str]]]:
        rows = [[clean(cell) for cell in row] for row in self.rows]
        kept = [i for i in range(len(self.headers)) if any(row[i] for row in rows)]
        return [self.headers[i] for i in kept], [[row[i] for i in kept] for row in rows]


Block = Heading | Note | Facts | Table


def as_text(blocks: Sequence[Block], width: int) -> str:
    """All blocks as plain text."""
    return "\n".join(line for block in blocks for line in block.text(width))


def as_html(blocks: Sequence[Block]) -> str:
    """All blocks as one HTML element."""
    return f'<div class="jp-GpuClusters-result">{"".join(block.html() for block in blocks)}</div>'


def _row(row: Sequence[str], sides: Sequence[str]) -> str:
    return "".join(
        f'<td style="text-align:{side};padding:2px 12px 2px 0;{_wrapping(cell)};{_LINE}">{_escape(cell)}</td>'
        for cell, side in zip(row, sides, strict=True)
    )


def _wrapping(cell: str) -> str:
    return "white-space:nowrap" if len(cell) <= _LONGEST_UNBROKEN else "overflow-wrap:anywhere"


def _escape(text: str) -> str:
    return html.escape(clean(text))


def _fitted(widths: list[int], limit: int) -> list[int]:
    """Take from the widest column, one by one, until the line fits or all are at their least."""
    out = list(widths)
    while out and sum(out) + len(_GAP) * (len(out) - 1) > limit and max(out) > _MIN_WIDTH:
        out[out.index(max(out))] -= 1
    return out


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _cut(text: str, size: int) -> str:
    if _width(text) <= size:
        return text
    kept = ""
    for char in text:
        if _width(kept + char) > size - 1:
            break
        kept += char
    return f"{kept}…"


def _padded(text: str, size: int, *, is_right: bool = False) -> str:
    space = " " * max(0, size - _width(text))
    return space + text if is_right else text + space

"""Small pieces of HTML, escaped, without scripts, readable in light and dark themes and without any theme."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

ERROR_COLOUR = "var(--jp-error-color1, #c62828)"
WARN_COLOUR = "var(--jp-warn-color0, #b26a00)"
GOOD_COLOUR = "var(--jp-success-color0, #2e7d32)"
BUSY_COLOUR = "var(--jp-brand-color1, #1565c0)"
BORDER_COLOUR = "var(--jp-border-color1, #9e9e9e)"
SMALL = "font-size: 90%; line-height: 1.4; overflow-wrap: anywhere"
_MUTED = f"{SMALL}; opacity: 0.8"


def help_html(text: str) -> str:
    """Quiet text under a control, with `code` as code; nothing for no text."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return f'<div style="{_MUTED}">{marked}</div>' if text else ""


def problem_html(texts: Iterable[str]) -> str:
    """Problems, marked by a sign and the error colour."""
    return "".join(f'<div role="alert" style="{SMALL}; color: {ERROR_COLOUR}">✖ {escape(text)}</div>' for text in texts)


def warning_html(texts: Iterable[str]) -> str:
    """Warnings, marked by a sign and the warning colour."""
    return "".join(f'<div style="{SMALL}; color: {WARN_COLOUR}">▲ {escape(text)}</div>' for text in texts)


def heading_html(text: str) -> str:
    """The title of a form or of a group of fields."""
    return f'<b style="font-size: 105%">{escape(text)}</b>'


def status_html(text: str, colour: str = "inherit") -> str:
    """A line that screen readers announce when it changes."""
    return f'<div role="status" style="line-height: 1.4; color: {colour}">{escape(text)}</div>'


def rows_html(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values (values are HTML) in two aligned columns."""
    cells = "".join(
        f'<tr style="background: none"><th scope="row" style="text-align: left; font-weight: normal; opacity: 0.8; '
        f'padding: 1px 1em 1px 0; vertical-align: top; white-space: nowrap">{escape(name)}</th>'
        f'<td style="text-align: left; padding: 1px 0; overflow-wrap: anywhere">{value}</td></tr>'
        for name, value in rows
    )
    return f'<table style="border-collapse: collapse; margin: 0; font-size: inherit"><tbody>{cells}</tbody></table>'


def fault_text(fault: BaseException) -> str:
    """An exception that nobody expected, without its message, which may repeat what must not be shown."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" in {Path(trace.tb_frame.f_code.co_filename).name}, line {trace.tb_lineno}" if trace is not None else ""
    return f"This is a fault in jupyter-gpu-clusters ({type(fault).__name__}{where}). Please report it."


def text_block_html(text: str) -> str:
    """Output of a program, as it is."""
    return (
        f'<pre style="margin: 0.4em 0 0; padding: 0.4em; max-height: 24em; overflow: auto; white-space: pre-wrap; '
        f'border: 1px solid {BORDER_COLOUR}; color: inherit; background: none">{escape(text)}</pre>'
    )

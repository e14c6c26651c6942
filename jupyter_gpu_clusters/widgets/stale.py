"""What is left of forms and buttons in a notebook that is opened without their kernel.

A saved notebook keeps the reference to a widget, not the widget, and JupyterLab then says "model not found".
The rules here hide that line, and show our own words in its place, as long as the widget itself is not in the
same output. They use the CSS selector ``:has``; where it is not known, our words are simply always there.
"""

from __future__ import annotations

from html import escape

from .html import SMALL

FORM_CLASS = "jp-GpuClusters-form"
CARD_CLASS = "jp-GpuClusters-card"
BUTTONS_CLASS = "jp-GpuClusters-buttons"
_NOTE_CLASS = "jp-GpuClusters-stale"
_DEAD_WIDGET = ".jp-OutputArea-output.jupyter-widgets"


def stale_note_html(text: str) -> str:
    """Words that are seen only where the form that belongs to them is not alive."""
    area = f".jp-OutputArea:has(.{_NOTE_CLASS})"
    hidden_beside_form = f".jp-OutputArea:has(.{FORM_CLASS}) .{_NOTE_CLASS} {{ display: none; }}"
    rules = f"{hidden_beside_form} {_hide_dead(area, FORM_CLASS)}"
    return f'<style>{rules}</style><div class="{_NOTE_CLASS}" style="{SMALL}">{escape(text)}</div>'


def without_dead_buttons(card_html: str) -> str:
    """A card that says nothing about buttons that are gone."""
    return f"<style>{_hide_dead(f'.jp-OutputArea:has(.{CARD_CLASS})', BUTTONS_CLASS)}</style>{card_html}"


def _hide_dead(area: str, alive_class: str) -> str:
    return f"{area}:not(:has(.{alive_class})) {_DEAD_WIDGET} {{ display: none; }}"

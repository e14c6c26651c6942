"""A plan, and what the user has to agree to, in HTML and words. Pure."""

from __future__ import annotations

from html import escape

from ..core.errors import GpuClustersError, Problem
from ..core.format import hourly_text
from ..core.models import Plan, Verb
from .html import BORDER_COLOUR, SMALL, help_html, problem_html, rows_html, warning_html

_MOST_SENT = 2000
_FRAME = f"border: 1px solid {BORDER_COLOUR}; border-radius: 3px; padding: 6px 10px; line-height: 1.4; max-width: 50em"


def plan_html(plan: Plan) -> str:
    """What would happen: size, price and warnings; of an action what is sent."""
    if plan.verb is Verb.ACT:
        return framed_html(f"{rows_html(_action_rows(plan))}{warning_html(_told(plan))}", "Plan")
    rows = [("Name", escape(plan.name)), ("Nodes", f"<b>{plan.nodes}</b>")]
    if plan.verb is Verb.SUBMIT:
        rows.append(("Processes", f"<b>{plan.processes}</b>"))
    rows.append(("GPUs", f"<b>{plan.gpus}</b>"))
    rows.append(("Price", f"<b>{escape(hourly_text(plan.price_per_hour, plan.is_free))}</b>"))
    if plan.commitment is not None:
        rows.append(("Commitment", f"<b>{escape(str(plan.commitment))}</b> in all, also if deleted early"))
    return framed_html(f"{rows_html(rows)}{warning_html(plan.warnings)}", "Plan")


def _action_rows(plan: Plan) -> list[tuple[str, str]]:
    sent = ", ".join(f"{key}: {value}" for key, value in plan.shown.items())
    rows = [("Cluster", escape(plan.name)), ("Action", f"<b>{escape(plan.action or '')}</b>")]
    rows.append(("Sent", escape(sent if len(sent) <= _MOST_SENT else f"{sent[:_MOST_SENT]} ...")))
    if not plan.is_free:
        rows.append(("Price", f"<b>{escape(hourly_text(plan.price_per_hour, plan.is_free))}</b>"))
    return rows


def _told(plan: Plan) -> tuple[str, ...]:
    return plan.warnings if plan.confirm is None else (plan.confirm, *plan.warnings)


def framed_html(inner: str, label: str) -> str:
    """A box whose changes screen readers announce."""
    return f'<div role="status" aria-label="{escape(label)}" style="{_FRAME}">{inner}</div>'


def waiting_html(text: str) -> str:
    """The place of the plan while there is none."""
    return framed_html(help_html(text), "Plan")


def error_html(error: GpuClustersError, problems: tuple[Problem, ...] | list[Problem]) -> str:
    """An error with those of its problems that have no field to stand at, and what to do next."""
    texts = [str(problem) for problem in problems]
    hint = f'<div style="{SMALL}">{escape(error.hint)}</div>' if error.hint else ""
    return problem_html([error.message, *texts]) + hint

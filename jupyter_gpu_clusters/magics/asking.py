"""Asking the user, in one place: nothing that costs or destroys happens without a yes that was typed or passed."""

from __future__ import annotations

from IPython.core.error import StdinNotImplementedError
from IPython.display import display

from ..core.consent import Ask, Consent, consent_to, question, what_to_ask
from ..core.errors import ConsentError
from ..core.format import clean
from ..core.models import Plan
from .views import plan_view

_YES = ("y", "yes")


def agree(plan: Plan, *, yes: bool) -> Consent | None:
    """Get the user's agreement to a plan, showing it first. What is free asks nothing.

    Parameters
    ----------
    yes : ``--yes`` was passed; it covers a known hourly price and what disturbs but does not cost.

    Raises
    ------
    ConsentError : the answer was no, or nobody could be asked.
    """
    ask = what_to_ask(plan)
    if ask is Ask.NOTHING:
        return None
    is_covered = ask in (Ask.PRICE, Ask.CONFIRM)
    if is_covered and yes:
        return consent_to(plan)
    display(plan_view(plan))  # type: ignore[no-untyped-call]
    if is_covered:
        confirm(question(plan), hint="Pass --yes to agree beforehand.")
    else:
        _confirm_in_words(plan)
    return consent_to(plan)


def confirm(text: str, *, hint: str) -> None:
    """Ask a yes/no question; anything but yes is no.

    Raises
    ------
    ConsentError : the answer was no, or nobody could be asked (`hint` says how to agree beforehand).
    """
    if _answer(f"{text} [y/N] ", hint).lower() not in _YES:
        raise ConsentError("Not confirmed; nothing was sent.")


def _confirm_in_words(plan: Plan) -> None:
    hint = "--yes covers only a known hourly price; run this where you can type the answer."
    if _answer(f"{question(plan)} Type {plan.name} to agree: ", hint) != clean(plan.name):
        raise ConsentError("Not confirmed; nothing was sent.")


def _answer(prompt: str, hint: str) -> str:
    """What the user types. Without a keyboard, and on interrupt, there is no consent."""
    prompt = clean(prompt)
    try:
        return input(prompt).strip()
    except (StdinNotImplementedError, EOFError):
        raise ConsentError(f"Nobody can be asked here, and nothing was sent: {prompt.strip()}", hint=hint) from None
    except KeyboardInterrupt:
        raise ConsentError("Interrupted before a yes; nothing was sent.") from None

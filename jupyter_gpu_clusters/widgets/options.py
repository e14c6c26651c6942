"""A list of choices as people see it: labels that tell them apart, and the way back to the values. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.choices import Choice
from ..core.format import clean
from ..core.models import Listing
from .html import help_html, warning_html

_LONGEST_DETAIL = 60
_MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class Options:
    """What can be chosen.

    Parameters
    ----------
    labels : in the service's order, each of them once.
    note : what else must be said about the list; empty when it is whole.
    """

    labels: tuple[str, ...] = ()
    note: str = ""
    by_label: Mapping[str, Choice] = field(default_factory=dict)
    by_value: Mapping[str, Choice] = field(default_factory=dict)

    def find(self, text: str) -> Choice | None:
        """The choice that `text` names, by its value or its label."""
        wanted = text.strip()
        return self.by_value.get(wanted) or self.by_label.get(wanted)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a look-up has come to: its options, or why there are none, or neither while it is under way."""

    options: Options | None = None
    problem: str | None = None


LOOKING = Outcome()


def options_of(listing: Listing[Choice]) -> Options:
    """The options of a list that a service gave."""
    options = _options(listing.items)
    if listing.is_complete and not listing.not_seen:
        note = "" if listing.items else "The service has nothing to choose from."
    else:
        unseen = f" Not seen: {', '.join(map(clean, listing.not_seen[:_MOST_TOLD]))}." if listing.not_seen else ""
        note = f"This list is not complete; what is missing can be written.{unseen}"
    return Options(options.labels, note, options.by_label, options.by_value)


def fixed_options(values: Iterable[Any]) -> Options:
    """The options of a list that the model itself has."""
    return _options([Choice(value=value, label=str(value)) for value in values])


def choice_html(text: str, outcome: Outcome) -> str:
    """One line under a field: what is known about what stands in it, or about its list."""
    if outcome.problem is not None:
        return warning_html([f"No list: {outcome.problem}"])
    if outcome.options is None:
        return help_html("Looking up what can be chosen ...")
    choice = outcome.options.find(text)
    if choice is not None and choice.why_not:
        return warning_html([f"Cannot be chosen now: {clean(choice.why_not)}"])
    if choice is not None:
        return help_html(_told(choice))
    if text.strip() and outcome.options.labels and not text.strip().startswith("$"):
        return help_html("Not in the list; it is sent as it stands." + _space(outcome.options.note))
    return help_html(outcome.options.note)


def _options(choices: Iterable[Choice]) -> Options:
    by_value = {str(choice.value): choice for choice in choices}
    plain = {value: " ".join(clean(choice.label).split()) or value for value, choice in by_value.items()}
    counts = Counter(plain.values())
    by_label: dict[str, Choice] = {label: by_value[value] for value, label in plain.items()}
    shown = []
    for value, choice in by_value.items():
        label = plain[value]
        is_unclear = counts[label] > 1 or (label in by_value and label != value)
        label = f"{label} ({value})" if is_unclear else label
        label = f"{label} - not now: {' '.join(clean(choice.why_not).split())}" if choice.why_not else label
        by_label[label] = choice
        shown.append(label)
    return Options(tuple(shown), "", by_label, by_value)


def _told(choice: Choice) -> str:
    """Short details of a choice: ``GPUs 8, price 420.5 INR``."""
    texts = [(name, clean(str(value))) for name, value in choice.detail.items() if value not in (None, "")]
    return ", ".join(f"{clean(name)} {text}" for name, text in texts if len(text) <= _LONGEST_DETAIL)


def _space(text: str) -> str:
    return f" {text}" if text else ""

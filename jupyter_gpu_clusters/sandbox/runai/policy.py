"""Policies of projects: defaults for worker and master, rules, and the complianceIssues of a broken rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .merge import KEYS, Spec, value_at
from .quantity import amount

Rule = Mapping[str, Any]
Issue = dict[str, str]
SIDES = ("worker", "master")
LONGEST_GRACE_S = 300
SYSTEM_RULES: Mapping[str, Rule] = {"terminationGracePeriodSeconds": {"max": LONGEST_GRACE_S}}
_NAMES = frozenset({"min", "max", "step", "options", "required", "canEdit", "canAdd", "locked"})


@dataclass(frozen=True)
class Policy:
    """``defaults[side]`` is a spec, ``rules[side]`` maps dotted paths to rules."""

    defaults: Mapping[str, Spec] = field(default_factory=dict)
    rules: Mapping[str, Mapping[str, Rule]] = field(default_factory=dict)

    @property
    def one_sided(self) -> bool:
        """Whether only one of worker and master has defaults."""
        return len([side for side in SIDES if self.defaults.get(side)]) == 1

    def shown(self) -> dict[str, Any]:
        """The policy as the service shows it, rules nested like the spec."""
        rules = {side: _nested(self.rules.get(side, {})) for side in SIDES}
        return {"defaults": {side: self.defaults.get(side) for side in SIDES}, "rules": rules}

    def issues(self, side: str, sent: Spec, effective: Spec) -> list[Issue]:
        """Every rule that this spec breaks."""
        defaults = self.defaults.get(side, {})
        rules = {**SYSTEM_RULES, **self.rules.get(side, {})}
        found = []
        for path, rule in rules.items():
            for name, details in _broken(rule, path, sent, effective, defaults):
                found.append({"field": path, "details": details, "rule": name})
        return found


def read_policy(text: Mapping[str, Any]) -> Policy:
    """A policy out of JSON.

    Raises
    ------
    ValueError : an unknown side or rule.
    """
    defaults, rules = text.get("defaults") or {}, text.get("rules") or {}
    sides = [side for part in (defaults, rules) for side in part if side not in SIDES]
    names = [name for side in rules.values() for rule in side.values() for name in rule if name not in _NAMES]
    if sides or names:
        raise ValueError(f"A policy has worker and master with {', '.join(sorted(_NAMES))}, not {[*sides, *names]}.")
    return Policy(defaults, rules)


def _nested(rules: Mapping[str, Rule]) -> Spec:
    tree: Spec = {}
    for path, rule in rules.items():
        *parents, last = path.split(".")
        branch = tree
        for name in parents:
            branch = branch.setdefault(name, {})
        branch[last] = dict(rule)
    return tree


def _broken(rule: Rule, path: str, sent: Spec, effective: Spec, defaults: Spec) -> Iterator[tuple[str, str]]:
    value, asked, default = (value_at(spec, path) for spec in (effective, sent, defaults))
    yield from _size(rule, value)
    options = rule.get("options")
    if options is not None and value is not None and value not in options:
        yield "options", f"must be one of {', '.join(map(str, options))}"
    if rule.get("required") and value in (None, ""):
        yield "required", "must be given"
    if rule.get("canEdit") is False and asked is not None and asked != default:
        yield "canEdit", "must not be changed"
    key = KEYS.get(path.rpartition(".")[2])
    if key is not None:
        yield from _entries(rule, key, asked or [], default or [])


def _size(rule: Rule, value: Any) -> Iterator[tuple[str, str]]:
    number = _number(value)
    if number is None:
        return
    low, high, step = (_number(rule.get(name)) for name in ("min", "max", "step"))
    if low is not None and number < low:
        yield "min", f"must be at least {rule['min']}"
    if high is not None and number > high:
        yield "max", f"must be at most {rule['max']}"
    if step and (number - (low or 0)) % step:
        yield "step", f"must go in steps of {rule['step']}"


def _entries(rule: Rule, key: str, asked: Sequence[Spec], default: Sequence[Spec]) -> Iterator[tuple[str, str]]:
    given = {item.get(key): item for item in default}
    if rule.get("canAdd") is False and any(item.get(key) not in given for item in asked):
        yield "canAdd", "no entries may be added"
    locked = set(rule.get("locked") or ())
    changed = [item[key] for item in asked if item.get(key) in locked and item != given.get(item[key])]
    if changed:
        yield "locked", f"{', '.join(map(str, changed))} must be neither changed nor excluded"


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        exact = amount(value)
        return None if exact is None else float(exact)
    return None if value is None or isinstance(value, bool) or not isinstance(value, int | float) else float(value)

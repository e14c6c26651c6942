"""What a test may change in the simulated market."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .keys import DEFAULT_SCOPES, SCOPES, WINDOWS, Account, Key
from .making import suffer
from .state import State


def set_up(state: State, what: Mapping[str, Any]) -> object:
    """Change the world.

    Parameters
    ----------
    what : ``account`` names the account meant, the first one if left out; an unknown one is opened. Beside it:
        ``balance``, ``verified``; ``key`` (name, scopes, budget_usd, window, customer_ref, secret), which answers with
        the new key; ``revoke`` (a key's name); ``paused``; ``take``, ``release``, ``offline``, ``online`` (ids of
        nodes); ``fate`` (status, after_s, and ``pod`` for an existing pod, or ``index`` for the next one rented under
        that index); ``undeletable`` (pod id -> how many cluster deletions fail for it).

    Raises
    ------
    ValueError : something else was asked, or it does not exist.
    """
    account = _account(state, what.get("account"))
    answers: dict[str, Any] = {}
    for name, value in what.items():
        if name == "account":
            continue
        if name not in _SETTERS:
            raise ValueError(f"lium cannot set up {name!r}; known: account, {', '.join(_SETTERS)}.")
        answers[name] = _SETTERS[name](state, account, value)
    return answers


def _account(state: State, name: object) -> Account:
    accounts = state.accounts
    if name is None:
        return next(iter(accounts.values()))
    if str(name) not in accounts:
        accounts[str(name)] = Account(state.world.uuid(), str(name), 1000.0, workspace_id=state.world.uuid())
    return accounts[str(name)]


def _balance(state: State, account: Account, value: Any) -> object:
    account.balance += float(value) - state.balance(account)
    return state.balance(account)


def _verified(state: State, account: Account, value: Any) -> object:
    account.verified = bool(value)
    return account.verified


def _key(state: State, account: Account, value: Any) -> object:
    fields = dict(value)
    scopes = tuple(fields.pop("scopes", DEFAULT_SCOPES))
    if set(scopes) - set(SCOPES) or ("billing" in scopes and len(scopes) > 1):
        raise ValueError(f"scopes are some of {', '.join(SCOPES)}, and billing must be alone")
    if fields.get("window", "max") not in WINDOWS:
        raise ValueError(f"window is one of {', '.join(WINDOWS)}")
    secret = fields.pop("secret", f"sk_{state.world.hex(40)}")
    key = Key(state.world.uuid(), fields.pop("name", "second"), secret, account, scopes, **fields)
    state.keys.append(key)
    return {"id": key.id, "secret": key.secret, "name": key.name}


def _revoke(state: State, account: Account, value: Any) -> object:
    state.keys = [key for key in state.keys if key.account is not account or key.name != value]
    return [key.name for key in state.keys]


def _paused(state: State, account: Account, value: Any) -> object:
    state.paused = bool(value)
    return state.paused


def _mark(attribute: str, value: bool) -> Callable[[State, Account, Any], object]:
    def mark(state: State, account: Account, names: Any) -> object:
        unknown = [name for name in names if name not in state.inventory.executors]
        if unknown:
            raise ValueError(f"There is no node {', '.join(unknown)}.")
        for name in names:
            setattr(state.inventory.executors[name], attribute, value)
        return list(names)

    return mark


def _fate(state: State, account: Account, value: Any) -> object:
    pod_id = value.get("pod")
    if pod_id is None:
        state.fates.append(dict(value))
        return "waits for the next pod"
    if pod_id not in state.pods:
        raise ValueError(f"There is no pod {pod_id}.")
    suffer(state.pods[pod_id], str(value["status"]), state.now() + float(value.get("after_s", 0)))
    return "set"


def _undeletable(state: State, account: Account, value: Any) -> object:
    state.undeletable.update({str(pod): int(times) for pod, times in value.items()})
    return state.undeletable


_SETTERS: Mapping[str, Callable[[State, Account, Any], object]] = {
    "balance": _balance,
    "verified": _verified,
    "key": _key,
    "revoke": _revoke,
    "paused": _paused,
    "take": _mark("taken", True),
    "release": _mark("taken", False),
    "offline": _mark("offline", True),
    "online": _mark("offline", False),
    "fate": _fate,
    "undeletable": _undeletable,
}

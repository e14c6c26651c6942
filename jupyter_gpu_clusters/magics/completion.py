"""Tab completion in our magics: accounts, clusters, workloads, orders, options. From what is known, never a look-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .table import MAGICS, Magic

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult

    from .arguments import Source
    from .parsing import Parameter

_WITHIN_S = 1.0
_OF_SUBJECT = ("look_up", "action", "cluster_detail", "workload_detail")
_BY_NAME = {magic.name: magic for magic in MAGICS}


class Completer:
    """The part that IPython calls."""

    def __init__(self) -> None:
        # IPython reads these from the function it is given; it must stay the same object to be removed again.
        def matcher(context: CompletionContext) -> SimpleMatcherResult:
            return _match(context)

        matcher.matcher_api_version = 2  # type: ignore[attr-defined]
        matcher.matcher_priority = 100  # type: ignore[attr-defined]
        matcher.matcher_identifier = "jupyter_gpu_clusters"  # type: ignore[attr-defined]
        self.matcher = matcher


def _match(context: CompletionContext) -> SimpleMatcherResult:
    from IPython.core.completer import SimpleCompletion

    words = _words_before(context.text_until_cursor)
    magic = _BY_NAME.get(words[0].lstrip("%")) if words and words[0].startswith("%") else None
    if magic is None or len(words) < 2 or "--" in words[1:-1]:
        return {"completions": []}
    prefix, candidates = complete(magic, words[1:-1], words[-1])
    found = [SimpleCompletion(text=text, type="magic argument") for text in candidates if text.startswith(prefix)]
    return {"completions": found, "matched_fragment": prefix, "suppress": bool(found), "ordered": True}


def _words_before(text: str) -> list[str]:
    """The words up to the cursor; the last one is the one under way, perhaps empty."""
    words = text.split()
    return [*words, ""] if text[-1:].isspace() else words


def complete(magic: Magic, before: Sequence[str], word: str) -> tuple[str, list[str]]:
    """What may stand in place of `word`: the part of it that is replaced, and the candidates."""
    from .parsing import parameters
    from .run import argument_model

    known = parameters(argument_model(magic))
    options = {p.written: p for p in known if not p.is_positional}
    name, is_attached, value = word.partition("=")
    if is_attached and name in options:
        return value, names_of(options[name].mark.completes)
    previous = options.get(before[-1]) if before else None
    if previous is not None and not previous.is_flag:
        return word, names_of(previous.mark.completes)
    if word.startswith("-"):
        return word, _option_names(magic, options, before)
    positional = _positional_at(known, before)
    if positional is None:
        return word, _option_names(magic, options, before)
    source = positional.mark.completes
    return word, names_of_subject(source, before[0]) if source in _OF_SUBJECT and before else names_of(source)


def _option_names(magic: Magic, options: dict[str, Parameter], before: Sequence[str]) -> list[str]:
    used = {word.partition("=")[0] for word in before}
    fields = _spec_fields(before[0]) if magic.name == "cluster_create" and before else []
    free = [name for name, option in options.items() if option.is_repeated or name not in used]
    command = ["--"] if magic.name == "workload_submit" else []
    return [*free, *(name for name in fields if name not in used and name not in free), *command]


def _positional_at(known: Iterable[Parameter], before: Sequence[str]) -> Parameter | None:
    """The positional that comes next, given the words before; values of options are not counted."""
    options = {p.written: p for p in known if not p.is_positional}
    count, is_value = 0, False
    for word in before:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = "=" not in word and word in options and not options[word].is_flag
        else:
            count += 1
    positionals = [p for p in known if p.is_positional]
    if positionals and positionals[-1].is_repeated:
        return positionals[-1]
    return positionals[count] if count < len(positionals) else None


def names_of(source: Source | None) -> list[str]:
    """Known names of one kind, from the journal's last state; none when it cannot be read at once."""
    if source is None:
        return []
    from ..core import bridge
    from ..core.errors import GpuClustersError
    from ..core.registry import provider_names

    try:
        service = bridge.service()
        if source == "account":
            return list(service.account_names())
        if source == "provider":
            return list(dict.fromkeys((*service.account_names(), *provider_names())))
        state = bridge.start(service.state).result(_WITHIN_S)
    except (GpuClustersError, TimeoutError):
        return []
    if source == "order":
        return [order.order_id for order in state.orders]
    if source == "cluster":
        return _short_and_full([(c.name, c.full_name) for c in state.clusters])
    return _short_and_full([(w.name, f"{w.cluster_name}/{w.name}") for w in state.workloads])


def names_of_subject(source: Source | None, subject: str) -> list[str]:
    """What the account, cluster or workload named `subject` has of a kind; none when it is not known."""
    from ..core import bridge
    from ..core.errors import GpuClustersError
    from ..core.names import match_clusters, match_workloads
    from ..core.provider import ShowsDetails

    try:
        service = bridge.service()
        if source == "look_up":
            return list(service.look_ups(subject))
        state = bridge.start(service.state).result(_WITHIN_S)
        things = match_workloads(state, subject) if source == "workload_detail" else match_clusters(state, subject)
        if not things:
            return []
        if source == "action":
            return list(service.actions(things[0].account))
        provider = service.provider_class(things[0].account)
    except (GpuClustersError, TimeoutError):
        return []
    if not issubclass(provider, ShowsDetails):
        return []
    return list(provider.cluster_details if source == "cluster_detail" else provider.workload_details)


def _short_and_full(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The short names that are unambiguous, then the longer ones."""
    shorts = [short for short, _ in dict.fromkeys(pairs)]
    unique = [short for short in dict.fromkeys(shorts) if shorts.count(short) == 1]
    return [*unique, *dict.fromkeys(full for _, full in pairs)]


def _spec_fields(account: str) -> list[str]:
    from ..core import bridge
    from ..core.errors import GpuClustersError
    from ..core.specs import field_names

    try:
        model = bridge.service().spec_model(account)
    except GpuClustersError:
        return []
    return [f"--{name.replace('_', '-')}" for name in field_names(model)]

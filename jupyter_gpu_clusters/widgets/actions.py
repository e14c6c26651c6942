"""The buttons below a card: last output, suspend, cancel, delete, and the provider's own actions.

What ends something asks first, naming what it ends.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import ipywidgets
from anyio import to_thread

from ..core import bridge
from ..core.errors import GpuClustersError
from ..core.format import cost_text, plural
from ..core.models import CancelReport, Cluster, ClusterPhase, Deleted, State, Workload, WorkloadPhase
from ..core.provider import abilities_of
from .action_area import ActionArea
from .html import fault_text, help_html, problem_html, status_html, text_block_html
from .output import last_output
from .plan_view import error_html
from .stale import BUTTONS_CLASS

_TAIL_LINES = 40
_TAIL_CHARACTERS = 20_000


def jobs_on(state: State, cluster: Cluster) -> list[Workload]:
    """Workloads that have not ended on a cluster."""
    return [
        w
        for w in state.workloads
        if (w.account, w.cluster_id) == (cluster.account, cluster.cluster_id) and not w.phase.is_final
    ]


def delete_question(cluster: Cluster, jobs: Sequence[Workload]) -> str:
    """What a delete ends, in one sentence each."""
    names = ", ".join(job.name for job in jobs)
    what = f"{cluster.full_name} ({plural(cluster.node_count, 'node')})"
    running = f"{plural(len(jobs), 'workload')} on it will be ended: {names}." if jobs else "Nothing runs on it."
    return f"Delete cluster {what}? {running} It {cost_text(cluster)}."


def cancel_question(workload: Workload) -> str:
    """What a cancel ends."""
    ranks = plural(len(workload.ranks), "process") if len(workload.ranks) == 1 else f"{len(workload.ranks)} processes"
    what = f"Its {ranks}" if workload.ranks else "All its processes"
    return f"Cancel workload {workload.full_name}? {what} on {plural(workload.nodes, 'node')} will be ended."


def suspend_question(workload: Workload) -> str:
    """What a suspend ends."""
    return (
        f"Suspend workload {workload.full_name}? Its processes end and give back what they hold. It can be resumed and "
        "then starts anew."
    )


class Actions:
    """Buttons for one cluster or workload."""

    def __init__(self, thing: Cluster | Workload) -> None:
        self._lock = threading.RLock()
        self._service = bridge.service()
        self._is_busy = False
        self._confirmed: Callable[[], None] | None = None
        self.thing = thing
        is_cluster = isinstance(thing, Cluster)
        self.logs_button = _button("Last output", "file-text", "Show the last lines of all ranks")
        self.end_button = _button(
            "Delete cluster" if is_cluster else "Cancel workload", "trash" if is_cluster else "stop", "Asks first"
        )
        self.rest_button = _button("Suspend", "pause", "Asks first")
        self.area = ActionArea(thing) if isinstance(thing, Cluster) else None
        self.question = ipywidgets.HTML()
        self.confirm_button = _button("", "", "This cannot be undone", button_style="danger")
        self.keep_button = _button("Keep it", "", "Change nothing")
        self.outcome = ipywidgets.HTML()
        self.ask_box = ipywidgets.VBox([self.question, ipywidgets.HBox([self.keep_button, self.confirm_button])])
        self.ask_box.layout.display = "none"
        self.logs_button.on_click(lambda _: self._on_logs())
        self.end_button.on_click(lambda _: self._on_end())
        self.rest_button.on_click(lambda _: self._on_rest())
        self.keep_button.on_click(lambda _: self._close_question())
        self.confirm_button.on_click(lambda _: self._on_confirm())
        buttons = [self.end_button] if is_cluster else [self.logs_button, self.rest_button, self.end_button]
        parts = [ipywidgets.HBox(buttons), self.ask_box, self.outcome]
        self.widget = ipywidgets.VBox(parts if self.area is None else [*parts, self.area.widget])
        self.widget.add_class(BUTTONS_CLASS)
        self.update(thing)

    def bundle(self) -> dict[str, Any]:
        """The buttons by MIME type; where widgets do not work, the magics that do the same."""
        name = self.thing.full_name
        text = f"%cluster_delete {name}" if isinstance(self.thing, Cluster) else f"%workload_cancel {name}"
        bundle: dict[str, Any] = dict(self.widget._repr_mimebundle_() or {})
        return {**bundle, "text/plain": f"The buttons need a live kernel. To end it: {text}"}

    def update(self, thing: Cluster | Workload) -> None:
        """Take note of a new state; what makes no sense any more is greyed, with the reason."""
        with self._lock:
            self.thing = thing
            reason = self._why_not_end()
            self.end_button.disabled = self._is_busy or reason is not None
            self.end_button.tooltip = reason or "Asks first"
            if isinstance(thing, Workload):
                self._update_rest(thing)
            elif self.area is not None:
                self.area.update(thing, "It is deleted" if thing.phase is ClusterPhase.DELETED else None)

    def _update_rest(self, workload: Workload) -> None:
        reason = self._why_not_rest(workload)
        self.rest_button.description = "Resume" if _rests(workload) else "Suspend"
        self.rest_button.icon = "play" if _rests(workload) else "pause"
        self.rest_button.disabled = self._is_busy or reason is not None
        self.rest_button.tooltip = reason or ("Let it go on" if _rests(workload) else "Asks first")

    def _why_not_end(self) -> str | None:
        if isinstance(self.thing, Workload):
            return f"It has ended: {self.thing.phase}" if self.thing.phase.is_final else None
        return "It is deleted" if self.thing.phase is ClusterPhase.DELETED else self._why_unable("delete")

    def _why_not_rest(self, workload: Workload) -> str | None:
        return f"It has ended: {workload.phase}" if workload.phase.is_final else self._why_unable("suspend")

    def _why_unable(self, ability: str) -> str | None:
        provider = self._service.provider_class(self.thing.account)
        if ability in abilities_of(provider):
            return None
        return provider.reasons.get(ability, f"{provider.title} offers no way to do that.")

    # Ending it

    def _on_end(self) -> None:
        with self._lock:
            if self._is_busy:
                return
            self.outcome.value = help_html("Looking what would be ended ...")
        self._run(self._service.state, self._ask_end)

    def _ask_end(self, state: State) -> None:
        thing = self.thing
        if isinstance(thing, Cluster):
            deed = partial(self._run, self._service.delete, self._show_deleted, thing)
            self._ask(delete_question(thing, jobs_on(state, thing)), f"Delete {thing.name}", deed)
        else:
            deed = partial(self._run, self._service.cancel, self._show_cancelled, thing)
            self._ask(cancel_question(thing), f"Cancel {thing.name}", deed)

    def _ask(self, question: str, verb: str, deed: Callable[[], None]) -> None:
        """Show a question; `deed` is done once, when it is confirmed."""
        self.outcome.value = ""
        self.question.value = status_html(question)
        self.confirm_button.description = verb
        self._confirmed = deed
        self.ask_box.layout.display = ""
        self.keep_button.focus()

    def _close_question(self) -> None:
        with self._lock:
            self._confirmed = None
            self.ask_box.layout.display = "none"

    def _on_confirm(self) -> None:
        with self._lock:
            deed = self._confirmed
            if self._is_busy or deed is None:
                return
            self._close_question()
            self.outcome.value = status_html(f"◐ {self.confirm_button.description} ...")
            deed()

    def _show_deleted(self, result: Deleted) -> None:
        self.update(result.cluster)
        if result.is_gone:
            self.outcome.value = status_html(f"✔ {result.cluster.full_name} is deleted.")
        else:
            note = result.note or "It will be looked at until it is gone."
            self.outcome.value = status_html(f"◐ {result.cluster.full_name}: deleting, unconfirmed. {note}")

    def _show_cancelled(self, report: CancelReport) -> None:
        self.update(report.workload)
        left = problem_html([f"still there: {process}" for process in report.left_over])
        self.outcome.value = status_html(f"{report.workload.full_name}: {report.workload.phase}.") + left

    # Rest

    def _on_rest(self) -> None:
        with self._lock:
            thing = self.thing
            if self._is_busy or not isinstance(thing, Workload):
                return
            if not _rests(thing):
                deed = partial(self._run, self._service.suspend, self._show_rested, thing)
                self._ask(suspend_question(thing), f"Suspend {thing.name}", deed)
                return
            self.outcome.value = status_html(f"◐ Resume {thing.name} ...")
            self._run(self._service.resume, self._show_rested, thing)

    def _show_rested(self, workload: Workload) -> None:
        self.update(workload)
        self.outcome.value = status_html(f"{workload.full_name}: {workload.phase}.")

    # Output

    def _on_logs(self) -> None:
        self._run(self._last_output, self._show_logs)

    async def _last_output(self) -> str:
        assert isinstance(self.thing, Workload)
        chunks = await last_output(self._service, self.thing, lines=_TAIL_LINES)
        lines = [f"[{chunk.rank}] {line}" for chunk in chunks for line in chunk.text.splitlines()]
        return "\n".join(lines)[-_TAIL_CHARACTERS:]

    def _show_logs(self, text: str) -> None:
        self.outcome.value = text_block_html(text) if text else help_html("No output yet.")

    # One thing at a time, in the background

    def _run(self, fn: Callable[..., Awaitable[Any]], show: Callable[[Any], None], *args: Any) -> None:
        with self._lock:
            if self._is_busy:
                return
            self._is_busy = True
            self.update(self.thing)
        bridge.start(self._do, partial(fn, *args), show).add_done_callback(self._show_fault)

    async def _do(self, fn: Callable[[], Awaitable[Any]], show: Callable[[Any], None]) -> None:
        try:
            result = await fn()
        except GpuClustersError as exc:
            text = error_html(exc, exc.problems)
            await to_thread.run_sync(self._finish, partial(setattr, self.outcome, "value", text))
        else:
            await to_thread.run_sync(self._finish, partial(show, result))

    def _finish(self, show: Callable[[], None]) -> None:
        with self._lock:
            self._is_busy = False
            show()
            self.update(self.thing)

    def _show_fault(self, future: Future[None]) -> None:
        """A fault of ours must not leave the buttons grey without a word."""
        if not future.cancelled() and (fault := future.exception()) is not None:
            self.outcome.value = problem_html([fault_text(fault)])


def _rests(workload: Workload) -> bool:
    return workload.phase in (WorkloadPhase.STOPPING, WorkloadPhase.STOPPED)


def _button(description: str, icon: str, tooltip: str, **more: Any) -> Any:
    return ipywidgets.Button(description=description, icon=icon, tooltip=tooltip, layout={"width": "auto"}, **more)

"""What the create form and the submit form share: live planning, consent, sending once.

Callbacks may come on any thread, so all state is guarded by one lock, and everything is told through traits
(on worker threads, never on the background loop itself). A change makes the plan void at once; a new one is
made in the background after a short pause, and only the newest is ever shown. The button takes the plan
away as it is pressed: whoever presses again finds none.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, TypeVar

import ipywidgets
from anyio import to_thread
from IPython import get_ipython
from pydantic import BaseModel

from ..core import bridge
from ..core.consent import Consent, agreement, consent_to
from ..core.errors import ConsentError, GpuClustersError, Problem, SpecError
from ..core.models import Cluster, Plan, Workload
from .draft import NAME, filled_in_spec, written_in
from .editor import NOTE_MARGIN, place_problems
from .fields import control_layout, control_style
from .html import BUSY_COLOUR, GOOD_COLOUR, fault_text, heading_html, problem_html, status_html
from .nested import GroupEditor
from .plan_view import error_html, plan_html, waiting_html
from .shapes import Kind, Shape, shapes_of
from .stale import FORM_CLASS, stale_note_html
from .status_view import card_box, show

R = TypeVar("R")

DEBOUNCE_S = 0.3
"""A plan is made when nothing was changed for so long."""

_SHOW_CELL = "Show as magic"
_MOST_CELL_ROWS = 20
_EMPTY = "Fill in the fields; the plan and its price appear here."


class Form(ABC, Generic[R]):
    """A form over one spec model at a time.

    Parameters
    ----------
    title, verb : heading, and the text of the button that sends.
    """

    command: str
    name_help: str

    def __init__(self, title: str, verb: str) -> None:
        self._lock = threading.RLock()
        self._generation = 0
        self._is_touched = False
        self._is_sending = False
        self._plan: Plan | None = None
        self._consent: Consent | None = None
        self._planning: Future[None] | None = None
        self._model: type[BaseModel] | None = None
        self._title, self._verb = title, verb
        self._make_controls()
        self.root = GroupEditor(Shape("", Kind.GROUP, ""), (), self.changed)

    def _make_controls(self) -> None:
        self.name = ipywidgets.Text(
            description="Name", placeholder=self.name_help, style=control_style(), layout=control_layout()
        )
        self.name_note = ipywidgets.HTML(layout={"margin": NOTE_MARGIN, "display": "none"})
        self.message = ipywidgets.HTML()
        self.plan_view = ipywidgets.HTML(waiting_html(_EMPTY))
        self.agree: Any = None
        self._agree_box = ipywidgets.VBox()
        self.send_button = ipywidgets.Button(
            description=self._verb, button_style="primary", icon="check", disabled=True, layout={"width": "auto"}
        )
        self.again_button = ipywidgets.Button(
            description="Plan again", icon="refresh", tooltip="Look up prices and names again", layout={"width": "auto"}
        )
        self.cell_button = ipywidgets.Button(
            description=_SHOW_CELL,
            icon="code",
            tooltip="The notebook cell that does the same",
            layout={"width": "auto"},
        )
        self.outcome = ipywidgets.HTML()
        self.cell = ipywidgets.Textarea(layout=control_layout(display="none"), tooltip="Copy this into a cell")
        self.card = ipywidgets.VBox()
        self._fields_box = ipywidgets.VBox()
        self.name.observe(lambda _: self.changed(), names="value")
        self.send_button.on_click(lambda _: self._on_send())
        self.again_button.on_click(lambda _: self.changed())
        self.cell_button.on_click(lambda _: self._on_cell())

    def _lay_out(self, targets: Any) -> None:
        buttons = ipywidgets.HBox([self.send_button, self.again_button, self.cell_button])
        buttons.layout.flex_flow = "row wrap"
        self.widget = ipywidgets.VBox(
            [
                ipywidgets.HTML(heading_html(self._title)),
                self.message,
                targets,
                self.name,
                self.name_note,
                self._fields_box,
                self.plan_view,
                self._agree_box,
                buttons,
                self.outcome,
                self.cell,
                self.card,
            ],
            layout={"padding": "4px 8px", "max_width": "60em"},
        )
        self.widget.add_class(FORM_CLASS)

    def _ipython_display_(self) -> None:
        """Show the form, and words for where it cannot be alive."""
        text = f"{self._title}: a form. It lives while its kernel runs; run the cell again, or use {self.command}."
        if getattr(get_ipython(), "kernel", None) is None:
            sys.stdout.write(f"{text}\n")
            return
        show({"text/html": stale_note_html(text), "text/plain": text})
        show({**self.widget._repr_mimebundle_(), "text/plain": self._title})

    # What the two forms do differently

    @abstractmethod
    def _name_problems(self, name: str) -> list[Problem]:
        """What is wrong with the name, before anybody is asked."""

    @abstractmethod
    def _planner(self) -> Callable[[str | None, BaseModel], Any]:
        """The async function that plans for what is chosen now: ``(name, spec) -> Plan``."""

    @abstractmethod
    async def _send(self, plan: Plan, consent: Consent | None) -> R:
        """Carry the plan out."""

    @abstractmethod
    def _thing(self, result: R) -> tuple[Cluster | Workload, str]:
        """What there is now, and a sentence that says what happened."""

    @abstractmethod
    def _cell_text(self, name: str | None, written: Mapping[str, Any]) -> str:
        """The cell that does the same."""

    # Fields

    def use_model(self, find: Callable[[], type[BaseModel]]) -> None:
        """Show the fields of another model, or why there are none."""
        with self._lock:
            old = self.root
            try:
                self._model = find()
                self.message.value = ""
            except GpuClustersError as exc:
                self._model = None
                self.message.value = error_html(exc, exc.problems)
            shapes = () if self._model is None else shapes_of(self._model)
            fields = tuple(shape for shape in shapes if shape.key != NAME)
            self.root = GroupEditor(Shape("", Kind.GROUP, "", fields=fields), (), self.changed)
            self._fields_box.children = (self.root.widget,)
            _close(old.widget)

    # Planning

    def changed(self) -> None:
        """Something was filled in differently: the plan is void, a new one is made after a short pause."""
        self._is_touched = True
        self.plan_soon()

    def plan_soon(self) -> None:
        """Make the plan void and a new one after a short pause."""
        with self._lock:
            self._generation += 1
            self._drop_plan()
            if self._planning is not None:
                self._planning.cancel()
            if self.cell.layout.display != "none":
                self._fill_cell()
            if self._model is None:
                self.plan_view.value = waiting_html(_EMPTY)
                return
            self.plan_view.value = waiting_html("Planning ...")
            self._planning = bridge.start(self._plan_later, self._generation)
            self._planning.add_done_callback(self._show_fault)

    async def _plan_later(self, generation: int) -> None:
        await asyncio.sleep(DEBOUNCE_S)
        try:
            make_plan = await to_thread.run_sync(self._request, generation)
            plan = await make_plan() if make_plan is not None else None
        except GpuClustersError as exc:
            await to_thread.run_sync(self._show_refusal, generation, exc)
        else:
            if plan is not None:
                await to_thread.run_sync(self._show_plan, generation, plan)

    def _request(self, generation: int) -> Callable[[], Any] | None:
        """What to ask for the plan of what is filled in now; nothing when it is no longer wanted."""
        with self._lock:
            if generation != self._generation:
                return None
            assert self._model is not None
            name = self.name.value.strip()
            spec = filled_in_spec(self._model, self.root, name, self._name_problems(name))
            return partial(self._planner(), name or None, spec)

    def _show_plan(self, generation: int, plan: Plan) -> None:
        with self._lock:
            if generation != self._generation:
                return
            place_problems((), self.root)
            self._show_name_problems(())
            self.message.value = ""
            self.plan_view.value = plan_html(plan)
            self._ask(plan)
            self._plan = plan
            self._update_button()

    def _show_refusal(self, generation: int, error: GpuClustersError) -> None:
        with self._lock:
            if generation != self._generation:
                return
            if not self._is_touched and isinstance(error, SpecError):
                self.plan_view.value = waiting_html(_EMPTY)
                return
            self._show_error(error)
            self.plan_view.value = waiting_html("No plan yet: see what is marked.")

    def _show_error(self, error: GpuClustersError) -> None:
        """Every problem beside its field; what has no field, on top."""
        self._show_name_problems([problem.text for problem in error.problems if problem.field == NAME])
        rest = place_problems([problem for problem in error.problems if problem.field != NAME], self.root)
        if rest or not error.problems:
            self.message.value = error_html(error, rest)
        else:
            self.message.value = ""

    def _show_name_problems(self, texts: Sequence[str]) -> None:
        self.name_note.value = problem_html(texts)
        self.name_note.layout.display = "" if texts else "none"

    def _show_fault(self, future: Future[Any]) -> None:
        """A fault of ours must not leave the form waiting for ever without a word."""
        if future.cancelled() or (fault := future.exception()) is None:
            return
        with self._lock:
            self._is_sending = False
            self.message.value = problem_html([fault_text(fault)])
            self._update_button()

    def _drop_plan(self) -> None:
        self._plan = None
        self._consent = None
        self._agree_box.children = ()
        if self.agree is not None:
            self.agree.close()
            self.agree = None
        self._update_button()

    # Consent and sending

    def _ask(self, plan: Plan) -> None:
        """A tick box for this plan alone: a tick that was on its way for an older one finds nobody."""
        question = agreement(plan)
        if question is None:
            return
        self.agree = ipywidgets.Checkbox(description=question, indent=False, layout={"width": "auto"})
        self.agree.observe(partial(self._on_agree, plan), names="value")
        self._agree_box.children = (self.agree,)

    def _on_agree(self, plan: Plan, change: Any) -> None:
        with self._lock:
            if plan is self._plan:
                self._consent = consent_to(plan) if change["new"] else None
                self._update_button()

    def _ready(self) -> Plan | None:
        """The plan that a press of the button would send now."""
        if self._plan is None or self._is_sending:
            return None
        return self._plan if agreement(self._plan) is None or self._consent is not None else None

    def _update_button(self) -> None:
        self.send_button.disabled = self._ready() is None

    def _on_send(self) -> None:
        """Take the plan away and send it; a second press finds nothing to send."""
        with self._lock:
            plan, consent = self._ready(), self._consent
            if plan is None:
                return
            self._is_sending = True
            self._drop_plan()
            self.outcome.value = status_html(f"◐ {self._verb}: {plan.name} ...", BUSY_COLOUR)
            bridge.start(self._send_once, plan, consent).add_done_callback(self._show_fault)

    async def _send_once(self, plan: Plan, consent: Consent | None) -> None:
        try:
            result = await self._send(plan, consent)
        except GpuClustersError as exc:
            await to_thread.run_sync(self._show_failure, exc)
        else:
            await to_thread.run_sync(self._show_success, result)

    def _show_failure(self, error: GpuClustersError) -> None:
        with self._lock:
            self._is_sending = False
            self._show_error(error)
            self.outcome.value = error_html(error, ())
            self._update_button()
            if isinstance(error, ConsentError):
                self.plan_soon()

    def _show_success(self, result: R) -> None:
        thing, sentence = self._thing(result)
        with self._lock:
            self._is_sending = False
            self.outcome.value = status_html(f"✔ {sentence}", GOOD_COLOUR)
            self.card.children = (card_box(thing),)
            self._update_button()

    # Show as magic

    def _on_cell(self) -> None:
        with self._lock:
            is_hidden = self.cell.layout.display == "none"
            self._fill_cell()
            self.cell.layout.display = "" if is_hidden else "none"
            self.cell_button.description = "Hide magic" if is_hidden else _SHOW_CELL

    def _fill_cell(self) -> None:
        text = self._cell_text(self.name.value.strip() or None, written_in(self.root))
        self.cell.rows = min(text.count("\n") + 1, _MOST_CELL_ROWS)
        self.cell.value = text


def _close(widget: Any) -> None:
    """Close a widget and all inside it, so that rebuilt forms do not pile up."""
    for child in getattr(widget, "children", ()):
        _close(child)
    widget.close()

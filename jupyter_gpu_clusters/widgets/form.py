"""What all forms share: live planning, consent, sending once.

Callbacks may come on any thread, so all state is guarded by one lock, and everything is told through traits
(on worker threads, never on the background loop itself). A change makes the plan void at once; a new one is
made in the background after a short pause, and only the newest is ever shown. The button takes the plan
away as it is pressed: whoever presses again finds none.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, TypeVar

import ipywidgets
from anyio import to_thread
from pydantic import BaseModel

from ..core import bridge
from ..core.consent import Consent, agreement, consent_to
from ..core.errors import ConsentError, GpuClustersError, Problem, SpecError
from ..core.models import Cluster, Plan, Workload
from .choice_lists import ChoiceLists
from .draft import NAME, filled_in_spec, given_in, written_in
from .editor import Host, close_all, place_problems
from .form_controls import EMPTY, FormControls
from .html import BUSY_COLOUR, GOOD_COLOUR, fault_text, problem_html, status_html
from .nested import GroupEditor
from .plan_view import error_html, plan_html, waiting_html
from .shapes import Kind, Shape, has_look_ups, shapes_of

R = TypeVar("R")

DEBOUNCE_S = 0.3
"""A plan is made when nothing was changed for so long."""


class Form(FormControls, ABC, Generic[R]):
    """A form over one spec model at a time.

    Parameters
    ----------
    title, verb : heading, and the text of the button that sends.
    """

    def __init__(self, title: str, verb: str) -> None:
        super().__init__(title, verb)
        self._lock = threading.RLock()
        self._generation = 0
        self._is_touched = False
        self._is_sending = False
        self._plan: Plan | None = None
        self._consent: Consent | None = None
        self._planning: Future[None] | None = None
        self._model: type[BaseModel] | None = None
        self.lists = ChoiceLists(self._lock, lambda: given_in(self.root))
        self._host = Host(self.changed, self.lists)
        self.root = GroupEditor(Shape("", Kind.GROUP, ""), (), self._host)
        self.name.observe(lambda _: self.changed(), names="value")
        self.send_button.on_click(lambda _: self._on_send())
        self.again_button.on_click(lambda _: self.changed())
        self.cell_button.on_click(lambda _: self._on_cell())

    def close(self) -> None:
        """Take the form away; what it looks up or plans in the background ends."""
        close_all(self.widget)

    def _lay_out(self, *targets: Any, below: Sequence[Any] = ()) -> None:
        super()._lay_out(*targets, below=below)
        self.widget.observe(self._on_comm, names="comm")

    def _on_comm(self, change: Any) -> None:
        if change["new"] is not None:
            return
        with self._lock:
            self._generation += 1
            self._model = None
            self._drop_plan()
            if self._planning is not None:
                self._planning.cancel()
            self.lists.close()

    # What the forms do differently

    @abstractmethod
    def _own_problems(self, name: str) -> list[Problem]:
        """What is wrong with the name and the form's other own fields, before anybody is asked."""

    def _show_own_problems(self, problems: Sequence[Problem]) -> list[Problem]:
        """Show those of the form's own fields beside them, clear the others, return the rest."""
        mine = [problem for problem in problems if self.has_name and problem.field == NAME]
        self._show_name_problems([problem.text for problem in mine])
        return [problem for problem in problems if problem not in mine]

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
    def _show_thing(self, thing: Cluster | Workload) -> None:
        """Show what there is now."""

    @abstractmethod
    def _cell_text(self, name: str | None, written: Mapping[str, Any]) -> str:
        """The cell that does the same."""

    # Fields

    def use_model(self, account: str | None, find: Callable[[], type[BaseModel]]) -> None:
        """Show the fields of another model, or why there are none.

        Parameters
        ----------
        account : whose choices the fields offer; ``None`` for no choices.
        """
        with self._lock:
            old = self.root
            try:
                self._model = find()
                self.message.value = ""
            except GpuClustersError as exc:
                self._model = None
                self.message.value = error_html(exc, exc.problems)
            shapes = () if self._model is None else shapes_of(self._model)
            fields = tuple(shape for shape in shapes if not (self.has_name and shape.key == NAME))
            self.lists.use(account if self._model is not None and has_look_ups(fields) else None)
            self.root = GroupEditor(Shape("", Kind.GROUP, "", fields=fields), (), self._host)
            self._fields_box.children = (self.root.widget,)
            close_all(old.widget)

    # Planning

    def changed(self) -> None:
        """Something was filled in differently: the plan is void, a new one is made after a short pause."""
        self._is_touched = True
        self.lists.follow()
        self.plan_soon()

    def plan_soon(self) -> None:
        """Make the plan void and a new one after a short pause."""
        with self._lock:
            self._generation += 1
            self._drop_plan()
            if self._planning is not None:
                self._planning.cancel()
            if self._is_cell_shown:
                self._fill_cell()
            if self._model is None:
                self.plan_view.value = waiting_html(EMPTY)
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
            spec = filled_in_spec(self._model, self.root, name, self._own_problems(name))
            return partial(self._planner(), name or None, spec)

    def _show_plan(self, generation: int, plan: Plan) -> None:
        with self._lock:
            if generation != self._generation:
                return
            place_problems((), self.root)
            self._show_own_problems(())
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
                self.plan_view.value = waiting_html(EMPTY)
                return
            self._show_error(error)
            self.plan_view.value = waiting_html("No plan yet: see what is marked.")

    def _show_error(self, error: GpuClustersError) -> None:
        """Every problem beside its field; what has no field, on top."""
        rest = place_problems(self._show_own_problems(error.problems), self.root)
        if rest or not error.problems:
            self.message.value = error_html(error, rest)
        else:
            self.message.value = ""

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
            self._show_thing(thing)
            self._update_button()

    # Show as magic

    def _on_cell(self) -> None:
        with self._lock:
            self._fill_cell()
            self._turn_cell()

    def _fill_cell(self) -> None:
        self._show_cell(self._cell_text(self.name.value.strip() or None, written_in(self.root)))

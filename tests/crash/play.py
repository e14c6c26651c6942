"""One case from beginning to end: a kernel is hit in the middle of a write, another one resolves, the books decide."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kernel import Done
from tests.until import until

from . import books, victim
from .books import Intent, Told, Truth, Violation, Wrong
from .cases import CUT, INTERRUPT, KEY, KILL, PROJECT, SAME, SENT, Case
from .kernels import ROOT, Kernel, Nursery
from .scene import THEIR_MARK, Scene, write_account
from .scene_e2e import E2EScene
from .scene_lium import LiumScene
from .scene_runai import RunaiScene

_SCENES: Mapping[str, type[Scene]] = {"e2e": E2EScene, "lium": LiumScene, "runai": RunaiScene}
_REACHED_WITHIN_S = 30.0
_ENDED_WITHIN_S = 40.0
_DELETE_TRIES = 5
_CREDENTIALS = ("E2E_", "LIUM_", "RUNAI_", "SANDBOX_")
_UNDER_FIRE = ("%cluster_list", "%cluster_recover", "%cluster_list")
_IN_PEACE = ("%cluster_recover", "%cluster_list")
_AT_THE_END = ("%cluster_list",)


@dataclass
class Report:
    """What came of a case; `log` tells each cell with what it said."""

    case: Case
    violations: list[Violation] = field(default_factory=list)
    outcome: str = ""
    log: list[str] = field(default_factory=list)


def play(case: Case, nursery: Nursery, folder: Path, *, mutation: str | None = None) -> Report:
    """Carry a case out in a folder of its own; with `mutation` the resolvers' product has that fault."""
    with _SCENES[case.service](case) as scene:
        run = _Run(case, scene, nursery, folder, mutation)
        try:
            run.whole()
        except AssertionError as exc:
            run.report.violations.append(Violation(Wrong.STUCK, str(exc)))
        finally:
            run.close()
    return run.report


class _Run:
    def __init__(self, case: Case, scene: Scene, nursery: Nursery, folder: Path, mutation: str | None) -> None:
        self.case, self.scene, self.report, self._mutation = case, scene, Report(case), mutation
        self._nursery, self._folder = nursery, folder
        self._kernels: list[Kernel] = []
        self._elsewhere = range(0)
        self._data, self._config = folder / "data", folder / "config"
        self._env = {name: text for name, text in os.environ.items() if not name.startswith(_CREDENTIALS)}
        places = {"JUPYTER_DATA_DIR": self._data, "JUPYTER_CONFIG_DIR": self._config, "JUPYTER_RUNTIME_DIR": folder}
        for name, place in {**places, "IPYTHONDIR": folder.parent / "ipython"}.items():
            place.mkdir(parents=True, exist_ok=True)
            self._env[name] = str(place)
        self._env["PYTHONPATH"] = str(ROOT)

    def close(self) -> None:
        for kernel in self._kernels:
            kernel.close()

    def whole(self) -> None:
        """All of it."""
        scene = self.scene
        scene.plant()
        write_account(scene, self._config, SAME)
        first = self._kernel("victim")
        for cell in scene.prepare():
            self._ran("prepare", first, cell).require()
            scene.settle()
        self._look_around()
        self._hit(first)
        self._resolve_under_fire()
        self._resolve_in_peace()

    def _kernel(self, name: str) -> Kernel:
        kernel = Kernel(self._nursery, env=self._env, folder=self._folder, name=name)
        self._kernels.append(kernel)
        kernel.run("%load_ext jupyter_gpu_clusters\nfrom tests.crash import victim; victim.hurry()").require()
        if self._mutation is not None and name != "victim":
            kernel.run(f"from tests.crash import mutations; mutations.mutate({self._mutation!r})").require()
        return kernel

    def _ran(self, who: str, kernel: Kernel, cell: str) -> Done:
        done = kernel.run(cell)
        self._log(who, cell, done)
        self.report.violations += books.refused_to_stack(done, f"{who}: {cell.splitlines()[0]}")
        return done

    def _log(self, who: str, cell: str, done: Done) -> None:
        said = done.result.get("text/plain", "") or "\n".join(done.error_lines) or done.text
        self.report.log.append(f"[{who}] {cell.splitlines()[0]}\n{said}")

    # The crash

    def _look_around(self) -> None:
        """What is there before the write, and whose it is."""
        made = {one for making in self.scene.made() for one in making.ids}
        alive = self.scene.alive()
        self._before = {one.id: one for one in alive}
        self._theirs = {one.id for one in alive} - made
        target = next(iter(made), None)
        self._intent = Intent(self.case.verb, self.scene.intent, target)

    def _hit(self, kernel: Kernel) -> None:
        scene, sent = self.scene, len(self.scene.entries())
        scene.arm(self._intent.target)
        kernel.run(f"victim.stop_at({self.case.step!r})").require()
        cell, done = kernel.begin(scene.write), Done()
        stopped = self._folder / victim.STOPPED

        def is_reached() -> bool:
            return len(scene.entries()) > sent if self.case.step == SENT else stopped.exists()

        until(lambda: is_reached() or kernel.is_over(cell, done), within_s=_REACHED_WITHIN_S, every_s=0.005)
        if not is_reached():
            self.report.outcome = "never came to this step: " + _said(done)
            raise AssertionError(f"the write ended before it came to: {self.case.step}: {_said(done)}")
        if self.case.has_namesake:
            self._plant_alike()
        if self.case.violence == KILL:
            kernel.kill()
        else:
            self._survive(kernel, cell, done)
        scene.arm_resolvers()
        self.report.violations += books.always(self._intent, self._truth(), self._told([]))

    def _plant_alike(self) -> None:
        with self.scene.without_faults():
            self.scene.plant_alike()
        new = {one.id: one for one in self.scene.alive() if one.id not in self._before and THEIR_MARK in one.name}
        self._before |= new
        self._theirs |= set(new)

    def _survive(self, kernel: Kernel, cell: str, done: Done) -> None:
        """An interrupt or the loss of the network, until the kernel has recorded all that it will."""
        network = None
        if self.case.violence == INTERRUPT:
            kernel.interrupt()
            kernel.finish(cell, done, within_s=_ENDED_WITHIN_S)
        elif self.case.violence == CUT:
            network = self.scene.fault(kind="drop_before")
        else:
            self.scene.unplug()
        (self._folder / victim.GO_ON).touch()
        if self.case.violence != INTERRUPT:
            kernel.finish(cell, done, within_s=_ENDED_WITHIN_S)
        kernel.run("victim.settle()").require()
        self._log("victim", self.scene.write, done)
        self._add(books.abandoned(self._told([])))
        self.report.violations += books.refused_to_stack(done, "the victim's cell")
        if network is not None:
            self.scene.sandbox.clear_faults(network)
        elif self.case.violence != INTERRUPT:
            self.scene.plug_in()

    # The resolvers

    def _resolve_under_fire(self) -> None:
        write_account(self.scene, self._config, self.case.resolver)
        kernel = self._kernel("resolver")
        told = self._read_only("resolver", kernel, _UNDER_FIRE)
        state = _state(self._intent, told)
        sent = self.scene.last_seq()
        again = self._ran("resolver", kernel, self.scene.write)
        if self.case.resolver in (KEY, PROJECT):
            self._elsewhere = range(sent + 1, self.scene.last_seq() + 1)
        self._judge(self._told([again]))
        if self.case.violence != KILL and self.case.resolver == SAME:
            self._judge(self._told([self._ran("victim", self._kernels[0], self.scene.write)]))
        self.report.outcome = f"{state}; again: {_said(again)}"

    def _resolve_in_peace(self) -> None:
        self.scene.clear()
        write_account(self.scene, self._config, SAME)
        kernel = self._kernels[-1] if self.case.resolver == SAME else self._kernel("peace")
        told = self._read_only("peace", kernel, _IN_PEACE)
        truth = self._truth()
        self._add(books.resolved(self._intent, truth, told, is_done=self._is_done()))
        if self.case.verb in ("delete", "cancel"):
            told = self._end(kernel)
            self._add(books.ended(self._intent, self._truth(), told))
        else:
            again = self._ran("peace", kernel, self.scene.write)
            if self.case.verb in ("create", "submit"):
                self._add(books.attached(self._intent, truth, again))
            told = self._read_only("peace", kernel, _AT_THE_END)
            self._add(books.resolved(self._intent, self._truth(), told, is_done=self._is_done()))
        self.report.outcome += f" -> {_state(self._intent, told)}"

    def _end(self, kernel: Kernel) -> Told:
        """Delete until it is gone, as a user would."""
        for _ in range(_DELETE_TRIES):
            done = self._ran("peace", kernel, self.scene.write)
            if done.error == "NotFoundError" or "○ deleted" in done.result.get("text/plain", ""):
                break
            self.scene.settle()
        return self._read_only("peace", kernel, _AT_THE_END)

    def _read_only(self, who: str, kernel: Kernel, cells: Sequence[str]) -> Told:
        """Cells that only look; the record of requests proves it."""
        self.scene.sandbox.forget_requests()
        cells = [*cells, *(["%workload_list"] if self.case.service == "runai" else [])]
        shown = []
        for cell in cells:
            shown.append(self._ran(who, kernel, cell))
            self._judge(self._told(shown[-1:]))
        parts = self.scene.parts(self._intent.target) if self._intent.target else ()
        self._add(books.written(self._intent, self.scene.writes(), parts))
        return self._told(shown[-2:] if self.case.service == "runai" else shown[-1:])

    # Judging

    def _is_done(self) -> bool:
        return self._intent.target is not None and self.scene.is_done(self._intent.target)

    def _truth(self) -> Truth:
        return Truth(self.scene.alive(), self.scene.made(), self._before, self._theirs, self._elsewhere)

    def _told(self, shown: Sequence[Done]) -> Told:
        return books.read_told(self._data, shown)

    def _judge(self, told: Told) -> None:
        self._add(books.always(self._intent, self._truth(), told))

    def _add(self, violations: Sequence[Violation]) -> None:
        self.report.violations += [one for one in violations if one not in self.report.violations]


def _state(intent: Intent, told: Told) -> str:
    verb = books.JOURNAL_VERBS.get(intent.verb, intent.verb)
    states = [str(order["state"]) for order in told.orders if order["verb"] == verb]
    return ", ".join(states).replace("_", " ") or "no order"


def _said(done: Done) -> str:
    if done.error is not None:
        return done.error
    text: Any = done.result.get("text/plain", "") + done.text
    return "attached" if "attached" in text else "done"

"""What a user does in JupyterLab, as methods."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect

from jupyter_gpu_clusters.core.service import Service

T = TypeVar("T")

PANEL = "jupyter-gpu-clusters-panel"

_EMPTY_CELL: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}

_RUN_ALL = """async () => {
  const app = window.jupyterapp;
  const context = app.shell.currentWidget.sessionContext;
  await context.ready;
  await context.session.kernel.info;
  app.commands.execute('notebook:run-all-cells');
}"""


class Lab:
    """One page of one JupyterLab. This process shares the server's data folder, as a kernel does."""

    def __init__(self, page: Page, url: str, token: str, work: Path) -> None:
        self.page = page
        self.url = url
        self.token = token
        self.work = work

    def open(self, path: str = "") -> None:
        """Load JupyterLab (with a notebook of the work folder, if `path` names one) and open our sidebar."""
        tree = f"/tree/{quote(path)}" if path else ""
        self.page.goto(f"{self.url}lab{tree}?token={self.token}&reset")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=60_000)
        # The splash may be gone before it has come.
        self.page.wait_for_function("() => window.jupyterapp?.restored", timeout=60_000)
        self.page.evaluate("() => window.jupyterapp.restored.then(() => undefined)")
        tab = self.page.locator(f'.jp-SideBar [data-id="{PANEL}"]')
        expect(tab).to_be_visible()
        if not self.panel.is_visible():
            tab.click()
        expect(self.panel).to_be_visible()

    @property
    def panel(self) -> Locator:
        """Our sidebar."""
        return self.page.locator(f"#{PANEL}")

    def row(self, kind: str, name: str) -> Locator:
        """The row of a cluster or workload."""
        return self.panel.get_by_role("treeitem", name=f"{kind} {name},")

    def button(self, row: Locator, label: str) -> Locator:
        """A button of a row; rows show theirs when the pointer is on them."""
        row.hover()
        return row.get_by_role("button", name=label)

    @property
    def dialog(self) -> Locator:
        """The dialog that is open."""
        return self.page.locator(".jp-Dialog-content")

    def command(self, command: str, **arguments: object) -> None:
        """Execute a command of JupyterLab."""
        self.page.evaluate(
            "([id, args]) => { void window.jupyterapp.commands.execute(id, args); }", [command, arguments]
        )

    def theme(self, name: str) -> None:
        """Change the theme and wait for it."""
        self.command("apputils:change-theme", theme=name)
        is_light = "false" if "Dark" in name else "true"
        expect(self.page.locator("body")).to_have_attribute("data-jp-theme-light", is_light)

    def notebook(self, name: str, *cells: str) -> None:
        """Write a notebook, open it and run all its cells."""
        body = {
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"c{i}",
                    "metadata": {},
                    "source": cell,
                    "outputs": [],
                    "execution_count": None,
                }
                for i, cell in enumerate(cells)
            ],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.work / name).write_text(json.dumps(body))
        self.open(name)
        self.page.wait_for_function("() => window.jupyterapp.shell.currentWidget?.sessionContext")
        self.page.evaluate(_RUN_ALL)

    def output(self, text: str) -> Locator:
        """Cell output that contains `text`."""
        return self.page.locator(".jp-OutputArea-output", has_text=text).first

    def act(self, verb: Callable[[Service], Awaitable[T]]) -> T:
        """Do something from another process of the same user: its own service over the same folders."""

        async def run() -> T:
            service = Service.open()
            try:
                return await verb(service)
            finally:
                await service.aclose()

        # Playwright's own event loop has this thread.
        with ThreadPoolExecutor(1) as other_thread:
            return other_thread.submit(lambda: asyncio.run(run())).result(60)

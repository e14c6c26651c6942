"""An order that lost its answer, told and settled in the sidebar; and what nobody ordered here."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from jupyter_gpu_clusters.core.errors import OutcomeUnknownError
from jupyter_gpu_clusters.core.models import State
from jupyter_gpu_clusters.core.service import Service
from jupyter_gpu_clusters.sandbox import Sandbox
from tests.providers.e2e.ordering import ordered
from tests.providers.e2e.test_looking import foreign

from .lab import Lab
from .test_service_forms import orders

TOLD = re.compile("It is not known whether the create of “lost” happened")
STATEMENT = "How do you know?"


async def order_in_vain(service: Service) -> None:
    """Order a cluster `lost`, of which neither an answer nor anything else comes."""
    with pytest.raises(OutcomeUnknownError):
        await ordered(service, "lost")


async def state(service: Service) -> State:
    return await service.state()


def choose_by_keyboard(lab: Lab, item: str) -> None:
    """Choose from the context menu of the row that has the focus; letters go from item to item."""
    lab.page.keyboard.press("Shift+F10")
    menu = lab.page.get_by_role("menu")
    expect(menu).to_be_visible()
    for _ in range(5):
        lab.page.keyboard.press(item[0].lower())
        if menu.locator(".lm-mod-active", has_text=item).count():
            break
    lab.page.keyboard.press("Enter")


def telling(tabs: list[Lab]) -> int:
    """How many notifications about the order all tabs show."""
    return sum(tab.page.locator(".Toastify__toast").filter(has_text=TOLD).count() for tab in tabs)


def statement_in(dialog: Locator) -> Locator:
    return dialog.get_by_label(STATEMENT)


def test_a_lost_order_is_told_in_one_tab_and_closed_by_keyboard(services_lab: Lab, services: Sandbox) -> None:
    other = Lab(services_lab.page.context.new_page(), services_lab.url, services_lab.token, services_lab.work)
    other.open()
    tabs = [services_lab, other]
    before = len(orders(services, "e2e"))
    services.fault(service="e2e", action="create", kind="drop_before")
    services_lab.act(order_in_vain)
    for tab in tabs:
        expect(tab.row("order", "lost")).to_contain_text("create: outcome unknown")
        expect(tab.row("order", "lost")).to_contain_text("may cost 3,984.00 INR/h")
    page, press = services_lab.page, services_lab.page.keyboard.press
    services_lab.panel.get_by_role("treeitem").first.click()
    page.keyboard.type("lost")
    expect(services_lab.row("order", "lost")).to_be_focused()
    press("Enter")
    expect(services_lab.dialog).to_contain_text("It is still not known what became of “lost”")
    expect(services_lab.dialog.get_by_role("button", name="Close")).to_be_focused()
    press("Escape")
    expect(services_lab.dialog).to_have_count(0)

    choose_by_keyboard(services_lab, "Close…")
    dialog = services_lab.dialog
    expect(dialog).to_contain_text("Its mark is watched for 30 days")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    close = dialog.get_by_role("button", name="Close")
    expect(close).to_be_disabled()
    press("Shift+Tab")
    expect(statement_in(dialog)).to_be_focused()
    page.keyboard.type("  ")
    expect(close).to_be_disabled()
    page.keyboard.type("The console shows nothing.")
    press("Tab")
    press("Tab")
    expect(close).to_be_focused()
    press("Enter")
    for tab in tabs:
        expect(tab.row("order", "lost")).to_have_count(0)
    assert services_lab.act(state).orders == ()
    assert [entry["worked"] for entry in orders(services, "e2e")[before:]] == [False]
    assert telling(tabs) == 1


def test_what_was_not_ordered_here_is_listed_and_asks_before_it_is_deleted(
    services_lab: Lab, services: Sandbox
) -> None:
    foreign(services, name="theirs")
    services_lab.command("gpu-clusters:show-orphans")
    line = services_lab.page.locator(".jp-GpuClusters-orphans").get_by_role("row").filter(has_text="theirs")
    expect(line).to_contain_text("not created here")
    expect(line).to_contain_text("INR/h")
    delete = line.get_by_role("button", name="Delete… (theirs)")
    delete.click()
    dialog = services_lab.dialog
    expect(dialog).to_contain_text("It was not created from here.")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    services_lab.page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(services_lab.row("cluster", "theirs")).not_to_contain_text("deleting")
    delete.click()
    dialog.get_by_role("button", name="Delete").click()
    expect(services_lab.row("cluster", "theirs")).to_contain_text("deleting")

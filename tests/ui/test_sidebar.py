"""The sidebar shows what happens, as it happens, and ends things only after a question."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from jupyter_gpu_clusters.core.models import Cluster, State, Workload
from jupyter_gpu_clusters.core.service import Service

from .lab import Lab


async def create(service: Service, name: str, nodes: int = 2) -> Cluster:
    plan = await service.plan_create("local", name, service.spec_model("local")(nodes=nodes))
    return (await service.create(plan)).cluster


async def submit(service: Service, cluster: Cluster, name: str, script: str) -> Workload:
    spec = service.workload_model("local")(command=["sh", "-c", script], procs_per_node=2)
    return (await service.submit(await service.plan_submit(cluster, name, spec))).workload


async def state(service: Service) -> State:
    return await service.refresh()


def test_what_a_notebook_does_is_shown_live_without_a_reload(lab: Lab) -> None:
    lab.notebook(
        "live.ipynb",
        "%load_ext jupyter_gpu_clusters",
        "%%cluster_create local --name live --wait\nnodes: 2",
        "%workload_submit live --name train --procs-per-node 2 -- sh -c 'while [ ! -e go ]; do sleep 0.1; done'",
    )
    expect(lab.row("cluster", "live")).to_contain_text("running")
    expect(lab.row("cluster", "live")).to_contain_text("2 nodes")
    expect(lab.row("workload", "train")).to_contain_text("running")
    (lab.work / "go").touch()
    expect(lab.row("workload", "train")).to_contain_text("succeeded")


def test_a_cluster_of_another_process_appears_and_goes_at_once(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "elsewhere"))
    expect(lab.row("cluster", "elsewhere")).to_be_visible(timeout=5_000)
    lab.act(lambda service: service.delete(cluster))
    expect(lab.row("cluster", "elsewhere")).to_have_count(0, timeout=5_000)


def test_delete_asks_first_names_what_ends_and_keeps_by_default(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "doomed"))
    lab.act(lambda service: submit(service, cluster, "long", "sleep 300"))
    expect(lab.row("workload", "long")).to_contain_text("running")
    row = lab.row("cluster", "doomed")
    lab.button(row, "Delete cluster doomed").click()
    expect(lab.dialog).to_contain_text("local/doomed")
    expect(lab.dialog).to_contain_text("long")
    expect(lab.dialog).to_contain_text("free")
    expect(lab.dialog.get_by_role("button", name="Cancel")).to_be_focused()
    lab.page.keyboard.press("Enter")
    expect(lab.dialog).to_have_count(0)
    assert [c.name for c in lab.act(state).clusters] == ["doomed"]
    lab.button(row, "Delete cluster doomed").click()
    lab.dialog.get_by_role("button", name="Delete").dblclick()
    expect(row).to_have_count(0)
    assert lab.act(state).clusters == ()


def test_cancel_ends_the_workload_and_keeps_the_cluster(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "kept"))
    lab.act(lambda service: submit(service, cluster, "long", "sleep 300"))
    lab.button(lab.row("workload", "long"), "Cancel workload long").click()
    expect(lab.dialog.get_by_role("button", name="Keep running")).to_be_focused()
    lab.dialog.get_by_role("button", name="Cancel workload").click()
    expect(lab.row("workload", "long")).to_contain_text("cancelled")
    expect(lab.row("cluster", "kept")).to_contain_text("running")


def test_the_log_is_followed_rank_by_rank_to_its_end(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "logs"))
    script = "echo first of $RANK; sleep 2; echo last of $RANK; printf 'no newline'"
    lab.act(lambda service: submit(service, cluster, "talk", script))
    lab.button(lab.row("workload", "talk"), "Show the log of talk").click()
    log = lab.page.get_by_label(re.compile("Log of local/logs/talk"))
    for rank in range(4):
        expect(log).to_contain_text(f"first of {rank}")
    for rank in range(4):
        expect(log).to_contain_text(f"last of {rank}")
    expect(log).to_contain_text("no newline")
    expect(lab.page.locator(".jp-GpuClusters-logStatus")).to_contain_text("succeeded")


def test_output_is_text_and_never_markup(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "markup"))
    lab.act(lambda service: submit(service, cluster, "sly", "echo '<img src=x onerror=document.title=1>'"))
    lab.button(lab.row("workload", "sly"), "Show the log of sly").click()
    log = lab.page.get_by_label(re.compile("Log of local/markup/sly"))
    expect(log).to_contain_text("<img src=x")
    assert log.locator("img").count() == 0


def test_the_tree_is_complete_by_keyboard(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "keys"))
    lab.act(lambda service: submit(service, cluster, "long", "sleep 300"))
    expect(lab.row("workload", "long")).to_be_visible()
    tree = lab.panel.get_by_role("tree")
    tree.locator('[role="treeitem"]').first.click()
    lab.page.keyboard.press("Home")
    for _ in range(2):
        lab.page.keyboard.press("ArrowDown")
    expect(lab.row("workload", "long")).to_have_attribute("aria-selected", "true")
    lab.page.keyboard.press("ArrowLeft")
    row = lab.row("cluster", "keys")
    expect(row).to_be_focused()
    row.press("ArrowLeft")
    expect(lab.row("workload", "long")).to_have_count(0)
    row.press("ArrowRight")
    expect(lab.row("workload", "long")).to_be_visible()


def test_two_tabs_show_the_same_and_delete_once(lab: Lab) -> None:
    cluster = lab.act(lambda service: create(service, "shared"))
    other = Lab(lab.page.context.new_page(), lab.url, lab.token, lab.work)
    other.open()
    for tab in (lab, other):
        lab.button(tab.row("cluster", "shared"), "Delete cluster shared").click()
    for tab in (lab, other):
        tab.dialog.get_by_role("button", name="Delete").click()
    for tab in (lab, other):
        expect(tab.row("cluster", "shared")).to_have_count(0)
        expect(tab.dialog).to_have_count(0)
    assert cluster.cluster_id not in [c.cluster_id for c in lab.act(state).clusters]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_words_can_be_read_in_every_theme(lab: Lab, theme: str) -> None:
    cluster = lab.act(lambda service: create(service, "colours"))
    lab.act(lambda service: submit(service, cluster, "bad", "exit 3"))
    lab.theme(theme)
    word = lab.row("workload", "bad").locator(".jp-GpuClusters-word")
    expect(word).to_contain_text("failed")
    assert word.evaluate(_CONTRAST) >= 3


# The contrast ratio (WCAG 2.1) of an element's text against the first opaque background behind it.
_CONTRAST = """element => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255).map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  let behind = element;
  while (behind && (parse(getComputedStyle(behind).backgroundColor)[3] ?? 1) < 1) { behind = behind.parentElement; }
  const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind ?? document.body).backgroundColor]
    .map(parse).map(light);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""

"""The cluster magics against this machine and against a paid provider from outside."""

from __future__ import annotations

import builtins
import threading
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import (
    ConflictError,
    ConsentError,
    NameTakenError,
    NotFoundError,
    NotSupportedError,
    OutcomeUnknownError,
    ProvisioningFailedError,
    SettingsError,
    SpecError,
    WaitTimeoutError,
)
from jupyter_gpu_clusters.core.models import Cluster, ClusterPhase, OrderState, Plan
from jupyter_gpu_clusters.magics.asking import confirm
from jupyter_gpu_clusters.magics.clusters import _delete_question
from jupyter_gpu_clusters.magics.shown import MIME_TYPE

from .shell import Shell

CREATE = "%cluster_create local --name demo --nodes 2"


def problems(error: Exception) -> list[str]:
    return [str(problem) for problem in getattr(error, "problems", ())]


def answer_with(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """A user at the keyboard who always types `text`; the questions asked."""
    asked: list[str] = []

    def ask(prompt: str = "") -> str:
        asked.append(prompt)
        return text

    monkeypatch.setattr(builtins, "input", ask)
    return asked


def test_accounts_say_where_each_secret_is(shell: Shell) -> None:
    shown = shell.run("%cluster_accounts -o accounts")
    assert "local" in repr(shown)
    assert "none needed" in repr(shown)
    assert shell.names["accounts"][0].is_usable


def test_offers_of_all_accounts_are_side_by_side_the_cheapest_first(shell: Shell, slowcloud: Path) -> None:
    shell.run("%cluster_offers -o offers")
    assert [offer.title for offer in shell.names["offers"]][1:] == ["small", "big", "mystery"]
    assert shell.names["offers"][0].is_free
    text = repr(shell.run("%cluster_offers slow --gpu h100 --min-nodes 2"))
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["small", "big", "mystery"]
    assert "0.75 USD" in text
    assert "price unknown" in text
    assert "No offers." in repr(shell.run("%cluster_offers --gpu B200"))
    assert "No offers." in repr(shell.run("%cluster_offers slow --min-nodes 3"))


def test_line_and_cell_form_make_the_same_cluster(shell: Shell) -> None:
    line = shell.run(f"{CREATE} -o made").value
    assert shell.names["made"] == line
    cell = shell.run(
        "%%cluster_create local --wait\nname: other\nnodes: $n\n" if shell.names.update(n=2) is None else ""
    )
    assert (line.name, cell.value.name, line.node_count) == ("demo", "other", cell.value.node_count)
    assert cell.value.phase is ClusterPhase.RUNNING


def test_result_has_text_html_and_our_json_and_no_other(shell: Shell) -> None:
    data, _ = shell.run(CREATE)._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", MIME_TYPE}
    assert data[MIME_TYPE]["value"]["name"] == "demo"
    assert "local/demo" in data["text/html"]


def test_creating_again_attaches_and_says_so(shell: Shell) -> None:
    first = shell.run(CREATE)
    second = shell.run(CREATE)
    assert second.value.cluster_id == first.value.cluster_id
    assert "attached" in repr(second)
    assert len(shell.run("%cluster_list").value) == 1


def test_a_name_taken_by_another_spec_is_an_error_with_the_difference(shell: Shell) -> None:
    shell.run(CREATE)
    error = shell.fail("%cluster_create local --name demo --nodes 3", NameTakenError)
    assert "nodes: 2 -> 3" in error.message
    shell.fail(f"{CREATE} --new", NameTakenError)


def test_dry_run_shows_the_plan_and_makes_nothing(shell: Shell) -> None:
    shown = shell.run(f"{CREATE} --dry-run -o plan")
    assert isinstance(shell.names["plan"], Plan)
    assert "free" in repr(shown)
    assert "nothing was sent" in repr(shown)
    assert shell.run("%cluster_list").value == []


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("%cluster_create local --name demo --nodes 0", ["nodes: must be at least 1, not 0."]),
        ("%cluster_create local --name demo --nodes two", ["nodes: must be a whole number, not 'two'."]),
        ("%cluster_create local --name demo --nods 2", ["--nods: is not known here. Did you mean '--nodes'?"]),
        ("%cluster_create local --name demo --nodes", ["--nodes: needs a value."]),
        ("%cluster_create local --name demo --nodes " + "9" * 44, ["nodes: must be at most 64."]),
        ("%cluster_create local --name demo --nodes " + "9" * 400, ["nodes: must be at most 64."]),
        ("%cluster_create local --gpus-per-node=x --nodes=y --zzz", ["--zzz: is not known here. Known: --output, "
            "--name, --yes, --dry-run, --wait, --max-hours, --new, --nodes, --gpus-per-node.",
            "nodes: must be a whole number, not 'y'.", "gpus_per_node: must be a whole number, not 'x'."]),
        ("%cluster_create local --name demo --dryrun", ["--dryrun: is not known here. Did you mean '--dry-run'?"]),
        ("%cluster_create local --nodes 2", ["name: is needed: --name NAME"]),
        ("%%cluster_create local\nname: demo\nnodes: 0\ngpus: 1", ["line 2: nodes: must be at least 1, not 0.",
            "line 3: gpus: is not known here. Did you mean 'gpus_per_node'?"]),
        ("%%cluster_create local\nname: demo\nnodes: no", ["line 2: nodes: must be a whole number, not 'no'."]),
        ("%%cluster_create local\nname: 7", ["line 1: name: must be text; put it in quotes."]),
        ("%%cluster_create local\nname: demo\n\tnodes: 2",
            ["line 2: there is a tab; YAML is indented with spaces only."]),
        ("%%cluster_create local --name x\nname: demo", ["line 1: name: contradicts --name of the line above."]),
        ("%%cluster_create local --nodes 3\nname: demo\nnodes: 2",
            ["line 2: nodes: contradicts --nodes of the line above."]),
        ("%%cluster_create local --name demo\nnodes: $many",
            ["line 1: nodes: there is no notebook variable 'many'."]),
    ],
)  # fmt: skip
def test_bad_input_is_told_with_its_place_and_makes_nothing(shell: Shell, cell: str, told: list[str]) -> None:
    assert problems(shell.fail(cell, SettingsError)) == told
    assert shell.run("%cluster_list").value == []


def test_what_the_provider_finds_wrong_has_its_line_too(shell: Shell) -> None:
    error = shell.fail("%%cluster_create local --name demo\n\nnodes: 2\ngpus_per_node: 64", SpecError)
    assert problems(error)[0].startswith("line 3: gpus_per_node: 2 nodes x 64 GPUs")


def test_an_empty_body_says_what_belongs_there(shell: Shell) -> None:
    assert "body is empty" in shell.fail("%%cluster_create local --name demo\n# nothing\n", SpecError).message


def test_an_unknown_provider_is_told_with_the_nearest(shell: Shell) -> None:
    assert "Did you mean 'local'?" in shell.fail("%cluster_create locl --name demo", SettingsError).message
    shell.fail("%cluster_list locl", SettingsError)


def test_an_unknown_cluster_is_told_with_the_nearest(shell: Shell) -> None:
    shell.run(CREATE)
    for magic in ("cluster_status", "cluster_wait", "cluster_delete", "cluster_attach", "workload_list"):
        assert "Did you mean 'demo'?" in shell.fail(f"%{magic} demmo", NotFoundError).message


def test_list_and_status_and_scale(shell: Shell) -> None:
    shell.run(CREATE)
    assert "demo" in repr(shell.run("%cluster_list local"))
    assert shell.run("%cluster_scale demo --nodes 4").value.node_count == 4
    shown = repr(shell.run("%cluster_status local/demo -o status"))
    assert isinstance(shell.names["status"], Cluster)
    assert len([line for line in shown.splitlines() if "127.0.0.1" in line]) == 4
    shell.fail("%cluster_scale demo --nodes 400", SpecError)
    assert "dry" in repr(shell.run("%cluster_scale demo --nodes 1 --dry-run")).lower()
    assert shell.run("%cluster_status demo").value.node_count == 4


def test_an_empty_list_says_how_to_make_one(shell: Shell) -> None:
    assert "%cluster_create" in repr(shell.run("%cluster_list"))


def test_delete_names_what_ends_and_needs_a_yes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run(CREATE)
    shell.run("%workload_submit demo --name nap -- sleep 60")
    asked = answer_with(monkeypatch, "n")
    shell.fail("%cluster_delete demo", ConsentError)
    assert "local/demo (2 nodes)" in asked[0]
    assert "1 workload on it will end: nap." in asked[0]
    assert "free" in asked[0]
    assert shell.run("%cluster_status demo").value.phase is ClusterPhase.RUNNING
    answer_with(monkeypatch, "y")
    assert shell.run("%cluster_delete demo").value.phase is ClusterPhase.DELETED
    assert shell.run("%cluster_list").value == []


def test_delete_without_a_keyboard_is_never_a_silent_yes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run(CREATE)

    def closed(_: str = "") -> str:
        raise EOFError

    monkeypatch.setattr(builtins, "input", closed)
    error = shell.fail("%cluster_delete demo", ConsentError)
    assert "--yes" in (error.hint or "")
    assert len(shell.run("%cluster_list").value) == 1
    assert shell.run("%cluster_delete demo --yes").value.phase is ClusterPhase.DELETED


def test_a_price_is_shown_and_asked_for(shell: Shell, slowcloud: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create = "%cluster_create slow --name demo --nodes 2"
    asked = answer_with(monkeypatch, "")
    shell.fail(create, ConsentError)
    assert "12.00 USD per hour" in asked[0]
    assert list(slowcloud.glob("*.json")) == []
    answer_with(monkeypatch, "yes")
    _, printed = shell.capture(create)
    assert "The cloud is slow." in printed
    assert [file.stem for file in slowcloud.glob("*.json")] == ["demo"]


def test_yes_covers_a_known_price_only(shell: Shell, slowcloud: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer_with(monkeypatch, "y")
    shell.run("%cluster_create slow --name a --yes")
    assert asked == []
    for payment, told in (("unknown", "does not tell"), ("committed", "4,320.00 USD")):
        error = shell.fail(f"%cluster_create slow --name b --payment {payment} --yes", ConsentError)
        assert "nothing was sent" in error.message
        assert told in asked.pop()
    assert [file.stem for file in slowcloud.glob("*.json")] == ["a"]
    answer_with(monkeypatch, "b")
    shell.run("%cluster_create slow --name b --payment unknown --yes")
    assert sorted(file.stem for file in slowcloud.glob("*.json")) == ["a", "b"]


def test_a_plan_is_shown_without_its_secrets(shell: Shell, slowcloud: Path) -> None:
    shell.names["token"] = "s3cret-value"
    shown = shell.run("%%cluster_create slow --name demo --dry-run\ntoken: $token")
    data, _ = shown._repr_mimebundle_()
    assert "s3cret-value" not in str(data)
    shell.names["token"] = 12345678
    error = shell.fail("%%cluster_create slow --name demo --dry-run\ntoken: $token", SpecError)
    assert "12345678" not in str(error.lines())


def test_a_wait_that_takes_too_long_says_what_goes_on_and_what_it_costs(shell: Shell, slowcloud: Path) -> None:
    shell.run("%cluster_create slow --name demo --nodes 2 --yes")
    error = shell.fail("%cluster_wait demo --timeout 0.5", WaitTimeoutError)
    assert "creating and goes on; it costs 12.00 USD per hour" in error.message
    assert "%cluster_wait demo" in (error.hint or "")
    assert "%cluster_delete demo" in (error.hint or "")


def test_a_wait_ends_when_the_cluster_runs_or_cannot(shell: Shell, slowcloud: Path) -> None:
    shell.run("%cluster_create slow --name demo --yes")
    for phase, kind in (("failed", ProvisioningFailedError), ("stopped", ConflictError)):
        (slowcloud / "phase").write_text(phase)
        assert phase in shell.fail("%cluster_wait demo --timeout 30", kind).message
    (slowcloud / "phase").write_text("running")
    assert shell.run("%cluster_wait demo --timeout 30").value.phase is ClusterPhase.RUNNING


def test_a_wait_tells_each_new_phase_until_the_cluster_runs(shell: Shell, slowcloud: Path) -> None:
    shell.run("%cluster_create slow --name demo --yes")
    later = threading.Timer(1.0, (slowcloud / "phase").write_text, ["running"])
    later.start()
    shown, printed = shell.capture("%cluster_wait demo --timeout 30")
    later.join()
    assert shown.value.phase is ClusterPhase.RUNNING
    assert [line.rpartition(",")[0] for line in printed.splitlines()] == ["◐ demo: creating", "● demo: running"]


def test_what_a_provider_cannot_do_is_told_with_the_reason(shell: Shell, slowcloud: Path) -> None:
    shell.run("%cluster_create slow --name demo --yes")
    shell.fail("%workload_submit demo -- true", NotSupportedError)
    shell.fail("%cluster_scale demo --nodes 2", NotSupportedError)


def test_attach_shows_the_cluster_where_there_are_no_widgets(shell: Shell) -> None:
    shell.run(CREATE)
    assert "Cluster local/demo" in repr(shell.run("%cluster_attach demo -o demo"))
    assert shell.names["demo"].name == "demo"


def test_forms_without_ipywidgets_say_what_to_install(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    for form, magic in (("cluster_form local", "%%cluster_create"), ("workload_form", "%workload_submit")):
        error = shell.fail(f"%{form}", NotSupportedError)
        assert "pip install ipywidgets" in (error.hint or "")
        assert magic in (error.hint or "")


def test_a_lost_answer_is_found_out_by_looking(shell: Shell, slowcloud: Path) -> None:
    (slowcloud / "fault").write_text("after")
    error = shell.fail("%cluster_create slow --name demo --yes", OutcomeUnknownError)
    assert "%cluster_recover" in "".join(error.lines())
    shell.run("%cluster_recover")
    assert [cluster.name for cluster in shell.run("%cluster_list slow").value] == ["demo"]
    assert "No open orders" in repr(shell.run("%cluster_recover"))


def test_an_order_that_came_to_nothing_is_closed_with_a_statement(shell: Shell, slowcloud: Path) -> None:
    (slowcloud / "fault").write_text("before")
    shell.fail("%cluster_create slow --name demo --yes", OutcomeUnknownError)
    assert "create demo on slow" in repr(shell.run("%cluster_list"))
    (found,) = shell.run("%cluster_recover -o orders").value
    assert found in shell.names["orders"]
    shell.fail("%cluster_recover zzz", NotFoundError)
    assert "needs the id" in shell.fail("%cluster_recover --close 'the console shows nothing'", SettingsError).message
    assert [open_.order.order_id for open_ in shell.run("%cluster_recover").value] == [found.order.order_id]
    closed = shell.run(f"%cluster_recover {found.order.order_id[:6]} --close 'the console shows nothing'")
    assert closed.value.state is OrderState.CLOSED
    assert "the console shows nothing" in repr(closed)
    assert "No open orders" in repr(shell.run("%cluster_recover"))
    assert shell.run("%cluster_create slow --name demo --yes").value.name == "demo"


def test_recover_says_when_nothing_is_open(shell: Shell) -> None:
    assert "No open orders" in repr(shell.run("%cluster_recover"))
    shell.fail("%cluster_recover abc --close 'not there'", NotFoundError)


def test_the_delete_question_names_ended_workloads_whose_processes_are_alive(shell: Shell) -> None:
    cluster = shell.run(CREATE).value
    ended = shell.run("%workload_submit demo --name gone --wait -- true").value
    assert _delete_question(cluster, [ended]).endswith("Nothing runs on it.")
    alive = ended.model_copy(update={"name": "a\x1b[2J", "reason": "cancelled; still running: process 7 on node 0"})
    question = _delete_question(cluster, [ended, alive])
    assert question.endswith("Processes of workloads that have ended are still running: a�[2J.")


def test_names_in_questions_cannot_speak_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer_with(monkeypatch, "y")
    confirm("Delete \x1b[2Jdemo\nall is well?", hint="")
    assert asked == ["Delete �[2Jdemo all is well? [y/N] "]

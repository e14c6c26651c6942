"""What only some providers have: restarts, actions, look-ups, SSH keys, tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.errors import ConsentError, NotSupportedError, SettingsError, SpecError
from jupyter_gpu_clusters.magics.completion import complete
from jupyter_gpu_clusters.magics.table import MAGICS

from .shell import Shell

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3Qx me@laptop"
BY_NAME = {magic.name: magic for magic in MAGICS}


@pytest.fixture
def demo(shell: Shell, slowcloud: Path) -> Path:
    """A cluster `demo`; the books."""
    shell.run("%cluster_create slow --name demo --yes")
    return slowcloud


def acts(books: Path) -> list[str]:
    file = books / "acts"
    return [line.split(" ", 1)[1] for line in file.read_text().splitlines()] if file.exists() else []


def test_a_restart_asks_first(shell: Shell, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[str] = []

    def no(prompt: str = "") -> str:
        prompts.append(prompt)
        return "no"

    monkeypatch.setattr("builtins.input", no)
    shell.fail("%cluster_restart demo", ConsentError)
    assert prompts == ["reboot_all 'demo' on slow? What runs on it ends. [y/N] "]
    assert acts(demo) == []
    shell.run("%cluster_restart demo --yes")
    assert acts(demo) == ["reboot_all {}"]


def test_a_dry_run_of_an_action_sends_nothing(shell: Shell, demo: Path) -> None:
    shown = shell.run("%cluster_action demo paint --colour red --dry-run")
    assert "Plan: paint demo on slow" in str(shown)
    assert "request.colour  red" in str(shown)
    assert acts(demo) == []


def test_an_action_takes_options_or_a_body(shell: Shell, demo: Path) -> None:
    shell.run("%cluster_action demo paint --colour red")
    shell.run("%%cluster_action demo paint\ncolour: green\ncoats: 2")
    assert acts(demo) == ['paint {"colour": "red", "coats": 1}', 'paint {"colour": "green", "coats": 2}']


def test_all_faults_of_an_action_come_at_once_with_their_lines(shell: Shell, demo: Path) -> None:
    error = shell.fail("%%cluster_action demo paint\ncoats: 9\ncolor: red", SpecError)
    assert sorted((p.field, p.line) for p in error.problems) == [("coats", 1), ("color", 2), ("colour", None)]
    assert acts(demo) == []


def test_without_an_action_all_are_listed(shell: Shell, demo: Path) -> None:
    text = str(shell.run("%cluster_action demo"))
    assert "reboot_all" in text
    assert "colour, [coats]" in text


def test_an_unknown_action_is_told_with_the_nearest(shell: Shell, demo: Path) -> None:
    assert "Did you mean 'paint'" in shell.fail("%cluster_action demo pant", SettingsError).message


def test_a_provider_without_actions_says_so(shell: Shell) -> None:
    shell.run("%cluster_create local --name here")
    shell.fail("%cluster_restart here", NotSupportedError)


def test_choices_are_listed_and_say_what_they_need(shell: Shell, slowcloud: Path) -> None:
    assert "zones" in str(shell.run("%cluster_choices slow"))
    assert "choose `zone` first" in shell.fail("%cluster_choices slow images", SettingsError).message
    text = str(shell.run("%cluster_choices slow images --zone south -o found"))
    assert "south-1" in text
    assert "SIZE_GB" in text
    assert "could not see the archive" in text
    assert shell.names["found"][0].value == "south-1"
    assert "Did you mean 'images'" in shell.fail("%cluster_choices slow image", SettingsError).message


def test_an_ssh_key_is_added_once(shell: Shell, slowcloud: Path, tmp_path: Path) -> None:
    file = tmp_path / "id.pub"
    file.write_text(f"{KEY}\n")
    assert "laptop was added" in str(shell.run(f"%cluster_ssh_keys slow --add {file} --label laptop"))
    assert json.loads((slowcloud / "keys.json").read_text()) == {"laptop": KEY}
    file.write_text(KEY.replace("me@laptop", "other comment"))
    assert "nothing was sent" in str(shell.run(f"%cluster_ssh_keys slow --add {file} --label again"))
    assert list(json.loads((slowcloud / "keys.json").read_text())) == ["laptop"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nx", "is a private key; it was not sent"),
        ("hello", "is not one public SSH key"),
        (f"{KEY}\n{KEY}", "is not one public SSH key"),
    ],
)
def test_what_is_no_public_key_is_not_sent(
    shell: Shell, slowcloud: Path, tmp_path: Path, content: str, words: str
) -> None:
    file = tmp_path / "id"
    file.write_text(content)
    assert words in shell.fail(f"%cluster_ssh_keys slow --add {file}", SettingsError).message
    assert words not in str(shell.fail(f"%cluster_ssh_keys slow --add {tmp_path / 'none'}", SettingsError))
    assert not (slowcloud / "keys.json").exists()


def test_details_are_shown(shell: Shell, demo: Path) -> None:
    shell.run("%cluster_restart demo --yes")
    assert "What was done to it" in str(shell.run("%cluster_details demo"))
    assert "reboot_all" in str(shell.run("%cluster_details demo acts"))
    assert "Did you mean 'acts'" in shell.fail("%cluster_details demo act", SettingsError).message


def test_workloads_of_a_provider_that_cannot_suspend_say_so(shell: Shell) -> None:
    shell.run("%cluster_create local --name here")
    shell.run("%workload_submit here --name one -- sleep 60")
    shell.fail("%workload_suspend one", NotSupportedError)
    assert "no tables" in str(shell.run("%workload_details one"))


def test_tab_knows_lists_actions_and_tables(shell: Shell, demo: Path) -> None:
    assert complete(BY_NAME["cluster_choices"], ["slow"], "")[1] == ["zones", "images"]
    assert complete(BY_NAME["cluster_action"], ["demo"], "")[1] == ["reboot_all", "paint"]
    assert complete(BY_NAME["cluster_details"], ["demo"], "")[1] == ["acts"]
    assert "lium" in complete(BY_NAME["cluster_login"], [], "")[1]


def test_an_account_whose_package_is_gone_spoils_no_other(shell: Shell, jupyter_folders: Path) -> None:
    file = jupyter_folders / "jupyter_config_dir" / "jupyter_gpu_clusters" / "accounts.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[accounts.old]\nprovider = "gone"\n')
    shell.run("%cluster_create local --name here")
    listed = str(shell.run("%cluster_list"))
    assert "here" in listed
    assert "old: could not look (never seen yet). Account 'old'" in listed
    assert "✖ does not work" in str(shell.run("%cluster_accounts"))
    assert "There is no provider 'gone'" in str(shell.run("%cluster_offers"))
    assert "There is no provider 'gone'" in shell.fail("%cluster_create old --name x", SettingsError).message


@pytest.mark.parametrize("name", ["a/b", "'a b '", "'a\tb'"])
def test_names_that_would_break_full_names_are_refused(shell: Shell, slowcloud: Path, name: str) -> None:
    error = shell.fail(f"%cluster_create slow --name {name} --yes", SpecError)
    assert [problem.field for problem in error.problems] == ["name"]

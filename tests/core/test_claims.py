from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_gpu_clusters.core.claims import Claims, claim_key
from jupyter_gpu_clusters.core.errors import JournalError
from jupyter_gpu_clusters.core.models import OrderState, Verb

from . import make


def test_the_first_claim_holds_the_name_and_the_second_is_told_who(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    first, second = make.order(order_id="a"), make.order(order_id="b")
    assert claims.claim(first) == first
    assert claims.claim(second) == first


def test_a_released_name_can_be_claimed_again_and_leaves_a_record(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    first, second = make.order(order_id="a"), make.order(order_id="b")
    claims.claim(first)
    claims.release(first.model_copy(update={"state": OrderState.REFUSED}))
    assert claims.claim(second) == second
    assert (tmp_path / "intents/released/a.json").exists()


def test_only_the_holder_can_release(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    holder = make.order(order_id="a")
    claims.claim(holder)
    claims.release(make.order(order_id="b"))
    assert list(claims.all()) == [holder]


def test_names_of_other_identities_clusters_and_verbs_do_not_clash() -> None:
    submit = make.order(verb=Verb.SUBMIT, target_id="c1")
    keys = {
        claim_key(make.order()),
        claim_key(make.order(identity_key="other")),
        claim_key(submit),
        claim_key(make.order(verb=Verb.SUBMIT, target_id="c2")),
        claim_key(make.order(verb=Verb.DELETE, target_id="c1")),
    }
    assert len(keys) == 5


def test_one_of_many_processes_gets_the_claim(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.core import make; "
        "from jupyter_gpu_clusters.core.claims import Claims\n"
        "order = make.order(order_id=sys.argv[1]); input()\n"
        "print(Claims(Path(sys.argv[2])).claim(order).order_id)"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, f"o{index}", str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for index in range(6)
    ]
    answers = {child.communicate("go\n", timeout=60)[0].strip() for child in children}
    assert len(answers) == 1
    assert answers.pop() in {f"o{index}" for index in range(6)}


def test_files_and_folder_are_private(tmp_path: Path) -> None:
    Claims(tmp_path).claim(make.order())
    files = list((tmp_path / "intents").glob("*.json"))
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600]
    assert (tmp_path / "intents").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_written_means_nothing_is_sent(tmp_path: Path) -> None:
    (tmp_path / "intents").write_text("in the way")
    with pytest.raises(JournalError, match="nothing was sent"):
        Claims(tmp_path).claim(make.order())


def test_a_damaged_intent_file_is_not_taken_for_a_free_name(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    claims.claim(make.order())
    next((tmp_path / "intents").glob("*.json")).write_text("{")
    with pytest.raises(JournalError, match="may exist"):
        claims.claim(make.order(order_id="b"))


def test_many_releases_at_once_are_calm_and_free_the_name_for_good(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    order = make.order()
    claims.claim(order)
    with ThreadPoolExecutor(8) as pool:
        for result in [pool.submit(claims.release, order) for _ in range(8)]:
            result.result(30)
    claims.update(order)
    assert claims.holder(order) is None
    assert claims.claim(make.order(order_id="next")).order_id == "next"

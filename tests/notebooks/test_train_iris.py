"""The training script as real processes that talk over TCP, and the data it learns from."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import runpy
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SCRIPT = NOTEBOOKS / "train_iris.py"
DEADLINE_S = 60
FOREVER = 10_000_000

ranks = runpy.run_path(str(NOTEBOOKS / "ranks.py"))

StartRank = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine, kept from others by a socket that is bound and does not listen."""
    with socket.socket() as reservation:
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind(("127.0.0.1", 0))
        yield reservation.getsockname()[1]


@pytest.fixture
def start(port: int) -> Iterator[StartRank]:
    """Starts the script as one rank; whatever still runs after the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_rank(*arguments: str, script: Path = SCRIPT, **variables: Any) -> subprocess.Popen[str]:
        environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
        environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        environment |= {key: str(value) for key, value in variables.items()}
        command = [sys.executable, "-B", "-X", "dev", str(script), *arguments]
        process = subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
        )
        started.append(process)
        return process

    yield start_rank
    for process in started:
        process.kill()
        process.communicate()


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=DEADLINE_S)
    return process.returncode, output, errors


def read_until(process: subprocess.Popen[str], word: str) -> None:
    """Read the output up to a line with `word`; the script's own time-outs bound the wait."""
    assert process.stdout is not None
    assert any(word in line for line in process.stdout), f"never printed {word!r}"


def result_of(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text())
    return result


@pytest.mark.parametrize("world_size", [1, 4, 7])
def test_any_number_of_processes_gives_the_bits_of_a_single_process(
    start: StartRank, tmp_path: Path, world_size: int
) -> None:
    alone = finish(start("--out", str(tmp_path / "alone.json")))
    arguments = ("--out", str(tmp_path / "together.json"))
    ends = [
        finish(process)
        for process in [start(*arguments, RANK=rank, WORLD_SIZE=world_size) for rank in range(world_size)]
    ]

    assert [(code, errors) for code, _, errors in [alone, *ends]] == [(0, "")] * (world_size + 1)
    single, joint = result_of(tmp_path / "alone.json"), result_of(tmp_path / "together.json")
    assert (single.pop("world_size"), joint.pop("world_size")) == (1, world_size)
    assert joint == single
    assert single["test_accuracy"] > 0.9
    for rank, (_, output, _) in enumerate(ends):
        assert f"rank {rank} of {world_size}" in output
        assert len(re.findall(r"^epoch +\d+  loss \d", output, re.MULTILINE)) == 5
        assert output.splitlines()[-1].endswith(f"weights {single['weights_digest'][:16]}")


def test_every_rank_trains_on_rows_of_its_own(start: StartRank) -> None:
    processes = [start(RANK=rank, WORLD_SIZE=7) for rank in range(7)]
    shares = [re.search(r": (\d+) of 120 training rows", finish(process)[1]) for process in processes]
    assert [int(share[1]) for share in shares if share] == [18, 17, 17, 17, 17, 17, 17]


@pytest.mark.parametrize("lost", [0, 2])
def test_a_killed_rank_ends_the_others_and_is_named(start: StartRank, lost: int) -> None:
    processes = [start("--epochs", str(FOREVER), RANK=rank, WORLD_SIZE=4) for rank in range(4)]
    for process in processes:
        read_until(process, "training rows")
    processes[lost].kill()
    ends = {rank: finish(process) for rank, process in enumerate(processes) if rank != lost}

    assert {code for code, _, _ in ends.values()} == {1}
    assert all(errors.count("\n") == 1 and "is gone" in errors for _, _, errors in ends.values())
    for rank in ends:
        named = lost if rank == 0 else 0
        assert f"rank {rank}: rank {named} is gone" in ends[rank][2]


def test_a_rank_that_falls_silent_ends_the_others_after_the_timeout(start: StartRank) -> None:
    arguments = ("--epochs", str(FOREVER), "--timeout", "5")
    processes = [start(*arguments, RANK=rank, WORLD_SIZE=2) for rank in range(2)]
    for process in processes:
        read_until(process, "training rows")
    processes[1].send_signal(signal.SIGSTOP)

    code, _, errors = finish(processes[0])
    assert (code, errors) == (1, "train_iris, rank 0: rank 1 was silent for 5 s\n")


def test_rank_0_names_the_ranks_that_never_called(start: StartRank) -> None:
    code, _, errors = finish(start("--timeout", "1", RANK=0, WORLD_SIZE=3))
    assert (code, errors) == (1, "train_iris, rank 0: no call from rank 1, rank 2 within 1 s\n")


def test_a_rank_gives_up_when_rank_0_never_listens(start: StartRank, port: int) -> None:
    code, _, errors = finish(start("--timeout", "1", RANK=1, WORLD_SIZE=3))
    where = f"127.0.0.1:{port}"
    assert (code, errors) == (
        1,
        f"train_iris, rank 1: rank 0 does not listen at {where} after 1 s (Connection refused)\n",
    )


def test_ranks_may_start_in_any_order(start: StartRank) -> None:
    early = start("--epochs", "1", RANK=1, WORLD_SIZE=2)
    time.sleep(1)  # long enough for some refused calls; whether there were any cannot make the test fail
    late = start("--epochs", "1", RANK=0, WORLD_SIZE=2)
    assert [finish(process)[0] for process in (early, late)] == [0, 0]


def connect(port: int) -> socket.socket:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "rank 0 never listened"
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a caller sent something that is not a message between ranks"),
        (b"\0\0\0\2{}", "a caller is none of the expected ranks [1] of 2: []"),
        (b"\0\0\0\6[1, 3]", "a caller is none of the expected ranks [1] of 2: [1, 3]"),
        (b"\0\0\0\6[0, 2]", "a caller is none of the expected ranks [1] of 2: [0, 2]"),
        (b"\0\0\0\4null", "a caller sent something that is not a message between ranks"),
        (b"\0\0", "a caller is gone (the connection was closed); its own output says why"),
    ],
)
def test_a_stranger_at_the_port_ends_rank_0_with_a_plain_sentence(
    start: StartRank, port: int, sent: bytes, message: str
) -> None:
    process = start(RANK=0, WORLD_SIZE=2)
    with connect(port) as stranger:
        stranger.sendall(sent)
        stranger.shutdown(socket.SHUT_WR)
        code, _, errors = finish(process)
    assert (code, errors) == (1, f"train_iris, rank 0: {message}\n")


def test_a_taken_port_is_said(start: StartRank) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, _, errors = finish(start(RANK=0, WORLD_SIZE=2, MASTER_PORT=port))
    assert (code, errors.count("\n")) == (1, 1)
    assert f"rank 0 cannot listen at 127.0.0.1:{port} (Address already in use" in errors


def test_all_problems_of_the_environment_are_named_at_once(start: StartRank) -> None:
    code, _, errors = finish(start(RANK=4, WORLD_SIZE=4, MASTER_PORT="http", MASTER_ADDR=""))
    assert code == 1
    assert "Traceback" not in errors
    for problem in ("RANK is '4'; expected is a whole number from 0 to 3", "MASTER_PORT is 'http'", "MASTER_ADDR"):
        assert problem in errors


def test_half_an_environment_is_refused_rather_than_trained_alone(start: StartRank) -> None:
    code, _, errors = finish(start(WORLD_SIZE=2))
    assert (code, "RANK is not set" in errors) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epochs", "0"), "argument --epochs"),
        (("--out", "no/such/folder/out.json"), "argument --out: there is no folder no/such/folder"),
    ],
)
def test_a_wrong_option_is_explained_before_training(
    start: StartRank, arguments: tuple[str, ...], message: str
) -> None:
    code, output, errors = finish(start(*arguments))
    assert (code, output, message in errors, "Traceback" in errors) == (2, "", True, False)


@pytest.mark.parametrize("line", ["5.1,3.5,1.4,setosa", "5.1,3.5,1.4,0.2,rose", "5.1,x,1.4,0.2,setosa", ""])
def test_a_broken_line_of_the_data_is_named_by_number(start: StartRank, tmp_path: Path, line: str) -> None:
    folder = shutil.copytree(NOTEBOOKS, tmp_path / "notebooks")
    lines = (folder / "data" / "iris.csv").read_text().splitlines()
    lines[10] = line
    (folder / "data" / "iris.csv").write_text("\n".join(lines))
    code, _, errors = finish(start(script=folder / "train_iris.py"))
    assert (code, errors.count("\n")) == (1, 1)
    assert f"line 11: not four numbers and a species: {line}" in errors


@settings(deadline=None)
@given(st.lists(st.floats(min_value=-1e300, max_value=1e300), max_size=50), st.randoms())
def test_exact_sums_do_not_depend_on_order_and_round_once(values: list[float], random: Any) -> None:
    shuffled = random.sample(values, len(values))
    total = sum(map(ranks["to_exact"], shuffled))
    assert ranks["from_exact"](total) == math.fsum(values)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_survives_its_exact_form(value: float) -> None:
    assert ranks["from_exact"](ranks["to_exact"](value)) == value


def test_the_data_are_those_of_fisher() -> None:
    with (NOTEBOOKS / "data" / "iris.csv").open(newline="", encoding="utf-8") as file:
        flowers = list(csv.DictReader(file))
    measures = ("sepal_length_cm", "sepal_width_cm", "petal_length_cm", "petal_width_cm")
    assert [tuple(flower) for flower in flowers] == [(*measures, "species")] * 150
    table = [tuple(float(flower[name]) for name in measures) for flower in flowers]
    means = {
        species: [round(statistics.fmean(column), 3) for column in zip(*table[first : first + 50], strict=True)]
        for first, species in ((0, "setosa"), (50, "versicolor"), (100, "virginica"))
        if {flower["species"] for flower in flowers[first : first + 50]} == {species}
    }
    assert means == {
        "setosa": [5.006, 3.428, 1.462, 0.246],
        "versicolor": [5.936, 2.770, 4.260, 1.326],
        "virginica": [6.588, 2.974, 5.552, 2.026],
    }
    assert (table[34], table[37]) == ((4.9, 3.1, 1.5, 0.2), (4.9, 3.6, 1.4, 0.1))

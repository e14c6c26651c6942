"""Parts of the supervisor by themselves: how it keeps its word on disk, which ports it takes."""

from __future__ import annotations

import os
import random
import socket
from pathlib import Path

import pytest

from jupyter_gpu_clusters.launch.supervisor.log_reader import tail_position
from jupyter_gpu_clusters.launch.supervisor.ports import MasterPort, control_ports
from jupyter_gpu_clusters.launch.supervisor.rank_log import RankLog
from jupyter_gpu_clusters.launch.supervisor.state_file import StateFile


@pytest.fixture
def state_file(tmp_path: Path) -> StateFile:
    return StateFile.create(str(tmp_path), 5000)


def test_the_state_is_really_on_disk_before_anything_runs(tmp_path: Path, state_file: StateFile) -> None:
    info = (tmp_path / "state").stat()
    assert info.st_size == 2 * state_file.slot_bytes
    assert info.st_blocks * 512 >= info.st_size, "not a sparse file"
    assert info.st_mode & 0o777 == 0o600
    assert StateFile.read(str(tmp_path)) is None


def test_the_newest_state_is_read(tmp_path: Path, state_file: StateFile) -> None:
    for number in range(5):
        state_file.write({"number": number})
        assert StateFile.read(str(tmp_path)) == {"number": number}
    assert (tmp_path / "state").stat().st_size == 2 * state_file.slot_bytes


def test_a_write_torn_at_any_byte_leaves_the_state_before_it(tmp_path: Path, state_file: StateFile) -> None:
    path = tmp_path / "state"
    state_file.write({"number": 1, "text": "x" * 100})
    before = path.read_bytes()
    state_file.write({"number": 2, "text": "y" * 120})
    after = path.read_bytes()
    places = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    for cut in [*places[:60], *random.Random(1).sample(places, 20), places[-1]]:
        path.write_bytes(after[:cut] + before[cut:])
        assert StateFile.read(str(tmp_path)) == {"number": 1, "text": "x" * 100}
    path.write_bytes(after)
    assert StateFile.read(str(tmp_path)) == {"number": 2, "text": "y" * 120}


def test_a_file_without_a_valid_slot_is_an_error_and_not_an_empty_state(tmp_path: Path, state_file: StateFile) -> None:
    state_file.write({"number": 1})
    path = tmp_path / "state"
    path.write_bytes(path.read_bytes().replace(b"number", b"numbed"))
    with pytest.raises(ValueError, match="no slot"):
        StateFile.read(str(tmp_path))


def test_a_state_that_does_not_fit_is_refused_and_leaves_the_file_alone(tmp_path: Path, state_file: StateFile) -> None:
    state_file.write({"number": 1})
    with pytest.raises(ValueError, match="its slot"):
        state_file.write({"text": "x" * 9000})
    assert StateFile.read(str(tmp_path)) == {"number": 1}


def test_control_ports_are_known_to_all_nodes_and_differ_between_workloads() -> None:
    assert control_ports("a") == control_ports("a") != control_ports("b")
    assert len(control_ports("a")) == 8
    assert all(20000 <= port < 30000 for port in control_ports("a"))


def test_a_master_port_that_somebody_listens_on_is_not_taken(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if MasterPort("workload").port else 1)
    os.waitpid(pid, 0)
    wanted = MasterPort("workload").port
    with socket.create_server(("127.0.0.1", wanted)):
        assert MasterPort("workload").port != wanted


def test_a_gap_in_a_log_says_where_and_how_much(tmp_path: Path) -> None:
    log = RankLog(str(tmp_path / "log"))
    log.write(b"half a line")
    real = log.fd
    log.fd = os.open("/dev/full", os.O_WRONLY)
    log.write(b"lost, ")
    log.write(b"lost too\n")
    os.close(log.fd)
    log.fd = real
    log._next_try = 0
    log.write(b"there again\n")
    text = "half a line\n[... 15 bytes of output lost: No space left on device]\nthere again\n"
    assert (tmp_path / "log").read_text() == text
    assert log.lost_bytes == 15
    log.close()


@pytest.mark.parametrize("text", ["", "\n", "one", "one\n", "one\ntwo", "one\ntwo\n", "\n\n", "one\n\ntwo\n"])
def test_the_tail_begins_where_the_last_lines_do(tmp_path: Path, text: str) -> None:
    (tmp_path / "log").write_text(text)
    with (tmp_path / "log").open("rb") as file:
        for lines in range(5):
            expected = "".join(text.splitlines(keepends=True)[-lines:]) if lines else ""
            assert text[tail_position(file.fileno(), lines) :] == expected

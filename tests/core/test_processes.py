from __future__ import annotations

import os
import subprocess
import sys

from jupyter_gpu_clusters.core.processes import is_dead, start_time, this_process
from tests.until import until


def test_this_process_is_alive() -> None:
    assert not is_dead(this_process())
    assert this_process() == this_process()


def test_a_process_is_dead_after_its_end_and_as_a_zombie() -> None:
    code = "from jupyter_gpu_clusters.core.processes import this_process; print(this_process(), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdin is not None
    identity = child.stdout.readline().strip()
    assert not is_dead(identity)
    child.kill()
    until(lambda: start_time(child.pid) is None)
    assert is_dead(identity)
    child.wait(timeout=10)
    child.stdin.close()
    child.stdout.close()
    assert is_dead(identity)


def test_a_reused_pid_is_not_the_old_process() -> None:
    machine, pid, _ = this_process().split("|")
    assert is_dead(f"{machine}|{pid}|1")


def test_another_machine_and_rubbish_cannot_be_told() -> None:
    assert not is_dead(f"elsewhere/boot/ns|{os.getpid()}|1")
    assert not is_dead("")
    assert not is_dead("rubbish")


def test_an_earlier_boot_of_this_machine_is_dead() -> None:
    machine, pid, started = this_process().split("|")
    host, _, namespace = machine.split("/", 2)
    assert is_dead(f"{host}/another-boot/{namespace}|{pid}|{started}")


def test_a_process_of_another_boot_is_dead_only_on_the_same_installation() -> None:
    machine, pid, started = this_process().split("|")
    host, _, namespace, installation = machine.split("/")
    assert is_dead(f"{host}/earlier/{namespace}/{installation}|{pid}|{started}") == (installation != "")
    assert not is_dead(f"{host}/earlier/{namespace}/other|{pid}|{started}")
    assert not is_dead(f"{host}/earlier/{namespace}|{pid}|{started}")
    assert not is_dead(f"{host}|{pid}|{started}")

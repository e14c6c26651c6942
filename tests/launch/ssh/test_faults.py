"""What goes wrong between here and there, on a real sshd."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_gpu_clusters.core.errors import AuthError, JournalError, TransportError
from jupyter_gpu_clusters.launch.ssh import SshMachines, SshOptions, connecting
from jupyter_gpu_clusters.launch.ssh.host import SshHost
from jupyter_gpu_clusters.launch.ssh.pins import Pins
from tests.engines.ssh import Sshd
from tests.launch.bench import marked
from tests.torture.disks import mounted
from tests.until import until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def own(tmp_path: Path, sshd: Sshd) -> AsyncIterator[SshMachines]:
    """Connections to the test's own server."""
    machines = SshMachines(SshOptions(ssh_key=str(sshd.key)), Pins(tmp_path / "pins" / "known_hosts"))
    yield machines
    await machines.aclose()


@pytest.fixture
def node(own: SshMachines, sshd: Sshd) -> SshHost:
    return own.host(sshd.target(), "node 0")


async def works(host: SshHost) -> bool:
    return (await host.run(["echo", "here"], timeout_s=20)).stdout == b"here\n"


# Host keys


async def test_the_first_contact_pins_the_key_and_tells_its_fingerprint(own: SshMachines, sshd: Sshd) -> None:
    target = sshd.target()
    assert await works(own.host(target, "node 0"))
    assert own.link(target).fingerprint == sshd.fingerprint
    assert own.pins.path.stat().st_mode & 0o777 == 0o600
    again = SshMachines(SshOptions(ssh_key=str(sshd.key)), own.pins)
    assert await works(again.host(target, "node 0"))
    assert again.link(target).fingerprint is None, "it was met before"
    await again.aclose()


async def test_a_changed_key_is_refused_until_it_is_forgotten_or_the_machine_is_another(
    own: SshMachines, node: SshHost, sshd: Sshd
) -> None:
    assert await works(node)
    before = sshd.fingerprint
    sshd.stop()
    sshd.start(new_host_key=True)
    own.link(sshd.target()).drop()
    with pytest.raises(AuthError, match="not the one it had before") as told:
        await works(node)
    assert before in told.value.message
    assert "--forget" in str(told.value.hint)
    other = own.host(sshd.target("machine/2"), "node 0, made anew")
    assert await works(other)
    await own.forget(sshd.target().identity)
    assert await works(node)


async def test_two_processes_that_meet_a_machine_at_once_agree(tmp_path: Path) -> None:
    path, keys = tmp_path / "pins" / "known_hosts", [f"ssh-ed25519 {'A' * 64}{n:04d}" for n in range(12)]
    kept: list[str] = []
    threads = [threading.Thread(target=lambda key=key: kept.append(Pins(path).pin("m", key))) for key in keys]
    others = [threading.Thread(target=Pins(path).pin, args=(f"other/{n}", keys[n])) for n in range(12)]
    for thread in [*threads, *others]:
        thread.start()
    for thread in [*threads, *others]:
        thread.join()
    assert len(set(kept)) == 1
    assert [Pins(path).find(f"other/{n}") for n in range(12)] == keys


async def test_a_key_that_cannot_be_pinned_is_not_trusted(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    machines = SshMachines(SshOptions(ssh_key=str(sshd.key)), Pins(tmp_path / "file" / "known_hosts"))
    with pytest.raises(JournalError, match="so no machine is trusted"):
        await works(machines.host(sshd.target(), "node 0"))
    await machines.aclose()


# No way there


async def test_a_key_that_the_machine_does_not_know_is_refused(sshd: Sshd, node: SshHost) -> None:
    (sshd.folder / "etc" / "authorized_keys").write_text("")
    with pytest.raises(AuthError, match=rf"node 0 \(127\.0\.0\.1:{sshd.port}\) takes none of your SSH keys"):
        await works(node)


async def test_nothing_listening_a_silent_port_and_rubbish_are_told_apart(
    own: SshMachines, sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "CONNECT_TIMEOUT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        ports = {"silent": silent.getsockname()[1], "refused": closed.getsockname()[1]}
        closed.close()
        refused = sshd.target("r").model_copy(update={"port": ports["refused"]})
        with pytest.raises(TransportError, match=r"Connect call failed|Connection refused"):
            await works(own.host(refused, "r"))
        quiet = sshd.target("s").model_copy(update={"port": ports["silent"]})
        with pytest.raises(TransportError, match=r"does not answer within 1 s|[Ll]ogin timeout"):
            await works(own.host(quiet, "s"))

    async def rubbish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 10_000)
        writer.close()

    server = await asyncio.start_server(rubbish, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(TransportError, match="cannot be reached"):
        await works(own.host(sshd.target("x").model_copy(update={"port": port}), "x"))
    server.close()


async def test_many_who_want_a_machine_that_is_off_are_told_at_once(own: SshMachines, sshd: Sshd) -> None:
    sshd.stop()
    node = own.host(sshd.target(), "node 0")
    began = time.monotonic()
    answers = await asyncio.gather(*(works(node) for _ in range(30)), return_exceptions=True)
    assert all(isinstance(answer, TransportError) for answer in answers)
    assert time.monotonic() - began < 5
    sshd.start()
    own.link(sshd.target()).drop()
    assert await works(node)


async def test_a_machine_that_stays_off_is_tried_less_and_less_often_unless_somebody_asks(
    own: SshMachines, sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    sshd.stop()
    link, clock = own.link(sshd.target()), [1000.0]
    monkeypatch.setattr("jupyter_gpu_clusters.launch.ssh.machines.monotonic", lambda: clock[0])
    tries = []

    async def counted(*arguments: Any) -> Any:
        tries.append(clock[0])
        return await connecting_really(*arguments)

    connecting_really = connecting.connect
    monkeypatch.setattr(connecting, "connect", counted)
    while clock[0] < 1200:
        with pytest.raises(TransportError):
            await link.connection("node 0")
        clock[0] += 1
    assert [round(at - 1000) for at in tries] == [0, 5, 15, 35, 75, 135, 195]
    link.try_again()
    with pytest.raises(TransportError):
        await link.connection("node 0")
    assert len(tries) == 8


# Lost in the middle


async def test_a_connection_cut_in_the_middle_is_unknown_and_made_again(
    node: SshHost, sshd: Sshd, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    task = asyncio.create_task(node.run(["sh", "-c", f"sleep 1; touch {done}; echo x"], timeout_s=30))
    await asyncio.sleep(0.5)
    sshd.cut()
    with pytest.raises(TransportError, match="connection to node 0 was lost; what was running there may have done"):
        await task
    assert await works(node)
    await asyncio.to_thread(until, done.exists)


async def test_a_stream_that_is_cut_breaks_off(node: SshHost, sshd: Sshd) -> None:
    word = f"cut{os.getpid()}"

    async def follow() -> None:
        async with node.stream(["env", f"{word}=1", "sh", "-c", "echo one; cat"], stdin=b"") as reader:
            assert await reader.readline() == b"one\n"
            sshd.cut()
            await reader.readexactly(10)

    with pytest.raises((asyncio.IncompleteReadError, TransportError)):
        await follow()
    assert await works(node)
    await asyncio.to_thread(until, lambda: not marked(word), within_s=10)


async def test_an_upload_that_is_cut_leaves_no_file(node: SshHost, sshd: Sshd) -> None:
    assert await works(node)
    task = asyncio.create_task(node.put(bytes(200_000_000), "big", timeout_s=60))
    await asyncio.to_thread(until, lambda: list(sshd.home.glob("big.*")))
    sshd.cut()
    with pytest.raises(TransportError):
        await task
    assert not (sshd.home / "big").exists()
    assert await works(node)
    await asyncio.to_thread(until, lambda: not list(sshd.home.glob("big*")), within_s=10)


async def test_a_restarted_server_is_reached_again(node: SshHost, sshd: Sshd) -> None:
    assert await works(node)
    sshd.stop()
    with pytest.raises(TransportError):
        await works(node)
    sshd.start()
    node._link.drop()
    assert await works(node)


async def test_a_frozen_server_is_found_out(
    own: SshMachines, node: SshHost, sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "KEEPALIVE_S", 0.3)
    running = asyncio.create_task(node.run(["sleep", "100"], timeout_s=60))
    assert await works(node)
    frozen = sshd.children()
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(TransportError, match="was lost"):
            await running
        assert await works(node), "over a new connection"
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGKILL)


async def test_a_full_disk_there_is_told_and_leaves_nothing(node: SshHost, tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path / "small", "size=1m,mode=0700") as folder:
        with pytest.raises(TransportError, match="No space left"):
            await node.put(bytes(3_000_000), str(folder / "file"), timeout_s=20)
        assert list(folder.iterdir()) == []
        (tmp_path / "source").mkdir()
        (tmp_path / "source" / "data").write_bytes(bytes(3_000_000))
        with pytest.raises(TransportError, match=r"No space left|Exiting with failure"):
            await node.put_tree(tmp_path / "source", ["data"], str(folder / "tree"), timeout_s=20)


async def test_more_commands_than_the_server_takes_wait_for_their_turn(node: SshHost) -> None:
    async def held() -> bytes:
        async with node.stream(["sh", "-c", "echo on; cat"], stdin=b"") as reader:
            line = await reader.readline()
            await asyncio.sleep(0.5)
            return line

    answers = await asyncio.gather(*(held() for _ in range(6)), *(works(node) for _ in range(20)))
    assert answers == [b"on\n"] * 6 + [True] * 20

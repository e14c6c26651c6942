"""Programs on another machine, through a real sshd and a real shell."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_gpu_clusters.core.errors import TransportError
from jupyter_gpu_clusters.launch.ssh import SshMachines, SshOptions
from jupyter_gpu_clusters.launch.ssh.host import SshHost
from jupyter_gpu_clusters.launch.ssh.pins import Pins
from jupyter_gpu_clusters.launch.sync import FileSet, collect
from tests.engines.ssh import Sshd
from tests.launch.bench import marked
from tests.until import until

pytestmark = pytest.mark.anyio

NASTY = [
    "",
    " ",
    "a b",
    "'",
    '"',
    "\\",
    "$(id)",
    "`id`",
    "; rm x",
    "--",
    "-n",
    "*",
    "~",
    "\n",
    "\t",
    "é",
    "𝄞",
    "!x",
    "a\\\nb",
]
words = st.text(st.characters(exclude_characters="\0", exclude_categories=()), max_size=40)


async def test_output_code_and_input(host: SshHost) -> None:
    done = await host.run(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"in\xff\n", timeout_s=10)
    assert (done.code, done.stdout, done.stderr) == (3, b"in\xff\n", b"err\n")
    killed = await host.run(["sh", "-c", "kill -TERM $$"], timeout_s=10)
    assert killed.code == -15
    missing = await host.run(["no-such-program"], timeout_s=10)
    assert missing.code == 127


async def test_nasty_arguments_arrive_byte_for_byte(host: SshHost) -> None:
    done = await host.run(["printf", r"%s\0", *NASTY], timeout_s=10)
    assert done.stdout.split(b"\0")[:-1] == [word.encode() for word in NASTY]


async def test_any_arguments_arrive_byte_for_byte(host: SshHost) -> None:
    loop = asyncio.get_running_loop()

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(words, min_size=1, max_size=8))
    def check(argv: list[str]) -> None:
        argv = [os.fsdecode(word.encode("utf-8", "surrogatepass")) for word in argv]
        call = asyncio.run_coroutine_threadsafe(host.run(["printf", r"%s\0", *argv], timeout_s=20), loop)
        assert call.result(30).stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in argv]

    await asyncio.to_thread(check)


async def test_commands_begin_where_a_login_does_and_a_profile_that_prints_changes_nothing(
    host: SshHost, shared_sshd: Sshd
) -> None:
    profile = shared_sshd.home / ".bashrc"
    profile.write_text("echo welcome to this machine; echo warning >&2\n")
    try:
        done = await host.run(["pwd"], timeout_s=10)
    finally:
        profile.unlink()
    assert done.stdout.decode() == f"{shared_sshd.home}\n"


async def test_what_takes_too_long_is_ended_with_all_that_it_started(host: SshHost) -> None:
    word = f"sleeper{os.getpid()}"
    with pytest.raises(TransportError, match=r"did not end within 0\.5 s on node 0"):
        await host.run(["env", f"{word}=1", "sh", "-c", "sleep 100 & sleep 100"], timeout_s=0.5)
    until(lambda: not marked(word), within_s=5)


async def test_a_caller_that_gives_up_leaves_nothing_and_others_are_not_disturbed(host: SshHost) -> None:
    word = f"cancelled{os.getpid()}"
    other = asyncio.create_task(host.run(["sh", "-c", "sleep 1; echo done"], timeout_s=10))
    task = asyncio.create_task(host.run(["env", f"{word}=1", "sleep", "100"], timeout_s=60))
    await asyncio.sleep(0.3)
    assert marked(word)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    until(lambda: not marked(word), within_s=5)
    assert (await other).stdout == b"done\n"


async def test_thirty_callers_at_once_share_one_connection(host: SshHost, shared_sshd: Sshd) -> None:
    before = len(shared_sshd.children())
    answers = await asyncio.gather(*(host.run(["echo", str(number)], timeout_s=30) for number in range(30)))
    assert [answer.stdout for answer in answers] == [b"%d\n" % number for number in range(30)]
    assert len(shared_sshd.children()) <= before + 1


async def test_a_stream_is_read_while_it_goes_on_and_ends_when_it_is_left(host: SshHost) -> None:
    word = f"stream{os.getpid()}"
    async with host.stream(
        ["env", f"{word}=1", "sh", "-c", "read x; echo $x; echo y; sleep 100"], stdin=b"x\n"
    ) as reader:
        assert await reader.readline() == b"x\n"
        assert await reader.readexactly(2) == b"y\n"
        assert marked(word)
    until(lambda: not marked(word), within_s=5)


async def test_large_output_is_bounded_and_large_input_whole(host: SshHost) -> None:
    done = await host.run(["sh", "-c", "wc -c; head -c 70000000 /dev/zero"], stdin=bytes(5_000_000), timeout_s=60)
    assert done.stdout.startswith(b"5000000\n")
    assert len(done.stdout) == 64 * 1024 * 1024
    full = await host.run(["sh", "-c", "exit 4"], stdin=bytes(50_000_000), timeout_s=60)
    assert full.code == 4


async def test_a_file_is_put_whole_with_its_folders(host: SshHost, shared_sshd: Sshd) -> None:
    await host.put(b"one\0\xff", "put/-deep/a file", timeout_s=10)
    path = shared_sshd.home / "put" / "-deep" / "a file"
    assert path.read_bytes() == b"one\0\xff"
    assert path.stat().st_mode & 0o077 == 0
    await host.put(b"two", str(path), timeout_s=10)
    assert path.read_bytes() == b"two"
    assert [other.name for other in path.parent.iterdir()] == ["a file"]
    with pytest.raises(TransportError, match=r"Not a directory|File exists"):
        await host.put(b"x", f"{path}/below", timeout_s=10)


async def test_a_tree_is_put_as_it_is(host: SshHost, shared_sshd: Sshd, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "-sub dir").mkdir(parents=True)
    (source / "-sub dir" / "run.sh").write_text("#!/bin/sh\n")
    (source / "-sub dir" / "run.sh").chmod(0o755)
    (source / "𝄞 é").write_bytes(b"\0" * 300_000)
    (source / "link").symlink_to("-sub dir/run.sh")
    (source / "hard").hardlink_to(source / "𝄞 é")
    files = collect(source)
    assert isinstance(files, FileSet)
    await host.run(["mkdir", "-p", "trees"], timeout_s=10)
    await host.put_tree(source, files.files, "trees/one", timeout_s=30)
    copy = shared_sshd.home / "trees" / "one"
    assert os.readlink(copy / "link") == "-sub dir/run.sh"
    assert (copy / "-sub dir" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (copy / "𝄞 é").read_bytes() == (copy / "hard").read_bytes() == b"\0" * 300_000
    with pytest.raises(TransportError, match="File exists"):
        await host.put_tree(source, files.files, "trees/one", timeout_s=30)
    (source / "𝄞 é").unlink()
    with pytest.raises(TransportError, match="cannot be read"):
        await host.put_tree(source, files.files, "trees/two", timeout_s=30)
    with pytest.raises(TransportError, match="No such file"):
        await host.put_tree(source, ["hard"], "not/there", timeout_s=30)


async def test_a_key_with_a_passphrase_or_none_at_all_is_a_sentence(shared_sshd: Sshd, tmp_path: Path) -> None:
    for key, sentence in (
        (tmp_path / "missing", "cannot be read"),
        (shared_sshd.key.with_suffix(".pub"), "cannot be used"),
    ):
        machines = SshMachines(SshOptions(ssh_key=str(key)), Pins(tmp_path / "known_hosts"))
        with pytest.raises(Exception, match=sentence):
            await machines.host(shared_sshd.target(), "node 0").run(["true"], timeout_s=10)
        await machines.aclose()

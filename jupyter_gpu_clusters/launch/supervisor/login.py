"""What a user who logs in to this machine would find: places and variables of a node that is not the kernel's."""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess

from .messages import Json

LOGIN_TIMEOUT_S = 10.0
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_OF_THIS_SESSION = frozenset({"_", "PWD", "OLDPWD", "SHLVL", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY"})


def settle(start: Json) -> Json:
    """A start document with whole paths, before anything changes the directory.

    Relative paths begin where a login does; where the document says so, the environment is that of a login, and the
    document's own variables go over it.
    """
    found = dict(start, root=os.path.abspath(start["root"]))
    workdir = start["workdir"]
    if start["staged"]:
        found["staged"] = os.path.abspath(start["staged"])
        found["workdir"] = workdir and os.path.expanduser(workdir)
    else:
        found["workdir"] = os.path.abspath(os.path.expanduser(workdir or ""))
    if start["inherits"]:
        found["env"] = {**login_environment(), **start["env"]}
    return found


def login_environment() -> dict[str, str]:
    """The variables of a login shell, what ``/etc/environment`` adds, and PATH as the machine's first process has it.

    Images of containers put programs on PATH for their first process alone; sshd hides that from its users.
    """
    env = {name: value for name, value in _of_login_shell().items() if name not in _OF_THIS_SESSION}
    env = {**_of_file("/etc/environment"), **env}
    known = env.get("PATH", os.defpath).split(os.pathsep)
    more = [part for part in _of_process("1").get("PATH", "").split(os.pathsep) if part and part not in known]
    env["PATH"] = os.pathsep.join(known + more)
    return env


def _of_login_shell() -> dict[str, str]:
    """What a login shell exports; this process's own variables where it cannot be asked."""
    shell = pwd.getpwuid(os.getuid()).pw_shell
    if os.path.basename(shell) not in _SHELLS or not os.access(shell, os.X_OK):
        shell = "/bin/sh"
    mark = os.urandom(16).hex()
    script = "printf %s " + mark + "; exec env -0"
    try:
        done = subprocess.run(
            [shell, "-lc", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=LOGIN_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return dict(os.environ)
    _, found, variables = done.stdout.partition(mark.encode())
    return _parse(variables.split(b"\0")) if found and done.returncode == 0 else dict(os.environ)


def _of_file(path: str) -> dict[str, str]:
    """Lines of ``NAME=value``, quoted or not, as pam_env(8) reads them."""
    try:
        with open(path, "rb") as file:
            lines = file.read(1024 * 1024).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        name, is_one, value = line.strip().partition("=")
        name = name[len("export ") :].strip() if name.startswith("export ") else name.strip()
        if is_one and name.isidentifier():
            try:
                found[name] = " ".join(shlex.split(value, comments=True))
            except ValueError:
                found[name] = value
    return found


def _of_process(pid: str) -> dict[str, str]:
    try:
        with open("/proc/" + pid + "/environ", "rb") as file:
            return _parse(file.read().split(b"\0"))
    except OSError:
        return {}


def _parse(items: list[bytes]) -> dict[str, str]:
    pairs = (item.decode("utf-8", "surrogateescape").partition("=") for item in items)
    return {name: value for name, is_one, value in pairs if is_one and name}

from __future__ import annotations

import pytest

from jupyter_gpu_clusters.core.ssh_address import ssh_target


@pytest.mark.parametrize(
    ("address", "user", "host", "port"),
    [
        ("root@203.0.112.7:31022", "root", "203.0.112.7", 31022),
        ("login.example.org", None, "login.example.org", 22),
        ("me@[2001:db8::1]:2222", "me", "2001:db8::1", 2222),
        ("me@[2001:db8::1]", "me", "2001:db8::1", 22),
    ],
)
def test_an_address_is_user_host_and_port(address: str, user: str | None, host: str, port: int) -> None:
    target = ssh_target("node-1", address, "pod", 1)
    assert target is not None
    assert (target.user, target.host, target.port, target.node_index) == (user, host, port, 1)


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "@host",
        "root@",
        "root@host:",
        "root@host:0",
        "root@host:65536",
        "-oProxyCommand=x",
        "a b",
        "a@-b",
        "h;ls",
    ],
)
def test_what_is_no_address_leads_nowhere(address: str | None) -> None:
    assert ssh_target("login", address, "pod") is None

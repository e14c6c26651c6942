"""Where a request goes: to the named origin, by the named proxy, and a failure to get there means "not sent"."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from pydantic import SecretStr

from jupyter_gpu_clusters.core.errors import SettingsError
from jupyter_gpu_clusters.core.http import Body, HttpClient, NotSentError, segment

from . import nasty
from .reading import client_of, quick, read_error

pytestmark = pytest.mark.anyio

GOOD = nasty.as_json(200, {})


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_refused_connection_means_that_nothing_was_sent() -> None:
    async with client_of(f"http://127.0.0.1:{_closed_port()}") as client:
        with pytest.raises(NotSentError, match=r"Connection refused.*nothing was sent"):
            await client.send("POST", "x", Body.from_json({}))
        with pytest.raises(NotSentError, match="Connection refused"):
            await client.get("x")


async def test_a_connection_that_never_comes_means_that_nothing_was_sent() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        async with client_of(f"http://127.0.0.1:{full.getsockname()[1]}", limits=quick(connect_s=0.2)) as client:
            with pytest.raises(NotSentError, match=r"no connection within 0\.2 s"):
                await client.send("POST", "x", Body.from_json({}))


async def test_a_proxy_is_the_one_named_and_never_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    async with nasty.running(GOOD) as server, client_of(server.url) as client:
        assert (await client.get("x")).is_json
        async with client_of("http://service.invalid", proxy=SecretStr(server.url)) as proxied:
            assert (await proxied.send("POST", "y", Body.from_json({}))).is_json
        assert server.seen[-1].target.startswith("http://service.invalid/y?")
    async with client_of(f"http://127.0.0.1:{_closed_port()}") as client:
        with pytest.raises(NotSentError, match="HTTP_PROXY is not used"):
            await client.get("x")


@pytest.fixture
def own_certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A key and a certificate for 127.0.0.1 that no system trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl: apt-get install openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(["openssl", *words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return key, certificate


async def test_a_service_with_an_authority_of_its_own(
    own_certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = own_certificate
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    async with nasty.running(GOOD, tls=tls) as server:
        async with client_of(server.url) as client:
            with pytest.raises(NotSentError, match=r"CERTIFICATE_VERIFY_FAILED.*SSL_CERT_FILE"):
                await client.send("POST", "x")
        assert server.seen == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with client_of(server.url) as client:
            assert (await client.send("POST", "x")).is_json
            assert (await client.get("x")).is_json


async def test_netrc_and_cookies_are_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login other password other")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    setting = nasty.reply(200, b"{}", set_cookie="session=abc")
    async with nasty.running(setting) as server:
        client = HttpClient(server.url, provider="test", read_error=read_error)
        await client.get("x")
        await client.get("x")
        await client.aclose()
        assert not any({"cookie", "authorization"} & seen.headers.keys() for seen in server.seen)


@pytest.mark.parametrize(
    "url", ["", "host", "ftp://host", "http://", "https://h:x", "https://u:pw@h", "https://h/?a=b"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(SettingsError, match="nothing was sent"):
        HttpClient(url, provider="test", read_error=read_error)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Host.Example:443/api/", "https://host.example"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/a", "http://[::1]:8000"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_the_origin_is_told_in_one_form(url: str, origin: str) -> None:
    assert HttpClient(url, provider="test", read_error=read_error).origin == origin


def test_a_proxy_that_is_none_is_refused() -> None:
    with pytest.raises(SettingsError, match="proxy") as caught:
        HttpClient("http://h", provider="test", read_error=read_error, proxy=SecretStr("socks5://u:hidden@h"))
    assert "hidden" not in str(caught.value)


def test_an_id_never_leads_to_another_route() -> None:
    assert segment("a/../b?c#d%") == "a%2F..%2Fb%3Fc%23d%25"
    for text in ("", ".", ".."):
        with pytest.raises(SettingsError):
            segment(text)

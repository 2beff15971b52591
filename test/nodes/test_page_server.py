# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The server of the page: for whom it is, what it sends, and how it ends.

A stranger is another user of the machine, who reaches its loopback interface but not its files.
"""

import gzip
import os
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import viser
import websockets.asyncio.server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.views.page_address import page_address, page_token
from vms_ph_nodes.views.page_server import serve_page, stop_page


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


_TOKEN, _ALLOWED = "a-secret-of-the-terminal", "http://forwarded.example:9000  https://lab.example"

# What strangers may try: nothing, another token, a part of it, the token at another place.
_WRONG = (
    "/", "/?token=", "/?token=a-secret", f"/?token={_TOKEN}x", f"/?token={_TOKEN}%00",
    "/?token=%FF", f"/?Token={_TOKEN}", f"/{_TOKEN}/", f"/?token=x&token={_TOKEN}", "//[?token[]=x",
)  # fmt: skip


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    number = _free()
    before = websockets.asyncio.server.serve
    server = serve_page(number, _ALLOWED, token=_TOKEN)
    assert websockets.asyncio.server.serve is before
    server.scene.add_frame("/robot")
    yield number
    server.stop()


def _received(port: int, origin: str | None, path: str = f"/?token={_TOKEN}") -> bytes:
    with connect(
        f"ws://127.0.0.1:{port}{path}",
        origin=None if origin is None else Origin(origin.format(port=port)),
        subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
    ) as connection:
        message = connection.recv(timeout=10.0)
        return message if isinstance(message, bytes) else message.encode()


@pytest.mark.parametrize(
    "origin",
    [
        "http://127.0.0.1:{port}",
        "http://localhost:{port}",
        "http://forwarded.example:9000",
        "https://lab.example",
        None,
    ],
)
def test_the_page_itself_allowed_pages_and_programs_see_the_scene(
    port: int, origin: str | None
) -> None:
    assert _received(port, origin)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        "http://evil.example:{port}",
        "http://forwarded.example",
        "null",
        "file://",
    ],
)
def test_a_page_of_another_origin_is_refused(port: int, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        _received(port, origin)
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("path", _WRONG)
@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:{port}", "https://lab.example"])
def test_without_the_token_no_program_or_page_sees_the_scene(
    port: int, path: str, origin: str | None
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        _received(port, origin, path)
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("path", [*_WRONG, "/index.html", "/%2e%2e/%2e%2e/etc/passwd"])
@pytest.mark.parametrize("asks", [{}, {"Upgrade": "WebSocket"}, {"Accept-Encoding": "gzip"}])
def test_without_the_token_the_page_is_a_sentence(
    port: int, path: str, asks: dict[str, str]
) -> None:
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=asks)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=10.0)
    assert refused.value.code == 403
    said = refused.value.read().decode()
    assert "open the address with its token" in said
    assert _TOKEN not in said


def test_a_page_that_is_started_anew_has_the_token_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VMS_PH_PAGE_TOKEN", raising=False)
    first = page_token()
    assert len(first) >= 32
    assert page_token() == first == os.environ["VMS_PH_PAGE_TOKEN"]
    monkeypatch.setenv("VMS_PH_PAGE_TOKEN", "")
    assert page_token() != first
    assert page_token("fixed-by-me") == "fixed-by-me"
    assert page_token("off") == ""


@pytest.mark.parametrize("token", ["", "short", "a b c d e f", "a&token=b&c", "é" * 20, "x" * 201])
def test_what_cannot_stand_in_an_address_or_is_guessed_is_no_token(token: str) -> None:
    with pytest.raises(VmsPhError, match="token must be auto, off, or 8 to 200 letters"):
        page_token(token)


def test_the_address_is_given_for_every_allowed_origin() -> None:
    assert page_address(8080, "") == "http://127.0.0.1:8080"
    assert page_address(8080, "abc", "http://localhost:9000") == (
        "http://127.0.0.1:8080/?token=abc, http://localhost:9000/?token=abc"
    )


@pytest.mark.parametrize("origin", ["localhost:9000", "*", "http://", "http://a/b", "ftp://a"])
def test_what_is_no_origin_cannot_be_allowed(origin: str) -> None:
    with pytest.raises(VmsPhError, match="an origin is a scheme, a host and a port"):
        serve_page(1, origin)


def test_a_port_in_use_is_refused(port: int) -> None:
    with pytest.raises(VmsPhError, match=rf"port {port} on 127.0.0.1 is in use"):
        serve_page(port)


def test_a_server_whose_origins_cannot_be_checked_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Other:
        def __init__(self, **options: object) -> None:
            self.stopped = False

        def stop(self) -> None:
            stopped.append(self)

    stopped: list[Other] = []
    monkeypatch.setattr(viser, "ViserServer", Other)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    with pytest.raises(VmsPhError, match="origin and token cannot be checked"):
        serve_page(free)
    assert len(stopped) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_the_page_has_the_title_of_the_robot_and_not_that_of_viser(packed: bool) -> None:
    server = serve_page(_free(), title=lambda: "a <robot>")
    try:
        asked = urllib.request.Request(
            f"http://127.0.0.1:{server.get_port()}/",
            headers={"Accept-Encoding": "gzip"} if packed else {},
        )
        with urllib.request.urlopen(asked, timeout=10.0) as answer:
            body = gzip.decompress(answer.read()) if packed else answer.read()
        assert b"<title>a &lt;robot&gt;</title>" in body
        assert b"<title>Viser" not in body
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    finally:
        server.stop()


def test_a_browser_that_does_not_answer_does_not_hold_up_the_end() -> None:
    before = set(threading.enumerate())
    server = serve_page(_free())
    with socket.create_connection(("127.0.0.1", server.get_port())) as silent:
        silent.sendall(
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
            + f"Sec-WebSocket-Protocol: viser-v{viser.__version__}\r\n\r\n".encode()
        )
        assert silent.recv(12) == b"HTTP/1.1 101"
        stop_page(server)
        # The thread of viser's server would wait for an answer for ten seconds.
        left = [thread.name for thread in threading.enumerate() if thread not in before]
        assert not any(name.endswith("(<lambda>)") for name in left), left

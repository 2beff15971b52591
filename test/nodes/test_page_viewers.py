# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What many viewers cost: the memory of the server is flat, also where some come, go or stand."""

import asyncio
import contextlib
import os
import re
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
import viser
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from vms_ph_nodes.views.page_address import page_address
from vms_ph_nodes.views.page_server import serve_page, stop_page

from .conftest import Start
from .page_session import served
from .test_page_server import _free

pytestmark = pytest.mark.wire

_VIEWERS = 50

# Growth that is flat, after the caches of the server are filled; both of the resident memory.
_FLAT, _FILLED = 0.05, 0.3


# What a browser sends first, where its camera is; it counts as one that looks only then.
_CAMERA = msgspec.msgpack.encode(
    {
        "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0.0, 0.0, 0.0],
        "fov": 1.0, "near": 0.1, "far": 10.0, "image_height": 100, "image_width": 100,
        "look_at": [1.0, 0.0, 0.0], "up_direction": [0.0, 0.0, 1.0],
    }
)  # fmt: skip


class Viewers:
    """Programs that connect to a page as browsers do, and read what it sends."""

    def __init__(self, address: str, number: int, stay: float) -> None:
        """Connect.

        Args:
            address: of the page.
            number: of viewers; half of them leave after some time and come again.
            stay: that time, s.
        """
        self._address, self._stay, self.received = address.replace("http", "ws"), stay, 0
        self._has_ended = False
        self._thread = threading.Thread(target=asyncio.run, args=[self._run(number)], daemon=True)
        self._thread.start()

    async def _run(self, number: int) -> None:
        viewers = [asyncio.create_task(self._view(k)) for k in range(number)]
        while not self._has_ended:
            await asyncio.sleep(0.1)
        for viewer in viewers:
            viewer.cancel()
        await asyncio.gather(*viewers, return_exceptions=True)

    async def _view(self, k: int) -> None:
        protocol = [Subprotocol(f"viser-v{viser.__version__}")]
        while True:
            with contextlib.suppress(WebSocketException, OSError, TimeoutError):
                async with connect(
                    self._address, subprotocols=protocol, max_size=None, compression=None
                ) as page:
                    await page.send(_CAMERA)
                    end = time.monotonic() + self._stay * (1.0 + 0.1 * k)
                    while k % 2 or time.monotonic() < end:
                        self.received += len(await page.recv())

    def close(self) -> None:
        """Leave."""
        self._has_ended = True
        self._thread.join(30.0)


def _stalled(address: str) -> socket.socket:
    """Return a connection that never reads."""
    url = urlsplit(address)
    silent = socket.create_connection((url.hostname or "", url.port or 0))
    silent.sendall(
        f"GET /?{url.query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
        f"Sec-WebSocket-Protocol: viser-v{viser.__version__}\r\n\r\n".encode()
    )
    return silent


def _megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _processor_time(process: int) -> float:
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / float(os.sysconf("SC_CLK_TCK"))


def test_viewers_that_leave_leave_nothing_behind() -> None:
    server = serve_page(_free(), token="of-this-test")
    box = server.scene.add_box("/box")
    viewers = Viewers(page_address(server.get_port(), "of-this-test"), _VIEWERS, 0.1)
    try:
        end = time.monotonic() + 60.0
        while len(server.get_clients()) < 0.4 * _VIEWERS:
            assert time.monotonic() < end, "there are no viewers"
            time.sleep(0.1)
        for k in range(100):
            box.position = (0.01 * k, 0.0, 0.0)
            time.sleep(0.01)
        assert viewers.received > 0
    finally:
        viewers.close()
    end = time.monotonic() + 60.0
    buffer = server._websock_server._broadcast_buffer
    while server.get_clients() or buffer.generator_cursors:
        assert time.monotonic() < end, "somebody is left"
        time.sleep(0.1)
    assert len(buffer.message_from_id) < 100
    stop_page(server)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_memory_of_a_page_with_fifty_viewers_is_flat(start: Start) -> None:
    minutes = float(os.environ.get("VMS_PH_PAGE_MINUTES", "30"))
    seen: list[float] = []
    with served(start, "launch", "bluerov2_alpha5", "push_period:=1.0") as (program, address):
        found = re.search(r"\[web_viewer-\d+\]: process started with pid \[(\d+)\]", program.output)
        assert found, program.output
        server = int(found[1])
        viewers = Viewers(address, _VIEWERS, 30.0)
        begun, cost, silent = time.monotonic(), _processor_time(server), list[socket.socket]()
        try:
            while time.monotonic() - begun < 60.0 * minutes:
                silent.append(_stalled(address))
                time.sleep(20.0)
                passed = time.monotonic() - begun
                seen.append(_megabytes(server))
                cores = (_processor_time(server) - cost) / passed
                rate = viewers.received / passed / _VIEWERS / 1e3
                print(
                    f"{passed / 60.0:5.1f} min {seen[-1]:7.1f} MB {cores:5.2f} cores "
                    f"{rate:6.1f} kB/s to each",
                    flush=True,
                )
        finally:
            viewers.close()
            for each in silent:
                each.close()
    filled = seen[int(_FILLED * len(seen)) :]
    half = len(filled) // 2
    growth = max(filled[half:]) / max(filled[:half]) - 1.0
    print(
        f"the memory grew by {growth:.1%} from the first to the second half of the time after that"
    )
    assert growth < _FLAT

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The web server of the page, for those who have its token, in pages of allowed origins only.

Every user of the machine can open a connection to 127.0.0.1: each request, that for the connection
of the scene included, must have the token. A browser lets any web page open such a connection, and
names the page in the header Origin.
"""

import contextlib
import gzip
import io
import logging
from collections.abc import Callable, Iterator
from functools import cache
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import viser
import websockets.asyncio.server
from websockets.typing import Origin

from vms_ph_dynamics import VmsPhError
from vms_ph_io import share_directory

from ..node.process import require_free_port
from .page_address import HOST

# Browsers open and drop spare connections, for each of which websockets logs a traceback.
logging.getLogger("websockets.server").setLevel(logging.CRITICAL)

_VISER_TITLE = b"<title>Viser</title>"

# Time that a browser has at most to answer that its connection closes, s; a node ends after it.
_CLOSE_TIMEOUT = 1.0


# The address of the page goes to no other server, and a text that became HTML runs nothing.
_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "script-src-attr 'none'; object-src 'none'; frame-src 'none'; "
    "base-uri 'none'; form-action 'none'",
}

_REFUSAL_TEXT = (
    "This page is for whoever started it: open the address with its token, which stands in the "
    "terminal, http://.../?token=...\n"
)


def serve_page(
    port: int, origins: str = "", title: Callable[[], str] = lambda: "vms_ph", token: str = ""
) -> viser.ViserServer:
    """Start the server of the page.

    Args:
        port: on 127.0.0.1.
        origins: origins besides the page's own, such as http://localhost:9000, separated by spaces.
        title: returns what a browser shows in the tab of the page, when it is loaded.
        token: that every request must have; empty: none.

    Raises:
        VmsPhError: the port is in use, an origin is not one, or viser checks neither origin nor
            token.
    """
    own_origins = [f"http://{host}:{port}" for host in (HOST, "localhost")]
    further_origins = origins.split()
    for origin in further_origins:
        scheme, _, host = origin.partition("://")
        if scheme not in ("http", "https") or not host or "/" in host:
            raise VmsPhError(
                f"allowed_origins has {origin!r}; an origin is a scheme, a host and a port, "
                "for instance http://localhost:9000"
            )
    # viser would silently use the next port, and the printed address would be that of another page.
    require_free_port(HOST, port, f"port:={port + 1}")
    # The banner of viser is suppressed; the node logs the address.
    with (
        contextlib.redirect_stdout(io.StringIO()),
        _with_checks([*own_origins, *further_origins], token, title) as serve_calls,
    ):
        server = viser.ViserServer(host=HOST, port=port, label="vms_ph", verbose=False)
    if not serve_calls:
        server.stop()
        raise VmsPhError(
            f"viser {viser.__version__} serves its pages in a way in which origin and token "
            "cannot be checked; install another version"
        )
    return server


def stop_page(server: viser.ViserServer) -> None:
    """Stop the server of a page, without its message about that."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


@contextlib.contextmanager
def _with_checks(origins: list[str], token: str, title: Callable[[], str]) -> Iterator[list[Any]]:
    """Let servers started meanwhile check origin and token and have a title; yield the calls.

    viser has no such options, and starts its server before its constructor returns. A client that
    sends no origin is no browser, and may as well send any: it must have the token all the same.
    """
    server_module, serve_calls = websockets.asyncio.server, list[Any]()
    original_serve = server_module.serve
    allowed = [None, *(Origin(origin) for origin in origins)]

    def serve(*args: Any, process_request: Any = None, **options: Any) -> Any:
        serve_calls.append(args)

        def answer(connection: Any, request: Any) -> Any:
            if not _has_token(request.path, token):
                return connection.respond(HTTPStatus.FORBIDDEN, _REFUSAL_TEXT)
            return _with_title(process_request and process_request(connection, request), title())

        return original_serve(
            *args, process_request=answer, origins=allowed, close_timeout=_CLOSE_TIMEOUT, **options
        )

    server_module.serve = serve  # type: ignore[assignment]
    try:
        yield serve_calls
    finally:
        server_module.serve = original_serve  # type: ignore[misc]


def _has_token(path: str, token: str) -> bool:
    """Whether the path of a request has the token, or needs none."""
    sent_token = parse_qs(path.partition("?")[2]).get("token", [""])[0]
    return not token or compare_digest(sent_token.encode(), token.encode())


@cache
def _style_and_script() -> bytes:
    """Return style and script of the page, which viser has no options for."""
    folder = share_directory() / "config/page"
    style, script = ((folder / name).read_text("utf-8") for name in ("page.css", "page.js"))
    return f"<style>{style}</style><script>{script}</script>".encode()


def _with_title(response: Any, title: str) -> Any:
    """Return the response to a request for the page with a title in place of that of viser."""
    if response is None or not str(response.headers.get("Content-Type")).startswith("text/html"):
        return response
    is_compressed = response.headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(response.body) if is_compressed else response.body
    title_tag = f"<title>{escape(title)}</title>".encode()
    body = body.replace(_VISER_TITLE, title_tag + _style_and_script(), 1)
    response.body = gzip.compress(body, 1) if is_compressed else body
    del response.headers["Content-Length"]
    response.headers.update(_HEADERS)
    response.headers["Content-Length"] = str(len(response.body))
    return response

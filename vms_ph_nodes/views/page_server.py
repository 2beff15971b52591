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
from hmac import compare_digest
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import viser
import websockets.asyncio.server
from websockets.typing import Origin

from vms_ph_dynamics import VmsPhError

from ..node.process import require_free_port
from .page_address import HOST

# Browsers open and drop spare connections, for each of which websockets logs a traceback.
logging.getLogger("websockets.server").setLevel(logging.CRITICAL)

_TITLE = b"<title>Viser</title>"

# Time that a browser has at most to answer that its connection closes, s; a node ends after it.
_CLOSES = 1.0

# viser has no options for these. A pale robot is seen on a background that is not white, and the
# letters of labels do not touch. In the dark theme the background is that of viser. Verdict and
# flow stay in view while the controls scroll; before they are there, viser's own panel is hidden.
# On a phone the panel is a sheet below the scene, not over it.
_STYLE = b"""<style>
[data-mantine-color-scheme=light] canvas[data-engine] {background: #d3dae2}
[style*=letter-spacing] {letter-spacing: normal !important}
div:has(> .vms-top) {position: sticky; top: 0; z-index: 5; background: var(--mantine-color-body)}
[style*="min-height: 0px"]:has(.vms-top) {overflow: clip !important;
  min-width: 0}
body:not(:has(.vms-top)) [class*=ScrollArea-viewport] {visibility: hidden}
.vms-top {padding: 0 12px 4px; border-bottom: 1px solid var(--mantine-color-default-border)}
.vms-badge {padding: 3px 10px; border-radius: 4px; color: #fff; font: 600 14px sans-serif}
.vms-text {font: 12px/1.5 sans-serif; padding: 0 12px; overflow-wrap: anywhere}
.vms-warn {color: light-dark(#9a5200, #ffb454)} .vms-bad {color: light-dark(#c62f26, #ff8a80)}
.vms-shell {display: flex; align-items: start; margin: 0 12px 8px; border-radius: 4px;
  background: rgba(128,128,128,.15)}
.vms-shell pre {font: 12px/1.45 monospace; margin: 0; padding: 6px; flex: 1;
  white-space: pre-wrap; overflow-wrap: anywhere}
.u-legend .u-series:first-child {display: none}
[data-mantine-color-scheme=dark] .ef .w {stroke-opacity: .85 !important}
.ef {max-width: 420px; display: block; margin: auto}
.vms-shell button {font: 12px sans-serif; margin: 4px; cursor: pointer}
#vms-pictures {position: fixed; left: 10px; bottom: 8px; z-index: 4; font: 12px sans-serif;
  padding: 2px 8px; border-radius: 4px; background: rgba(0,0,0,.55); color: #fff}
@media (max-width: 36em) {
  div:has(> [style*="max-height: 60%"]) {flex-direction: column}
  div:has(~ [style*="max-height: 60%"]) {min-height: 0}
  [style*="max-height: 60%"] {position: static !important; width: 100% !important;
    max-height: 56% !important}
  [style*="max-height: 60%"] [style="width: 20em;"] {width: 100% !important}
  #vms-pictures {bottom: auto; top: 8px}
}
</style>"""

# The buttons that copy a command; and how many pictures the browser draws, where they are few: a
# robot that seems slow may be simulated in time.
_SCRIPT = b"""<script>(() => {
  addEventListener('click', event => {
    const button = event.target.closest('.vms-shell button');
    if (!button) return;
    navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = 'copied';
  });
  let pictures = 0, before = performance.now();
  const count = () => { pictures++; requestAnimationFrame(count) };
  requestAnimationFrame(count);
  setInterval(() => {
    const now = performance.now(), rate = 1e3 * pictures / (now - before);
    let note = document.getElementById('vms-pictures');
    if (!note) {
      note = document.body.appendChild(document.createElement('div'));
      note.id = 'vms-pictures';
    }
    note.hidden = document.hidden || rate >= 10;
    note.textContent = `this browser draws ${rate.toFixed(1)} pictures a second`;
    pictures = 0, before = now;
  }, 3000);
})()</script>"""

# viser connects anew only while its page has the focus: a page beside others, or of a browser
# without a screen, would stay as it was when its server left. It is loaded anew once the server
# answers. Only where the panel shows the sign of a lost connection, not where it is folded up, and
# not while a page connects for the first time, which takes long on a slow machine.
_RELOAD = b"""<script>(() => {
  const lost = '[class*=Loader-root], [class*=player-pause][stroke*=red]';
  let connected = false, away = 0;
  setInterval(() => {
    if (document.querySelector('[class*=cloud-check]')) connected = true, away = 0;
    else if (connected && document.querySelector(lost) && ++away > 3)
      fetch(location.href).then(r => r.ok && location.reload(), () => {});
  }, 5000);
})()</script>"""

# The connection of the scene has the token of the page; viser opens it without the query.
_CONNECT = b"""<script>(() => {
  const token = new URLSearchParams(location.search).get('token');
  const send = Worker.prototype.postMessage;
  if (token) Worker.prototype.postMessage = function (message, ...rest) {
    if (message && message.type == 'set_server')
      message = {...message, server: `${message.server}/?token=${token}`};
    return send.call(this, message, ...rest);
  };
})()</script>"""

# The address of the page goes to no other server, and a text that became HTML runs nothing.
_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "script-src-attr 'none'; object-src 'none'; frame-src 'none'; "
    "base-uri 'none'; form-action 'none'",
}

_REFUSAL = (
    "This page is for whoever started it: open the address with its token, which stands in the "
    "terminal, http://.../?token=...\n"
)


def serve_page(
    port: int,
    allowed: str = "",
    title: Callable[[], str] = lambda: "vms_ph",
    token: str = "",
) -> viser.ViserServer:
    """Start the server of the page.

    Args:
        port: on 127.0.0.1.
        allowed: origins besides the page's own, such as http://localhost:9000, separated by spaces.
        title: returns what a browser shows in the tab of the page, when it is loaded.
        token: that every request must have; empty: none.

    Raises:
        VmsPhError: the port is in use, an origin is not one, or viser checks neither origin nor
            token.
    """
    own_origins = [f"http://{host}:{port}" for host in (HOST, "localhost")]
    further_origins = allowed.split()
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
        _restricted([*own_origins, *further_origins], token, title) as calls,
    ):
        server = viser.ViserServer(host=HOST, port=port, label="vms_ph", verbose=False)
    if not calls:
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
def _restricted(origins: list[str], token: str, title: Callable[[], str]) -> Iterator[list[Any]]:
    """Let servers started meanwhile check origin and token and have a title; yield the calls.

    viser has no such options, and starts its server before its constructor returns. A client that
    sends no origin is no browser, and may as well send any: it must have the token all the same.
    """
    module, calls = websockets.asyncio.server, list[Any]()
    original = module.serve
    accepted = [None, *(Origin(origin) for origin in origins)]

    def serve(*args: Any, process_request: Any = None, **options: Any) -> Any:
        calls.append(args)

        def answer(connection: Any, request: Any) -> Any:
            if not _has_token(request.path, token):
                return connection.respond(HTTPStatus.FORBIDDEN, _REFUSAL)
            return _titled(process_request and process_request(connection, request), title())

        return original(
            *args, process_request=answer, origins=accepted, close_timeout=_CLOSES, **options
        )

    module.serve = serve  # type: ignore[assignment]
    try:
        yield calls
    finally:
        module.serve = original  # type: ignore[misc]


def _has_token(path: str, token: str) -> bool:
    """Whether the path of a request has the token, or needs none."""
    sent_token = parse_qs(path.partition("?")[2]).get("token", [""])[0]
    return not token or compare_digest(sent_token.encode(), token.encode())


def _titled(response: Any, title: str) -> Any:
    """Return the response to a request for the page with a title in place of that of viser."""
    if response is None or not str(response.headers.get("Content-Type")).startswith("text/html"):
        return response
    packed = response.headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(response.body) if packed else response.body
    named = f"<title>{escape(title)}</title>".encode()
    body = body.replace(_TITLE, named + _STYLE + _SCRIPT + _CONNECT + _RELOAD, 1)
    response.body = gzip.compress(body, 1) if packed else body
    del response.headers["Content-Length"]
    response.headers.update(_HEADERS)
    response.headers["Content-Length"] = str(len(response.body))
    return response

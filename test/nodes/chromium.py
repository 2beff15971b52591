# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A headless Chromium that shows a page, driven by the DevTools protocol."""

import base64
import io
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync.client import connect

PROGRAM = shutil.which("chromium")

# The element with a text of its own, brought into view; the middle of its box.
_FIND = """(() => {
  const own = e => [...e.childNodes].some(
    n => n.nodeType == 3 && n.textContent.trim() == %s);
  const e = [...document.querySelectorAll('body *')].filter(own).pop();
  if (!e) return null;
  e.scrollIntoView({block: 'center'});
  const box = e.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""


# The field, or checkbox, with a label, that is shown; viser hides some of its own.
_LABELLED = """(() => {
  const own = e => e.textContent.trim() == %s && [...e.children].every(c => c.tagName == 'WBR');
  const input = e => {
    while (e && !e.querySelector('input')) e = e.parentElement;
    return e && e.querySelector('input');
  };
  return [...document.querySelectorAll('body *')].filter(own).map(input).filter(
    e => e && e.getClientRects().length).pop();
})()"""

# An option of the list that is open.
_OPTION = """[...document.querySelectorAll('[role=option]')].find(
  e => e.offsetParent && e.textContent.trim() == %s)"""

# Lets a page draw a frame only after so many milliseconds.
_SLOWLY = """(() => {
  const draw = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = f => setTimeout(() => draw(f), %d);
  window.cancelAnimationFrame = k => clearTimeout(k);
})()"""

_PASSIVE = "Unable to preventDefault inside passive event listener"

# Shift, as the DevTools protocol has it.
SHIFT = 8


def field(label: str) -> str:
    """Return an expression that gives the field, or checkbox, with a label."""
    return _LABELLED % json.dumps(label)


class Chromium:
    """A browser with one page."""

    def __init__(
        self,
        address: str,
        folder: Path,
        size: tuple[int, int] = (1280, 720),
        frames: float | None = 5.0,
    ) -> None:
        """Open a page.

        Args:
            address: of the page.
            folder: receives the browser's profile.
            size: of its window, pixels.
            frames: how many a page draws in a second at most; without a graphics card, the drawing
                of more takes all of a processor. None: as many as it wants.
        """
        assert PROGRAM is not None
        self._process = subprocess.Popen(
            [
                PROGRAM,
                "--headless=new",
                "--no-sandbox",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
                f"--window-size={size[0]},{size[1]}",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._calls = 0
        self.errors: list[str] = []
        try:
            self._join(self._port(folder / "DevToolsActivePort"))
            if frames is not None:
                source = _SLOWLY % round(1e3 / frames)
                self._call("Page.addScriptToEvaluateOnNewDocument", source=source)
            self.open(address)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def _join(self, port: int) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=120.0) as answer:
            pages = [page for page in json.load(answer) if page["type"] == "page"]
        # A browser on a busy machine does not answer at once.
        self._socket = connect(
            pages[0]["webSocketDebuggerUrl"], max_size=None, open_timeout=120.0, ping_interval=None
        )
        self._call("Page.enable")
        self._call("Log.enable")
        self._call("Runtime.enable")

    @staticmethod
    def _port(file: Path) -> int:
        end = time.monotonic() + 120.0
        while not (file.is_file() and (lines := file.read_text().splitlines())):
            assert time.monotonic() < end, "the browser does not start"
            time.sleep(0.1)
        return int(lines[0])

    def click(self, text: str, seconds: float = 300.0) -> None:
        """Click on what shows exactly this text, once it is there."""
        end = time.monotonic() + seconds
        while not (place := self.run(_FIND % json.dumps(text))):
            assert time.monotonic() < end, f"the page shows no {text!r}"
            time.sleep(0.2)
        x, y = place
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def await_true(self, expression: str, what: str, seconds: float = 300.0) -> None:
        """Wait until an expression in the page is true."""
        end = time.monotonic() + seconds
        while not self.run(expression):
            assert time.monotonic() < end, what
            time.sleep(0.2)

    def tick(self, label: str) -> None:
        """Click on the checkbox with a label."""
        self.await_true(f"!!{field(label)}", f"the page shows no checkbox {label!r}")
        self.run(f"{field(label)}.click()")

    def untick(self, label: str) -> None:
        """Clear the checkbox with a label."""
        self.await_true(f"!!{field(label)}", f"the page shows no checkbox {label!r}")
        self.run(f"{field(label)}.checked && {field(label)}.click()")

    def choose(self, label: str, option: str) -> None:
        """Choose from the list with a label."""
        self.await_true(f"!!{field(label)}", f"the page shows no list {label!r}")
        shown, end = _OPTION % json.dumps(option), time.monotonic() + 300.0
        while not self.run(f"!!{shown}"):  # the page may have moved beneath the pointer
            assert time.monotonic() < end, f"the list {label!r} has no {option!r}"
            self.run(f"{field(label)}.scrollIntoView({{block: 'center'}})")
            box = f"{field(label)}.getBoundingClientRect()"
            x, y = self.run(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
            self.press(x, y)
            self.release(x, y)
            time.sleep(1.0)
        self.run(f"{shown}.click()")

    def give(self, file: Path) -> None:
        """Choose a file for the last button that takes one."""
        root = self._call("DOM.getDocument")["root"]["nodeId"]
        found = self._call("DOM.querySelectorAll", nodeId=root, selector="input[type=file]")
        self._call("DOM.setFileInputFiles", files=[str(file)], nodeId=found["nodeIds"][-1])

    def press(self, x: float, y: float, modifiers: int = 0) -> None:
        """Press the left button of the mouse, and hold it."""
        self._mouse("mouseMoved", x, y, modifiers, 0)
        self._mouse("mousePressed", x, y, modifiers, 1)

    def move(self, x: float, y: float, modifiers: int = 0) -> None:
        """Move the mouse with the left button held."""
        self._mouse("mouseMoved", x, y, modifiers, 1)

    def release(self, x: float, y: float, modifiers: int = 0) -> None:
        """Let the left button of the mouse go."""
        self._mouse("mouseReleased", x, y, modifiers, 0)

    def _mouse(self, kind: str, x: float, y: float, modifiers: int, buttons: int) -> None:
        self._call(
            "Input.dispatchMouseEvent",
            type=kind, x=x, y=y, modifiers=modifiers, buttons=buttons, clickCount=1,
            button="none" if kind == "mouseMoved" and not buttons else "left",
        )  # fmt: skip

    def fill(self, field: str, text: str) -> None:
        """Write into a field; ``field`` is an expression that gives the element."""
        assert self.run(f"(() => {{const e = {field}; e.focus(); e.select(); return !!e}})()")
        self._call("Input.insertText", text=text)
        self.run(f"({field}).blur()")

    def await_text(self, text: str, seconds: float = 300.0) -> None:
        """Wait until the page shows a text."""
        end = time.monotonic() + seconds
        while not self.run(f"document.body.innerText.includes({json.dumps(text)})"):
            assert time.monotonic() < end, f"the page shows no {text!r}: {self.text()}"
            time.sleep(0.2)

    def text(self) -> str:
        """Return the texts on the page."""
        return str(self.run("document.body.innerText"))

    def resize(self, width: int, height: int) -> None:
        """Set the size of what the browser shows, without its own frame."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def open(self, address: str) -> None:
        """Go to another page."""
        self._call("Page.navigate", url=address)

    def run(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def picture(self) -> np.ndarray:
        """Return what the page shows, (height, width, 3) from 0 to 1."""
        answer = self._call("Page.captureScreenshot", format="png")
        data = base64.b64decode(answer["data"])
        import matplotlib.image

        return np.asarray(matplotlib.image.imread(io.BytesIO(data)))[:, :, :3]

    def close(self) -> None:
        """End the browser."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(60.0)

    def _call(self, method: str, **arguments: object) -> dict[str, Any]:
        self._calls += 1
        self._socket.send(json.dumps({"id": self._calls, "method": method, "params": arguments}))
        while True:
            message = json.loads(self._socket.recv(timeout=300.0))
            said = _error(message.get("method", ""), message.get("params", {}))
            # viser asks to keep a drag from scrolling, where the browser does not let it.
            if said and _PASSIVE not in said:
                self.errors.append(said)
            if message.get("id") == self._calls:
                assert "error" not in message, message
                return dict(message["result"])


def _error(method: str, what: dict[str, Any]) -> str:
    """Return the error that an event tells of, as the browser's console shows it, or nothing."""
    if method == "Log.entryAdded" and what["entry"]["level"] == "error":
        return str(what["entry"]["text"])
    if method == "Runtime.exceptionThrown":
        thrown = what["exceptionDetails"]
        return f"{thrown['text']} {thrown.get('exception', {}).get('description', '')}"
    if method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert"):
        return " ".join(str(a.get("value", a.get("description", ""))) for a in what["args"])
    return ""

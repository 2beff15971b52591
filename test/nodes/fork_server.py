# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Starts programs of this project as copies of one process that has imported it before.

Its imports take most of the time of a short program. A copy is a process of its own, with pid,
session, environment and output of its own; what it starts of this project are copies too.
"""

import contextlib
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

NODE = ("-m", "vms_ph_nodes")
COMMAND = ("-c", "import sys; from vms_ph_nodes.cli import main; sys.exit(main())")

ADDRESS = "VMS_PH_FORK_SERVER"
"""The variable that tells a program where the server listens."""

_REAL = subprocess.Popen


def can_copy(words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a command is a program of this project, with the imports of this process."""
    python, *rest = map(str, words)
    imports_differ = any(
        environment.get(name) != os.environ.get(name)
        for name in {*environment, *os.environ}
        if name.startswith(("PYTHON", "LD_", "VMS_PH_RUNTIME")) and name != "PYTHONUNBUFFERED"
    )
    is_ours = tuple(rest[:2]) in (NODE, COMMAND) and python == sys.executable
    # Elsewhere a process with the libraries of this one cannot be copied.
    return is_ours and not imports_differ and sys.platform == "linux"


class Copy:
    """A program that runs; as far as tests and the launcher need it, a ``subprocess.Popen``.

    Attributes:
        args: its command.
        pid: of the process.
        returncode: its exit code, negative: the signal that ended it; None while it runs.
        stdout: what it prints.
        stderr: what it prints as errors; None where that is a part of ``stdout``.
    """

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        folder: str | Path = ".",
        *,
        stderr: int,
        text: bool,
    ) -> None:
        """Start it.

        Args:
            words: its command, which :func:`can_copy`.
            environment: all of it.
            folder: in which it runs.
            stderr: PIPE, or STDOUT for one output.
            text: whether the outputs are text, not bytes.
        """
        self.args = words
        self.returncode: int | None = None
        place = str(Path(folder).absolute())
        request = json.dumps([list(map(str, words)), dict(environment), place])
        output, write = os.pipe()
        errors, write_errors = os.pipe() if stderr == subprocess.PIPE else (None, os.dup(write))
        how: dict[str, Any] = {"mode": "r", "errors": "replace"} if text else {"mode": "rb"}
        self.stdout: IO[Any] = os.fdopen(output, **how)
        self.stderr: IO[Any] | None = None if errors is None else os.fdopen(errors, **how)
        self._lock = threading.Lock()
        self._server = socket.socket(socket.AF_UNIX)
        try:
            self._server.connect(environment[ADDRESS])
            data = request.encode()
            socket.send_fds(self._server, [len(data).to_bytes(8, "big")], [write, write_errors])
            self._server.sendall(data)
        finally:
            os.close(write)
            os.close(write_errors)
        self.pid = self._number()

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended."""
        with self._lock:
            if self.returncode is None:
                if not select.select([self._server], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
                self.returncode = self._number()
                self._server.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, given: None = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Return all that it prints, and all errors, once it has ended."""
        with ThreadPoolExecutor(1) as beside:
            errors = None if self.stderr is None else beside.submit(self.stderr.read)
            said = self.stdout.read()
            self.wait(timeout)
            return said, None if errors is None else errors.result()

    def __enter__(self) -> "Copy":
        return self

    def __exit__(self, *_: object) -> None:
        for output in (self.stdout, self.stderr):
            if output is not None:
                output.close()
        self.wait()

    def _number(self) -> int:
        data = b""
        while len(data) < 8:
            more = self._server.recv(8 - len(data))
            if not more:
                raise OSError("the fork server has ended")
            data += more
        return int.from_bytes(data, "big", signed=True)


class Popen(_REAL):  # type: ignore[type-arg]
    """Starts nodes from copies of a launcher as copies, and everything else as it is."""

    def __new__(cls, args: Any, *rest: Any, **options: Any) -> Any:
        """Return a copy where it is one."""
        environment = options.get("env") or os.environ
        piped = options.get("stdout") == subprocess.PIPE and "stderr" in options
        if piped and can_copy(args, environment):
            text = options.get("text", False)
            return Copy(args, environment, stderr=options["stderr"], text=text)
        return super().__new__(cls)


class ForkServer:
    """The process that is copied.

    Attributes:
        address: where it listens.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fork")
        self.address = os.path.join(self._folder.name, "server")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen(64)
        descriptor = self._listener.fileno()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(descriptor)],
            stdin=subprocess.PIPE,
            pass_fds=[descriptor],
            start_new_session=True,
        )

    def close(self) -> None:
        """End it, and take note of the end of its copies."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60.0)
        self._listener.close()
        self._folder.cleanup()


@cache
def fork_server() -> ForkServer:
    """Return the one of this process; :mod:`conftest` closes it at the end of the session."""
    return ForkServer()


def close() -> None:
    """End the fork server of this process, if there is one."""
    if fork_server.cache_info().currsize:
        fork_server().close()


def _import_all() -> None:
    """Import what programs import, but create nothing."""
    os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"
    from vms_ph_io.wings import WINGS, hook, programs
    from vms_ph_nodes.cli.app import make_app

    make_app()
    for module in programs().values():
        import_module(module)
    for name, wing in WINGS.items():
        if wing.is_installed and wing.commands and name != "studies":
            hook(name, "commands")
    for module in ("vms_ph_nodes.cli.demo_run", "vms_ph_embedded.launch", "vms_ph_embedded.wire"):
        import_module(module)
    # What programs then read from files of the project.
    from vms_ph_embedded.interfaces import idl, store
    from vms_ph_embedded.interfaces.names import STANDARD_PACKAGES
    from vms_ph_io import robots, share_directory
    from vms_ph_nodes.node.parameters import parameters_of

    for package in (*STANDARD_PACKAGES, "vms_ph"):
        kinds = store.interface_names(package, "msg"), store.interface_names(package, "srv")
        types = [f"msg/{name}" for name in kinds[0]]
        types += [f"srv/{name}_{part}" for name in kinds[1] for part in ("Request", "Response")]
        for name in types:
            idl.dds_type(f"{package}/{name}").__idl__.fill_type_data()
    robots.names()
    for file in (share_directory() / "config/parameters").glob("*.yaml"):
        parameters_of(file.stem)


def _serve(listener: socket.socket) -> tuple[list[str], dict[str, str], str]:
    """Fork for every request; return in the copy, with its command, environment and folder."""
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    running: dict[int, socket.socket] = {}
    watched = selectors.DefaultSelector()
    for source in (listener.fileno(), wake, 0):
        watched.register(source, selectors.EVENT_READ)
    is_wanted = True
    while is_wanted or running:
        for key, _ in watched.select():
            if key.fd == wake:
                os.read(wake, 4096)
                _report_ends(running)
            elif key.fd == 0:  # whoever has started this process closes it, or has ended
                is_wanted = False
                watched.unregister(0)
                for pid in running:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
            elif key.fd == listener.fileno():
                client, _ = listener.accept()
                size, outputs, _, _ = socket.recv_fds(client, 8, 2)
                left, data = int.from_bytes(size, "big"), b""
                while len(data) < left:
                    data += client.recv(left - len(data))
                pid = os.fork()
                if not pid:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    watched.close()
                    os.setsid()
                    for descriptor, number in zip(
                        (os.open(os.devnull, os.O_RDONLY), *outputs), range(3), strict=True
                    ):
                        os.dup2(descriptor, number)
                        os.close(descriptor)
                    for descriptor in (wake, woken, *map(socket.socket.detach, running.values())):
                        os.close(descriptor)
                    client.close()
                    listener.close()
                    return json.loads(data)
                running[pid] = client
                client.sendall(pid.to_bytes(8, "big"))
                for descriptor in outputs:
                    os.close(descriptor)
    sys.exit()


def _report_ends(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as client, contextlib.suppress(OSError):
            code = os.waitstatus_to_exitcode(status)
            client.sendall(code.to_bytes(8, "big", signed=True))


def _begin(words: list[str], environment: dict[str, str], folder: str) -> None:
    """Be a program from its first line on."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[0] = folder
    # As with PYTHONUNBUFFERED.
    sys.stdout, sys.stderr = (
        TextIOWrapper(cast(Any, FileIO(number, "w", closefd=False)), write_through=True)
        for number in (1, 2)
    )
    subprocess.Popen = Popen  # type: ignore[misc]
    if tuple(words[1:3]) == NODE:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        import runpy

        sys.argv = ["", *words[3:]]
        runpy.run_module("vms_ph_nodes", run_name="__main__")
    else:
        sys.argv = ["-c", *words[3:]]
        exec(words[2], {"__name__": "__main__"})


if __name__ == "__main__":
    sys.path[0] = ""
    listening = socket.socket(fileno=int(sys.argv.pop()))
    _import_all()
    gc.collect()
    gc.freeze()
    _begin(*_serve(listening))

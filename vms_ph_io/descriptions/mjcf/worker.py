# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The process that converts MJCF files, and its client.

MuJoCo ends its process at some damaged files (it formats names of the file), writes a log file into
its folder, and has no bound on time and memory. So it runs in a process of its own.
"""

import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from vms_ph_dynamics import ModelError, VmsPhError

MAX_DURATION = 120.0
"""Longest time for one file, s; large robots with many meshes take two."""

LARGEST_MEMORY = 16 * 2**30
"""Largest address space of the process, bytes."""

DEFECT = "its conversion failed, which is a defect of vms_ph"

_PROGRAM = "from vms_ph_io.descriptions.mjcf.worker import answer_all; answer_all()"


class Worker:
    """A process that converts MJCF files one after another; a context manager.

    Raises:
        VmsPhError: this program has no Python interpreter that it could start.
    """

    def __init__(self) -> None:
        if not sys.executable:
            text = "MJCF files are read by a Python process, and this program has no interpreter; "
            text += "convert the file with vms-ph first"
            raise VmsPhError(text)
        self._folder = tempfile.TemporaryDirectory(prefix="vms_ph_mjcf_")
        paths = [path or os.getcwd() for path in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    def convert(self, path: Path, timeout: float = MAX_DURATION) -> str:
        """Return the URDF equivalent of a file.

        Raises:
            VmsPhError: MuJoCo is not installed, or the file cannot be read.
            ModelError: the file is not covered, or it ended the process.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        line, is_expired = b"", False
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(os.path.abspath(path)).encode() + b"\n")
            process.stdin.flush()
            is_expired = not select.select([process.stdout], [], [], timeout)[0]
            line = b"" if is_expired else process.stdout.readline()
        if not line.endswith(b"\n"):
            process.kill()
            code = process.wait()
            reason = f"takes longer than {timeout:g} s" if is_expired else f"ended it ({code})"
            raise ModelError(
                f"{path.name} cannot be compiled by MuJoCo: the file {reason}; open it in MuJoCo's "
                "own viewer to see what is wrong with it"
            )
        answer = json.loads(line)
        if "urdf" in answer:
            return str(answer["urdf"])
        raise (ModelError if answer["model"] else VmsPhError)(answer["error"])

    @property
    def is_alive(self) -> bool:
        """Whether it can convert a further file."""
        return self._process.poll() is None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


def answer_all() -> None:
    """Convert the files whose paths arrive on stdin; one line of JSON each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what MuJoCo prints is no answer
    _bound_memory()
    for line in sys.stdin:
        print(json.dumps(_answer(Path(json.loads(line)))), file=answers, flush=True)


def _answer(path: Path) -> dict[str, Any]:
    from .description import convert

    try:
        return {"urdf": convert(path)}
    except VmsPhError as error:
        return {"error": str(error), "model": isinstance(error, ModelError)}
    except Exception as error:  # the process goes on, and the message is one sentence
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{Path(frame.filename).name}:{frame.lineno}"
        return {"error": f"{path.name}: {DEFECT} at {line}: {error!r}", "model": True}


def _bound_memory() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = LARGEST_MEMORY if hard == resource.RLIM_INFINITY else min(LARGEST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

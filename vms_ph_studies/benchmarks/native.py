# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Duration and jitter of single updates of the control laws in C++ and in Python.

The laws in C++ are timed by ``native/benchmark``, a program without Python. A second program hosts
the Python law in a separate thread, with ordinary and, where allowed, with real-time priority.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from vms_ph_controllers import DecoupledVMSController, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_io import robots
from vms_ph_io.build import native_build

from . import Benchmark
from .timing import Case, Tail, Timing

_UPDATES = 100_000
_BASELINE_NAME = "the law in Python, moving reference"

_PRIORITY = 50  # that of ros2_control
_NOT_PERMITTED_CODE = 3  # exit code of the host's program

# As CMake calls them.
PROGRAMS = ("vms_ph_benchmark", "vms_ph_host_benchmark")

# The limit: a tenth of the period of a controller manager at 1 kHz.
_P99_LIMIT = 100e-6


def _run(robot: str, base: str, seconds: float) -> list[Timing]:
    """Return the times of single updates; each Python law runs for some seconds."""
    model = robots.load(robot, base=base)
    build_folder = native_build.build(tests=True, targets=PROGRAMS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(model.urdf)
        arguments = [file, base, model.end_effector, _UPDATES]
        lines = program_output(build_folder / "benchmark/vms_ph_benchmark", *arguments, "laws")
        timings = [_read_timing(line) for line in lines]
        law_class = TaskSpaceIDAPBC if base == "fixed" else DecoupledVMSController
        law_name = f"{law_class.__module__}.{law_class.__name__}"
        host = build_folder / "benchmark/python_host/vms_ph_host_benchmark"
        for priority in (0, _PRIORITY):
            for line in program_output(host, *arguments, priority, law_name, *model.home.tolist()):
                timings.append(_read_hosted_timing(line, priority))
    return [*timings, _time_updates(_BASELINE_NAME, _python_update(model), seconds)]


def program_output(program: Path, *arguments: object) -> list[str]:
    """Return the lines that a program prints; none if its priority is not allowed."""
    process = subprocess.run(
        [program, *map(str, arguments)],
        env={**os.environ, "VMS_PH_PYTHON": sys.prefix, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode not in (0, _NOT_PERMITTED_CODE):
        raise VmsPhError(process.stderr.strip() or "the benchmark ended with an error")
    return process.stdout.splitlines()


def _read_hosted_timing(line: str, priority: int) -> Timing:
    """Return a line of the host program, with the number of late responses in the name."""
    line, _, late_count = line.rpartition("\t")
    _, _, numbers = line.partition("\t")
    scheduling = "real-time priority" if priority else "ordinary priority"
    timing = _read_timing(f"the law hosted, {scheduling}, {late_count} late\t{numbers}")
    # The limit holds for the laws in C++.
    return replace(timing, case=replace(timing.case, max_p99=None))


def _read_timing(line: str) -> Timing:
    name, *numbers = line.split("\t")
    median, lower, upper, p99, p999, longest_duration = (1e-9 * float(number) for number in numbers)
    case = Case(name, lambda: None, max_p99=_P99_LIMIT)
    return Timing(case, median, lower, upper, Tail(_UPDATES, p99, p999, longest_duration))


def _python_update(model: VMSModel) -> Callable[[int], object]:
    """Return a function of k for the k-th update of the Python law on a moving reference."""
    rng = np.random.default_rng(0)
    lower, upper = model.joints.lower, model.joints.upper
    mid_range = np.zeros(model.nv)
    mid_range[model.b :] = np.where(np.isfinite(lower + upper), 0.5 * (lower + upper), 0.0) + 0.4
    states = [
        RobotState(
            model.integrate(
                model.neutral_configuration(), mid_range + 0.2 * rng.uniform(-1, 1, model.nv)
            ),
            rng.uniform(-1, 1, model.nv),
        )
        for _ in range(256)
    ]
    law: TaskSpaceIDAPBC | DecoupledVMSController
    if model.base == "fixed":
        law = TaskSpaceIDAPBC(model)
        references = [Reference(velocity=np.array([0.0, speed, 0.0])) for speed in (0.05, -0.05)]
    else:
        law = DecoupledVMSController(model)
        references = [
            Reference(twist=np.full(6, speed), joints=model.joint_positions(state.q))
            for speed, state in zip((0.1, -0.1), states, strict=False)
        ]
    law.reset(states[0])
    return lambda k: law.update(states[k % 256], references[k // 1000 % 2], 1e-3)


def _time_updates(name: str, update: Callable[[int], object], seconds: float) -> Timing:
    durations: list[float] = []
    deadline = time.perf_counter() + seconds
    while len(durations) < 100 or (len(durations) < _UPDATES and time.perf_counter() < deadline):
        start = time.perf_counter()
        update(len(durations))
        durations.append(time.perf_counter() - start)
    median, lower, upper, p99, p999 = (
        float(quantile) for quantile in np.percentile(durations, [50, 25, 75, 99, 99.9])
    )
    tail = Tail(len(durations), p99, p999, max(durations))
    return Timing(Case(name, lambda: None), median, lower, upper, tail)


BENCHMARKS = [
    Benchmark(
        id="native",
        title="single updates of the control laws in C++ and in Python",
        reference=_BASELINE_NAME,
        cases=lambda robot, base: [],
        base="fixed",
        run=_run,
    )
]

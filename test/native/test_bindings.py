# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the C++ core does with arguments that are wrong: it refuses them and goes on."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from .builds import sanitized_module, thread_sanitized_host
from .conftest import native_model
from .test_core import HOST, ctest

PROGRAM = Path(__file__).with_name("binding_calls.py")
ROOT = PROGRAM.parents[2]


def said(folder: Path, log: Path, *words: str, **environment: str) -> str:
    """Call the core of a folder in a process of its own; return its last line."""
    with log.open("w") as file:
        done = subprocess.run(
            [sys.executable, PROGRAM, *words],
            env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    tail = log.read_text(errors="replace")[-6000:]
    assert done.returncode == 0, tail
    return tail.splitlines()[-1]


def test_everything_that_is_bound_refuses_wrong_arguments(
    native_folder: Path, tmp_path: Path
) -> None:
    """A function without right arguments in the list fails here: none is left out."""
    assert said(native_folder, tmp_path / "calls", "each") == "done"


def test_no_call_at_random_ends_the_process(native_folder: Path, tmp_path: Path) -> None:
    assert said(native_folder, tmp_path / "calls", "random", "1", "1000").startswith("done")


@pytest.mark.slow  # it is compiled for some minutes
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_sanitizers_find_nothing_in_calls_at_random(seed: int, tmp_path: Path) -> None:
    libraries = [
        subprocess.run(
            [os.environ.get("CXX", "c++"), f"-print-file-name={name}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    environment = {
        "LD_PRELOAD": ":".join(libraries),  # before Python, which is built without them
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    words = ("random", str(seed), "25000")
    assert said(sanitized_module(), tmp_path / "calls", *words, **environment).startswith("done")


@pytest.mark.slow  # it is compiled for some minutes
def test_the_sanitizer_of_threads_finds_nothing_in_the_host() -> None:
    # The sanitizer itself keeps memory and libraries, which two of the six count.
    chosen = (*HOST[:-1], f"{HOST[-1]}|leaves_nothing_behind|loaded_again")
    assert "100% tests passed out of 4" in ctest(thread_sanitized_host(), *chosen)


@pytest.fixture(scope="module")
def model() -> VMSModel:
    return robots.get("hextilt").load()


def test_none_and_other_sizes_are_refused_in_a_sentence(
    native: ModuleType, model: VMSModel
) -> None:
    robot = native_model(native, model)
    judge = native.StatePlausibility(robot, {})
    q, v = model.configuration(robots.get("hextilt").home), np.zeros(model.nv)
    shape = rf"q must have shape \({model.nq},\); given: \({model.nq + 5},\)"
    with pytest.raises(native.ModelError, match=shape):
        judge.restart(np.zeros(model.nq + 5), v)
    for call in (native.Dynamics, lambda none: native.Batch(none, 1), native.SampledAlgebra):
        with pytest.raises(TypeError, match="incompatible"):
            call(None)
    with pytest.raises(native.ModelError, match="at most 1024 threads"):
        native.Batch(robot, 10**9)
    # One joint, whose position numpy would make of None.
    with pytest.raises(TypeError, match="incompatible"):
        native.Dynamics(robot).mass(None)
    judge.restart(q, v)


def test_states_and_efforts_of_another_robot_or_scheme_are_refused(
    native: ModuleType, model: VMSModel
) -> None:
    robots_ = [native_model(native, robots.get(name).load()) for name in ("panda", "hextilt")]
    q, v = model.configuration(robots.get("hextilt").home), np.zeros(model.nv)
    schemes = [native.Scheme(robot, "discrete_gradient") for robot in robots_]
    state = schemes[1].begin(q, v)
    for scheme in (schemes[0], native.Scheme(robots_[1], "rkmk4")):
        with pytest.raises(native.ModelError, match="of another robot or of another kind"):
            scheme.motion(state)
    with pytest.raises(native.ModelError, match="of a robot of another size"):
        schemes[1].step(state, native.Ports(robots_[0], np.zeros(7)), 0.0, 1e-3)
    law = native.make_law("TaskSpaceIDAPBC", robots_[0])
    loop = native.ClosedLoop(schemes[1], 1e-9)
    span = (np.zeros(model.n), np.zeros(6), 0.0, 1e-3, 0, 3)
    with pytest.raises(native.ModelError, match="the law is for a robot of another size"):
        loop.run(law, *(None,) * 6, state, native.Ports(robots_[1]), *span)


def test_what_was_read_of_a_state_stays_when_the_state_changes(
    native: ModuleType, model: VMSModel
) -> None:
    robot = native_model(native, model)
    q, v = model.configuration(robots.get("hextilt").home), np.zeros(model.nv)
    state = native.Scheme(robot, "rkmk4").begin(q, v)
    before = state.q
    state.q = q + 1.0
    np.testing.assert_array_equal(before, q)
    with pytest.raises(native.ModelError, match="q must have shape"):
        state.q = np.zeros(1000)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Batches on an accelerator, or on the CPU: rates a second, compile time, memory, rounding."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_dynamics import DecoupledForm, StandardForm

from . import Benchmark
from .libraries import Problem, UnavailableError, frax_robot, problem_of
from .mujoco_robot import FreeRobot
from .timing import Case, Timing, measure

# For the size of a batch: a call, and the bytes that it occupies.
BatchMaker = Callable[[int], tuple[Callable[[], Any], int]]


class Batches:
    """The benchmark for batches of some sizes, with what its last measurement gave."""

    def __init__(self, sizes: tuple[int, ...] = (1, 4096)) -> None:
        self._sizes, self._errors = sizes, list[str]()
        self._skipped, self._costs = dict[str, None](), dict[str, str]()

    def run(self, robot: str, base: str, seconds: float) -> list[Timing]:
        """Measure in both precisions, each for half of the time."""
        problem, rng = problem_of(robot, base), np.random.default_rng(0)
        model, timings, terms = problem.model, [], dict[str, dict[str, Any]]()
        StandardForm(model).jax()  # says how to install JAX
        import jax

        configurations = [model.random_configuration(rng) for _ in range(64)]  # repeated in a batch
        problems = [replace(problem, q=q, v=rng.uniform(-1, 1, model.nv)) for q in configurations]
        self._skipped, self._costs, self._errors = {"mujoco_warp, grid-rbd: not JAX": None}, {}, []
        for precision in ("float32", "float64"):
            jax.config.update("jax_enable_x64", precision == "float64")
            jax.clear_caches()  # they contain numbers of the other precision
            makers, terms[precision] = _vms_ph_functions(problems)
            for library in (_frax, _mjx):
                try:
                    makers |= library(problems)
                except UnavailableError as reason:
                    self._skipped[str(reason)] = None
            timings += measure(self._cases(makers, precision, seconds), seconds / 2)
        for name, double_terms in terms["float64"].items():
            pairs = zip(double_terms, terms["float32"][name], strict=True)
            error = max(np.abs(x - y).max() / np.abs(x).max() for x, y in pairs)
            self._errors.append(f"{name} {error:.0e}")
        return timings

    def _cases(self, makers: dict[str, BatchMaker], precision: str, seconds: float) -> list[Case]:
        """Return the calls on batches up to the limits of time and memory."""
        import jax

        cases, references = list[Case](), dict[tuple[str, int], str]()
        host_memory = {"bytes_limit": os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")}
        for function, make_batch in makers.items():
            for size in self._sizes:
                name, start = f"{function}, {precision}, {size}", time.perf_counter()
                call, memory = make_batch(size)
                duration, start = time.perf_counter() - start, time.perf_counter()
                if memory > (jax.devices()[0].memory_stats() or host_memory)["bytes_limit"]:
                    self._skipped[f"{name}, which needs {memory / 1e9:.1f} GB"] = None
                    break
                self._costs[name] = f"{name}: compiled in {duration:.1f} s, {memory // size} B each"
                reference = references.setdefault((function.split(": ")[0], size), name)
                cases.append(Case(name, call, units=size, reference=reference))
                call()
                if 8 * (time.perf_counter() - start) > max(seconds, 1.0):
                    self._skipped[f"batches above {name}, which take long"] = None
                    break
        return cases

    def summary(self, timings: list[Timing]) -> str:
        """Return rates, compile times, memory, and what single precision costs."""
        lines = [f"{self._costs[t.case.name]}, {1.0 / t.median:.3g} a second" for t in timings]
        return "\n".join([*lines, "float32, of the largest entry: " + ", ".join(self._errors)])

    def versions(self) -> dict[str, str]:
        """Return the version of JAX with its device."""
        import jax

        return {"JAX": f"{jax.__version__} on {jax.devices()[0].device_kind}"}

    def benchmark(self) -> Benchmark:
        """Return the benchmark as the command takes it."""
        return Benchmark(
            "gpu",
            "batches in JAX, on an accelerator or the CPU",
            "",
            lambda robot, base: [],
            note=lambda: "skipped: " + "; ".join(self._skipped),
            run=self.run,
            versions=self.versions,
            ratios="the first function of each term, precision and size",
            summary=self.summary,
            with_batches=lambda sizes: Batches(sizes).benchmark(),
        )


def _vmapped(function: Callable[..., Any], *states: Any) -> BatchMaker:
    import jax

    def make_batch(size: int) -> tuple[Callable[[], Any], int]:
        batch = [jax.numpy.asarray(np.resize(state, (size, len(state[0])))) for state in states]
        batch_function = jax.jit(jax.vmap(function))
        analysis = batch_function.lower(*batch).compile().memory_analysis()
        size_names = (f"{name}_size_in_bytes" for name in ("argument", "output", "temp"))
        memory_size = sum(getattr(analysis, name, 0) for name in size_names)
        return lambda: jax.block_until_ready(batch_function(*batch)), memory_size

    return make_batch


def _vms_ph_functions(problems: list[Problem]) -> tuple[dict[str, BatchMaker], dict[str, Any]]:
    """Return the functions to measure, and terms of all states in JAX's present precision."""
    import jax

    # The same states in both precisions.
    q, v = (np.array([getattr(problem, x) for problem in problems], np.float32) for x in ("q", "v"))
    functions = dict[str, tuple[Callable[..., Any], Any]]()
    for form_class in (StandardForm, DecoupledForm):
        form = form_class(problems[0].model)
        exported_form, name = form.jax(), form_class.__name__
        z = np.array([form.state(s.q, s.v).z for s in problems], np.float32)
        functions[f"rate: {name}"] = exported_form.rate, z
        functions[f"energies: {name}"] = exported_form.hamiltonian, z
        functions[f"momenta: {name}"] = exported_form.momenta, v
    functions["M: vms_ph"] = lambda q, v, form=exported_form: form.mass_matrix(q), v
    calls, arguments = zip(*functions.values(), strict=True)
    all_terms = jax.vmap(lambda q, *xs: [call(q, x) for call, x in zip(calls, xs, strict=True)])
    terms = [jax.tree.leaves(term) for term in jax.jit(all_terms)(q, *arguments)]
    makers = {name: _vmapped(f, q, x) for name, (f, x) in functions.items() if "mom" not in name}
    return makers, dict(zip(functions, terms, strict=True))


def _frax(problems: list[Problem]) -> dict[str, BatchMaker]:
    robot, q, v = frax_robot(problems[0]), [s.q for s in problems], [s.v for s in problems]
    # Neither the order of joints nor the axes of velocities matter to the time.
    accelerate = _vmapped(lambda q, v: robot.forward_dynamics(q, v, v, None), q, v)
    return {"rate: frax forward_dynamics": accelerate, "M: frax": _vmapped(robot.mass_matrix, q)}


def _mjx(problems: list[Problem]) -> dict[str, BatchMaker]:
    import jax

    mjx = problems[0].module("mujoco.mjx", "MJX", "mujoco-mjx")
    if jax.default_backend() == "cpu":
        raise UnavailableError("MJX, which compiles for minutes on a CPU")
    model = mjx.put_model(FreeRobot(problems[0].model, "Euler").model)
    data = mjx.make_data(model)
    velocities = [np.resize(problem.v, model.nv) for problem in problems]
    return {
        "rate: MJX": _vmapped(lambda v: mjx.forward(model, data.replace(qvel=v)).qacc, velocities)
    }


BENCHMARKS = [Batches().benchmark()]

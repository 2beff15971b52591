# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Frax: robots in JAX, compiled and in double precision."""

import os
import tempfile
import warnings
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from .contender import (
    ACCELERATION,
    BATCH,
    BATCH_SIZE,
    DERIVATIVES,
    MASS_MATRIX,
    Contender,
    Problem,
    UnavailableError,
)


def frax(problem: Problem) -> Contender:
    """Return the calls of frax.

    Raises:
        UnavailableError: it is not installed, or the base or a joint has no counterpart.
    """
    # As its documentation recommends; JAX reads them when it is imported.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robots = import_module("frax.core.robot")
            jax: Any = import_module("jax")
    except ImportError:
        raise UnavailableError("frax is not installed (pip install frax)") from None
    model = problem.model
    if model.base == "planar" or model.nq - model.nq_base != model.n:
        raise UnavailableError("frax: planar bases and continuous joints are not compared")
    jax.config.update("jax_enable_x64", True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(problem.xml)
        base = "quaternion" if model.b else None
        robot = robots.Robot(str(file), floating_base=base)
    names = list(robot.joint_names)[-model.n :]
    order = [names.index(name) for name in model.joint_names]
    q, v, tau = _state(problem, order)

    def forward(q: Any, v: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, v, tau, None)

    aba, mass = jax.jit(forward), jax.jit(robot.mass_matrix)
    slope = jax.jit(jax.jacfwd(forward, argnums=(0, 1, 2)))
    batch = jax.jit(jax.vmap(forward))
    many = [jax.numpy.tile(x, (BATCH_SIZE, 1)) for x in (q, v, tau)]
    ready = jax.block_until_ready
    return Contender(
        "frax",
        {
            ACCELERATION: {"forward_dynamics in JAX": lambda: ready(aba(q, v, tau))},
            MASS_MATRIX: {"mass_matrix in JAX": lambda: ready(mass(q))},
            DERIVATIVES: {"jacfwd of forward_dynamics": lambda: ready(slope(q, v, tau))},
            BATCH: {"vmap of forward_dynamics": lambda: ready(batch(*many))},
        },
        lambda: np.array(aba(q, v, tau))[-model.n :][order],
        metadata.version("frax"),
    )


def _state(problem: Problem, order: list[int]) -> tuple[Array, Array, Array]:
    model = problem.model
    q, v, tau = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    at = np.array(order)
    q[model.nq_base + at] = problem.q[model.nq_base :]
    v[model.b + at], tau[model.b + at] = problem.v[model.b :], problem.torque
    if model.b:
        q[:7] = [*problem.q[:3], problem.q[6], *problem.q[3:6]]
        v[:3], v[3:6] = problem.base_rotation @ problem.v[:3], problem.v[3:6]
    return q, v, tau

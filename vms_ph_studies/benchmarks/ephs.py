# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Computation time of assembling systems of bodies and joints, and of a step."""

import numpy as np
import pinocchio as pin

from vms_ph_ephs import Simulation, assemble
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies
from vms_ph_io import robots

from . import Benchmark
from .ephs_tree import cases as tree_cases
from .ephs_tree import chain, growth
from .timing import Case

_STEP = 1e-3
_CHAIN = 60
_MINIMAL = "pendulum in minimal coordinates, step of RK4 on pinocchio aba"


def _cases(robot: str, base: str) -> list[Case]:
    bundled = robots.get(robot)
    xml = bundled.description()
    # Without friction, which would end the motion; at rest an implicit step needs no iterations.
    two = TwoBodies(friction=(0.0, 0.0))
    pendulum = assemble(two.pendulum())
    x = two.pendulum_state(pendulum)
    arm = assemble(mb.from_urdf(xml, base, bundled.gravity))
    return [
        Case(_MINIMAL, _MinimalStep()),
        Case("two-body pendulum, step of 1 ms", Simulation(pendulum, x).step, seconds=_STEP),
        Case(
            "the same with discrete gradients",
            Simulation(pendulum, x, scheme="discrete_gradient").step,
        ),
        Case(f"{robot}, step of 1 ms", Simulation(arm, mb.consistent_state(arm)).step),
        Case(
            f"assembling {robot} from its URDF",
            lambda: assemble(mb.from_urdf(xml, base, bundled.gravity)),
            seconds=1.0,
        ),
        Case(
            f"assembling a chain of {_CHAIN} bodies",
            lambda: assemble(chain(_CHAIN)),
            seconds=10.0,
        ),
        *tree_cases(robot, base),
    ]


class _MinimalStep:
    """A step of a double pendulum in minimal coordinates."""

    def __init__(self) -> None:
        self._model = pin.Model()
        joint = 0
        for name in ("a", "b"):
            joint = self._model.addJoint(joint, pin.JointModelRX(), pin.SE3.Identity(), name)
            inertia = pin.Inertia(1.0, np.array([0.0, 0.0, -0.3]), 0.01 * np.eye(3))
            self._model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self._data = self._model.createData()
        self._y = np.array([0.4, -0.8, 1.5, -2.2])

    def __call__(self) -> None:
        y = self._y
        a = self._rate(y)
        b = self._rate(y + 0.5 * _STEP * a)
        c = self._rate(y + 0.5 * _STEP * b)
        d = self._rate(y + _STEP * c)
        self._y = y + _STEP / 6.0 * (a + 2.0 * b + 2.0 * c + d)

    def _rate(self, y: np.ndarray) -> np.ndarray:
        q, v = y[:2], y[2:]
        return np.concatenate([v, pin.aba(self._model, self._data, q, v, 0.0 * v)])


BENCHMARK = Benchmark(
    id="ephs",
    title="bodies and joints as port-Hamiltonian systems",
    reference=_MINIMAL,
    cases=_cases,
    base="fixed",
    summary=growth,
)

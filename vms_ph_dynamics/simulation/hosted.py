# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulation with flat arrays as interface, for hosts in other languages."""

from collections.abc import Sequence

import numpy as np

from ..arrays import vector
from ..errors import StateError
from ..forms import PORTS, Ports, StandardForm
from ..model import VMSModel
from .engine import FormEngine
from .simulation import Simulation


class HostedSimulation:
    """A simulation, and the arrays that it reads efforts from and writes its motion to.

    Attributes:
        model: the robot.
        inputs: base wrench (b,), joint torques (n,) and a number of integrator steps.
        outputs: q (nq,), v (nv,), time, kinetic and potential energy, the energy supplied through
            each of :data:`PORTS`, and the energy dissipated by friction.
    """

    def __init__(
        self, model: VMSModel, start: Sequence[float], step: float, scheme: str, friction: bool
    ) -> None:
        """Start at rest.

        Args:
            model: the robot.
            start: (nq,) configuration; neutral when empty.
            step: of the integrator, s.
            scheme: of :data:`.integrators.SCHEMES`; the default of the robot when empty.
            friction: whether the joints' friction acts.

        Raises:
            StateError: the configuration or the step is not valid.
            OptionError: there is no such scheme.
            ModelError: the scheme does not cover this robot.
        """
        if not (np.isfinite(step) and step > 0.0):
            raise StateError(f"the integrator's step must be a time above zero; given: {step!r} s")
        home = vector(start, model.nq, "start") if len(start) else model.neutral_configuration()
        model.evaluate(home, np.zeros(model.nv))
        form = StandardForm(model)
        self.model = model
        self._simulation = Simulation(
            form, home, step, None, friction, engine=FormEngine(scheme or None)
        )
        self.inputs = np.zeros(model.nv + 1)
        self.outputs = np.zeros(model.nq + model.nv + 4 + len(PORTS))
        self._write()

    def reset(self) -> None:
        """Return to the start, at rest."""
        self._simulation.reset()
        self._write()

    def step(self) -> None:
        """Hold the efforts over the number of steps given with them.

        Raises:
            StateError: the motion cannot be continued without a :meth:`reset`.
        """
        b, nv = self.model.b, self.model.nv
        efforts = self.inputs.copy()
        self._simulation.apply(Ports(efforts[b:nv], efforts[:b]))
        self._simulation.advance(int(efforts[nv]))
        if not self._simulation.is_finite():
            raise StateError(
                f"the motion cannot be integrated beyond {self._simulation.time:.6g} s: efforts "
                "or step are too large; reset the simulation"
            )
        self._write()

    def _write(self) -> None:
        sample = self._simulation.sample()
        d = self.model.evaluate(sample.q, sample.v)
        self.outputs[:] = (
            *sample.q,
            *sample.v,
            sample.time,
            d.kinetic_energy,
            d.potential_energy,
            *(sample.port_energy[name] for name in PORTS),
            sample.dissipated,
        )

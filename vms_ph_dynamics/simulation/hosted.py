"""The simulator between flat arrays, as a host in another language calls it."""

from collections.abc import Sequence

import numpy as np

from ..arrays import vector
from ..errors import StateError
from ..model import VMSModel
from ..structure import StandardForm
from .simulation import External, Simulation


class HostedSimulation:
    """A simulation, and the arrays that it reads efforts from and writes its motion to.

    Attributes:
        model: the robot.
        inputs: base wrench (b,), joint torques (n,) and a number of integrator steps.
        outputs: q (nq,), v (nv,), time, kinetic and potential energy, work through the joints, the
            base and the end effector, and what friction took.
    """

    def __init__(
        self, model: VMSModel, start: Sequence[float], step: float, scheme: str, friction: bool
    ) -> None:
        """Start at rest.

        Args:
            model: the robot.
            start: (nq,) configuration; neutral when empty.
            step: of the integrator, s.
            scheme: of :data:`.integrators.SCHEMES`; the usual one when empty.
            friction: whether the joints' viscous friction acts.

        Raises:
            StateError: no such configuration, step or scheme.
            ModelError: the scheme is not for this robot.
        """
        if not (np.isfinite(step) and step > 0.0):
            raise StateError(f"the integrator's step must be a time above zero; given: {step!r} s")
        home = vector(start, model.nq, "start") if len(start) else model.neutral_configuration()
        model.evaluate(home, np.zeros(model.nv))
        form = StandardForm(model)
        self.model = model
        self._simulation = Simulation(form, home, step, None, friction, scheme or None)
        self.inputs = np.zeros(model.nv + 1)
        self.outputs = np.zeros(model.nq + model.nv + 7)
        self._write()

    def reset(self) -> None:
        """Return to the start, at rest."""
        self._simulation.hold(External(np.zeros(self.model.n), np.zeros(6)))
        self._simulation.reset()
        self._write()

    def step(self) -> None:
        """Hold the efforts for the steps asked for.

        Raises:
            StateError: the motion cannot go on; only :meth:`reset` helps.
        """
        b, nv = self.model.b, self.model.nv
        efforts = self.inputs.copy()
        acting = External(efforts[b:nv], np.zeros(6), base=efforts[:b])
        self._simulation.hold(acting)
        self._simulation.advance(int(efforts[nv]), acting)
        if not self._simulation.is_finite():
            raise StateError(
                f"the motion cannot be integrated beyond {self._simulation.time:.6g} s: efforts "
                "or step are too large; reset the simulation"
            )
        self._write()

    def _write(self) -> None:
        sample = self._simulation.sample()
        d = self.model.evaluate(sample.q, sample.v)
        work = sample.work
        self.outputs[:] = (
            *sample.q,
            *sample.v,
            sample.time,
            d.kinetic_energy,
            d.potential_energy,
            work["torque"],
            work["wrench_base"],
            work["wrench_end_effector"],
            sample.dissipated,
        )

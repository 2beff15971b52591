"""A simulated leg on a floor with a controller in its loop; no ROS in here."""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite

import numpy as np

from ..arrays import Array
from ..errors import VmsPhError
from ..model import VMSModel
from ..simulation import PORTS, Control, External, Sample
from .floor import Floor, Phase
from .hopper import Hopper
from .leg import Leg, LegState
from .leg_on_floor import LegEfforts, LegLaw, LegOnFloor, Push

_PLANE = [0, 1, 5]


class HoppingSimulation:
    """Integrates a leg through its hops; in all else as any ``Simulation``.

    A law that exists in continuous time acts so. Any other is held over each step. The floor is
    part of what acts at the end effector.

    Attributes:
        dt: control step, s.
        resets: how often it went back to the start.
        failures: always 0; the steps of the integrator are its own.
    """

    def __init__(
        self,
        model: VMSModel,
        q: Array,
        dt: float,
        control: Control | None,
        law: Callable[[], LegLaw | None] | None = None,
        floor: Floor | None = None,
    ) -> None:
        """Start at rest.

        Args:
            model: of the leg.
            q: (nq,) where to start, also after a reset.
            dt: control step, s.
            control: called at the end of every tick with the state; None for no controller.
            law: gives the law in continuous time, or None if there is none.
            floor: the source's when None.

        Raises:
            ModelError: the robot is no leg.
        """
        self._leg, self._home, self.dt = Leg(model), q, dt
        self._control, self._law = control, law
        self._floor = Floor() if floor is None else floor
        self.resets, self.failures = -1, 0
        self.reset()

    def reset(self) -> None:
        """Return to the start, at rest, with the works at zero."""
        model = self._leg.model
        self._external = External(np.zeros(model.n), np.zeros(6), base=np.zeros(model.b))
        self._system = LegOnFloor(self._leg, LegLaw(self._efforts), self._floor)
        self._hopper = Hopper(self._system, self._home, np.zeros(model.nv))
        self._steps, self._broken = 0, False
        self._held: Array = np.zeros(model.nv)
        self.resets += 1
        self._renew()

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self._steps * self.dt

    @property
    def steps(self) -> int:
        """Steps since the last reset."""
        return self._steps

    def advance(self, steps: int, external: External) -> None:
        """Take a number of steps; ``external`` acts from their end on."""
        continuous = self._continuous is not None
        # A law that is held over its steps has to be asked at each of them.
        for count in [steps] if continuous or self._control is None else [1] * steps:
            self._steps += count
            try:
                for _ in self._hopper.steps_until(self.time):
                    pass
            except VmsPhError:
                self._broken = True
                return
            self._renew()
        self._external = external
        wrench = external.force[_PLANE]
        self._system.push = Push(wrench, external.in_tool_axes) if wrench.any() else None

    def sample(self) -> Sample:
        """Return what is known now."""
        leg, y = self._system.seen(self._hopper.state), self._hopper.state
        force = self._efforts(leg, self._hopper.phase is not Phase.FLIGHT).force
        floor = self._system.floor_force(self._hopper.phase, leg, y)
        acting = np.array([floor.tangential, floor.normal, 0.0])
        if self._system.push is not None:
            acting = acting + self._system.push.at(leg)
        wrench = np.zeros(6)
        wrench[:2], wrench[5] = leg.foot_axes.T @ acting[:2], acting[2]
        works = dict(zip(self._system.channels, self._hopper.works, strict=True))
        through = (works["joint"], works["floor"] + works["push"], works["external"])
        work = {name: float(value) for name, value in zip(PORTS, through, strict=True)}
        b = self._leg.model.b
        return Sample(self.time, leg.q, leg.v, force[b:], wrench, force[:b], work, 0.0)

    def is_finite(self) -> bool:
        """Return whether the state is still one: the integrator has not failed."""
        return not self._broken and isfinite(float(self._hopper.state.sum()))

    def _renew(self) -> None:
        """Ask the controller, also where its law acts by itself: it keeps a record of its own."""
        self._continuous = None if self._law is None else self._law()
        if self._control is not None:
            leg = self._system.seen(self._hopper.state)
            self._held = self._control(leg.q, leg.v, self.dt)

    def _efforts(self, leg: LegState, stance: bool) -> LegEfforts:
        b, outside = self._leg.model.b, self._external
        extra = np.concatenate(
            [np.zeros(b) if outside.base is None else outside.base, outside.torque]
        )
        if self._continuous is None:
            return LegEfforts(self._held + extra, (), 0.0)
        asked = self._continuous.efforts(leg, stance)
        return replace(asked, force=asked.force + extra, flows=())

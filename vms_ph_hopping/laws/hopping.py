# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The hopping law of [B]."""

from dataclasses import dataclass
from functools import cached_property
from math import atan2, pi

import numpy as np
from numpy.polynomial import Chebyshev

from vms_ph_controllers.controller import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
)
from vms_ph_controllers.laws.gain_ramp import GainRamp
from vms_ph_controllers.laws.sampled_impedance import horizon
from vms_ph_dynamics import Array, ModelError, OptionError, VMSModel

from ..leg import Leg, LegState
from ..leg_on_floor import LegEfforts, LegLaw

KINDS = ("I", "II", "III")

CHANNELS = ("radial_spring", "radial_damping", "regulator", "polar_spring", "polar_damping")
"""The powers of the parts of the law, W. Those of springs and regulator are positive into the
robot; that of the damping is dissipated and never negative. Their sum is the power at the base and
the joints."""


class HoppingController(Controller):
    """Virtual springs between foot and centre of mass, and a regulator of the energy.

    The radial law [B (4.16)] acts on the length r_cf, in flight and in stance, through the joints
    only. The polar law [B (4.17)] acts in stance and turns the whole robot through the base port:
    on the leg angle alpha_i,cf (controller II), or on the angle of the centre-of-mass frame that is
    aligned with the locked velocity (controller III); controller I has no polar law.

    The regulated energy is kinetic energy + gravity + radial spring. The sampled :meth:`update`
    assumes stance while the foot is below zero, and damps the velocity that its damping leaves, as
    in :class:`.sampled_impedance.SampledImpedance`; in continuous time use :attr:`law`.
    """

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law; the defaults are those of the stable gait of [B], experiment VI."""

        radial_stiffness: float = gain(2200.0, "K_r, N/m", 0.0, 1e5)
        flight_damping: float = gain(20.0, "D_r in flight, N s/m", 0.0, 1e4)
        stance_damping: float = gain(0.0, "D_r in stance, N s/m", 0.0, 1e4)
        polar_stiffness: float = gain(6.0, "K_p in stance, N m/rad", 0.0, 1e4)
        polar_damping: float = gain(0.0, "D_p in stance, N m s/rad", 0.0, 1e3)
        energy_gain: float = gain(10.0, "K_E, s/m^2", 0.0, 1e4)
        length: float = gain(0.1411, "desired r_cf, m", 0.001, 10.0)
        angle: float = gain(0.0, "desired leg or frame angle, rad", -pi, pi)
        energy: float = gain(2.8382, "desired energy, J", 0.0, 1e4)
        delay: float = gain(1.0, "largest delay at which damping is stable, samples", 0.0, 3.0)

    gains: Gains

    def __init__(
        self, model: VMSModel, foot: str | None = None, gains: Gains | None = None, kind: str = "II"
    ) -> None:
        """Control a leg.

        Args:
            model: on a planar base, gravity along -y.
            foot: frame of the foot; None for the end effector.
            gains: the gains; None for the defaults.
            kind: ``"I"``, ``"II"`` or ``"III"``.

        Raises:
            OptionError: there is no such kind.
            ModelError: the model is not a leg, see :class:`Leg`, or the kind is III with more
                than one joint, where the angle of the frame is not a function of the
                configuration.
        """
        super().__init__(model)
        if kind not in KINDS:
            raise OptionError(
                f"the kind of a hopping controller is one of {', '.join(KINDS)}; given: {kind!r}"
            )
        if kind == "III" and model.n != 1:
            raise ModelError(
                "controller III needs a locked velocity that can be integrated, as with one joint; "
                f"'{model.name}' has {model.n}"
            )
        self.leg = Leg(model, foot)
        self.gains = self._checked_gains(gains)
        self.kind = kind
        self._zero_torque, self._ramp = np.zeros(model.n), GainRamp(self.gains)

    @property
    def law(self) -> LegLaw:
        """The law in continuous time, with the present gains."""
        gains = self.gains
        return LegLaw(lambda leg, stance: self._efforts(leg, stance, gains), CHANNELS)

    def frame_angle(self, leg: LegState) -> float:
        """Return alpha_c of the frame aligned with the locked velocity, rad [B, controller III].

        It is ``theta_ib + theta_bc(q) + pi/2``, zero for a straight vertical leg. The term
        pi/2 is missing in the text of [B] and present in its program.
        """
        angle = atan2(leg.q[3], leg.q[2]) + self._theta_bc(float(leg.q[4])) + pi / 2
        return (angle + pi) % (2 * pi) - pi

    def _theta_bc(self, joint: float) -> float:
        """theta_bc at a position of the joint, rad, by Clenshaw's recurrence on plain floats."""
        middle_angle, half_range, series = self._shape_angle
        x = (joint - middle_angle) / half_range
        b1 = b2 = 0.0
        for c in series:
            b1, b2 = c + 2.0 * x * b1 - b2, b1
        return b1 - x * b2

    def reset(self, state: RobotState) -> None:
        """Check the state, and take the gains as they are."""
        self.model.evaluate(state.q, state.v)
        self._ramp.restart(self.gains)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return base wrench and joint torques; see :meth:`Controller.update`."""
        if not state.is_usable(self.model, dt):
            return self.safe_output(state.q)
        leg = self.leg.at(state.q, state.v)
        is_stance = bool(leg.foot[1] < 0.0)
        gains = self._ramp.follow(self.gains, dt)
        efforts = self._efforts(leg, is_stance, gains, horizon(dt, gains.delay, state.age))
        limit = self.model.joints.effort
        torque = np.clip(efforts.force[3:], -limit, limit)
        clipped_power = float((torque - efforts.force[3:]) @ state.v[3:])
        powers = dict(zip(CHANNELS, efforts.powers, strict=True))
        energy = ControlEnergy(
            closed_loop_energy=leg.energy + efforts.stored,
            shaped_potential=leg.potential + efforts.stored,
            kinetic_base=leg.kinetic_base,
            kinetic_shape=leg.kinetic - leg.kinetic_base,
            damping_task=powers["radial_damping"] + powers["polar_damping"],
            reference_power=powers["regulator"],
            clipped_power=clipped_power,
        )
        is_saturated = bool((torque != efforts.force[3:]).any())
        return Command(
            efforts.force[:3],
            torque,
            energy,
            Status.SATURATED if is_saturated else Status.OK,
            "a joint is at its limit" if is_saturated else "",
            task_error=abs(leg.length - gains.length),
        )

    def safe_output(self, q: Array) -> Command:
        """Return zero effort; see :meth:`Controller.safe_output`."""
        return Command(
            np.zeros(3),
            self._zero_torque,
            status=Status.HOLDING,
            reason="the state or the time step is not usable",
        )

    def _efforts(
        self, leg: LegState, is_stance: bool, gains: "HoppingController.Gains", h: float = 0.0
    ) -> LegEfforts:
        length_error, speed = leg.length - gains.length, leg.length_rate
        spring_energy = 0.5 * gains.radial_stiffness * length_error * length_error
        spring_force = -gains.radial_stiffness * length_error
        coefficient = gains.stance_damping if is_stance else gains.flight_damping
        damping = coefficient * (speed / (1.0 + h * coefficient * _mobility(leg, leg.J_length, h)))
        energy_force = -gains.energy_gain * (leg.energy + spring_energy - gains.energy) * speed
        force = (spring_force - damping + energy_force) * leg.J_length
        polar = polar_damping = polar_rate = 0.0
        if is_stance and self.kind != "I":
            if self.kind == "II":
                error, polar_rate, row = leg.angle - gains.angle, leg.angle_rate, leg.J_angle
            else:
                row = np.array([0.0, 0.0, 1.0, self._connection(leg)])
                error, polar_rate = self.frame_angle(leg) - gains.angle, float(row @ leg.v)
            polar, polar_damping = -gains.polar_stiffness * error, gains.polar_damping * polar_rate
            polar_damping /= 1.0 + h * gains.polar_damping * _mobility(leg, row, h)
            force = force + (polar - polar_damping) * row
            spring_energy += 0.5 * gains.polar_stiffness * error * error
        powers = (
            spring_force * speed,
            damping * speed,
            energy_force * speed,
            polar * polar_rate,
            polar_damping * polar_rate,
        )
        return LegEfforts(force, powers, spring_energy)

    @staticmethod
    def _connection(leg: LegState) -> float:
        """The angular part of the mechanical connection, for one joint.

        Row 3 of ``M_b^-1 M_bm``; the linear block of the locked inertia is the mass.
        """
        (mass, _, _, M_xq), (_, _, _, M_yq), (a, b, inertia, M_tq), _ = leg.M.tolist()
        return float((M_tq - (a * M_xq + b * M_yq) / mass) / (inertia - (a * a + b * b) / mass))

    @cached_property
    def _shape_angle(self) -> tuple[float, float, list[float]]:
        """theta_bc of the joint, the integral of the connection from zero [B (3.76)].

        Middle and half width of the range, and Chebyshev coefficients, the highest first.
        """
        model = self.model
        low, high = float(model.joints.lower[0]), float(model.joints.upper[0])
        zero_velocity, q = np.zeros(model.nv), model.neutral_configuration()

        def connection(positions: Array) -> Array:
            slopes = []
            for position in positions:
                q[4] = position
                slopes.append(self._connection(self.leg.at(q, zero_velocity)))
            return np.array(slopes)

        # The connection is analytic: this degree leaves 1e-14 over a whole turn of a knee.
        fit = Chebyshev.interpolate(connection, 80, domain=[low, high])
        series = fit.integ(lbnd=0.0).trim(1e-16).coef
        return 0.5 * (low + high), 0.5 * (high - low), [float(c) for c in series[::-1]]


def _mobility(leg: LegState, row: Array, h: float) -> float:
    """Return ``J M^-1 J^T`` of a Jacobian row (nv,); in continuous time it is not needed."""
    return float(row @ np.linalg.solve(leg.M, row)) if h > 0.0 else 0.0

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a law does not know: errors of mass and inertia, another start, noise and delay."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, OptionError, VMSModel


@dataclass(frozen=True)
class Uncertainty:
    """Errors of a simulated robot and of its measurements, drawn from a seed.

    Attributes:
        mass: largest relative error of the mass of every body.
        inertia: largest relative error of the inertia of every body about its centre of mass,
            beyond that by its mass.
        spread: largest change of the start: of every joint, rad or m; the base starts within it of
            its place, m, and within half of it of its attitude about the vertical, rad; in space,
            where reaction wheels turn it slowly, within a twentieth.
        noise: scale of the noise of a measurement, see :class:`.Sensor`.
        delay: time from measurement to effort, s; rounded to steps.
        seed: of the draws.
    """

    mass: float = 0.0
    inertia: float = 0.0
    spread: float = 0.0
    noise: float = 0.0
    delay: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            OptionError: one is negative, or an error of mass or inertia is 1 or more.
        """
        for name in ("mass", "inertia", "spread", "noise", "delay"):
            value = getattr(self, name)
            upper = 1.0 if name in ("mass", "inertia") else np.inf
            if not 0.0 <= value < upper:
                raise OptionError(
                    f"{name}={value:g}: a number of at least zero"
                    + (" and below 1 is accepted" if upper == 1.0 else " is accepted")
                )

    def plant(self, model: VMSModel) -> VMSModel:
        """Return the robot that is simulated.

        Raises:
            OptionError: the robot has joints that mimic others, and cannot be changed so.
        """
        if self.mass == 0.0 and self.inertia == 0.0:
            return model
        if model.tree.projection is not None:
            raise OptionError(
                f"'{model.name}' has joints that mimic others; errors of mass and inertia are for "
                "robots without"
            )
        rng = np.random.default_rng([self.seed, 0])
        m = model.pinocchio
        for k in range(1, m.njoints):
            body, (mass_draw, inertia_draw) = m.inertias[k], rng.uniform(-1.0, 1.0, 2)
            mass_factor = 1.0 + self.mass * mass_draw
            factor = mass_factor * (1.0 + self.inertia * inertia_draw)
            m.inertias[k] = pin.Inertia(mass_factor * body.mass, body.lever, factor * body.inertia)
        plant = VMSModel.from_pinocchio(
            m, model.end_effector, inertia="as_given", tools=model.tools
        )
        return plant if model.fluid is None else plant.in_fluid(model.fluid)

    def start_configuration(self, model: VMSModel, home: Array) -> Array:
        """Return the configuration in which a run begins, (nq,)."""
        if self.spread == 0.0:
            return home
        offset = self.spread * np.random.default_rng([self.seed, 1]).uniform(-1.0, 1.0, model.nv)
        if model.base == "floating":
            offset[3:5] = 0.0
            offset[5] *= 0.5 if np.any(model.gravity) else 0.05
        elif model.base == "planar":
            offset[2] *= 0.5
        joints, positions = model.joints, model.joint_positions(home)
        low = np.minimum(joints.lower, positions) - positions
        high = np.maximum(joints.upper, positions) - positions
        offset[model.b :] = np.clip(offset[model.b :], 0.9 * low, 0.9 * high)
        return model.integrate(home, offset)

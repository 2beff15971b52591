# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The centre of mass as a task."""

import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation
from .task import Task


class CentreOfMassTask(Task):
    """``eta`` is the velocity of the centre of mass in the inertial frame, m/s.

    It is integrable: the derivative of :meth:`value`. In a fluid it is that of the robot without
    the added mass.
    """

    dimension = 3

    def value(self, d: Evaluation) -> Array:
        """Return the position of the centre of mass in the inertial frame, (3,), m."""
        tree = d.tree
        full = tree.full_configuration(d.q)
        return pin.centerOfMass(tree.pinocchio, tree.data(), full).copy()

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (3,nv)."""
        tree = d.tree
        full = pin.jacobianCenterOfMass(tree.pinocchio, tree.data(), d.q_origin)
        return tree.columns(full)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (3,nv).

        The linear rows of the centroidal momentum matrix are ``m J``.
        """
        tree = d.tree
        full = pin.computeCentroidalMapTimeVariation(
            tree.pinocchio, tree.data(), d.q_origin, d.v_full
        )
        return tree.columns(full[:3] / tree.total_mass)

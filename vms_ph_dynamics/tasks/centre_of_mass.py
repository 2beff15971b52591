# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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

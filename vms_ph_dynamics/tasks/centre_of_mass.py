"""The centre of mass as a task."""

import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation
from .task import Task


class CentreOfMassTask(Task):
    """``eta`` is the velocity of the centre of mass in the inertial frame, m/s.

    Integrable: it is the derivative of :meth:`value`. In a fluid it is still that of the robot
    alone, without the added mass.
    """

    dimension = 3

    def value(self, d: Evaluation) -> Array:
        """Return the position of the centre of mass in the inertial frame, (3,), m."""
        model = self.model
        full = model.full_configuration(d.q)
        return pin.centerOfMass(model._pin, model.workspace(), full).copy()

    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (3,nv)."""
        model = self.model
        full = pin.jacobianCenterOfMass(model._pin, model.workspace(), d.q_origin)
        return self._independent(full)

    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along ``d.v``, (3,nv).

        The linear rows of the centroidal momentum matrix are ``m J``.
        """
        model = self.model
        full = pin.computeCentroidalMapTimeVariation(
            model._pin, model.workspace(), d.q_origin, model.full_velocity(d.v)
        )
        return self._independent(full[:3] / model.total_mass)

    def _independent(self, full: Array) -> Array:
        p = self.model.projection
        return full @ p if p is not None else full.copy()

"""Energy and momentum of a state as messages."""

import numpy as np
from geometry_msgs.msg import Point, Twist, Vector3
from std_msgs.msg import Header
from vms_ph.msg import Energy, Momentum

from vms_ph_dynamics import Evaluation
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.momenta import momenta
from vms_ph_dynamics.tasks import PositionTask

# Below this smallest singular value the task inertia, and with it the split, loses its meaning.
_SINGULAR = 1e-3


def to_energy(header: Header, d: Evaluation, task: PositionTask) -> Energy:
    """Return the energies of a state, split by base and shape and by task and null space."""
    kinetic, potential = d.kinetic_energy, d.potential_energy
    base = 0.5 * float(d.p @ d.v_hat) if d.model.b else 0.0
    null = kinetic_null(d, task)
    return Energy(
        header=header,
        total=kinetic + potential,
        kinetic=kinetic,
        potential=potential,
        kinetic_base=base,
        kinetic_shape=kinetic - base,
        kinetic_task=kinetic - null,
        kinetic_null=null,
    )


def kinetic_null(d: Evaluation, task: PositionTask) -> float:
    """Return ``1/2 pi_nu^T Lambda_nu^-1 pi_nu`` [D (26)], J; NaN at a singular configuration.

    The null-space part needs no inverse that a nearly singular task would spoil.
    """
    _, values, right = np.linalg.svd(task.jacobian(d))
    if values[-1] <= _SINGULAR:
        return float("nan")
    z = right[task.dimension :]
    momentum = z @ d.momentum
    return 0.5 * float(momentum @ np.linalg.solve(z @ d.M @ z.T, momentum))


def to_momentum(header: Header, base_frame: str, d: Evaluation) -> Momentum:
    """Return the momenta of a state."""
    whole = momenta(d)
    x, y, z = whole.centre_of_mass.tolist()
    linear, angular = in_space(d.model.b, d.p)
    velocity, turn = in_space(d.model.b, d.v_hat)
    return Momentum(
        header=header,
        base_frame=base_frame,
        linear=_vector(whole.spatial[:3]),
        spatial_angular=_vector(whole.spatial[3:]),
        centroidal_angular=_vector(whole.centroidal[3:]),
        centre_of_mass=Point(x=x, y=y, z=z),
        base_linear=_vector(linear),
        base_angular=_vector(angular),
        locked_velocity=Twist(linear=_vector(velocity), angular=_vector(turn)),
        joint_names=list(d.model.joint_names),
        joint_momentum=d.pi.tolist(),
        shape_momentum=d.pi_hat.tolist(),
    )


def in_space(b: int, value: Array) -> tuple[Array, Array]:
    """Return a twist or momentum of the base, (0,), (3,) or (6,), as two vectors in space."""
    if b == 6:
        return value[:3], value[3:]
    if b == 3:
        return np.array([value[0], value[1], 0.0]), np.array([0.0, 0.0, value[2]])
    return np.zeros(3), np.zeros(3)


def _vector(value: Array) -> Vector3:
    x, y, z = value.tolist()
    return Vector3(x=x, y=y, z=z)

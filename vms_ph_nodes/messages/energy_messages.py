"""Energy and momentum of a state as messages."""

from geometry_msgs.msg import Point, Twist, Vector3
from std_msgs.msg import Header
from vms_ph.msg import Energy, Momentum

from vms_ph_dynamics import Evaluation
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.energy.null_space_energy import kinetic_null
from vms_ph_dynamics.structure.momenta import in_space, momenta
from vms_ph_dynamics.tasks import PositionTask


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


def _vector(value: Array) -> Vector3:
    x, y, z = value.tolist()
    return Vector3(x=x, y=y, z=z)

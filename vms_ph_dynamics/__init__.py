# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of manipulators on moving bases in port-Hamiltonian form: pure mathematics.

The names that most users need can be imported from here; each is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    MissingExtraError as MissingExtraError,
    ModelError as ModelError,
    OptionError as OptionError,
    StateError as StateError,
    VmsPhError as VmsPhError,
)

__version__ = "0.2.0"

if TYPE_CHECKING:  # the same names as below, for type checkers
    from .arrays import Array as Array
    from .actuation import (
        Allocation as Allocation, Fluid as Fluid, Friction as Friction,
        ImmersedBody as ImmersedBody, Rotor as Rotor, immersed_cylinder as immersed_cylinder,
    )  # fmt: skip
    from .evaluation import Evaluation as Evaluation
    from .evaluation_batch import EvaluationBatch as EvaluationBatch
    from .forms import (
        CanonicalForm as CanonicalForm, DecoupledForm as DecoupledForm, Energy as Energy,
        EnergyDerivatives as EnergyDerivatives, Form as Form, FreeFloating as FreeFloating,
        LinearPortHamiltonian as LinearPortHamiltonian, Momenta as Momenta, PHRate as PHRate,
        PHState as PHState, Ports as Ports, PowerBalance as PowerBalance,
        RateDerivatives as RateDerivatives, StandardForm as StandardForm,
        StructureCheck as StructureCheck, TaskEvaluation as TaskEvaluation,
        TaskSpaceForm as TaskSpaceForm, energy_derivatives as energy_derivatives,
        linear_port_hamiltonian as linear_port_hamiltonian, momenta as momenta,
        rate_derivatives as rate_derivatives, rate_derivatives_batch as rate_derivatives_batch,
        structure_checks as structure_checks,
    )  # fmt: skip
    from .integrators import (
        IntegrationError as IntegrationError, Trajectory as Trajectory,
        TrajectoryBatch as TrajectoryBatch, integrate as integrate,
        integrate_batch as integrate_batch,
    )  # fmt: skip
    from .model import VMSModel as VMSModel
    from .tasks import (
        CentreOfMassTask as CentreOfMassTask, DistanceTask as DistanceTask, FrameTask as FrameTask,
        OrientationTask as OrientationTask, PoseTask as PoseTask, PositionTask as PositionTask,
        StackedTask as StackedTask, Task as Task,
    )  # fmt: skip

# The module of each name. Importing Pinocchio takes a tenth of a second, which a user of the error
# classes alone (a launcher, a command that lists topics) need not wait for.
_MODULE_OF = {
    name: module
    for module, names in {
        "arrays": "Array",
        "actuation": "Allocation Fluid Friction ImmersedBody Rotor immersed_cylinder",
        "errors": "MissingExtraError ModelError OptionError StateError VmsPhError",
        "evaluation": "Evaluation",
        "evaluation_batch": "EvaluationBatch",
        "integrators": "IntegrationError Trajectory TrajectoryBatch integrate integrate_batch",
        "model": "VMSModel",
        "forms": (
            "CanonicalForm DecoupledForm Energy Form FreeFloating "
            "Momenta PHRate PHState Ports PowerBalance StandardForm StructureCheck TaskEvaluation "
            "TaskSpaceForm momenta structure_checks EnergyDerivatives RateDerivatives "
            "LinearPortHamiltonian energy_derivatives rate_derivatives rate_derivatives_batch "
            "linear_port_hamiltonian"
        ),
        "tasks": (
            "CentreOfMassTask DistanceTask FrameTask OrientationTask PoseTask PositionTask "
            "StackedTask Task"
        ),
    }.items()
    for name in names.split()
}

__all__ = sorted(_MODULE_OF)

_HINTS = {
    "VMSModel": "Model Robot RobotModel MultibodyModel",
    "that of vms_ph_dynamics.simulation": "Payload Mechanism WaterCurrent Simulation",
    "that of vms_ph_dynamics.actuation": "Actuators",
    "load of vms_ph_io, or VMSModel.from_urdf(text)": "load_urdf load load_robot from_urdf",
    "that of vms_ph_io": "simulate audit Push robots",
    "StandardForm(model).rate_batch(Q, momenta, ports)": (
        "rate_batch rates_batch forward_dynamics_batch"
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise import_module(".errors", __name__).missing_name(__name__, name, __all__, _HINTS)
    value = getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})

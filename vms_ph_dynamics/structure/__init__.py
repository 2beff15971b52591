"""Port-Hamiltonian forms of a robot: energy, momenta, interconnection and ports."""

from .decoupled import DecoupledForm
from .decoupled_evaluation import DecoupledEvaluation
from .dirac import DiracStructure
from .energy import BaseShapeEnergy, Energy, TaskEnergy, WholeEnergy
from .form import Form
from .ports import PORTS, Ports, PowerBalance
from .regular_jacobian import RegularJacobian
from .standard import CanonicalForm, StandardForm
from .state import PHRate, PHState
from .task_coupling import TaskCoupling
from .task_evaluation import OperationalSpace, TaskEvaluation, TaskPower
from .task_space import TaskSpaceForm

__all__ = [
    "PORTS",
    "BaseShapeEnergy",
    "CanonicalForm",
    "DecoupledEvaluation",
    "DecoupledForm",
    "DiracStructure",
    "Energy",
    "Form",
    "OperationalSpace",
    "PHRate",
    "PHState",
    "Ports",
    "PowerBalance",
    "RegularJacobian",
    "StandardForm",
    "TaskCoupling",
    "TaskEnergy",
    "TaskEvaluation",
    "TaskPower",
    "TaskSpaceForm",
    "WholeEnergy",
]

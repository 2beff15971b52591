# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

# Made by "pybind11-stubgen vms_ph_native", with plain float and int; a test compares both.
"""Controllers and integrators of vms_ph in C++."""

import collections.abc
import typing

import numpy
import numpy.typing

class ModelError(ValueError):
    pass

class Model:
    """The robot; see vms_ph_dynamics.VMSModel."""
    def __init__(
        self,
        pinocchio: typing.Any,
        end_effector: str = "",
        mimics: collections.abc.Sequence[tuple[str, str, float, float]] = [],
    ) -> None:
        """Take a pinocchio.Model of Python, of any version, and the joints that mimic others: name, name of the other, multiplier and offset of each."""
    def in_fluid(
        self,
        bodies: collections.abc.Sequence[
            tuple[str, numpy.ndarray, float, numpy.ndarray, numpy.ndarray, numpy.ndarray]
        ],
        density: float = 1000.0,
    ) -> Model:
        """The same robot with links in a fluid: name, added mass (36,), volume, centre of buoyancy (3,), linear and quadratic drag (6,) of each."""
    @property
    def b(self) -> int: ...
    @property
    def joint_names(self) -> list[str]: ...
    @property
    def n(self) -> int: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...

class Dynamics:
    """The terms behind vms_ph_dynamics.Evaluation and the rates of the forms; a workspace of one thread."""
    def __init__(self, model: Model) -> None: ...
    def connection(self, q: numpy.ndarray) -> numpy.typing.NDArray[numpy.float64]: ...
    def coriolis(
        self, q: numpy.ndarray, v: numpy.ndarray
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def energy_derivatives(
        self,
        form: bool | tuple[collections.abc.Sequence[tuple[int, int, int]], numpy.ndarray, float],
        q: numpy.ndarray,
        z: numpy.ndarray,
        gravity: bool,
    ) -> typing.Any:
        """Return the derivatives of the Hamiltonian by q, z and parameters, or None."""
    def gravity(self, q: numpy.ndarray) -> numpy.typing.NDArray[numpy.float64]: ...
    def jacobian(
        self, q: numpy.ndarray, frame: int, inertial: bool
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def jacobian_rate(
        self, q: numpy.ndarray, v: numpy.ndarray, frame: int, inertial: bool
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def kinetic_energy(self, q: numpy.ndarray, v: numpy.ndarray) -> float: ...
    def locked_inverse(self, q: numpy.ndarray) -> numpy.typing.NDArray[numpy.float64]: ...
    def locked_velocity(
        self, q: numpy.ndarray, v: numpy.ndarray
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def mass(self, q: numpy.ndarray) -> numpy.typing.NDArray[numpy.float64]: ...
    def mass_rates(
        self, q: numpy.ndarray, velocities: numpy.ndarray
    ) -> numpy.typing.NDArray[numpy.float64]:
        """Return the rates of the mass matrix along velocities."""
    def momenta(
        self, q: numpy.ndarray, v: numpy.ndarray
    ) -> tuple[
        numpy.typing.NDArray[numpy.float64],
        numpy.typing.NDArray[numpy.float64],
        numpy.typing.NDArray[numpy.float64],
    ]:
        """Return centre of mass, centroidal and spatial momentum."""
    def momentum(
        self, q: numpy.ndarray, v: numpy.ndarray
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def placement(self, q: numpy.ndarray, frame: int) -> numpy.typing.NDArray[numpy.float64]:
        """Return the pose of a frame in the inertial one, (4,4)."""
    def potential_energy(self, q: numpy.ndarray) -> float: ...
    def rate(
        self,
        decoupled: bool,
        q: numpy.ndarray,
        z: numpy.ndarray,
        torque: numpy.ndarray | None,
        wrench_base: numpy.ndarray | None,
        wrenches: collections.abc.Sequence[tuple[int, numpy.ndarray]],
        viscous: numpy.ndarray | None,
        coulomb: numpy.ndarray | None,
        slip: float,
        gravity: bool,
        drag: bool,
    ) -> typing.Any:
        """Return the rates (nv,) of configuration and momenta, or None for arguments that are not valid."""
    def rate_derivatives(
        self,
        form: bool | tuple[collections.abc.Sequence[tuple[int, int, int]], numpy.ndarray, float],
        parameters: bool,
        q: numpy.ndarray,
        z: numpy.ndarray,
        torque: numpy.ndarray | None,
        wrench_base: numpy.ndarray | None,
        wrenches: collections.abc.Sequence[tuple[int, numpy.ndarray]],
        viscous: numpy.ndarray | None,
        coulomb: numpy.ndarray | None,
        slip: float,
        gravity: bool,
        drag: bool,
    ) -> typing.Any:
        """Return the seven derivatives of these rates, or None."""
    def shape_inertia(self, q: numpy.ndarray) -> numpy.typing.NDArray[numpy.float64]: ...
    def shape_momentum(
        self, q: numpy.ndarray, v: numpy.ndarray
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def state(self, q: numpy.ndarray, v: numpy.ndarray) -> typing.Any:
        """Return read-only copies of a state, or None if it is not one."""
    def velocity(
        self, decoupled: bool, q: numpy.ndarray, z: numpy.ndarray
    ) -> numpy.typing.NDArray[numpy.float64]:
        """Return the velocity of the momenta of a form."""

class Batch:
    """The robot in as many workspaces as threads."""
    def __init__(self, model: Model, threads: int) -> None: ...
    def evaluate(
        self, Q: numpy.ndarray, V: numpy.ndarray, terms: collections.abc.Sequence[str], frame: int
    ) -> dict:
        """Return arrays of the terms, by name, with an axis of states before their own."""
    def rate_derivatives(
        self,
        form: bool | tuple[collections.abc.Sequence[tuple[int, int, int]], numpy.ndarray, float],
        parameters: bool,
        Q: numpy.ndarray,
        Z: numpy.ndarray,
        torque: numpy.ndarray | None,
        wrench_base: numpy.ndarray | None,
        wrenches: collections.abc.Sequence[tuple[int, numpy.ndarray]],
        viscous: numpy.ndarray | None,
        coulomb: numpy.ndarray | None,
        slip: float,
        gravity: bool,
        drag: bool,
    ) -> typing.Any:
        """Return the seven derivatives of these rates, with an axis of states."""
    def rates(
        self,
        decoupled: bool,
        Q: numpy.ndarray,
        Z: numpy.ndarray,
        torque: numpy.ndarray | None,
        wrench_base: numpy.ndarray | None,
        wrenches: collections.abc.Sequence[tuple[int, numpy.ndarray]],
        viscous: numpy.ndarray | None,
        coulomb: numpy.ndarray | None,
        slip: float,
        gravity: bool,
        drag: bool,
    ) -> tuple:
        """Return the rates of configurations and momenta of a form, (count,nv) each."""

class ControlEnergy:
    """See vms_ph_controllers.ControlEnergy."""

    fields: typing.ClassVar[tuple] = (
        "closed_loop_energy",
        "shaped_potential",
        "kinetic_task",
        "kinetic_null",
        "kinetic_base",
        "kinetic_shape",
        "damping_task",
        "damping_null",
        "damping_base",
        "damping_shape",
        "reference_power",
        "clipped_power",
        "routing_power",
        "null_to_task",
        "tank_level",
        "unaccounted_energy",
    )
    @property
    def clipped_power(self) -> float: ...
    @property
    def closed_loop_energy(self) -> float: ...
    @property
    def damping_base(self) -> float: ...
    @property
    def damping_null(self) -> float: ...
    @property
    def damping_shape(self) -> float: ...
    @property
    def damping_task(self) -> float: ...
    @property
    def kinetic_base(self) -> float: ...
    @property
    def kinetic_null(self) -> float: ...
    @property
    def kinetic_shape(self) -> float: ...
    @property
    def kinetic_task(self) -> float: ...
    @property
    def null_to_task(self) -> float: ...
    @property
    def reference_power(self) -> float: ...
    @property
    def routing_power(self) -> float: ...
    @property
    def shaped_potential(self) -> float: ...
    @property
    def tank_level(self) -> float: ...
    @property
    def unaccounted_energy(self) -> float: ...

class Command:
    """See vms_ph_controllers.Command; status is a number."""
    @property
    def authority(self) -> float: ...
    @property
    def energy(self) -> ControlEnergy: ...
    @property
    def parts(self) -> tuple[numpy.ndarray, numpy.ndarray, tuple, int, str, float, float, float]:
        """All fields of vms_ph_controllers.Command in their order, the energies as a tuple."""
    @property
    def reason(self) -> str: ...
    @property
    def smallest_singular_value(self) -> float: ...
    @property
    def status(self) -> int: ...
    @property
    def task_error(self) -> float: ...
    @property
    def torque(self) -> numpy.ndarray: ...
    @property
    def wrench_base(self) -> numpy.ndarray: ...

class Gain:
    """A number that a user can set, with its bounds."""
    @property
    def description(self) -> str: ...
    @property
    def high(self) -> float: ...
    @property
    def initial(self) -> float: ...
    @property
    def is_switch(self) -> bool: ...
    @property
    def low(self) -> float: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> float: ...

class Allocation:
    """See vms_ph_dynamics.actuation.allocation.Allocation."""
    @staticmethod
    def of_matrix(matrix: numpy.ndarray, lower: numpy.ndarray, upper: numpy.ndarray) -> Allocation:
        """Take B, (6,m) or (3,m), and the limits of the thrusts, (m,) each, N."""

class Law:
    """A control law; make_law() makes one by its name."""
    def carry(self, mass: float, moment: numpy.ndarray, deviation: float) -> bool: ...
    def carry_load(self, load: numpy.ndarray) -> bool:
        """Hold a weight (nv,) before the output stage; False where it does not fit."""
    def note_missed_updates(self) -> None:
        """Note that the safe output has acted since the last update."""
    def reset(self, q: numpy.ndarray, v: numpy.ndarray) -> bool:
        """Hold a state; False for what is none of the robot."""
    def resume(self, q: numpy.ndarray, v: numpy.ndarray) -> bool:
        """Hold another state, with the energy that the law has."""
    def set_gain(self, name: str, value: float) -> bool: ...
    def update(
        self,
        q: numpy.ndarray,
        v: numpy.ndarray,
        dt: float,
        position: numpy.ndarray | None = None,
        velocity: numpy.ndarray | None = None,
        pose: numpy.ndarray | None = None,
        twist: numpy.ndarray | None = None,
        joints: numpy.ndarray | None = None,
        wrench: numpy.ndarray | None = None,
        age: float = 0.0,
        measured_wrench: numpy.ndarray | None = None,
    ) -> Command: ...
    @property
    def gains(self) -> list[Gain]: ...

class TaskSpaceIDAPBC(Law):
    """See vms_ph_controllers.TaskSpaceIDAPBC."""
    @property
    def q_star(self) -> numpy.ndarray: ...
    @property
    def tank(self) -> typing.Any:
        """Capacity, level and unaccounted energy of the tank, J; or None."""

class CartesianImpedance(Law):
    """See vms_ph_controllers.CartesianImpedance."""
    @property
    def null_level(self) -> float: ...

class PushingImpedance(Law):
    """See vms_ph_controllers.PushingImpedance."""
    @property
    def observed_force(self) -> float: ...
    @property
    def push_level(self) -> float: ...

class Supervisor(Law):
    """A law behind tests of states, references and efforts; see vms_ph_controllers.hosting.supervisor."""
    def __init__(
        self,
        model: Model,
        law: Law,
        bounds: dict = {},
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None: ...

class StatePlausibility:
    """See vms_ph_controllers.safety.plausibility."""
    def __init__(self, model: Model, bounds: dict) -> None: ...
    def judge(self, q: numpy.ndarray, v: numpy.ndarray, dt: float) -> typing.Any:
        """Return None where the law may act, else a Judgement."""
    def restart(self, q: numpy.ndarray, v: numpy.ndarray) -> None: ...

class SampledAlgebra:
    """The algebra of sampled laws; a workspace of one thread."""

    max_nv: typing.ClassVar[int] = 64
    def __init__(self, model: Model) -> None: ...
    def hold(
        self,
        mass: numpy.ndarray,
        damping: numpy.ndarray,
        stiffness: numpy.ndarray,
        gradient: numpy.ndarray,
        velocity: numpy.ndarray,
        h: float,
        feedforward: numpy.ndarray | None = None,
    ) -> tuple:
        """Return spring, velocity, predicted spring and reason of a SampledImpedance."""
    def predict(
        self,
        q: numpy.ndarray,
        v: numpy.ndarray,
        unactuated_gravity: numpy.ndarray,
        budget: float,
        dt: float,
        force: numpy.ndarray,
    ) -> tuple:
        """Return the parts of a Prediction of efforts that are held over a sample."""

class Fall:
    """Free motion of the centre of mass."""

    centre_of_mass: numpy.ndarray
    linear_momentum: numpy.ndarray
    @property
    def gravity(self) -> numpy.ndarray: ...
    @property
    def mass(self) -> float: ...
    @property
    def start_time(self) -> float: ...
    @start_time.setter
    def start_time(self, arg0: float) -> None: ...

class SolverState:
    """State of a scheme between steps."""

    angular_momentum: numpy.ndarray
    fall: Fall
    pi: numpy.ndarray
    q: numpy.ndarray
    v: numpy.ndarray
    def __copy__(self) -> SolverState: ...
    @property
    def compensated_energy(self) -> tuple[float, float]: ...
    @compensated_energy.setter
    def compensated_energy(self, arg1: tuple[float, float]) -> None: ...
    @property
    def past_steps(self) -> list: ...
    @past_steps.setter
    def past_steps(self, arg1: collections.abc.Sequence[tuple[float, numpy.ndarray]]) -> None: ...
    @property
    def t(self) -> float: ...
    @t.setter
    def t(self, arg1: float) -> None: ...

class Ports:
    """Efforts held over a step."""
    def __init__(
        self,
        model: Model,
        torque: numpy.ndarray | None = None,
        wrench_base: numpy.ndarray | None = None,
        wrench_end_effector: numpy.ndarray | None = None,
        viscous: numpy.ndarray | None = None,
        coulomb: numpy.ndarray | None = None,
        slip: float = 1.0,
    ) -> None: ...

class StepResult:
    """Energies and outcome of a step, or of many."""
    @property
    def dissipated_energy(self) -> float: ...
    @property
    def failed(self) -> bool: ...
    @property
    def iterations(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def supplied_energy(self) -> typing.Annotated[list[float], "FixedSize(3)"]: ...

class Scheme:
    """A time-stepping scheme for a robot."""
    def __init__(self, model: Model, name: str, gravity: bool = True, wheels: dict = {}) -> None:
        """On wheels that do not slip: their radii, m, by the names of the joints that turn them."""
    def begin(self, q: numpy.ndarray, v: numpy.ndarray, t: float = 0.0) -> SolverState:
        """Return the solver state of a motion (q, v) in the inertial frame."""
    def motion(self, solver_state: SolverState) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return (q, v) in the inertial frame."""
    def run(
        self,
        solver_state: SolverState,
        ports: Ports,
        t0: float,
        dt: float,
        first_step: int,
        steps: int,
    ) -> tuple[SolverState, StepResult, int]:
        """Take steps from t0 + first_step * dt on; return the solver state at the end, the result of all steps, and their number: fewer where the next one fails."""
    def step(
        self, solver_state: SolverState, ports: Ports, t: float, dt: float
    ) -> tuple[SolverState, StepResult]:
        """Return the solver state after the step, and its result."""
    @property
    def order(self) -> int: ...

class ClosedLoop:
    """A scheme with a control in its loop."""
    def __init__(self, scheme: Scheme, rounding_energy: float) -> None: ...
    def run(
        self,
        law: Law,
        position: numpy.ndarray | None,
        velocity: numpy.ndarray | None,
        pose: numpy.ndarray | None,
        twist: numpy.ndarray | None,
        joints: numpy.ndarray | None,
        wrench: numpy.ndarray | None,
        solver_state: SolverState,
        external_ports: Ports,
        torque: numpy.ndarray,
        wrench_base: numpy.ndarray,
        t0: float,
        dt: float,
        first_step: int,
        steps: int,
    ) -> tuple:
        """Take steps under a law. Return solver state, result, number of steps, torque and base wrench of the law over the last step and after it, and None."""
    def run_function(
        self,
        function: typing.Any,
        solver_state: SolverState,
        external_ports: Ports,
        torque: numpy.ndarray,
        wrench_base: numpy.ndarray,
        t0: float,
        dt: float,
        first_step: int,
        steps: int,
    ) -> tuple:
        """The same under a function of q, v and dt; the last element is its exception, or None."""

class Mechanism:
    """Twin of vms_ph_ephs.Equations."""
    def __init__(
        self,
        state_size: int,
        rate_size: int,
        effort_size: int,
        theta_0: float,
        bodies: collections.abc.Sequence[dict],
        joints: collections.abc.Sequence[dict],
        heats: collections.abc.Sequence[tuple[int, float, float]],
        conductions: collections.abc.Sequence[tuple[int, int, float]],
    ) -> None: ...
    def energy(self, arg0: numpy.ndarray) -> float: ...
    def friction_decay_rate(self, arg0: numpy.ndarray) -> float: ...
    def project(
        self, arg0: numpy.ndarray, arg1: float
    ) -> tuple[numpy.typing.NDArray[numpy.float64], float]: ...
    def rates(self, x: numpy.ndarray, flow: numpy.ndarray | None = None) -> typing.Any: ...
    def set_loop_rank(self, arg0: int) -> None: ...
    def step(
        self, t: float, x: numpy.ndarray, dt: float, flows: typing.Any, tolerance: float
    ) -> typing.Any: ...
    def violation(self, arg0: numpy.ndarray) -> float: ...
    @property
    def loop_rows(self) -> int: ...
    @property
    def loop_spectrum(self) -> numpy.ndarray: ...
    @property
    def tree_rows(self) -> int: ...

def make_law(
    name: str,
    model: Model,
    allocation: Allocation | None = None,
    base_actuated: bool = True,
    wheels: dict = {},
) -> typing.Any:
    """Return a law by its name in `laws`. On wheels: the radii, m, by the names of the joints that turn them."""

def pinocchio_rk4(
    model: Model, q: numpy.ndarray, v: numpy.ndarray, dt: float, steps: int
) -> tuple[numpy.ndarray, numpy.ndarray]: ...
def run_batch(
    model: Model,
    scheme: str,
    gravity: bool,
    Q: numpy.ndarray,
    V: numpy.ndarray,
    ports: collections.abc.Sequence[Ports],
    t0: float,
    dt: float,
    steps: int,
    stride: int,
    threads: int,
) -> dict:
    """Return q (N,K,nq), v (N,K,nv), energy (N,K), supplied_energy (3,N,K-1), dissipated_energy (N,K-1) of N runs recorded at K instants, and the steps that each has taken."""

laws: list = [
    "AttitudeControl",
    "CartesianImpedance",
    "DecoupledVMSController",
    "DifferentialDrive",
    "MobileManipulation",
    "PoseIDAPBC",
    "PushingImpedance",
    "ResolvedMotion",
    "TaskSpaceIDAPBC",
    "UnderactuatedFlight",
    "WheeledImpedance",
]

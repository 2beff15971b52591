# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot as bodies and joints in its minimal coordinates, and the stepper that drives it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from vms_ph_dynamics import Array, Form, ModelError, PHState, Ports, VMSModel
from vms_ph_dynamics.integrators import Observation, StepFailure, Stepper, StepResult

from ..equations import assemble
from ..errors import SimulationError
from ..multibody.bridge import Coordinates
from ..multibody.environment import FluidDrag
from ..multibody.friction import HeatCapacity
from ..multibody.joint import Heat
from ..multibody.urdf import body_names, from_pinocchio, joint_name
from ..simulation.stepper import EphsStepper, SolverState


class Mechanism:
    """The equations of a robot's bodies and joints, with maps from and to its coordinates.

    Joints with friction have a heat capacity, to which friction gives its heat; what conducts it
    away is not part of the mechanism. A robot in a fluid has its added mass, buoyancy and drag, the
    heat of which the fluid takes at theta_0.

    Args:
        model: the robot.
        housing_capacities: (n,) heat capacities of its joints, J/K.
        theta_0: temperature of the environment, K.
        friction: whether the joints' friction acts.
        softening: of their viscous friction, 1/K.
        native: whether motions are computed in C++, see :func:`.assemble`.

    Attributes:
        system: the bodies and joints.
        equations: of them.
        frictional_joints: (k,) joints with friction, among the n.

    Raises:
        ModelError: bodies and joints cannot represent the robot.
    """

    def __init__(
        self,
        model: VMSModel,
        housing_capacities: Array,
        theta_0: float,
        friction: bool = True,
        softening: float = 0.0,
        native: bool | None = None,
    ) -> None:
        self._model, self._theta_0 = model, theta_0
        full_model = model.tree.pinocchio
        self._full_model = full_model
        if not friction:
            full_model = full_model.copy()
            full_model.damping[:] = 0.0
            for name in ("friction", "upperDryFrictionLimit", "lowerDryFrictionLimit"):
                if hasattr(full_model, name):
                    getattr(full_model, name)[:] = 0.0
        heat_by_joint = {
            name: Heat(float(capacity), theta_0=theta_0)
            for name, capacity, viscous, dry_friction in zip(
                map(joint_name, model.joint_names),
                housing_capacities,
                model.joints.damping,
                model.joints.friction,
                strict=True,
            )
            if friction and (viscous or dry_friction)
        }
        self._body_names = body_names(self._full_model)
        frame_ids = [model.tree.frame_id(name) for name in (model.end_effector, *model.tools)]
        parent_joints = {model.tree.pinocchio.frames[frame].parentJoint for frame in frame_ids}
        # A floating base is open already.
        joints_of_open_bodies = {
            i for i in parent_joints if i and not (i == 1 and model.base == "floating")
        }
        try:
            system = from_pinocchio(
                full_model,
                model.tree.mimics,
                heat=heat_by_joint or None,
                softening=softening,
                open_bodies=sorted(self._body_names[joint] for joint in joints_of_open_bodies),
                fluid=model.fluid,
                theta_0=theta_0,
            )
        except ModelError as error:
            raise ModelError(
                f"'{model.name}' cannot be simulated as bodies and joints: {error}; set "
                "engine:=vms_ph"
            ) from None
        self.system = system
        self.equations = assemble(system, theta_0, native=native)
        self.frictional_joints = np.array(
            [k for k, name in enumerate(model.joint_names) if joint_name(name) in heat_by_joint],
            dtype=np.intp,
        )
        self._coordinates = Coordinates(self.equations, model)
        self.state, self.motion = self._coordinates.state, self._coordinates.motion
        self._joint_names = [joint_name(name) for name in model.joint_names]
        self._find_housing_indices(list(heat_by_joint))
        self._find_drag_indices()
        self._find_frames()

    def flows(self, ports: Ports) -> dict[str, Array]:
        """Return the flows into the outer ports of the system, by name."""
        flows: dict[str, Array] = {}
        if ports.torque is not None:
            for name, torque in zip(self._joint_names, ports.torque, strict=True):
                flows[name] = torque
        port, lever = self._coordinates.port, self._coordinates.lever
        if ports.wrench_base is not None and port:
            wrench = ports.wrench_base
            flows[port] = wrench if lever is None else _at_centre(wrench, np.eye(3), -lever)
        wrenches: dict[str, Any] = dict(ports.wrench_tools or {})
        if ports.wrench_end_effector is not None:
            wrenches[self._model.end_effector] = ports.wrench_end_effector
        for name, wrench in wrenches.items():
            body, rotation, lever_arm = self._frames[name]
            if body is not None:
                flows[body] = flows.get(body, 0.0) + _at_centre(wrench, rotation, lever_arm)
        return flows

    def works(
        self, supplied_energies: Mapping[str, float], ports: Ports, system_effort_integral: Array
    ) -> tuple[Array, dict[str, float]]:
        """Return the works by the ports of the robot from those by the ports of the system, J.

        Several wrenches on one body share its work in proportion to their powers.

        Args:
            supplied_energies: through the outer ports of the system.
            ports: efforts during the step.
            system_effort_integral: (total,) integral of the efforts over the step.

        Returns:
            (n,) work at each joint, and the works of wrenches by port.
        """
        joint_work = np.array([supplied_energies[name] for name in self._joint_names])
        wrench_loads: list[tuple[str, str, dict[str, Array]]] = []
        base_wrench = ports.wrench_base
        port = self._coordinates.port
        if base_wrench is not None and port:
            wrench_loads.append(("wrench_base", port, self.flows(Ports(wrench_base=base_wrench))))
        wrenches = dict(ports.wrench_tools or {})
        if ports.wrench_end_effector is not None:
            wrench_only = Ports(wrench_end_effector=ports.wrench_end_effector)
            flows = self.flows(wrench_only)
            wrench_loads += [("wrench_end_effector", body, flows) for body in flows]
        for name, wrench in wrenches.items():
            flows = self.flows(Ports(wrench_tools={name: wrench}))
            wrench_loads += [(name, body, flows) for body in flows]
        works: dict[str, float] = {}
        for body in {body for _, body, _ in wrench_loads}:
            loads = [(name, flows[body]) for name, owner, flows in wrench_loads if owner == body]
            indices = self.equations.layout.entries[self.equations.layout.outer[body]]
            powers = np.array([float(system_effort_integral[indices] @ flow) for _, flow in loads])
            excess = (supplied_energies[body] - powers.sum()) / len(loads)
            works |= {name: float(p + excess) for (name, _), p in zip(loads, powers, strict=True)}
        return joint_work, works

    def temperatures(self, x: Array) -> Array:
        """Return the temperatures of the housings of joints with friction, (k,), K."""
        return np.asarray(self._theta_0 * np.exp(x[self._housing_indices] / self._capacities))

    def friction_heat(self, x_before: Array, x_after: Array) -> tuple[Array, Array]:
        """Return the heat of friction between two state vectors, and the exergy destroyed, J."""
        entropy_change = x_after[self._housing_indices] - x_before[self._housing_indices]
        # Without differences of the energies, which are a billion times those of a step.
        temperature_growth = np.expm1(entropy_change / self._capacities)
        heat = self._capacities * self.temperatures(x_before) * temperature_growth
        return heat, self._theta_0 * entropy_change

    def drag_heat(self, before: Array, after: Array) -> float:
        """Return the heat of drag in the fluid between two state vectors, J."""
        return self._theta_0 * float((after[self._drag_indices] - before[self._drag_indices]).sum())

    def with_temperatures(self, x: Array, theta: Array) -> Array:
        """Return a state vector with other temperatures of these housings, (k,), K."""
        x = x.copy()
        x[self._housing_indices] = self._capacities * np.log(theta / self._theta_0)
        return x

    def _find_housing_indices(self, joint_names: list[str]) -> None:
        layout = self.equations.layout
        entries = [layout.states[layout.junctions[f"{name}.th.s"]] for name in joint_names]
        self._housing_indices = np.array([entry.indices.start for entry in entries], dtype=np.intp)
        components = [layout.components[f"{name}.th"] for name in joint_names]
        self._capacities = np.array([c.capacity for c in components if isinstance(c, HeatCapacity)])

    def _find_drag_indices(self) -> None:
        layout = self.equations.layout
        boxes = (box for box, c in layout.components.items() if isinstance(c, FluidDrag))
        indices = (layout.states[layout.junctions[f"{box}.s"]].indices.start for box in boxes)
        self._drag_indices = np.array(sorted(set(indices)), dtype=np.intp)

    def _find_frames(self) -> None:
        """Find the body of every frame with a wrench, its rotation, and its arm from the centre."""
        tree, full = self._model.tree, self._full_model
        self._frames: dict[str, tuple[str | None, Array, Array]] = {}
        for name in (self._model.end_effector, *self._model.tools):
            frame = tree.pinocchio.frames[tree.frame_id(name)]
            i = frame.parentJoint
            lever_arm = frame.placement.translation - (full.inertias[i].lever if i else np.zeros(3))
            body = self._body_names[i] if i else None
            self._frames[name] = body, np.array(frame.placement.rotation), np.array(lever_arm)


def _at_centre(wrench: Array, rotation: Array, lever_arm: Array) -> Array:
    """Return a wrench, linear first, at the centre of mass of its body in body axes."""
    force = rotation @ wrench[:3]
    return np.concatenate([force, rotation @ wrench[3:] + np.cross(lever_arm, force)])


class MechanismState(NamedTuple):
    """The solver state of a mechanism.

    Attributes:
        inner: of the scheme.
        q: (nq,) configuration; v: (nv,) velocity.
        work: (n,) of the joint torques since the beginning, J.
        friction_heat: (k,) heat of friction in the joints that have it, J, since then.
        destroyed: (k,) exergy that this heat destroyed, J.
        drag_heat: heat of drag in a fluid since then, J.
    """

    inner: SolverState
    q: Array
    v: Array
    work: Array
    friction_heat: Array
    destroyed: Array
    drag_heat: float


class MechanismStepper(Stepper):
    """A scheme of :class:`.EphsStepper` that takes and returns what those of a robot do.

    Args:
        mechanism: the robot.
        form: for its momenta.
        scheme: name of the scheme.

    Raises:
        OptionError: there is no such scheme.
    """

    def __init__(self, mechanism: Mechanism, form: Form, scheme: str = "projected_rk4") -> None:
        self._mechanism, self._form = mechanism, form
        self._stepper = EphsStepper(mechanism.equations, scheme)
        self.name, self.order = self._stepper.name, self._stepper.order
        self.no_ports = Ports()

    def begin(self, state: PHState, t: float) -> MechanismState:
        """Return the solver state at a state of the robot, with everything at theta_0."""
        v = self._form.velocity(state)
        inner_state = self._stepper.begin(self._mechanism.state(state.q, v), t)
        zeros = np.zeros(self._mechanism.frictional_joints.size)
        q, v = self._mechanism.motion(inner_state.x)
        return MechanismState(inner_state, q, v, np.zeros(self._form.model.n), zeros, zeros, 0.0)

    def motion(self, solver_state: MechanismState) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,)."""
        return solver_state.q, solver_state.v

    def step(
        self,
        solver_state: MechanismState,
        ports: Ports | Callable[[float, PHState], Ports],
        t: float,
        dt: float,
    ) -> StepResult:
        """Return the result of one step; see :meth:`Stepper.step`.

        A wrench in world axes is held as it is at the beginning of the step.

        Raises:
            StepFailure: the motion cannot be continued.
        """
        before = solver_state
        if callable(ports):
            ports = ports(t, self._form.state(before.q, before.v))
        mechanism, equations = self._mechanism, self._mechanism.equations
        result = self._stepper.step(before.inner, mechanism.flows(ports), t, dt)
        inner: SolverState = result.solver_state
        try:
            q, v = mechanism.motion(inner.x)
            system_effort_integral = np.zeros(0)
            if (
                ports.wrench_base is not None
                or ports.wrench_end_effector is not None
                or (ports.wrench_tools)
            ):
                end_efforts = (equations.tangent(x, None)[1] for x in (before.inner.x, inner.x))
                system_effort_integral = 0.5 * dt * np.sum(list(end_efforts), axis=0)
        except SimulationError as error:
            raise StepFailure(str(error)) from error
        work, wrench_works = mechanism.works(result.supplied, ports, system_effort_integral)
        heat, destroyed_exergy = mechanism.friction_heat(before.inner.x, inner.x)
        drag_heat = mechanism.drag_heat(before.inner.x, inner.x)
        after = MechanismState(
            inner,
            q,
            v,
            before.work + work,
            before.friction_heat + heat,
            before.destroyed + destroyed_exergy,
            before.drag_heat + drag_heat,
        )
        dissipated_energy = float(heat.sum()) + drag_heat
        return StepResult(after, {"torque": float(work.sum()), **wrench_works}, dissipated_energy)

    def observe(self, solver_state: MechanismState) -> Observation:
        """Return the state of the robot and its mechanical energy."""
        d = self._form.model.evaluate(solver_state.q, solver_state.v)
        state = self._form.state(solver_state.q, solver_state.v)
        return Observation(state, d.kinetic_energy + d.potential_energy, np.zeros(0))

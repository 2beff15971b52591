"""Simulates the robot: integrates its port-Hamiltonian form and publishes what a robot would."""

from typing import Protocol

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3, WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from std_srvs.srv import SetBool, Trigger
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster
from vms_ph.msg import PortWork
from vms_ph.srv import StepSimulation

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.links import LinkTree
from vms_ph_dynamics.structure import CanonicalForm

from .conversions import NANOSECONDS, by_name, from_wrench, to_joint_state, to_stamp, to_wrench
from .health import ERROR, OK, WARN, Health
from .parameters import declare
from .process import run
from .pushes import Pushes
from .robot_parameters import LATCHED, RobotParameters
from .simulation import Control, External, Simulation


class Loop(Protocol):
    """What closes the loop around the simulation from within its process."""

    def control(self, q: Array, v: Array, dt: float) -> Array:
        """Return the joint torques (n,) of one step."""

    def published(self, stamp: Time) -> None:
        """Take note that the state of this stamp went out."""

    def restarted(self) -> None:
        """Take note that the simulation is back at its start."""


# Behind by more than this many ticks, the simulation lets the time go instead of racing after it.
_CATCH_UP = 25

# How long a lost tick stays in the diagnostics, ns.
_RECENT = 2 * NANOSECONDS


class Simulator(Node):
    """Steps a simulation in real time or faster; see docs/nodes.md for topics and services."""

    def __init__(self) -> None:
        super().__init__("simulator")
        robot = RobotParameters(self, default="panda")
        self.step: float = declare(self, "step", 0.001, "integrator and control step, s", 1e-5, 0.1)
        self.rate: float = declare(self, "rate", 100.0, "rate of the topics, Hz", 0.1, 1000.0)
        self._speed: float = declare(
            self, "real_time_factor", 1.0, "simulated per real time", 0.01, 100.0
        )
        self._timeout: float = declare(
            self, "command_timeout", 0.25, "after which a command no longer acts, s", 0.01, 10.0
        )
        friction: bool = declare(self, "joint_friction", True, "viscous friction of the URDF acts")
        self._publish_tf: bool = declare(self, "publish_tf", True, "publish /tf and /tf_static")
        self._pushes = Pushes(self)
        description = robot.description()
        self.model: VMSModel = robot.model(description)
        self._home = self.model.configuration(robot.home())
        self._friction = friction
        self._links = LinkTree(self.model)
        self._steps_per_tick = max(1, round(1.0 / (max(self.rate, 100.0) * self.step)))
        self._ticks_per_sample = max(1, round(1.0 / (self.rate * self._steps_per_tick * self.step)))
        self.simulation = self._make(None)
        self._loop: Loop | None = None

        self._paused, self._ticks, self._slipped, self._slipped_at = False, 0, 0, -_RECENT
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._force: tuple[int, Array, bool] | None = None
        self._torque: tuple[int, Array] | None = None
        self._joint_states = self.create_publisher(JointState, "joint_states", 10)
        self._wrenches = self.create_publisher(WrenchStamped, "vms_ph/external_wrench", 10)
        self._works = self.create_publisher(PortWork, "vms_ph/port_work", 10)
        latched = self.create_publisher(String, "robot_description", LATCHED)
        latched.publish(String(data=description))
        self.create_subscription(WrenchStamped, "~/wrench", self._on_wrench, 10)
        self.create_subscription(JointState, "~/joint_effort", self._on_effort, 10)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(StepSimulation, "~/step", self._on_step)
        self._health = Health(self)
        self._anchor()
        if self._publish_tf:
            self._transforms = TransformBroadcaster(self)
            self._send_static()
        tick = self._steps_per_tick * self.step / self._speed
        self.create_timer(tick, self._tick, clock=self._steady)

    def close_loop(self, loop: Loop) -> None:
        """Put a controller into the loop; it is called at every step."""
        self._loop = loop
        self.simulation = self._make(loop.control)

    def stamp(self) -> Time:
        """Return the stamp of the present simulated time."""
        return to_stamp(self._epoch + round(self.simulation.time * NANOSECONDS))

    def destroy_node(self) -> None:
        """End, telling the other nodes."""
        self._health.farewell()
        super().destroy_node()

    def _make(self, control: Control | None) -> Simulation:
        form = CanonicalForm(self.model)
        return Simulation(form, self._home, self.step, control, self._friction)

    def _anchor(self) -> None:
        """Let simulated time zero be now."""
        self._epoch = self.get_clock().now().nanoseconds
        self._start = self._steady.now().nanoseconds
        self._ticks = 0

    def _tick(self) -> None:
        if self._paused:
            return
        passed = (self._steady.now().nanoseconds - self._start) / NANOSECONDS * self._speed
        due = int(passed / (self._steps_per_tick * self.step)) - self._ticks
        if due > _CATCH_UP:
            lost = due - _CATCH_UP
            self._slipped += lost
            self._slipped_at = self._steady.now().nanoseconds
            self._start += round(
                lost * self._steps_per_tick * self.step * NANOSECONDS / self._speed
            )
            due = _CATCH_UP
        for _ in range(due):
            self._advance(self._steps_per_tick)
            self._ticks += 1
            if self._ticks % self._ticks_per_sample == 0:
                self._publish()

    def _advance(self, steps: int) -> None:
        simulation = self.simulation
        simulation.advance(steps, self._external(simulation.time + steps * self.step))
        if simulation.is_finite():
            late = self._steady.now().nanoseconds - self._slipped_at < _RECENT
            message = "too slow for real time" if late else "running"
            self._health.report(WARN if late else OK, message, self._values())
            return
        self.get_logger().error("the simulation left the finite numbers; it starts again")
        self._restart()
        self._health.report(ERROR, "restarted after a state that was not finite", self._values())

    def _values(self) -> dict[str, object]:
        return {"simulated time (s)": f"{self.simulation.time:.2f}", "ticks lost": self._slipped}

    def _external(self, time: float) -> External:
        """What acts from ``time`` on: commands while they are fresh, and the pushes."""
        oldest = self._steady.now().nanoseconds - round(self._timeout * NANOSECONDS)
        torque = np.zeros(self.model.n)
        if self._torque is not None and self._torque[0] >= oldest:
            torque = self._torque[1]
        if self._force is not None and self._force[0] >= oldest:
            return External(torque, self._force[1], self._force[2])
        return External(torque, self._pushes.force(time), in_tool_axes=False)

    def _restart(self) -> None:
        self.simulation.reset()
        self._anchor()
        if self._loop is not None:
            self._loop.restarted()

    def _publish(self) -> None:
        sample = self.simulation.sample()
        stamp = self.stamp()
        work = sample.work
        self._works.publish(
            PortWork(
                header=Header(stamp=stamp),
                joint_torque=work["joint_torque"],
                end_effector=work["end_effector"],
                base=work["base"],
                dissipated=sample.dissipated,
                resets=self.simulation.resets,
            )
        )
        tool = Header(stamp=stamp, frame_id=self.model.end_effector)
        self._wrenches.publish(to_wrench(tool, sample.wrench))
        header = Header(stamp=stamp)
        state = to_joint_state(self.model, header, sample.q, sample.v, sample.torque)
        self._joint_states.publish(state)
        if self._publish_tf:
            self._transforms.sendTransform(self._to_transforms(sample.q, stamp, moving=True))
        if self._loop is not None:
            self._loop.published(stamp)

    def _to_transforms(self, q: Array, stamp: Time, moving: bool) -> list[TransformStamped]:
        poses = self._links.relative_poses(q).tolist()
        return [
            TransformStamped(
                header=Header(stamp=stamp, frame_id=edge.parent),
                child_frame_id=edge.child,
                transform=Transform(
                    translation=Vector3(x=x, y=y, z=z),
                    rotation=Quaternion(x=qx, y=qy, z=qz, w=qw),
                ),
            )
            for edge, (x, y, z, qx, qy, qz, qw) in zip(self._links.edges, poses, strict=True)
            if edge.moves == moving
        ]

    def _send_static(self) -> None:
        self._static_transforms = StaticTransformBroadcaster(self)
        fixed = self._to_transforms(self._home, self.stamp(), moving=False)
        self._static_transforms.sendTransform(fixed)

    def _on_wrench(self, message: WrenchStamped) -> None:
        frame = message.header.frame_id
        try:
            if frame not in ("", "world", self._links.root, self.model.end_effector):
                raise StateError(
                    f"a wrench is taken in the axes of {self.model.end_effector}, "
                    f"{self._links.root} or world; given: frame_id '{frame}'"
                )
            wrench = from_wrench(message.wrench)
        except StateError as error:
            self.get_logger().warning(f"ignored: {error}", throttle_duration_sec=1.0)
            return
        in_tool_axes = frame in ("", self.model.end_effector)
        self._force = (self._steady.now().nanoseconds, wrench, in_tool_axes)

    def _on_effort(self, message: JointState) -> None:
        names = list(message.name)
        try:
            unknown = [name for name in names if name not in self.model.joint_names]
            if unknown:
                self.model.joint_index(unknown[0])
            torque = by_name(self.model, names, message.effort, "effort")
        except StateError as error:
            self.get_logger().warning(f"ignored: {error}", throttle_duration_sec=1.0)
            return
        limits = self.model.joints.effort
        self._torque = (self._steady.now().nanoseconds, np.clip(torque, -limits, limits))

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._restart()
        response.success = True
        response.message = "at the start, at rest; the audit begins anew"
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._paused and not request.data:
            # Simulated time went on standing still.
            now = self._steady.now().nanoseconds
            self._start = now - round(self.simulation.time * NANOSECONDS / self._speed)
            self._ticks = self.simulation.steps // self._steps_per_tick
        self._paused = request.data
        response.success = True
        response.message = "paused" if self._paused else "running"
        return response

    def _on_step(
        self, request: StepSimulation.Request, response: StepSimulation.Response
    ) -> StepSimulation.Response:
        if not self._paused:
            response.message = "the simulation is running; pause it before stepping"
        elif not 1 <= request.steps <= 1_000_000:
            response.message = f"steps must be from 1 to 1000000; given: {request.steps}"
        else:
            left = request.steps
            while left > 0:
                self._advance(min(left, self._steps_per_tick))
                left -= self._steps_per_tick
            self._publish()
            response.success = True
            response.message = f"at {self.simulation.time:.6g} s"
        response.stamp = self.stamp()
        return response


def main() -> None:
    """Run the node."""
    run(Simulator)


if __name__ == "__main__":
    main()

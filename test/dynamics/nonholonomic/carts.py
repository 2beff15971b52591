# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on wheels for the tests: a differential drive, a bicycle, a mecanum cart, with arms."""

import numpy as np

from vms_ph_dynamics import Array, Evaluation, Ports, Task, VMSModel
from vms_ph_dynamics.nonholonomic import NonholonomicForm, WheelConstraint

RADIUS = 0.1


class Axle(Task):
    """A frame whose origin does not move along one of its own axes, as on an axle."""

    dimension = 1

    def __init__(self, model: VMSModel, frame: str, axis: int = 1) -> None:
        super().__init__(model)
        self._rows, self._frame = slice(axis, axis + 1), model.frame_id(frame)

    def jacobian(self, d: Evaluation) -> Array:
        return d.jacobian(self._frame)[self._rows]

    def jacobian_rate(self, d: Evaluation) -> Array:
        return d.jacobian_rate(self._frame)[self._rows]


_BODY = """<link name="base_link"><inertial><origin xyz="0.1 0.02 0.2"/><mass value="20"/>
<inertia ixx="1" iyy="1.2" izz="1.5" ixy="0" ixz="0" iyz="0"/></inertial></link>"""

_ARM = """<joint name="shoulder" type="continuous"><origin xyz="0.2 0 0.4"/>
<parent link="base_link"/><child link="upper"/><axis xyz="0 0 1"/></joint>
<link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="4"/>
<inertia ixx="0.02" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="revolute"><origin xyz="0.6 0 0"/><parent link="upper"/>
<child link="fore"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="5"/></joint>
<link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def _wheel(name: str, x: float, y: float, z: float = RADIUS, parent: str = "base_link") -> str:
    return f"""<joint name="{name}" type="continuous"><origin xyz="{x} {y} {z}"/>
<parent link="{parent}"/><child link="{name}_link"/><axis xyz="0 1 0"/></joint>
<link name="{name}_link"><inertial><mass value="1.5"/>
<inertia ixx="0.004" iyy="0.007" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def _description(name: str, *parts: str) -> str:
    return f'<robot name="{name}">{_BODY}{"".join(parts)}{_ARM}</robot>'


def _robot(name: str, *parts: str) -> VMSModel:
    return VMSModel.from_urdf(_description(name, *parts), base="planar")


TWO_WHEELS = _description("differential_drive", _wheel("left", 0, 0.3), _wheel("right", 0, -0.3))


def on_two_wheels(model: VMSModel) -> NonholonomicForm:
    """Let the wheels of a robot roll."""
    return NonholonomicForm(model, [WheelConstraint(model, w, RADIUS) for w in ("left", "right")])


def differential_drive() -> NonholonomicForm:
    """Two driven wheels on one axle, and an arm."""
    return on_two_wheels(VMSModel.from_urdf(TWO_WHEELS, base="planar"))


def bicycle() -> NonholonomicForm:
    """A rear wheel, and a front wheel on a steered fork."""
    fork = """<joint name="steer" type="revolute"><origin xyz="0.9 0 0.3"/>
<parent link="base_link"/><child link="fork"/><axis xyz="0 0 1"/>
<limit lower="-1.2" upper="1.2" effort="9" velocity="5"/></joint>
<link name="fork"><inertial><origin xyz="0.02 0 -0.1"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    model = _robot(
        "bicycle", _wheel("rear", 0, 0), fork, _wheel("front", 0.03, 0, RADIUS - 0.3, "fork")
    )
    return NonholonomicForm(model, [WheelConstraint(model, w, RADIUS) for w in ("rear", "front")])


def swinging_fork(form: NonholonomicForm) -> tuple[Array, Array, Ports]:
    """Return a motion in which the fork of a bicycle swings over a quarter turn and back."""
    model = form.model
    steer = model.joint_index("steer")
    q = model.configuration({"steer": 1.45, "shoulder": 0.4, "elbow": 0.3})
    chart = form.chart(q)
    chosen = np.zeros(form.dimension)
    chosen[list(chart.independent_ids).index(3 + steer)] = 2.5
    v = chart.basis(model.evaluate(q, np.zeros(model.nv))) @ chosen
    torque = np.zeros(model.n)
    torque[[steer, model.joint_index("rear"), model.joint_index("shoulder")]] = -0.6, 0.5, 1.0
    return q, v, Ports(torque=torque)


def mecanum_cart() -> NonholonomicForm:
    """Four wheels with rollers at 45 degrees."""
    places = {"fl": (0.3, 0.25), "fr": (0.3, -0.25), "bl": (-0.3, 0.25), "br": (-0.3, -0.25)}
    model = _robot("mecanum", *(_wheel(name, x, y) for name, (x, y) in places.items()))
    angle = 0.25 * 3.141592653589793
    signs = {"fl": -1, "fr": 1, "bl": 1, "br": -1}
    return NonholonomicForm(
        model, [WheelConstraint(model, w, RADIUS, s * angle) for w, s in signs.items()]
    )

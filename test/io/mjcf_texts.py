# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF texts of the tests: small robots that use what published ones use."""

import numpy as np

TWO_JOINTS_IN_A_BODY = """
<mujoco model="arm">
  <compiler angle="degree" eulerseq="zyx" autolimits="true"/>
  <option gravity="0.5 0 -9.81"/>
  <default>
    <joint damping="0.5" armature="0.02"/>
    <default class="strong"><joint frictionloss="0.3" range="-90 45"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="pedestal" pos="0.1 0 0.4" euler="30 20 10">
      <geom type="cylinder" size="0.1 0.2"/>
      <body name="upper" pos="0 0 0.2" quat="0.8 0.1 0 0.6">
        <joint name="pan" class="strong" axis="0 0 1"/>
        <joint name="tilt" class="strong" axis="0 1 0.2" pos="0.05 0 0.1" ref="20"/>
        <inertial pos="0.1 0 0.2" mass="2" fullinertia="0.03 0.04 0.02 0.001 -0.002 0.003"/>
        <body name="fore" pos="0.1 0 0.5">
          <joint name="lift" type="slide" axis="0 0 1" range="-0.1 0.3" ref="0.05" damping="7"/>
          <joint name="twist" axis="1 0 0" armature="0"/>
          <geom type="capsule" fromto="0 0 0 0.2 0.1 0.3" size="0.04" density="800"/>
          <site name="tcp" pos="0.2 0.1 0.3" euler="0 90 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m_pan" joint="pan" gear="50" ctrlrange="-2 2"/>
    <motor name="m_tilt" joint="tilt" gear="-10" forcerange="-3 4"/>
    <position name="p_lift" joint="lift" kp="100"/>
  </actuator>
</mujoco>
"""

DRONE = """
<mujoco model="drone">
  <compiler angle="radian" inertiafromgeom="true"/>
  <option gravity="0 0 -1.62"/>
  <default><default class="rotor"><site type="cylinder" size="0.05 0.01"/></default></default>
  <worldbody>
    <body name="hull" pos="0 0 0.7" quat="1 0 0 1">
      <freejoint name="free"/>
      <geom type="box" size="0.1 0.2 0.05" mass="1.2" rgba="1 0 0 1"/>
      <geom type="ellipsoid" pos="0.1 0 0.1" size="0.05 0.06 0.07" density="500"/>
      <site name="imu"/>
      <site name="front" class="rotor" pos="0.2 0 0"/>
      <site name="back" class="rotor" pos="-0.2 0 0"/>
      <body name="arm" pos="0 0 -0.1" axisangle="1 1 0 0.4">
        <joint name="shoulder" axis="0 1 0" armature="0.01"/>
        <joint name="elbow" axis="1 0 0" pos="0 0 -0.1"/>
        <geom type="cylinder" size="0.02 0.1" pos="0 0 -0.1" mass="0.3"/>
        <body name="hand" pos="0 0 -0.3"><geom type="sphere" size="0.03" mass="0.1"/></body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <general name="thrust_front" site="front" gear="0 0 1 0 0 0.02" ctrlrange="0 10"/>
    <general name="thrust_back" site="back" gear="0 0 1 0 0 -0.02" ctrlrange="0 10"/>
  </actuator>
  <keyframe>
    <key name="other" qpos="0 0 0 1 0 0 0 0 0"/>
    <key name="home" qpos="1 2 3 0 0 0 2 0.3 -0.4"/>
  </keyframe>
</mujoco>
"""

HAND = """
<mujoco model="hand">
  <compiler autolimits="true"/>
  <default>
    <default class="finger">
      <joint axis="0 1 0" range="0 90" damping="0.05" stiffness="0.2" springref="10"/>
      <geom type="capsule" size="0.01" group="3"/>
      <default class="tip"><geom size="0.008" rgba="0 1 0 1" group="1"/></default>
    </default>
  </default>
  <worldbody>
    <body name="palm" gravcomp="1">
      <joint name="wrist" axis="0 0 1" range="-30 30"/>
      <geom type="box" size="0.04 0.05 0.01" contype="0" conaffinity="0"/>
      <frame pos="0 0 0.02" euler="0 0 90">
        <body name="index" pos="0.03 0.04 0" childclass="finger">
          <joint name="index_1"/>
          <geom fromto="0 0 0 0 0 0.04"/>
          <body name="index_tip" pos="0 0 0.04">
            <joint name="index_2"/>
            <geom class="tip" fromto="0 0 0 0 0 0.03"/>
          </body>
        </body>
        <body pos="-0.03 0.04 0" childclass="finger">
          <joint axis="1 0 0"/>
          <geom fromto="0 0 0 0 0 0.04"/>
        </body>
      </frame>
      <replicate count="2" offset="0.02 0 0" sep="_">
        <body name="pad" pos="-0.01 -0.05 0">
          <joint name="press" type="slide" axis="0 0 1" range="0 0.01"/>
          <geom type="sphere" size="0.01"/>
        </body>
      </replicate>
    </body>
  </worldbody>
  <tendon>
    <fixed name="flexor"><joint joint="index_1" coef="1"/><joint joint="index_2" coef="1"/></fixed>
  </tendon>
  <equality><joint name="coupled" joint1="index_1" joint2="index_2"/></equality>
  <actuator>
    <motor name="pull" tendon="flexor"/>
    <motor name="wrist_motor" joint="wrist"/>
  </actuator>
</mujoco>
"""

ROBOTS = {"arm": TWO_JOINTS_IN_A_BODY, "drone": DRONE, "hand": HAND}


def random_robot(rng: np.random.Generator) -> str:
    """A random tree with up to three joints in a body, on a fixed or free base."""

    def numbers(size: int, most: float = 1.0) -> str:
        return " ".join(str(x) for x in rng.uniform(-most, most, size))

    left = int(rng.integers(2, 8))

    def joints(root: bool) -> str:
        parts = []
        for _ in range(rng.integers(1 if root else 0, 4)):
            kind = rng.choice(["hinge", "slide"])
            parts.append(
                f'<joint type="{kind}" axis="{numbers(3)}" pos="{numbers(3, 0.2)}" '
                f'ref="{numbers(1)}" armature="{rng.uniform(0, 0.1)}"/>'
            )
        return "".join(parts)

    def body(root: bool) -> str:
        nonlocal left
        left -= 1
        own = "<freejoint/>" if root and rng.random() < 0.5 else joints(root)
        inside = ""
        while left > 0 and rng.random() < 0.6:
            inside += body(False)
        return (
            f'<body pos="{numbers(3, 0.5)}" quat="{numbers(4)}">{own}<inertial '
            f'pos="{numbers(3, 0.1)}" quat="{numbers(4)}" mass="{rng.uniform(0.5, 3)}" '
            f'diaginertia="0.02 0.03 0.04"/>{inside}</body>'
        )

    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{numbers(3, 10)}"/>'
        f"<worldbody>{body(True)}</worldbody></mujoco>"
    )


CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 2) for y in (0, 1) for z in (0, 3)) + (
    "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
)


def mjcf(world: str, *rest: str) -> str:
    return f"<mujoco>{''.join(rest)}<worldbody>{world}</worldbody></mujoco>"

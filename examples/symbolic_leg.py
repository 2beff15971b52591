# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The revolute hopper in symbols: the sample program A.2.1 of the source, on this toolbox.

Run it with ``python examples/symbolic_leg.py``; it needs ``pip install 'vms-ph[symbolic]'``.
"""

try:
    import sympy as sp

    from vms_ph_dynamics.export import symbolic
except ImportError as error:
    raise SystemExit(
        f"this example needs {error.name or 'sympy'}: pip install 'vms-ph[symbolic]'"
    ) from None


def main() -> None:
    """Derive the leg, check it as the program does, and print numeric code."""
    hopper = symbolic.revolute_hopper()
    robot, motion = hopper.robot, hopper.robot.motion
    velocities = sp.Matrix(motion.velocities)

    print("mass matrix M:")
    sp.pprint(robot.M, wrap_line=False)
    print("\ncentre of mass in the base frame:")
    sp.pprint(robot.centre, wrap_line=False)
    print("\ngeneralised gravity:")
    sp.pprint(robot.gravity, wrap_line=False)

    # Lines 308-324: the passive matrix splits Mdot, and both matrices give the same forces.
    passive = motion.rate(robot.M) - robot.C_passive - robot.C_passive.T
    same = (robot.C_passive - robot.C_hamel) * velocities
    print("\nMdot - C - C^T is zero:", passive.applyfunc(sp.simplify) == sp.zeros(4, 4))
    print("passive and Hamel forces agree:", same.applyfunc(sp.simplify) == sp.zeros(4, 1))

    # Lines 218-230: the angular velocity of the aligned frame, and its closed integral.
    print("\nangular velocity of the centre-of-mass frame against the base, per knee rate:")
    sp.pprint(robot.connection[2, 0], wrap_line=False)
    print("\nits integral theta_bc:")
    sp.pprint(symbolic.revolute_frame_angle(hopper), wrap_line=False)

    # Lines 326-350: code for a simulation.
    arguments = [*motion.coordinates, *motion.velocities]
    print("\ngenerated code of the Coriolis matrix:\n")
    print(symbolic.source("coriolis", robot.C_passive, arguments, hopper.parameters))


if __name__ == "__main__":
    main()

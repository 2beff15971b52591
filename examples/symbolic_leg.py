# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A hopping leg in symbols, checked, and as Python code.

Run it with ``python examples/symbolic_leg.py``; it needs ``pip install 'vms-ph[symbolic]'``.
"""

import inspect

try:
    import sympy as sp

    from vms_ph_dynamics.export.symbolic import SymbolicRobot
    from vms_ph_io import robots
except ImportError as error:
    raise SystemExit(
        f"this example needs {error.name or 'sympy'}: pip install 'vms-ph[symbolic]'"
    ) from None


def main() -> None:
    """Derive the leg, check the identity that makes it passive, and print numeric code."""
    robot = SymbolicRobot(robots.load("revolute_hopper"))
    velocities = sp.Matrix(robot.velocities)

    print("mass matrix M:")
    sp.pprint(robot.M.evalf(4), wrap_line=False)
    print("\ngeneralised gravity:")
    sp.pprint(robot.gravity.evalf(4), wrap_line=False)

    residual = velocities.T * robot.mass_rate * velocities / 2 - velocities.T * robot.slope
    is_zero = residual.applyfunc(lambda x: sp.simplify(sp.expand(x))) == sp.zeros(1, 1)
    print("\nrate of the kinetic energy - v^T C^T v is zero:", is_zero)

    print("\ncode of the Coriolis force:\n")
    print(inspect.getsource(sp.lambdify(robot.arguments, robot.coriolis_force, cse=True)))


if __name__ == "__main__":
    main()

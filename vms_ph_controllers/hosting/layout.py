# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Layout of the named parts of a flat array, for hosts in other languages."""

from dataclasses import fields

from ..controller import ControlEnergy

ENERGIES = tuple(field.name for field in fields(ControlEnergy))


class Layout:
    """Named parts of a flat array, one after the other.

    A host in another language reads offset and size of every part by name when it loads a
    controller; offsets are not repeated elsewhere.

    Attributes:
        size: size of the whole array.
    """

    def __init__(self, **sizes: int) -> None:
        """Lay out parts one after the other.

        Args:
            sizes: number of entries of every part, in the order of the array.
        """
        self.size = 0
        self._slices: dict[str, slice] = {}
        for name, size in sizes.items():
            self._slices[name] = slice(self.size, self.size + size)
            self.size += size

    def __getitem__(self, name: str) -> slice:
        """Return the slice of a part."""
        return self._slices[name]

    def parts(self) -> dict[str, tuple[int, int]]:
        """Return offset and size of every part."""
        return {name: (s.start, s.stop - s.start) for name, s in self._slices.items()}


def input_layout(n: int, nq: int, nv: int) -> Layout:
    """Return the layout of the inputs of a controller.

    Args:
        n: number of joints.
        nq: size of a configuration.
        nv: size of a velocity.
    """
    return Layout(q=nq, v=nv, dt=1, position=3, velocity=3, pose=16, twist=6, joints=n, wrench=6)


def flag_layout() -> Layout:
    """Return the layout of the flags: the given parts of the reference, and missed updates."""
    return Layout(position=1, velocity=1, pose=1, twist=1, joints=1, wrench=1, missed_updates=1)


def output_layout(b: int, n: int) -> Layout:
    """Return the layout of a command and the safe output.

    Args:
        b: dimension of the base velocity.
        n: number of joints.
    """
    return Layout(
        wrench_base=b,
        torque=n,
        safe_wrench_base=b,
        safe_torque=n,
        energy=len(ENERGIES),
        task_error=1,
        smallest_singular_value=1,
        authority=1,
        status=1,
    )

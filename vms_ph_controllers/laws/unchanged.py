# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a class that derives from a law of this library changes what that computes."""

from ..controller import Controller


def is_unchanged(law: Controller, kind: type[Controller], *names: str) -> bool:
    """Return whether no class derived from ``kind`` has methods of its own under these names.

    What these methods compute may then come from one larger call of C++. Otherwise they are called,
    so that a law does what is written in it.

    Args:
        law: of this kind, or derived from it.
        kind: the class of this library.
        names: of its methods.
    """
    return all(getattr(type(law), name) is getattr(kind, name) for name in names)

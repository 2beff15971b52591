"""The door to files: robots, bags, plots."""

from typing import TYPE_CHECKING, Any

from .share import share_directory

if TYPE_CHECKING:
    from . import robots
    from .urdf import load_urdf, read_urdf

__all__ = ["load_urdf", "read_urdf", "robots", "share_directory"]


def __getattr__(name: str) -> Any:
    # Lazy for the sake of those who only look for a file: see vms_ph_dynamics.
    if name in ("load_urdf", "read_urdf"):
        from . import urdf

        return getattr(urdf, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

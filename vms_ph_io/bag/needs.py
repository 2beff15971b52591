"""The packages that bags need; no ROS distribution has them, so that their absence is reported."""

from importlib.util import find_spec

from vms_ph_io.bag.errors import BagError

_PACKAGES = ("mcap", "rosbags")


def require_packages() -> None:
    """Raise a `BagError` that names what to install where a package is missing."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise BagError(
            f"bags are read and written with the Python packages {' and '.join(_PACKAGES)}; "
            f"missing here: {', '.join(missing)}. `python3 -m pip install {' '.join(missing)}` "
            "brings what is missing; `ros2 bag` does without"
        )

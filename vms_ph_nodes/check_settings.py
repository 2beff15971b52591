"""Checks the settings of a robot before a launch file starts its nodes.

``check_settings "robot=arm.urdf; base=floating"``: a setting that is wrong is one sentence on
stderr, instead of one from each node.
"""

import os
import sys
import warnings

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io import robots
from vms_ph_io.robot_settings import RobotSettings, from_arguments


def check(arguments: dict[str, str]) -> None:
    """Build the model and the controller of launch arguments.

    Raises:
        VmsPhError: one of them is not accepted, or does not fit the robot.
    """
    settings = RobotSettings().updated(arguments)
    kind = arguments.get("controller", "")
    if settings.is_bundled and settings.are_defaults and not kind:
        robots.get(settings.robot).path()
        return
    warnings.showwarning = _show
    model = settings.model(settings.description(_show))
    settings.initial_configuration(model)
    if kind:
        from vms_ph_controllers.hosting.loading import make_controller

        make_controller(kind, model, settings.allocation())


def _show(text: object, *_: object, **__: object) -> None:
    print(text, file=sys.stderr)


def main() -> None:
    """Check the settings in the first argument."""
    try:
        check(from_arguments(sys.argv[1] if len(sys.argv) > 1 else ""))
    except VmsPhError as error:
        print(error, file=sys.stderr)
        sys.exit(os.EX_CONFIG)  # the embedded launcher then prints nothing but the sentence


if __name__ == "__main__":
    main()

"""vms-ph demo: nodes, live view, web page and bag in one run."""

import importlib.util
import sys
from datetime import datetime
from pathlib import Path

import typer

from vms_ph_dynamics.errors import VmsPhError


def demo(
    robot: str = typer.Option("panda", help="a bundled robot, or the path of a URDF or xacro file"),
    headless: bool = typer.Option(False, help="no page and no live view: for scripts"),
    seconds: float = typer.Option(0.0, help="end after so long; 0: go on until Ctrl-C", min=0.0),
    rate: float = typer.Option(100.0, help="rate of the topics, Hz", min=0.1, max=1000.0),
    speed: float = typer.Option(1.0, help="simulated per real time", min=0.01, max=100.0),
    push: float = typer.Option(5.0, help="seconds from push to push; 0: none", min=0.0),
    port: int = typer.Option(8080, help="of the web page on 127.0.0.1", min=1, max=65535),
    bag: bool = typer.Option(True, help="record a bag, and draw the run at the end"),
    out: Path = typer.Option(None, help="folder for bag and plot; default: vms_ph_runs/<time>"),
) -> None:
    """Run the Panda: real nodes on a real wire, its energy in the terminal and on a web page.

    The arm holds a point in space as a spring would and is pushed now and then. Press Ctrl-C to
    end; the run is then summed up and drawn.
    """
    if importlib.util.find_spec("vms_ph_embedded") is None:
        raise VmsPhError(
            "the demo starts its nodes without ROS 2, and is not installed beside one; with "
            f"ROS 2: ros2 launch vms_ph {robot}.launch.xml rviz:=true push_period:=5.0"
        )
    from .demo_run import Demo, Options

    folder = out or Path("vms_ph_runs") / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    sys.exit(Demo(Options(robot, headless, seconds, rate, speed, push, port, bag, folder)).run())

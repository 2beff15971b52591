"""vms-ph bag: record, look into and mend bags."""

import sys
from pathlib import Path

import typer

app = typer.Typer(help="Record bags, look into them, mend those cut off.", no_args_is_help=True)

_BAG = typer.Argument(help="the folder of a bag, or its .mcap file")


@app.command()
def info(bag: Path = _BAG) -> None:
    """Show what is in a bag; it may have been cut off."""
    from vms_ph_io.bag import bag_info

    found = bag_info(bag)
    state = "complete" if found.is_complete else "cut off: `vms-ph bag recover` mends it"
    typer.echo(f"Files:    {', '.join(f.name for f in found.files)} ({found.size / 1e6:.2f} MB)")
    typer.echo(f"State:    {state}")
    if found.unreadable_bytes:
        typer.echo(f"          {found.unreadable_bytes} bytes at the end are unreadable")
    typer.echo(f"Duration: {found.duration:.3f} s")
    typer.echo(f"Messages: {found.message_count}")
    for topic in found.topics:
        rate = "" if topic.rate is None else f" at {topic.rate:.1f} Hz"
        typer.echo(f"  {topic.topic.name} [{topic.topic.type}]: {topic.message_count}{rate}")


@app.command()
def record(
    topics: list[str] = typer.Argument(None, help="to record; none: all there are"),
    output: Path = typer.Option(Path("vms_ph_bag"), "--output", "-o", help="folder; must be new"),
) -> None:
    """Record topics until Ctrl-C."""
    words = ["--ros-args", "-p", f"bag:={output}"]
    if topics:
        words += ["-p", f"topics:=[{', '.join(topics)}]"]
    sys.argv = ["bag_recorder", *words]
    from ..bag_recorder import main

    typer.echo(f"recording into {output}; Ctrl-C ends it", err=True)
    main()


@app.command()
def recover(
    bag: Path = _BAG,
    output: Path = typer.Option(
        None, "--output", "-o", help="new folder; none: in place, the old file kept as *.orig"
    ),
) -> None:
    """Make a bag whole that was cut off by a kill or a full disk."""
    from vms_ph_io.bag import recover as mend

    done = mend(bag, output)
    if not done.rewritten:
        typer.echo(f"{done.path} is whole already: {done.message_count} messages")
        return
    typer.echo(f"{done.path} is whole again: {done.message_count} messages")
    if done.unreadable_bytes:
        typer.echo(f"{done.unreadable_bytes} bytes at the end could not be read")
    for original in done.originals:
        typer.echo(f"the old file is kept as {original}")

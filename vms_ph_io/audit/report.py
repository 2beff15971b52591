# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All files of an audit in one folder: page, picture, table, document, and the derived bag."""

import csv
import json
from pathlib import Path

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.forms import PORTS

from ..bag import BagWriter, MessageTypes
from ..installation import share_directory
from .audit import Audit
from .document import document
from .page import write_page
from .picture import draw


def write_report(audit: Audit, folder: Path) -> list[Path]:
    """Write audit.html, audit.png, audit.csv, audit.json and the bag ``derived``.

    Args:
        audit: the audit.
        folder: made if it does not exist; it must not contain a bag ``derived``.

    Raises:
        VmsPhError: the folder cannot be written, or has such a bag.
        ImportError: plotly is not installed.
    """
    files = [folder / f"audit.{suffix}" for suffix in ("html", "png", "csv", "json")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_page(audit, files[0])
        draw(audit, files[1])
        write_csv(audit, files[2])
        files[3].write_text(json.dumps(document(audit), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise VmsPhError(f"{folder} cannot be written: {error.strerror or error}") from None
    write_bag(audit, folder / "derived")
    return [*files, folder / "derived"]


_ENERGY, _POWER = "vms_ph/msg/Energy", "vms_ph/msg/Power"


def write_csv(audit: Audit, file: Path) -> None:
    """Write the series of an audit; energies are cumulative, in J."""
    ledger = audit.ledger
    columns: dict[str, Array] = {
        "time": ledger.time,
        "kinetic": ledger.series["kinetic"],
        "potential": ledger.series["potential"],
        "unaccounted": ledger.series["unaccounted"],
        "unaccounted_band": ledger.band,
    }
    for quantity, names in (
        ("supplied", ledger.joints), ("gross", ledger.joints), ("dissipated", ledger.joints),
        ("residual", ledger.balanced),
    ):  # fmt: skip
        values = ledger.series[f"{quantity}_by_joint"]
        columns |= {f"{quantity}.{name}": values[:, k] for k, name in enumerate(names)}
    for k, name in enumerate(ledger.ports):
        columns[f"supplied.{audit.port_name(name)}"] = ledger.series["supplied_by_port"][:, k]
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(np.column_stack(list(columns.values())).tolist())


def write_bag(audit: Audit, folder: Path) -> None:
    """Write a bag with vms_ph/energy and vms_ph/power at the stamps of the recording.

    Raises:
        BagError: the folder exists or cannot be written.
    """
    types = MessageTypes()
    types.register_folder("vms_ph", share_directory() / "msg")
    make = types.store.types
    ledger, model = audit.ledger, audit.model
    series = ledger.series
    power, lost = (
        _rates(ledger.time, series["supplied_by_joint"]),
        _rates(ledger.time, series["dissipated_by_joint"]),
    )
    ports = _rates(ledger.time, series["supplied_by_port"])
    names = [audit.port_name(port) for port in ledger.ports]
    tools = [name for name in names if name not in PORTS]
    frame = "odom" if model.b else model.link_names[0] if model.link_names else ""
    stored = series["kinetic"] + series["potential"]
    unaccounted = series["unaccounted"]
    residual = _rates(ledger.time, unaccounted[:, None])[:, 0]
    # Stamps of ROS begin at 1970; recordings may begin before the zero of their clock.
    stamps = np.maximum(audit.start, 0) + np.round(ledger.time * 1e9).astype(np.int64)
    header, time = make["std_msgs/msg/Header"], make["builtin_interfaces/msg/Time"]
    with BagWriter(folder, ros_distro="") as bag:
        for topic, kind in (("/vms_ph/energy", _ENERGY), ("/vms_ph/power", _POWER)):
            bag.add_topic(topic, types.definition(kind))
        for k, stamp in enumerate(stamps.tolist()):
            head = header(stamp=time(stamp // 10**9, stamp % 10**9), frame_id=frame)
            kinetic = float(series["kinetic"][k])
            base = 0.0
            if model.b:
                d = model.evaluate(model.normalise_configuration(audit.q[k]), audit.v[k])
                base = 0.5 * float(d.p @ d.v_hat)
            energy = make[_ENERGY](
                header=head, total=float(stored[k]), kinetic=kinetic,
                potential=float(series["potential"][k]), kinetic_base=base,
                kinetic_shape=kinetic - base, kinetic_task=np.nan, kinetic_null=np.nan,
            )  # fmt: skip
            at = {name: float(ports[k, j]) for j, name in enumerate(names)}
            total = {name: float(series["supplied_by_port"][k, j]) for j, name in enumerate(names)}
            flow = make[_POWER](
                header=head,
                torque=float(power[k].sum()),
                wrench_base=at.get("wrench_base", 0.0),
                wrench_end_effector=at.get("wrench_end_effector", 0.0),
                tool_names=tools,
                tool_power=np.array([at[name] for name in tools]),
                dissipated=float(lost[k].sum()),
                null_to_task=np.nan,
                null_to_task_g12=np.nan,
                torque_energy=float(series["supplied_by_joint"][k].sum()),
                wrench_base_energy=total.get("wrench_base", 0.0),
                wrench_end_effector_energy=total.get("wrench_end_effector", 0.0),
                tool_energy=np.array([total[name] for name in tools]),
                dissipated_energy=float(
                    series["dissipated_by_joint"][k].sum() + series["drag"][k, 0]
                ),
                stored=float(stored[k] - stored[0]),
                unaccounted_energy=float(unaccounted[k]),
                residual=float(residual[k]),
                exact_energies=bool(ledger.exact),
            )
            for topic, kind, message in (
                ("/vms_ph/energy", _ENERGY, energy), ("/vms_ph/power", _POWER, flow),
            ):  # fmt: skip
                bag.write(topic, bytes(types.store.serialize_cdr(message, kind)), stamp)


def _rates(time: Array, energy: Array) -> Array:
    """Return the slopes of cumulative energies at the instants."""
    if len(time) < 2 or not energy.shape[1]:
        return np.zeros_like(energy)
    return np.asarray(np.gradient(energy, time, axis=0))

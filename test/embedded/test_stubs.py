# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Stubs by which editors and type checkers know the message packages."""

import ast

from vms_ph_embedded.interfaces import stubs


def classes_in(path):
    tree = ast.parse(path.read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def test_every_message_has_its_fields_in_a_stub(tmp_path):
    stubs.write(tmp_path, ("sensor_msgs", "std_srvs"))
    state = classes_in(tmp_path / "sensor_msgs/msg/__init__.pyi")["JointState"]
    fields = {n.target.id: ast.unparse(n.annotation) for n in state.body[:5]}
    assert fields == {
        "header": "std_msgs.msg.Header",
        "name": "MutableSequence[str]",
        "position": "MutableSequence[float]",
        "velocity": "MutableSequence[float]",
        "effort": "MutableSequence[float]",
    }
    services = classes_in(tmp_path / "std_srvs/srv/__init__.pyi")
    assert set(services) >= {"Trigger", "Trigger_Request", "Trigger_Response"}
    assert not (tmp_path / "std_srvs/msg").exists()

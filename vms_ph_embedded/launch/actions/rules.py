# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tags that hold for the nodes after them: push_ros_namespace, set_remap, set_parameter."""

from dataclasses import dataclass

from vms_ph_embedded.launch import names, values
from vms_ph_embedded.launch.actions.base import Action
from vms_ph_embedded.launch.attributes import Text
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.errors import LaunchError

NAMESPACE = "ros_namespace"
"""The variable that holds the namespace pushed so far; files can read it, as in ``ros2 launch``."""


@dataclass(frozen=True, slots=True)
class PushNamespace(Action):
    """``<push_ros_namespace>``: nodes go below this namespace, to the end of the group."""

    ATTRIBUTES = ("namespace",)

    namespace: Text

    def _execute(self, context: Context) -> None:
        joined = names.join(context.configurations.get(NAMESPACE), self.namespace.evaluate(context))
        assert joined is not None
        names.check_namespace(joined, self.namespace.location)
        context.configurations[NAMESPACE] = joined


@dataclass(frozen=True, slots=True)
class SetRemap(Action):
    """``<set_remap>``: a remapping for the nodes that follow."""

    ATTRIBUTES = ("from", "to")

    source: Text
    target: Text

    def _execute(self, context: Context) -> None:
        source, target = self.source.evaluate(context), self.target.evaluate(context)
        context.add_remap(source, target, self.location)


@dataclass(frozen=True, slots=True)
class SetParameter(Action):
    """``<set_parameter>``: a parameter for the nodes that follow.

    ``ros2 launch`` hands it over as ``-p name:=value``, unquoted; lists, and text that reads as
    something else, arrive changed there. They are refused here.
    """

    ATTRIBUTES = ("name", "value")

    name: Text
    value: Text

    def _execute(self, context: Context) -> None:
        parameter_text = self.value.evaluate(context)
        try:
            value = values.coerce(parameter_text or "''", values.ANY)
            survives = values.coerce(str(value), values.ANY) == value and value != ""
        except ValueError as error:
            raise LaunchError(str(error), self.value.location) from None
        if isinstance(value, list) or not survives:
            raise LaunchError(
                f"<set_parameter> cannot pass {parameter_text!r} on unchanged: ros2 launch removes "
                "the brackets of lists and the quotes of text. Use <param> in the nodes",
                self.value.location,
            )
        context.add_parameter(self.name.evaluate(context), str(value), self.location)

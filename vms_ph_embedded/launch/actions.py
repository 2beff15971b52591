# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the tags of a launch file do, and the table of all of them."""

import os
from collections.abc import Iterator
from pathlib import Path

from vms_ph_embedded.launch import document, grammar, schema, values
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.description import DeclaredArgument, LogLine
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError, Location
from vms_ph_embedded.launch.processes import NAMESPACE, join, run_executable, run_node
from vms_ph_embedded.launch.schema import Tag
from vms_ph_embedded.launch.substitutions import attribute


def read(file: str | Path) -> Element:
    """Read and check a launch file.

    Raises:
        LaunchError: It is missing, is no XML, or holds something outside the subset.
    """
    root = document.read(Path(os.path.abspath(file)))
    schema.check(root, ACTIONS)
    return root


def carry_out(root: Element, context: Context, location: Location | None = None) -> None:
    """Carry a launch file out; its arguments are variables of the context already.

    Args:
        root: From ``read``.
        context: The current state.
        location: The ``<include>`` that asks for it; None for the outermost file.

    Raises:
        LaunchError: An action fails.
    """
    with context.include(root.location.file, location):
        _run_children(root, context)


def declarations(
    root: Element, context: Context, given_names: frozenset[str] = frozenset()
) -> Iterator[tuple[DeclaredArgument, bool]]:
    """The arguments of a file and of those it includes, if their path depends on no variable.

    Each comes with whether ``ros2 launch`` demands a value for it before it carries out anything,
    where it is not enough that a variable of the name is set, and conditions of includes do not
    count.

    Args:
        root: From ``read``.
        context: A context without any variables.
        given_names: Those of the arguments that are handed over.
    """
    for tag, conditional in _tags_of(root, ("arg", "include")):
        if tag.tag == "arg":
            name = grammar.unescape(tag.attributes["name"])
            argument = DeclaredArgument(
                name,
                grammar.unescape(tag.attributes.get("description", "")),
                tag.attributes.get("default"),
                _choices(tag),
                conditional or bool({"if", "unless"} & set(tag.attributes)),
            )
            is_demanded = argument.default is None and not argument.conditional
            yield argument, is_demanded and name not in given_names
            continue
        try:
            other_root = _read_included(tag, context)
        except LaunchError:
            continue
        if other_root.location.file not in context.open_files:
            with context.include(root.location.file, None):
                yield from declarations(other_root, context, given_names | _arg_names(tag, context))


def _tags_of(
    element: Element, tags: tuple[str, ...], is_conditional: bool = False
) -> Iterator[tuple[Element, bool]]:
    """Tags of some kinds, and whether the group directly around has a condition."""
    for child in element.children:
        if child.tag in tags:
            yield child, is_conditional
        elif child.tag == "group":
            yield from _tags_of(child, tags, bool({"if", "unless"} & set(child.attributes)))


def _run_children(element: Element, context: Context) -> None:
    for child in element.children:
        if _condition_holds(child, context):
            ACTIONS[child.tag].run(child, context)


def _condition_holds(element: Element, context: Context) -> bool:
    for name, expected_truth in (("if", True), ("unless", False)):
        if name in element.attributes:
            text = attribute(element, name, context)
            truth_values = {"true": True, "1": True, "false": False, "0": False}
            if text.strip().lower() not in truth_values:
                raise LaunchError(
                    f"the condition comes to {text!r}; accepted are true, 1, false, 0",
                    element.location,
                )
            return truth_values[text.strip().lower()] is expected_truth
    return True


def _choices(element: Element) -> tuple[str, ...]:
    return tuple(grammar.unescape(child.attributes["value"]) for child in element.inside("choice"))


def _declare_argument(element: Element, context: Context) -> None:
    name = grammar.unescape(element.attributes["name"])
    context.declared_names.append(name)
    if name not in context.configurations:
        if "default" not in element.attributes:
            raise LaunchError(
                f"argument {name!r} ({element.attributes.get('description', 'no description')}) "
                f"has no default and was not given; give it as {name}:=value",
                element.location,
            )
        context.configurations[name] = attribute(element, "default", context)
    value, choices = context.configurations[name], _choices(element)
    if choices and value not in choices:
        raise LaunchError(
            f"argument {name!r} is {value!r}; accepted are {', '.join(choices)}", element.location
        )


def _let(element: Element, context: Context) -> None:
    name, value = attribute(element, "name", context), attribute(element, "value", context)
    context.configurations[name] = value


def _set_env(element: Element, context: Context) -> None:
    name, value = attribute(element, "name", context), attribute(element, "value", context)
    context.environment[name] = value


def _log(element: Element, context: Context) -> None:
    context.steps.append(LogLine(attribute(element, "message", context)))


def _push_ros_namespace(element: Element, context: Context) -> None:
    namespace = attribute(element, "namespace", context)
    full_name = join(context.configurations.get(NAMESPACE), namespace, element.location)
    context.configurations[NAMESPACE] = full_name or "/"


def _set_parameter(element: Element, context: Context) -> None:
    """A parameter for the nodes that follow.

    ``ros2 launch`` hands it over as ``-p name:=value``, unquoted; lists, and text that reads as
    something else, arrive changed there. There, too, a parameter added inside a group to those from
    outside stays after the group. Both are refused here.
    """
    text = attribute(element, "value", context)
    try:
        value = values.from_yaml(text or "''")
        is_unchanged = values.from_yaml(str(value)) == value and value != ""
    except ValueError as error:
        raise LaunchError(str(error), element.location) from None
    if isinstance(value, list) or not is_unchanged:
        raise LaunchError(
            f"<set_parameter> cannot pass {text!r} on unchanged: ros2 launch removes the brackets "
            "of lists and the quotes of text. Use <param> in the nodes",
            element.location,
        )
    if context.outer_parameters:
        raise LaunchError(
            "this <set_parameter> stands in a group, another one before the group: ros2 launch "
            "would carry this one on after the group. Put the earlier one into a group too",
            element.location,
        )
    context.parameters = (*context.parameters, (attribute(element, "name", context), str(value)))


def _group(element: Element, context: Context) -> None:
    """A scope, whose settings end with the group, unless scoped="false"."""
    if schema.literal_value(element, "scoped") is False:
        _run_children(element, context)
        return
    with context.scope():
        _run_children(element, context)


def _include(element: Element, context: Context) -> None:
    """Carry out another file here, in the same scope."""
    root = _read_included(element, context)
    context.ros_current_file = root.location.file
    bare_context = context.without_variables()
    for argument, is_demanded in declarations(root, bare_context, _arg_names(element, context)):
        if is_demanded:
            raise LaunchError(
                f"{root.location.file.name} needs its argument {argument.name!r}; hand it over "
                f'with <arg name="{argument.name}" value="..."/>',
                element.location,
            )
    for arg in element.inside("arg"):
        _let(arg, context)
    carry_out(root, context, element.location)


def _read_included(element: Element, context: Context) -> Element:
    file = Path(attribute(element, "file", context))
    if file.suffix in (".py", ".yaml", ".yml"):
        raise LaunchError(
            f"{file} is not XML; only *.launch.xml files can be included", element.location
        )
    try:
        return read(file)
    except LaunchError as error:
        if error.location is None:  # the file is missing: the error refers to the including tag
            raise LaunchError(str(error), element.location) from None
        raise


def _arg_names(element: Element, context: Context) -> frozenset[str]:
    return frozenset(attribute(arg, "name", context) for arg in element.inside("arg"))


_PROCESS = (
    "output respawn respawn_delay respawn_max_retries on_exit launch-prefix sigterm_timeout "
    "sigkill_timeout"
)
_NAME_VALUE = Tag("name value")
_NODE_CHILDREN = {
    "param": Tag("", "name value type from"),
    "remap": Tag("from to"),
    "env": _NAME_VALUE,
}
_PUSH_NAMESPACE = Tag("namespace", run=_push_ros_namespace)

ACTIONS: dict[str, Tag] = {
    "arg": Tag("name", "default description", {"choice": Tag("value")}, _declare_argument),
    "let": Tag("name value", run=_let),
    "node": Tag("exec", f"pkg name namespace args ros_args {_PROCESS}", _NODE_CHILDREN, run_node),
    "executable": Tag("cmd", f"name {_PROCESS}", {"env": _NAME_VALUE}, run_executable),
    "group": Tag("", "scoped", None, _group),
    "include": Tag("file", "", {"arg": _NAME_VALUE}, _include),
    "push_ros_namespace": _PUSH_NAMESPACE,
    "push-ros-namespace": _PUSH_NAMESPACE,
    "set_parameter": Tag("name value", run=_set_parameter),
    "set_env": Tag("name value", run=_set_env),
    "log": Tag("message", run=_log),
}
"""The subset of tags that ``ros2 launch`` (Jazzy) and this launcher read with one meaning."""

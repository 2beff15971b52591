# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The text of a URDF as a tree of elements, checked: its size, links, joints and numbers.

The parser of Pinocchio reads other white space and entities than a parser of XML, and where it
cannot read a number it drops an inertia or a limit with a line on stderr. It therefore gets the
tree that was checked here, written anew, not the text.
"""

import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from xml.parsers import expat

from ..errors import ModelError

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def tree_errors(root: ET.Element) -> Iterator[str]:
    """Yield an error for everything that keeps the links and joints from being one tree."""
    if root.tag != "robot":
        sdf = "; an SDF has to be converted, for instance by sdformat_urdf or sdf2urdf"
        yield f"the root element must be <robot>; given: <{root.tag}>{sdf * (root.tag == 'sdf')}"
        return
    links, joints = root.findall("link"), root.findall("joint")
    name_errors = [*_name_errors("link", links), *_name_errors("joint", joints)]
    if name_errors or not links:
        yield from name_errors or (
            "it has no links; where it only has macros of xacro, give the file that uses them",
        )
        return
    for joint in joints:
        yield from _joint_errors(joint)
    names = [str(link.get("name")) for link in links]
    for kind, elements in (("link", links), ("joint", joints)):
        counts = Counter(str(element.get("name")) for element in elements)
        for name in sorted(n for n, count in counts.items() if count > 1):
            yield f"two {kind}s are named '{name}'"
    yield from _connection_errors(root, names)


def _name_errors(kind: str, elements: list[ET.Element]) -> Iterator[str]:
    for number, element in enumerate(elements, 1):
        if not element.get("name"):
            yield f"the <{kind}> number {number} has no name; give it one"


def _joint_errors(joint: ET.Element) -> Iterator[str]:
    name, kind = joint.get("name"), joint.get("type")
    if kind not in JOINT_TYPES:
        yield f"joint '{name}' has the unknown type {kind!r}; known are {', '.join(JOINT_TYPES)}"
    for axis in joint.findall("axis"):
        if kind not in ("fixed", "floating") and axis.get("xyz") is None:
            attributes = ", ".join(axis.keys()) or "nothing"
            yield (
                f"the <axis> of joint '{name}' must give xyz, three numbers; it gives {attributes}"
            )
        direction = (axis.get("xyz") or "").split()
        if kind == "planar" and _is_numbers(" ".join(direction), 3, math.inf):
            x, y, z = (float(word) for word in direction)
            if x or y or not z:
                yield (
                    f"planar joint '{name}' moves in the plane perpendicular to its axis "
                    f"{' '.join(direction)}; accepted is the axis 0 0 1: turn the <origin> of the "
                    "joint and the frame of its child so that z is the normal of the plane"
                )
    for mimic in joint.findall("mimic"):
        if kind != "fixed" and mimic.get("joint") is None:
            yield f"joint '{name}' has a <mimic> that gives no joint"


def _connection_errors(root: ET.Element, link_names: list[str]) -> Iterator[str]:
    parent_of: dict[str, str] = {}
    mounts = _missing_mounts(root)
    all_links_exist = True
    for joint in root.findall("joint"):
        parent, child = _link_at(joint, "parent"), _link_at(joint, "child")
        for role, link in (("parent", parent), ("child", child)):
            if link not in link_names and not (role == "parent" and link in mounts):
                all_links_exist = False
                yield (
                    f"joint '{joint.get('name')}' has no <{role}> with a link"
                    if link is None
                    else f"the {role} link '{link}' of joint '{joint.get('name')}' does not exist; "
                    f"add a <link> of that name, or take the joint out"
                )
        if parent is None or child is None:
            continue
        if child in parent_of:
            yield (
                f"link '{child}' has two parents, '{parent_of[child]}' and '{parent}'; a URDF is a "
                "tree without closed loops"
            )
        parent_of[child] = parent
    if loop := _closed_loop(parent_of):
        yield f"the joints form a loop through {', '.join(map(repr, loop))}; a URDF is a tree"
    roots = [link for link in (*mounts, *link_names) if link not in parent_of]
    if len(roots) > 1 and all_links_exist:
        yield (
            f"the tree is disconnected: {', '.join(repr(r) for r in roots)} have no parent; "
            "connect them by joints so that one root is left"
        )


def _missing_mounts(root: ET.Element) -> list[str]:
    """Return the link that a robot without a root is fixed to and that the description lacks.

    ``world`` is often left out, and so is the link that a gripper or an arm is to be mounted on.
    """
    joints, links = root.findall("joint"), [str(x.get("name")) for x in root.findall("link")]
    children = {_link_at(joint, "child") for joint in joints}
    if any(link not in children for link in links):
        return []  # another root
    mounts = (joint for joint in joints if joint.get("type") == "fixed")
    parents = {parent for joint in mounts if (parent := _link_at(joint, "parent")) not in links}
    return [parent for parent in parents if parent is not None] if len(parents) == 1 else []


def _link_at(joint: ET.Element, role: str) -> str | None:
    element = joint.find(role)
    return None if element is None else element.get("link")


def _closed_loop(parent_of: Mapping[str, str]) -> list[str]:
    """Return the links of a loop, or none; each is followed to its root once."""
    visited_links: set[str] = set()
    for start in parent_of:
        path: list[str] = []
        link: str | None = start
        while link is not None and link not in visited_links:
            visited_links.add(link)
            path.append(link)
            link = parent_of.get(link)
        if link in path:
            return path[path.index(link) :]
    return []


LARGEST_TEXT = 32 * 2**20
"""Largest number of characters of a URDF; published ones have less than a million."""

LARGEST_DEPTH = 64
"""Largest nesting depth of elements; a URDF needs seven."""

MOST_LINKS = 2000
"""Largest number of links, fixed ones included; a robot has at most 256 degrees of freedom."""

LARGEST_NUMBER = 1e12
"""Largest length, mass or inertia, in SI units; beyond, the terms of the dynamics overflow."""

NOT_DYNAMICS = (
    "visual", "collision", "material", "transmission", "gazebo", "ros2_control", "sensor", "mjcf",
    "calibration", "safety_controller",
)  # fmt: skip
"""Elements without influence on the dynamics, at which parsers fail or warn."""

PRODUCTS = ("ixy", "ixz", "iyz")
"""Products of inertia, kg m^2; an inertia that gives none of them is diagonal."""

DEFAULT_NAME = "robot"
"""The name of a robot whose description gives none."""

# Blanks, and the comments that some put before the declaration.
_BEFORE_DECLARATION = re.compile(r"\A(?:\s|<!--(?:(?!-->).)*-->)*(?=<\?xml)|\A\s+", re.DOTALL)

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)

# The numbers of each element inside a joint or an inertial, and how many.
NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": dict.fromkeys(("damping", "friction", "armature"), 1),
    "mimic": dict.fromkeys(("multiplier", "offset"), 1),
}


def parse_description(xml: str) -> ET.Element:
    """Return the root element of a URDF text, names without their namespaces.

    Prefixes need not be declared, as Gazebo's often are not. Text that is not well-formed is read
    up to its first error.

    Raises:
        ModelError: the text exceeds a bound, or is not well-formed.
    """
    if len(xml) > LARGEST_TEXT:
        raise ModelError(f"it has {len(xml)} characters; at most {LARGEST_TEXT} are accepted")
    builder, parser, error = ET.TreeBuilder(), expat.ParserCreate(), ""
    depth = max_depth = link_count = 0

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, max_depth, link_count
        depth += 1
        max_depth = max(max_depth, depth)
        link_count += tag == "link" and depth == 2
        if depth <= LARGEST_DEPTH:
            builder.start(tag.rpartition(":")[2], attributes)

    def end_element(tag: str) -> None:
        nonlocal depth
        if depth <= LARGEST_DEPTH:
            builder.end(tag.rpartition(":")[2])
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = start_element, end_element
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(_BEFORE_DECLARATION.sub("", xml), True)  # where XML allows nothing
    except (expat.ExpatError, ValueError, LookupError) as failure:
        error = f"not well-formed XML: {failure}"
    if max_depth > LARGEST_DEPTH:
        error = f"its elements are nested {max_depth} deep; at most {LARGEST_DEPTH} are accepted"
    elif link_count > MOST_LINKS:
        error = f"it has {link_count} links; at most {MOST_LINKS} are accepted"
    if error:
        raise ModelError(error)
    return builder.close()


def dynamics_text(root: ET.Element) -> str:
    """Return a description as text for Pinocchio: what concerns the dynamics, in plain numbers."""
    description_copy = deepcopy(root)
    for parent in list(description_copy.iter()):
        for element in [child for child in parent if child.tag in NOT_DYNAMICS]:
            parent.remove(element)
    if not description_copy.get("name"):
        description_copy.set("name", DEFAULT_NAME)
    for link in description_copy.findall("link"):
        for inertial in link.findall("inertial"):
            if not has_content(inertial):
                link.remove(inertial)
            for inertia in inertial.findall("inertia"):
                inertia.attrib = dict.fromkeys(PRODUCTS, "0") | inertia.attrib
    for mount in _missing_mounts(description_copy):
        ET.SubElement(description_copy, "link", {"name": mount})
    leaders = {mimic.get("joint") for mimic in description_copy.iterfind("joint/mimic")}
    for joint in description_copy.findall("joint"):
        is_coupled = joint.get("name") in leaders or joint.find("mimic") is not None
        if joint.get("type") == "continuous" and is_coupled:  # their angles count turns
            joint.set("type", "revolute")
            for limit in joint.findall("limit") or [ET.SubElement(joint, "limit")]:
                limit.attrib |= {"lower": "-1e100", "upper": "1e100"}
        is_fixed = joint.get("type") == "fixed"
        for element in list(joint):
            is_unused = is_fixed and element.tag not in ("origin", "parent", "child")
            is_empty = element.tag == "dynamics" and not element.keys() & NUMBERS["dynamics"].keys()
            if is_unused or is_empty:
                joint.remove(element)
        if joint.get("type") in ("revolute", "prismatic") and joint.find("limit") is None:
            ET.SubElement(joint, "limit")
        for limit in joint.findall("limit"):
            for key in _missing_limits(limit):
                limit.set(key, "0")  # which is read as no limit
    for element in description_copy.iter():
        for key in NUMBERS.get(str(element.tag), {}).keys() & element.keys():
            element.set(key, " ".join(element.attrib[key].split()))
        if element.tag == "dynamics" and not {"damping", "friction"}.intersection(element.keys()):
            element.set("damping", "0")  # the parser refuses an element without either
    return ET.tostring(description_copy, encoding="unicode")


def completions(root: ET.Element) -> Iterator[str]:
    """Yield what :func:`dynamics_text` completes, in words."""
    if not root.get("name"):
        yield f"the <robot> has no name; it is called '{DEFAULT_NAME}'"
    for mount in _missing_mounts(root):
        yield f"the link '{mount}', to which the robot is fixed, is missing; it becomes the root"
    for link in root.findall("link"):
        for inertial in link.findall("inertial"):
            if not has_content(inertial):
                yield f"the <inertial> of link '{link.get('name')}' gives neither mass nor inertia"
            for inertia in inertial.findall("inertia"):
                if inertia.attrib and not inertia.attrib.keys() & set(PRODUCTS):
                    yield f"the <inertia> of link '{link.get('name')}' has no ixy, ixz, iyz: zeros"
    names = {joint.get("name") for joint in root.findall("joint")}
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed":
            continue
        for leader in {mimic.get("joint") for mimic in joint.findall("mimic")} - names:
            yield f"joint '{joint.get('name')}' mimics '{leader}', which is missing: it moves alone"
        if joint.get("type") in ("revolute", "prismatic") and joint.find("limit") is None:
            yield f"{joint.get('type')} joint '{joint.get('name')}' has no <limit>: it has no ends"
        for limit in joint.findall("limit"):
            for key in _missing_limits(limit):
                phrase = f"gives {limit.get(key)} as the" if limit.get(key) else "gives no"
                yield (
                    f"the <limit> of joint '{joint.get('name')}' {phrase} {key}, which is taken "
                    "for no limit"
                )


def has_content(inertial: ET.Element) -> bool:
    """Return whether an ``<inertial>`` gives anything but a frame or a density."""
    return any(part.keys() for tag in ("mass", "inertia") for part in inertial.findall(tag))


def _missing_limits(limit: ET.Element) -> Iterator[str]:
    for key in ("effort", "velocity"):
        text = limit.get(key)
        if text is None or (_is_numbers(text, 1, math.inf) and float(text) < 0.0):
            yield key


def number_errors(root: ET.Element) -> Iterator[str]:
    """Yield an error for every number of the dynamics that is none, or is not finite."""
    for part in root:
        gravity = part.get("gravity") if part.tag == "mjcf" else None
        if gravity is not None and not _is_numbers(gravity, 3, LARGEST_NUMBER):
            yield (
                f"gravity of <mjcf> must be 3 finite numbers of at most {LARGEST_NUMBER:g}; "
                f"given: {gravity[:80]!r}"
            )
        label = f"{part.tag} '{part.get('name')}'"
        if part.tag == "joint":
            # Of a fixed joint nothing else has a meaning.
            elements = part.findall("origin") if part.get("type") == "fixed" else list(part)
        else:
            elements = part.findall("inertial/*")
        for element in elements:
            for key, count in NUMBERS.get(str(element.tag), {}).items():
                text = element.get(key)
                if text is None:
                    continue
                # A limit may be as large as it likes.
                largest = math.inf if element.tag in ("axis", "limit") else LARGEST_NUMBER
                if not _is_numbers(text, count, largest):
                    expected_text = "a finite number" if count == 1 else f"{count} finite numbers"
                    bound = f" of at most {largest:g}" if math.isfinite(largest) else ""
                    yield (
                        f"{key} of <{element.tag}> of {label} must be {expected_text}{bound}; "
                        f"given: {text[:80]!r}"
                    )


def _is_numbers(text: str, count: int, largest: float) -> bool:
    words = text.split()
    return len(words) == count and all(
        _NUMBER.fullmatch(word) and abs(float(word)) < math.inf and abs(float(word)) <= largest
        for word in words
    )

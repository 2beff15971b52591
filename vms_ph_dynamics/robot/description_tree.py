# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The links and joints of a URDF: their names, and that they form one tree."""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

_HAVE_AXES = ("revolute", "continuous", "prismatic", "planar")


def tree_errors(root: ET.Element) -> Iterator[str]:
    """Yield an error for everything that keeps the links and joints from being one tree."""
    if root.tag != "robot":
        yield f"the root element must be <robot>; given: <{root.tag}>"
        return
    links, joints = root.findall("link"), root.findall("joint")
    nameless = [*_nameless("link", links), *_nameless("joint", joints)]
    if nameless or not links:
        yield from nameless or ("it has no links",)
        return
    for joint in joints:
        yield from _joint_errors(joint, joints)
    names = [str(link.get("name")) for link in links]
    for kind, given in (("link", names), ("joint", [str(joint.get("name")) for joint in joints])):
        for name in sorted(n for n, count in Counter(given).items() if count > 1):
            yield f"two {kind}s are named '{name}'"
    yield from _connection_errors(joints, names)


def _nameless(kind: str, elements: list[ET.Element]) -> Iterator[str]:
    for number, element in enumerate(elements, 1):
        if not element.get("name"):
            yield f"the <{kind}> number {number} has no name; give it one"


def _joint_errors(joint: ET.Element, joints: list[ET.Element]) -> Iterator[str]:
    name, kind = joint.get("name"), joint.get("type")
    if kind not in JOINT_TYPES:
        yield f"joint '{name}' has the unknown type {kind!r}; known are {', '.join(JOINT_TYPES)}"
    for axis in joint.findall("axis"):
        if kind in _HAVE_AXES and axis.get("xyz") is None:
            given = ", ".join(axis.keys()) or "nothing"
            yield f"the <axis> of joint '{name}' must give xyz, three numbers; it gives {given}"
    for mimic in joint.findall("mimic"):
        leader = mimic.get("joint")
        if kind != "fixed" and leader is None:
            yield f"joint '{name}' has a <mimic> that gives no joint"
        elif kind != "fixed" and leader not in {other.get("name") for other in joints}:
            yield f"'{name}' mimics '{leader}': there is no moving joint '{leader}'"


def _connection_errors(joints: list[ET.Element], links: list[str]) -> Iterator[str]:
    parent_of: dict[str, str] = {}
    mounts = missing_mounts(joints, links)
    whole = True
    for joint in joints:
        ends = {}
        for role in ("parent", "child"):
            ends[role] = link = _end(joint, role)
            if link not in links and not (role == "parent" and link in mounts):
                whole = False
                yield (
                    f"joint '{joint.get('name')}' has no <{role}> with a link"
                    if link is None
                    else f"the {role} link '{link}' of joint '{joint.get('name')}' does not exist; "
                    f"add a <link> of that name, or take the joint out"
                )
        parent, child = ends["parent"], ends["child"]
        if parent is None or child is None:
            continue
        if child in parent_of:
            yield (
                f"link '{child}' has two parents, '{parent_of[child]}' and '{parent}'; a URDF is a "
                "tree without closed loops"
            )
        parent_of[child] = parent
    loop = _loop(parent_of)
    if loop:
        yield f"the joints form a loop through {', '.join(map(repr, loop))}; a URDF is a tree"
    roots = [link for link in (*mounts, *links) if link not in parent_of]
    if len(roots) > 1 and whole:
        yield (
            f"the tree is disconnected: {', '.join(repr(r) for r in roots)} have no parent; "
            "connect them by joints so that one root is left"
        )


def missing_mounts(joints: list[ET.Element], links: list[str]) -> list[str]:
    """Return the link that a robot without a root is fixed to and that the description lacks.

    ``world`` is often left out, and so is the link that a gripper or an arm is to be mounted on.
    """
    children = {_end(joint, "child") for joint in joints}
    if any(link not in children for link in links):
        return []  # another root
    fixed = (joint for joint in joints if joint.get("type") == "fixed")
    parents = {parent for joint in fixed if (parent := _end(joint, "parent")) not in links}
    return [parent for parent in parents if parent is not None] if len(parents) == 1 else []


def _end(joint: ET.Element, role: str) -> str | None:
    element = joint.find(role)
    return None if element is None else element.get("link")


def _loop(parent_of: Mapping[str, str]) -> list[str]:
    """Return the links of a loop, or none; each is followed to its root once."""
    done: set[str] = set()
    for start in parent_of:
        way: list[str] = []
        link: str | None = start
        while link is not None and link not in done:
            done.add(link)
            way.append(link)
            link = parent_of.get(link)
        if link in way:
            return way[way.index(link) :]
    return []

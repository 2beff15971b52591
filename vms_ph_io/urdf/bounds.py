"""Bounds on the size of a robot description, so that no file can hang or crash a program."""

from contextlib import suppress
from xml.parsers import expat

LARGEST_TEXT = 32 * 2**20
"""Largest number of characters of a URDF; published ones have less than a million."""

DEEPEST = 64
"""Largest nesting depth of elements; a URDF needs seven."""

MOST_LINKS = 2000
"""Largest number of links, fixed ones included; a robot has at most 256 degrees of freedom."""


def exceeded(xml: str) -> str:
    """Return a message about the bound that a text exceeds, or an empty string.

    Text that is not well-formed is checked up to its first error.
    """
    if len(xml) > LARGEST_TEXT:
        return f"it has {len(xml)} characters; at most {LARGEST_TEXT} are accepted"
    depth = deepest = links = 0

    def start(tag: str, _attributes: dict[str, str]) -> None:
        nonlocal depth, deepest, links
        depth += 1
        deepest = max(deepest, depth)
        links += tag == "link" and depth == 2

    def end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    with suppress(expat.ExpatError, ValueError):  # reported by the parser that reads the text
        parser.Parse(xml, True)
    if deepest > DEEPEST:
        return f"its elements are nested {deepest} deep; at most {DEEPEST} are accepted"
    if links > MOST_LINKS:
        return f"it has {links} links; at most {MOST_LINKS} are accepted"
    return ""

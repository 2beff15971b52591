"""How large a robot description may be, so that no file can hang or crash a program."""

from contextlib import suppress
from xml.parsers import expat

LARGEST_TEXT = 32 * 2**20
"""Characters of a URDF; the largest published ones have less than a million."""

DEEPEST = 64
"""Elements within each other; a URDF has no use for more than seven."""

MOST_LINKS = 2000
"""Most of them fixed to others, as fasteners are: a robot has at most 256 degrees of freedom."""


def exceeded(xml: str) -> str:
    """Return which bound a text exceeds, in words; empty where it exceeds none.

    Text that is not well-formed is judged up to the place where it stops to be.
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
    with suppress(expat.ExpatError, ValueError):  # the parser that reads it says what is wrong
        parser.Parse(xml, True)
    if deepest > DEEPEST:
        return f"its elements are nested {deepest} deep; at most {DEEPEST} are accepted"
    if links > MOST_LINKS:
        return f"it has {links} links; at most {MOST_LINKS} are accepted"
    return ""

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Splitting ``cmd``, ``args`` and ``ros_args`` into words, by the rules of ``ros2 launch``.

Only text is split, with the quoting of a shell; what a substitution gives is never split, so a path
with a space stays one word. A word ends where text has a space, also next to a substitution.
"""

import shlex

from vms_ph_embedded.launch.attributes import Text
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.errors import LaunchError
from vms_ph_embedded.launch.grammar import Template


def split(line: Text) -> tuple[Text, ...]:
    """The words of a command line, each with its substitutions still in it.

    Raises:
        LaunchError: A quote is not closed within its piece of text.
    """
    words: list[Template] = []
    word: Template = ()
    for part in line.template:
        if not isinstance(part, str):
            word = (*word, part)
            continue
        try:
            pieces = shlex.split(part)
        except ValueError as error:
            raise LaunchError(
                f"{part!r} cannot be split into words: {error}; a quote cannot reach across a "
                "substitution",
                line.location,
            ) from None
        if not pieces:  # only spaces: they end the word, which may be empty
            words.append(word)
            word = ()
            continue
        if part[0].isspace() and word:
            words.append(word)
            word = ()
        word = (*word, pieces[0])
        if len(pieces) > 1:
            words.append(word)
            words.extend((piece,) for piece in pieces[1:-1])
            word = (pieces[-1],)
        if part[-1].isspace():
            words.append(word)
            word = ()
    if word:
        words.append(word)
    return tuple(Text(template, line.location) for template in words)


def evaluate(words: tuple[Text, ...], context: Context) -> list[str]:
    """The words with their substitutions carried out."""
    return [word.evaluate(context) for word in words]

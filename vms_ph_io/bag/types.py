# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Message types: their definitions and hashes."""

from pathlib import Path
from typing import cast

from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import FieldDesc, Typesdict
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore

from ..installation import PACKAGE, share_directory
from .errors import BagError
from .messages import SEPARATOR, MessageDefinition


class MessageTypes:
    """The known message types: those of ROS 2 Jazzy and registered ones."""

    def __init__(self) -> None:
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self._texts: dict[str, str] = {}

    @classmethod
    def of_project(cls) -> "MessageTypes":
        """Return the standard types and those of this project, ``vms_ph/msg``."""
        types = cls()
        types.register_folder(PACKAGE, share_directory() / "msg")
        return types

    def register_folder(self, package: str, folder: Path) -> tuple[str, ...]:
        """Register the types of a folder of .msg files.

        Args:
            package: Package of the types.
            folder: For instance the ``msg`` folder in the share folder of a package.

        Returns:
            The names of the types.

        Raises:
            BagError: The folder contains no .msg file, or one is malformed, or a type is registered
                with another definition.
        """
        if not (files := sorted(folder.glob("*.msg"))):
            raise BagError(f"there are no .msg files in {folder}")
        texts = {f"{package}/msg/{file.stem}": file.read_text(encoding="utf-8") for file in files}
        types: Typesdict = {}
        for name, text in texts.items():
            try:
                types.update(get_types_from_msg(text, name))
            except TypesysError as error:
                raise BagError(f"the definition of {name} is malformed: {error}") from None
        try:
            self.store.register(types)
        except TypesysError as error:
            raise BagError(f"{error} (registering {', '.join(texts)})") from None
        self._texts.update(texts)
        return tuple(texts)

    def definition(self, type_name: str) -> MessageDefinition:
        """Return the definition of a type, with those of all types it uses.

        Raises:
            BagError: The type is unknown.
        """
        if type_name not in self.store.fielddefs:
            raise BagError(
                f"message type {type_name!r} is not known; register its .msg file, or write it as "
                "in 'sensor_msgs/msg/JointState'"
            )
        return MessageDefinition(type_name, self._text(type_name), self._hash(type_name))

    def _text(self, type_name: str) -> str:
        """Return the registered text, with comments, or a generated one."""
        generated, _ = self.store.generate_msgdef(type_name, ros_version=2)
        definition, *used_types = generated.split(SEPARATOR)
        sections = [self._texts.get(type_name, definition)]
        for section in used_types:
            heading, _, body = section.partition("\n")
            package, _, name = heading.removeprefix("MSG: ").rpartition("/")
            body = self._texts.get(f"{package.removesuffix('/msg')}/msg/{name}", body)
            sections.append(f"{heading}\n{body}")
        return SEPARATOR.join(section.rstrip("\n") + "\n" for section in sections)

    def _hash(self, type_name: str) -> str:
        """Return the hash as computed by ROS 2.

        ROS 2 treats ``char`` as ``uint8``; the type store has it as a separate type.
        """
        store = get_typestore(Stores.EMPTY)
        store.fielddefs = {
            name: (constants, [(field, _without_char(kind)) for field, kind in fields])
            for name, (constants, fields) in self.store.fielddefs.items()
        }
        return store.hash_rihs01(type_name)


def _without_char(description: FieldDesc) -> FieldDesc:
    kind, content = description
    if kind == Nodetype.BASE and content == ("char", 0):
        return cast(FieldDesc, (kind, ("uint8", 0)))
    if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        item, count = cast("tuple[FieldDesc, int]", content)
        return cast(FieldDesc, (kind, (_without_char(item), count)))
    return description

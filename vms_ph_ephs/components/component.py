# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The base class of all primitive systems, and the kinds of boxes that their parameters determine.

A component of such a kind is fully determined by its parameters: files and compiled solvers need
no Python function for it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import Parameter as Argument
from inspect import signature
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from vms_ph_dynamics import Array

from ..errors import StructureError
from ..patterns import Interface, Port, width
from ..quantities import LieGroup

States = tuple[Array, ...]
"""The states at the ports of a component, one array for each port."""

# Number of random states and efforts at which a structure is checked.
CHECK_SAMPLES = 8

# Factors of sampled states and efforts: a law may hold for slow motions and fail for fast ones.
SAMPLE_SCALES = (1.0, 30.0, 1e3, 1e-2)

# Rounding of products of samples, which are of order one to ten.
ROUNDING = 1e-10


@dataclass(frozen=True)
class NumberSpec:
    """Unit, meaning and limits of a number that a kind of box takes.

    It annotates an argument, as in ``mass: Annotated[float, NumberSpec("kg", above=0.0)]``.

    Args:
        unit: SI unit; empty for a number without a unit.
        meaning: in words. If it is empty, the name of the argument is shown instead.
        least: smallest accepted value.
        above: the value must be above this.
        most: largest accepted value.
    """

    unit: str = ""
    meaning: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None

    def check(self, name: str, owner: str, value: Any) -> None:
        """Check that a value is accepted.

        Args:
            name: of the argument, for the message.
            owner: name of the kind of box, for the message.
            value: the value.

        Raises:
            StructureError: the value is not accepted; the message says which values are.
        """
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        limits = (("above", self.above), ("at least", self.least), ("at most", self.most))
        if (
            not is_number
            or not np.isfinite(value)
            or (self.least is not None and value < self.least)
            or (self.above is not None and value <= self.above)
            or (self.most is not None and value > self.most)
        ):
            limit_texts = [f"{word} {limit:g}" for word, limit in limits if limit is not None]
            raise StructureError(
                f"the {name} of a {owner} must be {' and '.join(['a finite number', *limit_texts])}"
                f"{f' ({self.unit})' if self.unit else ''}; given: {value!r}"
            )


@dataclass(frozen=True)
class ParameterSpec:
    """A parameter of a kind of box, read from the signature of the class or function that makes it.

    Attributes:
        name: of the argument.
        type: of its value, without annotations.
        spec: unit, meaning and limits; None if the argument has no ``NumberSpec``.
        required: whether there is no default.
    """

    name: str
    type: Any
    spec: NumberSpec | None
    required: bool

    @property
    def is_number(self) -> bool:
        """Whether its value is one number."""
        return self.type in (float, float | None)


@dataclass(frozen=True)
class Kind:
    """A kind of box that its parameters determine.

    Attributes:
        name: in files, tables and messages.
        meaning: in words, with its ports.
        make: takes the parameters and returns the box.
    """

    name: str
    meaning: str
    make: Callable[..., Any]

    @cached_property
    def parameters(self) -> Mapping[str, ParameterSpec]:
        """Its parameters by name, from the signature of ``make``."""
        function = vars(self.make)["__init__"] if isinstance(self.make, type) else self.make
        annotations, types = get_type_hints(function, include_extras=True), get_type_hints(function)
        parameters = {}
        for name, argument in signature(self.make).parameters.items():
            if types[name] is LieGroup:
                continue  # bodies in files are those of SE(3)
            hints = (annotations[name], *get_args(annotations[name]))
            number_spec = next((n for a in hints for n in getattr(a, "__metadata__", ())), None)
            is_required = argument.default is Argument.empty
            parameters[name] = ParameterSpec(name, types[name], number_spec, is_required)
        return parameters


KINDS: dict[str, Kind] = {}
"""Every kind of box by its name."""

_KIND_OF_CLASS: dict[type, Kind] = {}

M = TypeVar("M", bound=Callable[..., Any])


def kind(name: str, meaning: str, component_class: type | None = None) -> Callable[[M], M]:
    """Register a class or function as the maker of a kind of box, and check its numbers.

    Args:
        name: of the kind.
        meaning: in words, with its ports.
        component_class: class of the component that a decorated function returns; components of
            this class are then of this kind.
    """

    def register(make: M) -> M:
        box_kind = Kind(name, meaning, make)
        if isinstance(make, type):
            _KIND_OF_CLASS[make] = box_kind
            setattr(make, "__init__", _with_checks(vars(make)["__init__"], box_kind, 1))  # noqa: B010
        else:
            box_kind = Kind(name, meaning, _with_checks(make, box_kind, 0))
        if component_class is not None:
            _KIND_OF_CLASS[component_class] = box_kind
        KINDS[name] = box_kind
        return box_kind.make  # type: ignore[return-value]

    return register


def _with_checks(function: Callable[..., Any], box_kind: Kind, skip: int) -> Callable[..., Any]:
    """Return a function that checks the numbers among its arguments before it runs."""

    @wraps(function)
    def checked_function(*arguments: Any, **keywords: Any) -> Any:
        parameters = box_kind.parameters
        for name, value in (*zip(parameters, arguments[skip:], strict=False), *keywords.items()):
            parameter = parameters.get(name)
            is_optional = value is None and parameter is not None and not parameter.required
            if parameter is not None and parameter.spec and parameter.is_number and not is_optional:
                parameter.spec.check(name, box_kind.name, value)
        return function(*arguments, **keywords)

    return checked_function


class NumericOps:
    """The operations of ``Algebra`` of ``vms_ph_ephs.symbolic``, on numbers.

    A law that is written with these operations can be evaluated with numbers and with expressions.
    """

    @staticmethod
    def matrix(rows: Any) -> Array:
        """Return a matrix of a list of rows."""
        return np.array(rows, dtype=np.float64)

    @staticmethod
    def hstack(blocks: Sequence[Array]) -> Array:
        """Return matrices side by side."""
        return np.hstack(blocks)

    @staticmethod
    def product(matrix: Array, entries: Sequence[float]) -> list[float]:
        """Return the entries of a matrix times a column."""
        product: list[float] = (matrix @ entries).tolist()
        return product

    @staticmethod
    def constant(array: Array) -> Array:
        """Return the array."""
        return array

    @staticmethod
    def function(name: str, x: Any) -> Any:
        """Return sin, cos, exp, tanh, sqrt or abs of a number."""
        return getattr(np, name)(x)

    @staticmethod
    def choose(cases: Sequence[tuple[Any, Any]], otherwise: Any) -> Any:
        """Return the value of the first case (guard, value) whose guard is positive."""
        return next((value for guard, value in cases if guard > 0.0), otherwise)


NUMERIC = NumericOps()


class Component(ABC):
    """A primitive system, given by one geometric structure.

    Flows and efforts of its power ports are stacked in the order of the interface. A flow is
    positive into the component; its power is ``effort . flow``, W.

    Attributes:
        interface: its ports.
        reads: the ports whose state its structure depends on, in the order of the arguments.
        width: number of flows of all power ports.
        slices: of every power port among them.
        is_entropy: (width,) one for flows of entropy, else zero.

    Args:
        interface: its ports.
        reads: the ports whose state its structure depends on.

    Raises:
        StructureError: it reads a port that it does not have.
    """

    def __init__(self, interface: Interface, reads: Iterable[str] = ()) -> None:
        self.interface: Mapping[str, Port] = MappingProxyType(dict(interface))
        self.reads = tuple(reads)
        for name in self.reads:
            if name not in self.interface:
                raise StructureError(
                    f"the structure reads the state of '{name}', but the ports are "
                    f"{', '.join(self.interface)}"
                )
        self.width = width(self.interface)
        self.slices: dict[str, slice] = {}
        self.is_entropy = np.zeros(self.width)
        start = 0
        for name, port in self.interface.items():
            if port.kind == "power":
                stop = start + port.quantity.space.dimension
                self.slices[name] = slice(start, stop)
                self.is_entropy[start:stop] = port.quantity.name == "entropy"
                start = stop

    @abstractmethod
    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Raise an error if the structure violates a law.

        Args:
            name: name of the box, for the error.
            theta_0: temperature of the environment, K.
            rng: of the samples.

        Raises:
            StructureError: a law is violated; the message names it, the box and the ports.
        """

    def to_parameters(self) -> Mapping[str, Any] | None:
        """Return the parameters that determine the component, with the name of its ``kind``.

        The result is None if the component is not fully determined by parameters, as one that is
        given by Python functions. A subclass is not determined by the parameters of its base class.
        If every component of a system has parameters, solvers and files need no Python function.
        """
        box_kind = _KIND_OF_CLASS.get(type(self))
        if box_kind is None:
            return None
        values = {
            name: self.interface if name == "ports" else getattr(self, name)
            for name in box_kind.parameters
        }
        return {"kind": box_kind.name, **values}

    def port_at(self, index: int) -> str:
        """Return the power port that an entry of the stacked flows belongs to."""
        return next(name for name, rows in self.slices.items() if rows.start <= index < rows.stop)

    def random_states(self, rng: np.random.Generator) -> list[Array]:
        """Return a sampled state for every port in ``reads``."""
        return [self.interface[name].quantity.space.random(rng) for name in self.reads]

    def random_efforts(self, rng: np.random.Generator, theta_0: float) -> Array:
        """Return sampled efforts, with every temperature above half of theta_0."""
        efforts = rng.uniform(-1.0, 1.0, self.width)
        return np.where(self.is_entropy > 0.0, 0.5 * theta_0 * efforts, efforts)


def matrix_of(value: Any, shape: tuple[int, int], label: str) -> Array:
    """Return a value as a matrix of finite numbers.

    Raises:
        StructureError: the value has another shape or is not finite.
    """
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.shape != shape:
        raise StructureError(f"{label} must have shape {shape}; given: shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise StructureError(f"{label} must be finite; given: {matrix.tolist()}")
    return matrix

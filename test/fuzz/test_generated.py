# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Structures that hypothesis generates: patterns, YAML values, and values of parameters."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import yaml
from fuzz.surfaces.cdr import types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded.commands.message_text import parse, set_fields, to_plain
from vms_ph_embedded.interfaces.messages import deserialize, serialize
from vms_ph_ephs import Pattern, entropy, momentum, power, state

_FIXED = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=4)
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@_FIXED
@given(st.integers(0, 10**6), st.data())
def test_any_value_of_a_field_is_taken_or_refused(number: int, data: st.DataObject) -> None:
    kind = types()[number % len(types())]
    names = st.sampled_from([*kind.get_fields_and_field_types(), "none"])
    text = yaml.safe_dump(data.draw(st.dictionaries(names, _values, max_size=3)))
    with suppress(VmsPhError):
        message = set_fields(kind(), parse(text))
        assert to_plain(deserialize(serialize(message), kind)).keys() == to_plain(message).keys()


@_FIXED
@given(_values, st.integers(0, 10**6))
def test_any_value_of_a_parameter_is_taken_or_refused(value: Any, number: int) -> None:
    from fuzz.surfaces.services import _holders

    holder = _holders()[number % len(_holders())]
    name = sorted(holder._parameters)[number % len(holder._parameters)]
    with suppress(TypeError, ValueError, AssertionError):  # no value of any parameter
        message = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[message])
        answer = holder.services[SetParameters](request, SetParameters.Response()).results[0]
        assert answer.successful or answer.reason
        now = holder.get_parameter(name).value
        assert not isinstance(now, float) or math.isfinite(now)


_PORTS = (power(momentum), state(momentum), power(entropy), state(entropy))
_names = st.sampled_from(("a", "b", "c", ""))
_boxes = st.dictionaries(_names, st.dictionaries(_names, st.sampled_from(_PORTS), max_size=2))
_ends = st.tuples(_names, _names).map(lambda pair: ".".join(part for part in pair if part))


@_FIXED
@given(
    _boxes,
    st.dictionaries(_names, st.lists(_ends, max_size=4) | st.text(max_size=3), max_size=3),
    st.lists(_names, max_size=2),
)
def test_any_pattern_is_sound_or_refused(
    boxes: dict[str, Any], junctions: dict[str, Any], outer: list[str]
) -> None:
    with suppress(VmsPhError):
        pattern = Pattern(boxes, junctions, outer)
        ends = [f"{box}.{port}" for box, interface in boxes.items() for port in interface]
        assert all(pattern.junction_of(end) in junctions for end in ends)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The grammar of substitutions, by example and on arbitrary text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vms_ph_embedded.launch import LaunchError, grammar
from vms_ph_embedded.launch.grammar import Call


def call(name: str, *arguments: object) -> Call:
    return Call(name, tuple((a,) if isinstance(a, str | Call) else a for a in arguments))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("",)),
        ("plain", ("plain",)),
        ("$0 costs $", ("$0 costs $",)),
        ("a$(var x)b", ("a", call("var", "x"), "b")),
        ("$(env NAME fallback)", (call("env", "NAME", "fallback"),)),
        ("$(env NAME '')", (call("env", "NAME", ()),)),
        ("$(var a$(var b)c)", (call("var", ("a", call("var", "b"), "c")),)),
        ("$(command 'echo \"a b\"')", (call("command", 'echo "a b"'),)),
        (r"$(eval '\'a\' == \'b\'')", (call("eval", "'a' == 'b'"),)),
        (r"\$(var x)", ("$(var x)",)),
        (r"$(var a\)b)", (call("var", "a)b"),)),
        (r"C:\\dir", (r"C:\dir",)),
        ("$(find-pkg-share vms_ph)/urdf", (call("find-pkg-share", "vms_ph"), "/urdf")),
        # Within quotes the arguments of a nested substitution cannot be quoted again.
        ("$(var \"x $(var 'a b')\")", (call("var", ("x ", call("var", "'a", "b'"))),)),
    ],
)
def test_text_is_split_as_ros2_splits_it(text: str, expected: grammar.Template) -> None:
    assert grammar.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    ["$(var", "$(var x", "$( var x)", "$(var  x)", "$(var x )", "$(var )", "$()", "$(2x)",
     "$(var 'x)", "$(var (x))", 'a $(var "x"y)', "$(var\tx)", r"$(var \\)"],
)  # fmt: skip
def test_a_malformed_substitution_is_quoted_in_the_message(text: str) -> None:
    with pytest.raises(LaunchError, match=r"substitution .*\$\(.* is malformed: "):
        grammar.parse(text)


@given(st.text(alphabet="$()'\"\\ abv-1\n"))
def test_any_text_is_either_split_or_refused_with_a_sentence(text: str) -> None:
    try:
        template = grammar.parse(text)
    except LaunchError as error:
        problem = str(error)
    else:
        problem = ""
        assert grammar.is_plain(template) or "$(" in text
    assert not problem or "malformed" in problem


@given(st.text().filter(lambda text: "$" not in text and "\\" not in text))
def test_text_without_dollar_and_backslash_stays_as_it_is(text: str) -> None:
    assert "".join(grammar.parse(text)) == text  # type: ignore[arg-type]

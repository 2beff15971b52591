# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What an MJCF file may not have is refused in a sentence."""

from pathlib import Path

import pytest
from mjcf_texts import HAND, mjcf

from vms_ph_dynamics import ModelError, VMSModel, VmsPhError
from vms_ph_io.descriptions.mjcf import Worker, mjcf_to_urdf

BODY = '<body name="link"><joint name="j"/><geom size="0.1"/></body>'


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        (
            mjcf('<body><joint name="hip" type="ball"/><geom size="1"/></body>'),
            "'hip': ball joints",
        ),
        (mjcf('<body><geom size="1"/></body>'), "no joint that moves a body"),
        (
            mjcf(
                "".join(
                    f'<body name="{n}"><freejoint/><geom size="1"/><body><joint/><geom size="1"/>'
                    "</body></body>"
                    for n in "ab"
                )
            ),
            "several robots: 'a', 'b'",
        ),
        ("<mujoco><worldbody>", "robot.xml is not well-formed XML: no element found"),
        ("<mujoco><wheel/></mujoco>", "cannot be compiled by MuJoCo: .*wheel"),
        (mjcf(f'<replicate count="1e9">{BODY}</replicate>'), "more than 200000 elements"),
        (mjcf(f'<replicate count="nan">{BODY}</replicate>'), "cannot be compiled|elements"),
        (mjcf("<body>" * 600 + "</body>" * 600), "nested more than 512 deep"),
        (mjcf('<body><flexcomp name="cloth"/></body>'), "<flexcomp> 'cloth' is deformable"),
        (mjcf('<include file="robot.xml"/>'), "robot.xml includes itself"),
        (mjcf('<include file="/dev/zero"/>'), "/dev/zero is not a file"),
        (
            mjcf(
                '<body><joint/><geom type="mesh" mesh="m"/></body>',
                '<asset><mesh name="m" file="none.stl"/></asset>',
            ),
            "none.stl",
        ),
        (
            mjcf(
                '<body><joint/><geom type="mesh" mesh="m"/></body>',
                '<asset><mesh name="m" file="/dev/zero" content_type="model/stl"/></asset>',
            ),
            "/dev/zero is not a file",
        ),
        (
            mjcf(BODY, '<asset><mesh name="m" builtin="sphere" params="5000"/></asset>'),
            "params of <mesh> must be at most 100",
        ),
        (mjcf(BODY, '<option gravity="0 1e308 0"/>'), "gravity of <mjcf> must|cannot be comp"),
        (
            mjcf('<body pos="0 0 nan"><joint/><geom size="1"/></body>'),
            r"xyz of <origin> of .* must be 3 finite numbers|cannot be",
        ),
        # MuJoCo takes this name for a format, and ends its process.
        (mjcf('<body name="%n%n%n"><body name="%n%n%n"/></body>'), "cannot be compiled by MuJoCo"),
    ],
)
def test_what_is_not_covered_is_refused_in_a_sentence(
    xml: str, said: str, tmp_path: Path, worker: Worker
) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(xml)
    if "%n" in xml:
        with Worker() as own, pytest.raises(ModelError, match=said) as found:
            own.convert(path)
    else:
        with pytest.raises(ModelError, match=said) as found:
            VMSModel.from_urdf(worker.convert(path))
    assert "defect" not in str(found.value)


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(HAND)
    with Worker() as own:
        with pytest.raises(ModelError, match=r"takes longer than 0\.001 s"):
            own.convert(path, 0.001)
        assert not own.is_alive


def test_without_mujoco_the_extra_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shadow"
    folder.mkdir()
    (folder / "mujoco.py").write_text("raise ImportError('none here')")
    monkeypatch.syspath_prepend(str(folder))
    path = tmp_path / "robot.xml"
    path.write_text(HAND)
    with pytest.raises(VmsPhError, match=r"pip install 'vms-ph\[mjcf\]'"):
        mjcf_to_urdf(path)

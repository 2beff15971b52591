# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Calls of everything that the C++ core offers to Python, right and wrong, in a process of its own.

    python test/native/binding_calls.py each
    python test/native/binding_calls.py random SEED COUNT

The last line printed is what was called last, with its arguments: where the process ends by a
signal, or a sanitizer ends it, that line names the call. A call may return or raise, no more.
"""

import inspect
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

from vms_ph_controllers.laws.twinned_controller import core_model
from vms_ph_dynamics import VMSModel
from vms_ph_ephs import assemble
from vms_ph_io import robots
from vms_ph_studies.benchmarks.ephs import four_bar, four_bar_state

ROBOTS = ("panda", "omnidirectional_panda", "hextilt")
SCHEMES = ("projected_rk4", "projected_midpoint", "discrete_gradient", "rkmk4")

REFUSALS = (TypeError, ValueError, IndexError, OverflowError, RuntimeError, MemoryError)
"""What a call may raise; KeyError and ModelError are among them by their bases."""

# These judge what they are given: they return that it is none, or the safe output.
JUDGES = re.compile(
    r"Law\.(reset|resume|update|carry_load)|"
    r"Dynamics\.(rate|state|energy_derivatives)|ClosedLoop\.run|StatePlausibility\.judge"
)

# These take any number of states, or one effort for all of them.
OF_ANY_COUNT = (
    "Batch.rates",
    "Batch.rate_derivatives",
    "Batch.evaluate",
    "Dynamics.mass_rates",
    "run_batch",
)

Call = Callable[..., object]


class Kit:
    """One robot with an object of every class, and the right arguments of every call.

    Attributes:
        calls: every function, method, initialiser and setter by its name, with the object.
        right: arguments that each accepts.
    """

    def __init__(self, native: ModuleType, name: str, scheme: str) -> None:
        model = _model(name)
        self.native, self.name = native, name
        robot = core_model(native, model)
        nv, n, b = robot.nv, robot.n, robot.b
        q = model.configuration(robots.get(name).home)
        v, torque, wrench = 0.1 * np.ones(nv), np.ones(n), np.ones(b)
        many_q, many_v = np.stack([q, q, q]), np.stack([v, v, v])
        frame, dt = model.tree.pinocchio.nframes - 1, 1e-3
        matrix = np.eye(b) if b else np.eye(6)
        large = np.full(len(matrix), 500.0)
        allocation = native.Allocation.of_matrix(matrix, -large, large)
        dynamics, batch = native.Dynamics(robot), native.Batch(robot, 2)
        stepper = native.Scheme(robot, scheme)
        state, ports = stepper.begin(q, v), native.Ports(robot, torque)
        loop = native.ClosedLoop(stepper, 1e-12)
        usual = "DecoupledVMSController" if b else "TaskSpaceIDAPBC"
        law, shaped = native.make_law(usual, robot), native.make_law("CartesianImpedance", robot)
        pushing = native.make_law("PushingImpedance", robot)
        task_space = native.make_law("TaskSpaceIDAPBC", core_model(native, _model("panda")))
        supervisor = native.Supervisor(robot, shaped)
        algebra = native.SampledAlgebra(robot)
        command = law.update(q, v, dt)
        parts = _mechanism_parts(native)
        x = _MECHANISM[1]
        mechanism = native.Mechanism(**parts)
        _, result = stepper.step(state, ports, 0.0, dt)
        pinocchio = model.tree.pinocchio
        mimics = [(k, m.leader, m.multiplier, m.offset) for k, m in model.tree.mimics.items()]
        square = np.eye(nv)
        immersed = ("", np.zeros(36), 0.1, np.zeros(3), np.zeros(6), np.zeros(6))
        immersed = (pinocchio.frames[frame].name, *immersed[1:])
        ask = (None, None, None, None, q[-n:], None)
        span = (torque, wrench, 0.0, dt, 0, 3)
        one, other, point = (q,), (q, v), np.zeros(3)
        task = [(frame, 0, 1), (frame, 3, 2)], np.eye(nv - 3, nv), 1e-3

        def hold(_q: object, _v: object, _dt: float) -> object:
            return command

        self.objects = {
            "Model": robot, "Dynamics": dynamics, "Batch": batch, "Scheme": stepper,
            "SolverState": state, "Ports": ports, "Fall": state.fall, "StepResult": result,
            "ClosedLoop": loop, "Law": law, "TaskSpaceIDAPBC": task_space,
            "PushingImpedance": pushing, "Supervisor": supervisor, "SampledAlgebra": algebra,
            "Command": command, "ControlEnergy": command.energy, "Gain": law.gains[0],
            "Mechanism": mechanism, "Allocation": allocation,
            "StatePlausibility": native.StatePlausibility(robot, {}),
        }  # fmt: skip
        self.right: dict[str, tuple[Any, ...]] = {
            "Model.__init__": (pinocchio, model.end_effector, mimics),
            "Model.in_fluid": ([immersed], 1000.0),
            "Dynamics.__init__": (robot,),
            **dict.fromkeys(
                ("Dynamics.mass", "Dynamics.locked_inverse", "Dynamics.connection"), one
            ),
            **dict.fromkeys(
                ("Dynamics.shape_inertia", "Dynamics.gravity", "Dynamics.potential_energy"), one
            ),
            **dict.fromkeys(
                ("Dynamics.coriolis", "Dynamics.momentum", "Dynamics.locked_velocity"), other
            ),
            **dict.fromkeys(
                ("Dynamics.shape_momentum", "Dynamics.kinetic_energy", "Dynamics.momenta"), other
            ),
            "Dynamics.state": other,
            "Dynamics.jacobian": (q, frame, False),
            "Dynamics.jacobian_rate": (q, v, frame, True),
            "Dynamics.placement": (q, frame),
            "Dynamics.mass_rates": (q, many_v),
            "Dynamics.velocity": (True, q, v),
            "Dynamics.rate": (
                False, q, v, torque, wrench, [(frame, np.ones(6))], torque, torque, 1.0, True,
                True,
            ),
            "Dynamics.rate_derivatives": (
                task, True, q, v, torque, wrench, [(frame, np.ones(6))], torque, torque, 1.0, True,
                True,
            ),
            "Dynamics.energy_derivatives": (task, q, v, True),
            "Batch.__init__": (robot, 2),
            "Batch.evaluate": (many_q, many_v, ["M", "J_end_effector", "g"], frame),
            "Batch.rates": (
                True, many_q, many_v, torque, wrench, [(frame, np.ones((3, 6)))], torque, torque,
                1.0, True, True,
            ),
            "Batch.rate_derivatives": (
                True, False, many_q, many_v, torque, wrench, [(frame, np.ones((3, 6)))], torque,
                torque, 1.0, True, True,
            ),
            "Scheme.__init__": (robot, scheme, True, {}),
            "Scheme.begin": (q, v, 0.0),
            "Scheme.motion": (state,),
            "Scheme.step": (state, ports, 0.0, dt),
            "Scheme.run": (state, ports, 0.0, dt, 0, 3),
            "SolverState.__copy__": (),
            "SolverState.q=": (state.q,),
            "SolverState.v=": (state.v,),
            "SolverState.pi=": (state.pi,),
            "SolverState.fall=": (state.fall,),
            "SolverState.angular_momentum=": (state.angular_momentum,),
            "SolverState.compensated_energy=": (state.compensated_energy,),
            "SolverState.t=": (0.0,),
            "SolverState.past_steps=": (stepper.run(state, ports, 0.0, dt, 0, 5)[0].past_steps,),
            "Fall.start_time=": (0.0,),
            "Fall.centre_of_mass=": (np.zeros(3),),
            "Fall.linear_momentum=": (np.zeros(3),),
            "Ports.__init__": (robot, torque, wrench, np.ones(6), torque, torque, 1.0),
            "ClosedLoop.__init__": (stepper, 1e-12),
            "ClosedLoop.run": (law, *ask, state, ports, *span),
            "ClosedLoop.run_function": (hold, state, ports, *span),
            "Law.reset": other,
            "Law.resume": other,
            "Law.update": (q, v, dt, point, point, np.eye(4), np.zeros(6), q[-n:], None),
            "Law.note_missed_updates": (),
            "Law.set_gain": (law.gains[0].name, law.gains[0].value),
            "Law.carry": (1.0, np.zeros(3), 0.01),
            "Law.carry_load": (np.zeros(len(v)),),
            "Supervisor.__init__": (robot, law, {}, allocation if b else None, True),
            "StatePlausibility.__init__": (robot, {}),
            "StatePlausibility.restart": other,
            "StatePlausibility.judge": (q, v, dt),
            "SampledAlgebra.__init__": (robot,),
            "SampledAlgebra.hold": (square, square, square, v, v, dt, v),
            "SampledAlgebra.predict": (q, v, np.zeros(nv), 1.0, dt, np.ones(nv)),
            "Mechanism.__init__": tuple(parts.values()),
            "Mechanism.set_loop_rank": (2,),
            "Mechanism.rates": (x, np.zeros(parts["effort_size"])),
            "Mechanism.step": (0.0, x, dt, np.zeros(parts["effort_size"]), 1e-6),
            "Mechanism.project": (x, 1e-6),
            "Mechanism.violation": (x,),
            "Mechanism.energy": (x,),
            "Mechanism.friction_decay_rate": (x,),
            "Allocation.of_matrix": (matrix, -large, large),
            "make_law": (usual, robot, allocation if b else None, True, {}),
            "run_batch": (
                robot, scheme, True, many_q, many_v, [ports], 0.0, dt, 4, 2, 2,
            ),
            "pinocchio_rk4": (robot, q, v, dt, 2),
        }  # fmt: skip
        self.calls = {name: self._call(name) for name in names(native)}

    def _call(self, name: str) -> Call:
        kind, dot, what = name.partition(".")
        if not dot:
            return getattr(self.native, kind)
        if what == "__init__":
            return getattr(self.native, kind)
        if what.endswith("="):
            return lambda value: setattr(self.objects[kind], what[:-1], value)
        return getattr(self.objects[kind], what)

    def annotations(self, name: str) -> list[str]:
        """Return the types that the documentation of a call gives, one for each argument."""
        kind, _, what = name.partition(".")
        owner = getattr(self.native, kind)
        if what.endswith("="):
            text = getattr(owner, what[:-1]).fset.__doc__ or ""
        else:
            text = (getattr(owner, what) if what else owner).__doc__ or ""
        words = re.split(r"(?:\(|, )(\w+): ", text.partition("\n")[0])
        return [word for name, word in zip(words[1::2], words[2::2], strict=True) if name != "self"]


def names(native: ModuleType) -> Iterator[str]:
    """Yield every function of the core, and every method, initialiser and setter of its classes."""
    for kind, owner in sorted(vars(native).items()):
        if kind.startswith("_") or not callable(owner):
            continue
        if not inspect.isclass(owner):
            yield kind
            continue
        if issubclass(owner, Exception):
            continue
        for what, member in sorted(vars(owner).items()):
            if isinstance(member, property):
                if member.fset is not None:
                    yield f"{kind}.{what}="
            elif what == "__init__":
                if "self: " in (member.__doc__ or ""):  # pybind11 refuses the others itself
                    yield f"{kind}.__init__"
            elif callable(member) and (not what.startswith("_") or what == "__copy__"):
                yield f"{kind}.{what}"


_MODELS: dict[str, VMSModel] = {}
_MECHANISM: list[Any] = []


def _model(name: str) -> VMSModel:
    if name not in _MODELS:
        _MODELS[name] = robots.get(name).load()
    return _MODELS[name]


def _mechanism_parts(native: ModuleType) -> dict[str, Any]:
    """Return the arguments of a mechanism with a loop."""
    if not _MECHANISM:
        taken: dict[str, Any] = {}

        class Recorder:
            Mechanism = staticmethod(lambda **parts: taken.update(parts))

        from vms_ph_ephs.equations.mechanism import native_mechanism

        equations = assemble(four_bar(), native=False)
        native_mechanism(equations.system, equations.layout, equations.theta_0, Recorder)  # type: ignore[arg-type]
        _MECHANISM[:] = taken, four_bar_state(equations)
    return dict(_MECHANISM[0])


def wrong_arrays(right: np.ndarray) -> list[Any]:
    """Return arrays of other sizes and shapes."""
    longer = np.concatenate([right, right[:1]]) if right.size else np.zeros((1,) * right.ndim)
    return [np.zeros(0), np.zeros((0, 0)), right[:-1], longer, np.zeros(1000), right[None], 0.0]


def strange_arrays(right: np.ndarray) -> list[Any]:
    """Return arrays of the right size with other numbers and other memory."""
    locked, spread = right.copy(), np.zeros((2, *right.shape))
    locked.flags.writeable = False
    other = np.repeat(right, 2, axis=-1)[..., ::2]
    return [
        *(np.full(right.shape, number) for number in (np.nan, np.inf, 1e300, -1e-310)),
        locked, other, np.asfortranarray(right), right[::-1], spread[1], right.astype(np.float32),
        right.astype(int), right.astype(complex), right.tolist(), right.astype(object),
    ]  # fmt: skip


ANYTHING: list[Any] = [
    None, "", "no such name", "\0", "x" * 5000, 0, -1, 3, 2**31, -(2**63), 2**63 - 1, 2**70, 0.5,
    np.nan, -np.inf, 1e308, True, (), [], {}, {"a": "b"}, {1: 2}, [None], [1, [2]], object(), int,
    np.zeros(0), np.array("text"), np.array([None, 1.0]), b"\xff", [("x",) * 3], 1j,
]  # fmt: skip

# Numbers of steps and sizes: larger ones only take time and memory.
_COUNTS = {
    "Scheme.run": (5,), "ClosedLoop.run": (14,), "ClosedLoop.run_function": (8,),
    "run_batch": (8,), "pinocchio_rk4": (4,),
}  # fmt: skip


def wrong(right: Any) -> list[Any]:
    """Return values in place of an argument."""
    if isinstance(right, np.ndarray):
        return [*wrong_arrays(right), *strange_arrays(right), *ANYTHING]
    return ANYTHING


def may_take(name: str, index: int, value: object) -> bool:
    """Return whether a value in this place does more than take time."""
    if index not in _COUNTS.get(name, ()):
        return True
    return not (isinstance(value, int) and value > 1000)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def each(native: ModuleType) -> None:
    """Call everything with one wrong argument after the other."""
    kit = Kit(native, "hextilt", "discrete_gradient")
    missing = set(kit.calls) - set(kit.right)
    assert not missing, f"no right arguments are known for {sorted(missing)}"
    _each_of(kit, "hextilt")
    _call_with_parts_of_another(kit, Kit(native, "panda", "rkmk4"))


def _each_of(kit: Kit, robot: str) -> None:
    for name in sorted(kit.calls):
        call = kit.calls[name]
        right = kit.right[name]
        say(f"{robot} {name}")
        call(*right)
        types = kit.annotations(name)
        for index, argument in enumerate(right):
            for value in wrong(argument):
                if not may_take(name, index, value):
                    continue
                arguments = [*right[:index], value, *right[index + 1 :]]
                say(f"{robot} {name} [{index}] = {value!r:.80}".replace("\n", " "))
                refused = _refused(call, arguments)
                if value is None and not re.search("Optional|None|object|bool", types[index]):
                    assert refused, f"{name} takes None as argument {index}, {types[index]}"
                if isinstance(argument, np.ndarray) and _has_other_size(value, argument):
                    may = JUDGES.search(name) or (name in OF_ANY_COUNT and np.ndim(value) < 3)
                    assert refused or may, f"{name} takes {np.shape(value)} as {index}"


def _has_other_size(value: object, right: np.ndarray) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == float and value.shape != right.shape


def _call_with_parts_of_another(kit: Kit, other: Kit) -> None:
    """Call everything with one argument that is of another robot."""
    for name, call in kit.calls.items():
        for index, value in enumerate(other.right[name]):
            arguments = list(kit.right[name])
            arguments[index] = value
            say(f"{kit.name} {name} [{index}] of {other.name}")
            _refused(call, arguments)
        say(f"{kit.name} {name} of {other.name}")
        _refused(call, list(other.right[name]))


def _refused(call: Call, arguments: list[Any]) -> bool:
    try:
        call(*arguments)
    except REFUSALS:
        return True
    return False


def at_random(native: ModuleType, seed: int, count: int) -> Counter[str]:
    """Call what is drawn with what is drawn; return how many returned and how many were refused."""
    draw = random.Random(seed)
    kits: list[Kit] = []
    outcomes: Counter[str] = Counter()
    pairs = list(product(ROBOTS, SCHEMES))
    for k in range(count):
        if k % 2500 == 0:
            kits = [Kit(native, *pair) for pair in draw.sample(pairs, 3)]
            objects = [x for kit in kits for x in kit.objects.values()]
        kit = draw.choice(kits)
        name = draw.choice(list(kit.calls))
        arguments = list(kit.right[name])
        for index, right in enumerate(arguments):
            chance = draw.random()
            if chance < 0.65:
                continue
            if chance < 0.8:
                value = draw.choice(wrong(right))
            elif chance < 0.9:
                theirs = draw.choice(kits).right[name]
                value = theirs[index] if index < len(theirs) else None
            else:
                value = draw.choice(objects)
            if may_take(name, index, value):
                arguments[index] = value
        if draw.random() < 0.03:
            arguments = arguments[: draw.randrange(len(arguments) + 1)] + [None] * draw.randrange(2)
        say(f"{k} {kit.name} {name} {[f'{a!r:.40}' for a in arguments]}".replace("\n", " "))
        outcomes["refused" if _refused(kit.calls[name], arguments) else "returned"] += 1
        thing = kit.objects[draw.choice(list(kit.objects))]
        for what, member in vars(type(thing)).items():
            if isinstance(member, property):
                getattr(thing, what)
    return outcomes


def main() -> None:
    import faulthandler
    import warnings

    import vms_ph_native

    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    np.set_printoptions(threshold=0, edgeitems=1)  # refusals write their arguments
    if sys.argv[1] == "each":
        each(vms_ph_native)
        say("done")
    else:
        seed, count = map(int, sys.argv[2:])
        say(f"done {dict(at_random(vms_ph_native, seed, count))}")


if __name__ == "__main__":
    main()

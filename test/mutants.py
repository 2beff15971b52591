# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Change the mathematics in one place at a time and count which changes the nearest tests notice.

    python test/mutants.py [COUNT [SEED [FIRST]]] > mutants.jsonl

The files that git knows are copied to a temporary folder, and there each mutant is applied, tested
and taken back. A line of the output is a mutant, in the order of the draw, with what became of it:
killed (by which test), survived, or undetermined where the tests took too long.
"""

import ast
import compileall
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = {"vms_ph_dynamics": "test/dynamics", "vms_ph_controllers": "test/controllers"}
# No mathematics, or that of the C++ core, which is off.
TEXTS = re.compile(r"__init__|errors|native|compiled|loading|hosting/layout|arrays|gains\.py")
MOST, SECONDS = 5, 30  # files of tests for a mutant, and their time on the processor
AHEAD = "numpy scipy.linalg scipy.optimize pinocchio pytest yaml casadi mujoco sympy"
OPTIONS = "-xq -p no:cacheprovider -p no:xdist --assert=plain --tb=no -rfE --timeout=120"
# What stands in place of operators and functions.
PAIRS = "Add:Sub Mult:Div And:Or Eq:NotEq Lt:GtE Gt:LtE min:max minimum:maximum sin:cos any:all"
OTHER = {"Pow": "Mult", **dict(pair.split(":") for pair in PAIRS.split())}
OTHER |= {other: name for name, other in list(OTHER.items())[1:]}
SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Slice, ast.Lambda)
DEFAULTS = ("initial", "axis", "default", "strict")
Node = ast.expr | ast.AugAssign


class Mutant(NamedTuple):
    """A place in a file, the function around it, and the text that stands there instead."""

    file: str
    function: str
    node: Node
    new: str


def mutations(node: Node) -> Iterator[Node]:
    """Yield what may stand in place of an expression or an assignment."""

    def changed(**fields: Any) -> Node:
        other = deepcopy(node)
        vars(other).update(fields)
        return other

    def opposite(op: ast.AST) -> ast.AST:
        return getattr(ast, OTHER[type(op).__name__])()

    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            yield changed(left=right, right=left)
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if (
            type(op).__name__ in OTHER
        ):
            yield changed(op=opposite(op))
        case ast.Compare(ops=[op]) if type(op).__name__ in OTHER:
            yield changed(ops=[opposite(op)])
        case ast.UnaryOp(ast.USub() | ast.Not(), operand) | ast.Attribute(operand, "T"):
            yield operand
        case ast.Attribute(attr=name) if name in OTHER:
            yield changed(attr=OTHER[name])
        case ast.Name(name) if name in OTHER:
            yield changed(id=OTHER[name])
        case ast.Constant(bool(value)):
            yield changed(value=not value)
        case ast.Constant(int(value)):
            yield changed(value=value + 1)
        case ast.Constant(float(value)) if abs(value) >= 1e-5 or not value:  # no tolerance
            yield changed(value=2.0 * value or 1.0)


def places(tree: ast.AST) -> Iterator[tuple[str, Node]]:
    """Yield the nodes inside functions that compute, with the qualified name of the function."""

    def below(node: ast.AST, name: str, inside: bool) -> Iterator[tuple[str, Node]]:
        raises = isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = isinstance(node, ast.FunctionDef) and node.name != "__repr__"
            for child in node.body:
                yield from below(child, f"{name}.{node.name}".lstrip("."), inside)
        elif not isinstance(node, SKIPPED) and getattr(node, "arg", None) not in DEFAULTS:
            if inside and isinstance(node, Node):
                yield name, node
            for field, child in ast.iter_fields(node):
                if field in ("annotation", "decorator_list") or (raises and field != "orelse"):
                    continue
                for one in child if isinstance(child, list) else [child]:
                    if isinstance(one, ast.AST):
                        yield from below(one, name, inside)

    return below(tree, "", False)


def draw(count: int, seed: int) -> list[Mutant]:
    """Return mutants, at most one of a line."""
    lines: dict[tuple[str, int], list[Mutant]] = {}  # by file and number of the line
    for path in sorted(p for package in TESTS for p in (ROOT / package).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if TEXTS.search(file):
            continue
        for name, node in places(ast.parse(path.read_text())):
            for other in mutations(node):
                mutant = Mutant(file, name, node, ast.unparse(other))
                lines.setdefault((file, node.lineno), []).append(mutant)
    chance = random.Random(seed)
    drawn = [chance.choice(lines[line]) for line in chance.sample(sorted(lines), count)]
    return [mutant for mutant in drawn if ast.unparse(mutant.node) != mutant.new]  # such as v @ v


def nearest(file: str, function: str) -> list[str]:
    """Return test files: those called as the module or its users first, then by what they name."""
    package, *folders, stem = Path(file).with_suffix("").parts
    sources = {path: path.read_text() for path in (ROOT / package).rglob("*.py")}
    users = {path.stem for path in sources if re.search(rf"\b{stem} import", sources[path])}
    classes = set(re.findall(r"(?m)^class (\w+)", sources[ROOT / file]))
    mirrored = ROOT / TESTS[package] / "/".join(folders).replace("casadi", "casadi_export")

    def near(path: Path) -> int:
        words = set(re.findall(r"\w+", path.read_text()))
        own = path.stem.removeprefix("test_")
        found = 100 * (own == stem) + 10 * (own in users) + 8 * (mirrored in path.parents)
        found += 2 * len(words & set(function.split("."))) + 3 * len(words & classes)
        return found + 4 * len(set(own.split("_")) & set(stem.split("_")))

    near_ones = [p for p in (ROOT / TESTS[package]).rglob("test_*.py") if near(p) > 0]
    ranked = sorted(near_ones, key=lambda path: (-near(path), path))
    return [path.relative_to(ROOT).as_posix() for path in ranked[:MOST]]


def run(copy: Path, tests: list[str]) -> tuple[str, str]:
    """Run tests in a copy of the project and return the status and the first failure."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch, "log")
        child = os.fork()
        if child == 0:
            code = 3
            try:
                for stream in (1, 2):
                    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
                os.chdir(copy)
                os.environ.update(PYTHONPATH=str(copy), TMPDIR=scratch)
                sys.path.insert(0, str(copy))
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
                main = import_module("pytest").main
                codes = (int(main([*OPTIONS.split(), test])) for test in tests)
                code = next((code for code in codes if code not in (0, 5)), 0)  # 5: nothing to run
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        failed = re.findall(r"(?m)^(?:FAILED|ERROR) (\S+)", log.read_text())
    if code == 0:
        return "survived", ""
    # Without a test that failed: an exhausted limit of time, or pytest itself.
    return ("killed", failed[0]) if failed else ("undetermined", f"exit status {code}")


def main(count: int = 300, seed: int = 47, first: int = 0) -> None:
    os.environ.update(OPENBLAS_NUM_THREADS="1", VMS_PH_NATIVE="0", PYTHONDONTWRITEBYTECODE="1")
    for name in AHEAD.split():  # once, for all mutants
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "checkout-index", "-a", f"--prefix={folder}/"], cwd=ROOT, check=True)
        compileall.compile_dir(folder, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        for mutant in draw(count, seed)[first:]:
            path, node = Path(folder, mutant.file), mutant.node
            text = path.read_bytes()
            lines = [0, *(end.end() for end in re.finditer(rb"\n", text))]
            start = lines[node.lineno - 1] + node.col_offset
            end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            new = mutant.new if isinstance(node, ast.AugAssign) else f"({mutant.new})"
            path.write_bytes(text[:start] + new.encode() + text[end:])
            status, by = run(Path(folder), nearest(mutant.file, mutant.function))
            path.write_bytes(text)
            place = {"line": node.lineno, "node": ast.unparse(node), "status": status, "by": by}
            print(json.dumps({**mutant._asdict(), **place}), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Check that names say what they mean, and that each class of the server has its own. Exit status 1 on a breach.

  names.py [PATH ...]    the files and folders to check; without one, the server, SDK, tools, tests and examples

A value is named by what it is (`grader`, `due_runs`), not by the fact that it was got or made (`found`, `told`, `one`).
Checked are variables, parameters, loop targets, fields and functions. `at` may be an index of a range or a time:
annotated as one, or a field.

A search for the name of a class finds one class (`ScoreListRow`, `ErasureOutcome`, not `Row` and `Outcome`). Private
classes (`_Plot`) are known in their module only, so they are not checked.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SERVER = ("autotune", "graders", "tasks", "scores", "exports")
CHECKED = (*SERVER, "sdk/python/src", "tools", "tests", "bench", "examples",
)  # fmt: skip
BANNED = frozenset({"found", "told", "said", "asked", "given", "wanted", "made", "known", "one"})
TIMES = {"datetime", "date", "float", "int"}  # annotations with which `at` is a time or an index
SDK = "sdk/python/src/autotune_sdk"
ALLOWED = frozenset(  # "path: name", each with its reason beside it
    {
        f"{SDK}/cli/lines.py: known",  # Fields.known(), a public method of the published SDK
        f"{SDK}/integrations/_call_metrics.py: one",  # Totals.add(one), a public parameter of the published SDK
    }
)
SHARED_CLASSES = frozenset(  # names that several classes may have, each with its reason beside it
    {
        "Command",  # Django finds the class of a management command by this name
        "Meta",  # the options of a model or a form, nested in it
    }
)


class Breach(NamedTuple):
    path: str
    line: int
    name: str
    fault: str = "does not say what the value is"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{self.name}` {self.fault}"


def breaches(root: Path, paths: tuple[str, ...] = CHECKED) -> list[Breach]:
    """Return every binding with a banned name in the files under `paths`, without migrations."""
    return sorted(
        Breach(path, line, name)
        for path, tree in _trees(root, paths)
        for name, line in _bindings(tree)
        if f"{path}: {name}" not in ALLOWED
    )


def repeated_classes(root: Path, paths: tuple[str, ...] = SERVER) -> list[Breach]:
    """Return each class in the files under `paths` whose name another class there has too."""
    places_by_name: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, tree in _trees(root, paths):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in SHARED_CLASSES:
                places_by_name[node.name].append((path, node.lineno))
    return sorted(
        Breach(path, line, name, f"is the name of {len(places)} classes")
        for name, places in places_by_name.items()
        if len(places) > 1
        for path, line in places
    )


def _trees(root: Path, paths: tuple[str, ...]) -> Iterator[tuple[str, ast.Module]]:
    for start in paths:
        files = [root / start] if (root / start).is_file() else sorted((root / start).rglob("*.py"))
        for file in files:
            path = file.relative_to(root)
            if "migrations" not in path.parts:
                yield str(path), ast.parse(file.read_text(encoding="utf-8"), filename=str(path))


def _bindings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the banned names that a module binds, each with its line."""
    times = _times(tree)
    for node in ast.walk(tree):
        name = _bound_name(node)
        if name in BANNED or (name == "at" and id(node) not in times):
            yield name, node.lineno  # type: ignore[attr-defined] # what binds a name has a line


def _bound_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.ExceptHandler | ast.MatchAs):
        return node.name or ""
    return ""


def _times(tree: ast.Module) -> set[int]:
    """Return the nodes that bind `at` to a time or an index."""
    allowed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):  # a field
            for field in node.body:
                targets = [field.target] if isinstance(field, ast.AnnAssign) else getattr(field, "targets", [])
                allowed.update(map(id, targets))
        elif isinstance(node, ast.arg) and node.annotation is not None:
            words = {inner.id for inner in ast.walk(node.annotation) if isinstance(inner, ast.Name)}
            if words & TIMES:
                allowed.add(id(node))
        elif (
            isinstance(node, ast.For | ast.comprehension)
            and isinstance(node.iter, ast.Call)
            and getattr(node.iter.func, "id", "") in {"range", "enumerate"}
        ):
            allowed.update(map(id, ast.walk(node.target)))
    return allowed


def main(arguments: list[str]) -> int:
    lines = breaches(Path.cwd(), tuple(arguments) or CHECKED) + ([] if arguments else repeated_classes(Path.cwd()))
    for line in lines:
        print(line)
    print(f"names: {len(lines)} breaches" if lines else "names: in order")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

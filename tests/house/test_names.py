"""tools/names.py finds names that do not say what a value is and classes that share a name; the project has none."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("names", ROOT / "tools/names.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["names"] = module
    spec.loader.exec_module(module)
    return module


names = load()


@pytest.fixture
def check(tmp_path):
    """`check(text)`: the names that are refused in a module with this text."""

    def names_in(text: str, path: str = "scores/module.py") -> list[str]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return [breach.name for breach in names.breaches(tmp_path, ("scores",))]

    return names_in


def test_this_project_has_no_breach():
    assert names.breaches(ROOT) == []
    assert names.repeated_classes(ROOT) == []


@pytest.mark.parametrize(
    "text",
    [
        "found = rows()",
        "for found in rows: pass",
        "with rows() as found: pass",
        "def read(found): pass",
        "def found(): pass",
        "class found: pass",
        "class Row:\n    found: int",
        "rows = [found for found in rows]",
        "if found := rows(): pass",
        "try: pass\nexcept OSError as found: pass",
        "read = lambda found: 1",
        "match row:\n    case [found]: pass",
        "first, *found = rows",
    ],
)
def test_every_way_to_bind_such_a_name_is_refused(check, text):
    assert set(check(text)) == {"found"}


@pytest.mark.parametrize(
    "text",
    [
        "def read(at: datetime): pass",
        "def read(at: float | None = None): pass",
        "class Event:\n    at: datetime",
        "class Event:\n    at = DateTimeField()",
        "for at in range(0, 9, 3): pass",
        "rows = [names[at] for at in range(9)]",
        "for at, name in enumerate(names): pass",
    ],
)
def test_at_may_be_a_time_or_an_index(check, text):
    assert check(text) == []


@pytest.mark.parametrize("text", ["at = place()", "def read(at: str): pass", "for at in places: pass"])
def test_at_may_not_be_anything_else(check, text):
    assert check(text) == ["at"]


@pytest.mark.parametrize("text", ["row.found = 1", "rows = read(found=1)", "row = {'found': 1}", "print(found)"])
def test_using_such_a_name_of_others_is_allowed(check, text):
    assert check(text) == []


def test_migrations_are_not_checked(check):
    assert check("found = 1", "scores/migrations/0001_initial.py") == []


def test_a_breach_names_its_line(tmp_path):
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores/module.py").write_text("\nfound = 1\n")
    (breach,) = names.breaches(tmp_path, ("scores",))
    assert str(breach) == "scores/module.py:2: `found` does not say what the value is"


@pytest.fixture
def repeated(tmp_path):
    """`repeated(first, second)`: the classes that two modules with these texts share, as lines of the report."""

    def lines(first: str, second: str, path: str = "scores/second.py") -> list[str]:
        for file, text in (("tasks/first.py", first), (path, second)):
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text)
        return [str(breach) for breach in names.repeated_classes(tmp_path, ("scores", "tasks"))]

    return lines


def test_a_class_name_that_occurs_twice_is_refused_at_both_places(repeated):
    assert repeated("class Row: pass", "\nclass Row: pass") == [
        "scores/second.py:2: `Row` is the name of 2 classes",
        "tasks/first.py:1: `Row` is the name of 2 classes",
    ]


@pytest.mark.parametrize("second", ["class List:\n    class Row: pass", "def rows():\n    class Row: pass"])
def test_a_nested_class_needs_a_name_of_its_own(repeated, second):
    assert len(repeated("class Row: pass", second)) == 2


@pytest.mark.parametrize("text", ["class _Task:\n    class Meta: pass", "class Command: pass", "class _Plot: pass"])
def test_names_that_django_requires_and_private_classes_may_repeat(repeated, text):
    assert repeated(text, text) == []


def test_classes_of_migrations_may_repeat(repeated):
    assert repeated("class Migration: pass", "class Migration: pass", "scores/migrations/0001_initial.py") == []

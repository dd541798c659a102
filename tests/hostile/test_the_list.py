"""docs/hostile.md is the list: each row names its tests, which exist, or says why there is none yet."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ([A-H]\d\d) \| (.+) \| ([^|]+) \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs/hostile.md").read_text(encoding="utf-8"))
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
PARTS = {"A": 24, "B": 40, "C": 14, "D": 19, "E": 18, "F": 6, "G": 14, "H": 14}  # how many rows each part has
LATER = "not yet: "


def names_of(path):
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


def test_every_row_is_listed_once():
    ids = [row for row, *_ in ROWS]
    assert [row for row, count in Counter(ids).items() if count > 1] == []
    assert Counter(row[0] for row in ids) == PARTS


def test_every_row_names_a_test_or_says_why_there_is_none():
    assert [row for row, _, shown in ROWS if not (NAMED.search(shown) or shown.startswith(LATER))] == []


def test_every_test_that_is_named_exists():
    named = {(path, name) for _, _, shown in ROWS for path, name in NAMED.findall(shown)}
    test_names = {
        path: names_of(ROOT / "tests" / path) if (ROOT / "tests" / path).exists() else set() for path, _ in named
    }
    assert sorted((path, name) for path, name in named if name not in test_names[path]) == []


@pytest.mark.parametrize("path", sorted((ROOT / "tests/hostile").glob("test_[a-h]_*.py")), ids=lambda path: path.stem)
def test_a_test_with_the_id_of_a_row_is_named_by_that_row(path):
    shown = {row: tests for row, _, tests in ROWS}
    borne = [(row.upper(), name) for name in names_of(path) for row in re.findall(r"(?<=_)[a-h]\d\d(?=_)", name)]
    assert [(row, name) for row, name in borne if f"::{name}`" not in shown[row]] == []

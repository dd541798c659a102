"""`.env.example` names every variable that is read, and none that is not."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READERS = sorted((ROOT / "autotune/settings").glob("*.py"))
CLIENTS = {"AUTOTUNE_API_KEY", "AUTOTUNE_BASE_URL", "AUTOTUNE_GRADER_SECRET"}
FUNCTIONS = {"secret", "kept_secret", "listed", "networks", "whole_number", "one_of", "getenv", "bucket"}
FUNCTIONS |= {"allowances"}


def read_by(path: Path) -> Iterator[str]:
    """Names in env("X"), env.str("X"), secret("X"), os.environ["X"], os.environ.get("X")."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = ast.unparse(node.func)
            if re.fullmatch(r"env|env\.\w+|os\.environ\.\w+", called) or called in FUNCTIONS:
                yield node.args[0].value
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            yield ast.literal_eval(node.slice)


def documented() -> list[str]:
    return re.findall(r"^([A-Z][A-Z0-9_]*)=", (ROOT / ".env.example").read_text(), re.MULTILINE)


def test_the_example_names_what_is_read_and_nothing_else():
    read = {name for path in READERS for name in read_by(path)}
    read |= set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "Procfile").read_text()))
    assert set(documented()) == read | CLIENTS


def test_no_variable_is_listed_twice_and_no_secret_has_a_value():
    names = documented()
    assert len(names) == len(set(names))
    text = (ROOT / ".env.example").read_text()
    for name in ("SECRET_KEY", "AUTOTUNE_ENCRYPTION_KEYS", "AUTOTUNE_API_KEY", "AUTOTUNE_GRADER_SECRET"):
        assert re.search(rf"^{name}=$", text, re.MULTILINE)


def test_the_readme_explains_each_variable():
    readme = (ROOT / "README.md").read_text()
    assert [name for name in documented() if f"`{name}`" not in readme] == []

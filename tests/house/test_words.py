"""tools/words.py finds words that read as if translated, and the project's text has none."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", ROOT / "tools/words.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["words"] = module
    spec.loader.exec_module(module)
    return module


words = load()


@pytest.fixture
def check(tmp_path):
    """`check(text, path)`: what is refused in a file with this text."""

    def words_in(text: str, path: str) -> list[str]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return [breach.words for breach in words.breaches(tmp_path, (path.split("/")[0],))]

    return words_in


def test_this_project_has_no_breach():
    assert [str(breach) for breach in words.breaches(ROOT)] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/page.md", "The call is made anew."),
        ("templates/page.html", "<p>The call is made anew.</p>"),
        ("scores/module.py", '"""The call is made anew."""'),
        ("scores/module.py", "x = 1  # the call is made anew"),
        ("scores/module.py", 'raise ValueError("The call is made anew.")'),
        ("scores/module.py", 'x = f"the call is made anew {x}"'),
        ("static/js/module.js", "const x = 1; // the call is made anew"),
        ("static/js/module.js", "/** The call\n * is made anew. */"),
        ("static/js/module.js", 'say("The call is made anew.");'),
        ("static/js/module.js", "say(`The call ${x} is made anew.`);"),
    ],
)
def test_prose_of_every_kind_is_checked(check, path, text):
    assert check(text, path) == ["anew"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/page.md", "```python\nanew = 1\n```"),
        ("docs/page.md", "The field `octets` of a library."),
        ("docs/page.md", "A renewed key."),
        ("templates/page.html", '<p class="anew">{{ anew }}</p>'),
        ("scores/module.py", "anew = octets(1)"),
        ("scores/migrations/0001_initial.py", "# made anew"),
        ("static/js/module.js", "function anew(anew) { return anew; }"),
        ("static/page.css", "/* anew */"),
    ],
)
def test_code_names_and_history_are_not_checked(check, path, text):
    assert check(text, path) == []


@pytest.mark.parametrize(
    "text",
    [
        "Whose affair it is",
        "They are told",
        "It does no harm",
        "what cannot be had back",
        "Whoever asks",
        "once more",
        "the body in octets",
        "mend the grader",
        "only works alone",
        "what has begun",
        "work that stands still",
        "the standing of a grader",
        "It tells the owner",
        "a look at the grader",
        "runs that were overlooked",
    ],
)
def test_constructions_that_read_as_translated_are_refused(check, text):
    assert check(text, "docs/page.md")


def test_a_breach_names_its_line_and_what_to_write(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text("# Page\n\nIt is sent\nanew.\n")
    (breach,) = words.breaches(tmp_path, ("docs",))
    assert str(breach) == "docs/page.md:4: `anew`: again"

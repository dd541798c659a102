"""tests/support/engines.py leaves out on PostgreSQL only what cannot depend on the engine, and nothing that needs it."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.engines import ONE_ENGINE, TESTS, depends_on_the_engine, listed

ASKS_FOR_THE_ENGINE = re.compile(r"\bvendor\b|ON_POSTGRES|ON_REDIS|DATABASE_URL|REDIS_URL")


def files(entry: str) -> list[Path]:
    path = TESTS / entry
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def item(path="scores/test_plans.py", marks=(), fixtures=()):
    """A collected test, as pytest shows it to the hooks."""
    closest = {name: SimpleNamespace(name=name) for name in marks}
    return SimpleNamespace(
        path=TESTS / path, fixturenames=fixtures, get_closest_marker=closest.get, iter_markers=lambda: closest.values()
    )


@pytest.mark.parametrize("entry", ONE_ENGINE)
def test_an_entry_has_tests_that_do_not_ask_for_the_engine(entry):
    assert files(entry)
    assert all(file.is_file() for file in files(entry))
    asking = [file.name for file in files(entry) if ASKS_FOR_THE_ENGINE.search(file.read_text(encoding="utf-8"))]
    assert asking == ["test_snippets.py"] * (entry == "processes/documentation")  # it takes the settings away


def test_no_entry_repeats_another():
    assert list(ONE_ENGINE) == sorted(ONE_ENGINE)
    assert [entry for entry in ONE_ENGINE for other in ONE_ENGINE if entry.startswith(f"{other}/")] == []


def test_every_entry_has_a_reason():
    assert all(ONE_ENGINE.values())


def test_every_test_that_a_reason_names_is_there():
    named = {name for reason in ONE_ENGINE.values() for name in re.findall(r"tests/[\w/]+(?:\.py)?", reason)}
    assert named
    assert [name for name in named if not (TESTS.parent / name).exists() or listed(TESTS.parent / name)] == []


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (item(), False),
        (item(marks=["django_db"]), True),
        (item(fixtures=["live_server"]), True),
        (item(marks=["processes"]), True),
        (item(marks=["django_db", "one_engine"]), False),
        (item(marks=["django_db", "pages"]), False),
        (item("tasks/test_bad_input.py", marks=["django_db"]), False),
        (item("pages/settings/test_keys_page.py", marks=["django_db"]), False),
        (item("pages/settings_of_others/test_keys_page.py", marks=["django_db"]), True),
        (item("sdk/against_server/test_scores.py", marks=["postgres"], fixtures=["live_server"]), True),
        (item(marks=["one_engine", "redis"]), True),
    ],
)
def test_a_test_runs_on_both_engines_if_it_uses_one_and_is_not_listed(test, expected):
    assert depends_on_the_engine(test) is expected


def test_files_elsewhere_are_not_listed():
    assert not listed(Path("/elsewhere/tasks/test_bad_input.py"))

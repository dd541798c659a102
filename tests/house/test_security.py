"""SECURITY.md: each threat of its tables names tests, and these are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?!tries |what |---)(.+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/.]+\.py)`")


def threats() -> list[tuple[str, str]]:
    """(what is tried, the cell of its tests) of the section of attackers."""
    section = PAGE.partition("## Threats")[2].partition("\n## ")[0]
    return [(row[1], row[3]) for row in ROW.finditer(section)]


def test_every_kind_of_attacker_has_a_table():
    titles = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert len(titles) == 9
    assert len(threats()) >= 3 * len(titles)


def test_every_threat_names_its_test():
    assert [tried for tried, tests in threats() if not NAMED.search(tests)] == []


def test_every_named_test_exists_and_tests_something():
    named = sorted(set(NAMED.findall(PAGE)))
    missing = [name for name in named if not (ROOT / name).is_file()]
    empty = [name for name in named if name not in missing and "\ndef test_" not in (ROOT / name).read_text("utf-8")]
    assert (missing, empty) == ([], [])


def test_it_says_how_to_report_and_which_risks_remain():
    assert "## Report a vulnerability" in PAGE
    assert "## Remaining risks" in PAGE

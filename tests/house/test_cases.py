"""Each of the 45 small inputs that once gave a wrong answer has a test with the right one, named by its number."""

import re

from tests.support.snippets import ROOT

CASES = range(1, 46)
CASE_TEST = re.compile(r"^ *(?:async )?def test_c(\d+)_", re.MULTILINE)


def test_every_case_has_a_test_of_its_own():
    tests = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    tested = {int(number) for text in tests for number in CASE_TEST.findall(text)}
    assert sorted(set(CASES) - tested) == []

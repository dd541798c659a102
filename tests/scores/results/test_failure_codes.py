"""The registry of failure codes: complete, and the same in the documentation."""

import ast
import re
from pathlib import Path

import pytest

from scores.engine import rewards
from scores.results import failure_codes
from tests.house.test_docs import _texts

ROOT = Path(__file__).resolve().parents[3]
PLACE = {  # calls that end a run or an attempt at it, and where they take the code
    "Failure": 0, "_Refused": 0, "Decision": 0, "OutboundError": 0, "JSONRefused": 0, "ScanFault": 0, "refuse": 0,
    "SignatureRefused": 0, "WaitRule": 0, "fail": 1, "recording.fail": 1,
}  # fmt: skip
NAMED = {
    "_BY_CODE", "RETRYABLE", "_PLATFORM_CODES", "DEADLINE_EXCEEDED", "EXPIRED", "NO_SCORE",
    "PANEL_INCOMPLETE", "ERASED", "SCORE_DELETED",
}  # fmt: skip
SOURCES = [
    *sorted((ROOT / "graders/gateway").glob("*.py")),
    ROOT / "graders/hosted/failures.py",
    *(ROOT / "autotune/core/outbound" / f"{name}.py" for name in ("calls", "engine")),
    *sorted((ROOT / "autotune/core/strictjson").glob("*.py")),
    *sorted(
        path
        for path in (ROOT / "scores").rglob("*.py")
        if "migrations" not in path.parts and not path.stem.endswith(("admin", "api", "states"))
    ),
]
ELSEWHERE = {
    "replayed_request",  # a grader's word about our requests
    "integer_out_of_range",  # only of the API's bodies
}


def codes_in(path):
    """{code: line}: what the module gives to calls of PLACE, to `code=` of a decision, or holds in a table of NAMED."""
    lines_by_code = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            place = PLACE.get(name, PLACE.get(name.rpartition(".")[2]) if "." in name else None)
            if place is not None and len(node.args) > place:
                lines_by_code |= dict.fromkeys(_texts(node.args[place]), node.lineno)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id in NAMED for target in targets):
                lines_by_code |= dict.fromkeys(_texts(node.value), node.lineno)
        elif isinstance(node, ast.FunctionDef) and node.name == "_try_again":  # its codes come in tuples
            assigned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Assign)]
            lines_by_code |= {
                value.elts[0].value: node.lineno
                for value in assigned
                if isinstance(value, ast.Tuple) and isinstance(value.elts[0], ast.Constant)
            }
    return lines_by_code


def all_codes():
    return {code: f"{path.relative_to(ROOT)}:{line}" for path in SOURCES for code, line in codes_in(path).items()}


def test_the_reader_of_the_source_finds_codes_in_all_the_ways_they_are_written():
    codes = all_codes()
    for code in (
        "timeout", "tls_failed", "connection_reset", "address_refused",  # libcurl's table, the engine
        "rate_limited", "grader_unavailable", "try_again", "unsigned_refusal",  # statuses
        "wrong_type", "duplicate_item", "missing_item", "bad_signature", "duplicate_key",  # answers
        "deadline_exceeded", "grader_gone", "cancelled", "callback_expired", "review_expired", "review_rejected",
        "text_erased", "no_score", "panel_incomplete",
    ):  # fmt: skip
        assert code in codes, code


def test_every_code_that_a_run_can_end_with_is_listed():
    codes = all_codes()
    assert {code: place for code, place in codes.items() if code not in failure_codes.CODES.keys() | ELSEWHERE} == {}


def test_every_listed_code_is_used():
    assert sorted(failure_codes.CODES.keys() - all_codes().keys()) == []


@pytest.mark.parametrize("code", sorted(failure_codes.CODES))
def test_each_code_has_an_owner_and_a_sentence_with_advice(code):
    assert failure_codes.fault(code) in ("grader", "caller", "platform")
    assert re.fullmatch(r"[A-Z].{10,160}\.", failure_codes.advice(code))


def test_an_unlisted_code_counts_as_the_platforms():
    assert failure_codes.fault("never_heard_of") == "platform"
    assert failure_codes.advice("never_heard_of")


def test_the_reward_s_own_codes_are_listed():
    assert {rewards.NO_SCORE, rewards.PANEL_INCOMPLETE} <= failure_codes.CODES.keys()


def rows(page, heading, columns):
    """[(codes, the other columns)] of the table below a heading."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"# {heading}\n")[2].partition("\n## ")[0]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == columns:
            yield re.findall(r"`([a-z_]+)`", cells[0]), cells[1:]


def test_the_api_page_lists_the_same_codes_with_the_same_fault():
    documented = {code: cells[0] for codes, cells in rows("api/failure-codes.md", "Failure codes", 4) for code in codes}
    assert documented == {code: failure_codes.fault(code) for code in failure_codes.CODES}


def test_the_grader_guide_says_for_each_code_of_a_grader_what_to_change():
    documented = {code: cells[0] for codes, cells in rows("grader-guide.md", "When runs fail", 2) for code in codes}
    assert documented == {code: failure_codes.advice(code) for code in failure_codes.of("grader")}

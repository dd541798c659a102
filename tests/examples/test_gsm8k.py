"""The GSM8K example: the numeric rule, and a check that would notice what it is there to notice."""

import importlib.util
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from examples.gsm8k import check, data

ROOT = Path(__file__).resolve().parents[2]
DATA = os.environ.get("GSM8K_FILE")


def load(path: str, name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


judge = load("examples/gsm8k/grader.py", "gsm8k_grader")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("A: 18", "18"),
        ("18 eggs\nA: 18", "18"),
        ("A: 18\nno, wait\nA: 19", "19"),
        ("A: $1,250.00", "1250"),
        ("A: -3", "-3"),
        ("A: 12 apples", "12"),
        ("A: .5", "0.5"),
    ],
)
def test_the_last_answer_line_is_read_as_a_number(text, number):
    assert judge.number(text) == judge.Decimal(number)


@pytest.mark.parametrize("text", ["", "18", "the answer is A: 18", "A:", "A: none", "A: 1.2.3"])
def test_without_a_number_on_an_answer_line_there_is_none(text):
    assert judge.number(text) is None


def test_a_response_without_an_answer_is_wrong_and_not_an_error():
    completion = judge.Completion("comp_1", None, "p", "I give up", {"groundTruth": "A: 4"})
    assert judge.score(completion).value == 0.0


def test_the_rule_agrees_with_the_file_on_all_5276_answers():
    if not DATA:
        pytest.skip("GSM8K_FILE does not name gsm8k_model_solutions.jsonl")
    answers = data.load(DATA)
    assert len(answers) == 5276
    wrong = [
        answer.external_id
        for answer in answers
        if judge.score(judge.Completion("c", None, "", answer.response, {"groundTruth": answer.truth})).value
        != answer.correct
    ]
    assert wrong == []


def test_a_missing_file_is_refused_by_the_name_of_the_variable(tmp_path):
    with pytest.raises(data.NoData, match="GSM8K_FILE="):
        data.load("")
    with pytest.raises(data.NoData, match=r"GSM8K_FILE=.*No such file"):
        data.load(str(tmp_path / "nowhere"))
    (tmp_path / "other.jsonl").write_text('{"rows": {"solution": 1}}\n')
    with pytest.raises(data.NoData, match="is not the file of model solutions"):
        data.load(str(tmp_path / "other.jsonl"))


@pytest.fixture
def world():
    """Two answers, submitted, listed, scored and logged as they should be."""
    answers = [
        data.Answer(0, "m", "1+1?", "A: 2", "A: 2", True),
        data.Answer(1, "m", "1+2?", "A: 3", "A: 4", False),
    ]
    completions = [
        SimpleNamespace(id="comp_a", external_id=answers[0].external_id, status="completed"),
        SimpleNamespace(id="comp_b", external_id=answers[1].external_id, status="completed"),
    ]
    return SimpleNamespace(
        answers=answers,
        completions=completions,
        scores=[("comp_a", 1.0), ("comp_b", 0.0)],
        logged={"comp_a": 1.0, "comp_b": 0.0},
    )


def faults(world):
    return check.faults(world.answers, world.completions, world.scores, world.logged)


def test_consistent_data_has_no_fault(world):
    assert faults(world) == []


def test_a_completion_without_a_score_is_a_fault(world):
    world.scores.pop()
    assert "comp_b has no score (status completed)" in faults(world)


def test_a_completion_with_two_scores_is_a_fault(world):
    world.scores.append(("comp_a", 1.0))
    assert faults(world) == ["comp_a has 2 scores"]


def test_a_judged_item_missing_from_the_server_is_a_fault(world):
    world.logged["comp_c"] = 1.0
    assert faults(world) == ["the grader judged comp_c, which the server does not list"]


def test_a_score_that_the_grader_never_gave_is_a_fault(world):
    del world.logged["comp_a"]
    assert faults(world) == ["the server has a score of comp_a, which the grader did not judge"]


def test_a_score_other_than_the_graders_is_a_fault(world):
    world.logged["comp_b"] = 1.0
    assert faults(world) == ["comp_b: the grader said 1.0, the server 0.0"]


def test_a_lost_an_unknown_and_a_doubled_completion_are_faults(world):
    world.answers.append(data.Answer(2, "m", "?", "A: 1", "A: 1", True))
    assert faults(world) == ["gsm8k/2/m was submitted and is not there"]
    world.answers = world.answers[:1]
    assert faults(world) == ["gsm8k/1/m was not submitted"]
    world.completions[1].external_id = world.completions[0].external_id
    assert "gsm8k/0/m is there 2 times" in faults(world)


def test_a_score_that_the_file_contradicts_is_a_fault(world):
    world.answers[1] = replace(world.answers[1], correct=True)
    assert faults(world) == ["gsm8k/1/m: scored 0.0, and the file says right"]


def test_only_what_was_logged_after_the_verification_counts(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"completionId": "sample", "value": 1.0}) + "\n")
    since = log.stat().st_size
    with log.open("a") as file:
        file.write(json.dumps({"completionId": "comp_a", "value": 0.0}) + "\n")
        file.write(json.dumps({"completionId": "comp_b", "error": "cannot judge"}) + "\n")
    assert check.graded(log, since) == {"comp_a": 0.0, "comp_b": None}

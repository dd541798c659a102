"""The counting grader of the GRPO example, as a platform meets it."""

import importlib.util
import json
from pathlib import Path

import pytest
from autotune_sdk.grader import sign_request

FILE = Path(__file__).resolve().parents[2] / "examples/trl_grpo/grader.py"
SECRET = "atgs_" + "x" * 43


@pytest.fixture
def judge(monkeypatch):
    monkeypatch.setenv("AUTOTUNE_GRADER_SECRET", SECRET)
    spec = importlib.util.spec_from_file_location("counting_grader_under_test", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def judge(prompt, response):
        completion = {"id": "comp_1", "taskId": "task_1", "prompt": prompt, "response": response, "metadata": {}}
        body = json.dumps({"requestId": "r1", "completion": completion}).encode()
        answer = module.grader.handle("POST", "/score", list(sign_request(SECRET, body, "r1").items()), body)
        assert answer.status == 200
        return json.loads(answer.body)["score"]["value"]

    return judge


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ("nine zero one", 1.0),
        ("nine zero two", 0.766667),
        ("one zero nine", 0.533333),
        ("four four four", 0.3),
        ("nine the the", 0.333333),
        ("nine", 0.333333),
        ("nine zero one two", 0.925),
        ("count on from", 0.0),
        ("", 0.0),
    ],
)
def test_form_and_places_each_earn_their_share(judge, response, value):
    assert judge("count on from eight :", response) == pytest.approx(value)


def test_a_prompt_of_another_form_has_no_right_answer(judge):
    assert judge("What is 2 + 2?", "one two three") == pytest.approx(0.3)

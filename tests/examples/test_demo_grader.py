"""The demo grader as a platform meets it: signed requests in, signed answers out, nothing of its rules."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from autotune_sdk.grader import sign_request

FOLDER = Path(__file__).resolve().parents[2] / "examples/demo_grader"
SECRET = "atgs_" + "x" * 43


@pytest.fixture
def grader(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "rules", raising=False)
    monkeypatch.setenv("AUTOTUNE_GRADER_SECRET", SECRET)
    spec = importlib.util.spec_from_file_location("demo_grader_under_test", FOLDER / "grader.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.grader


def ask(grader, path, request_id="r1", **members):
    body = json.dumps({"requestId": request_id, **members}).encode() if members else b""
    method = "POST" if members else "GET"
    headers = sign_request(SECRET, body, request_id)
    answer = grader.handle(method, path, list(headers.items()), body)
    return answer.status, json.loads(answer.body)


def completion(response, **metadata):
    return {"id": "comp_1", "taskId": "task_1", "prompt": "?", "response": response, "metadata": metadata}


def test_it_is_healthy_and_reports_its_capabilities(grader):
    status, body = ask(grader, "/health")
    assert (status, body["status"], body["version"]) == (200, "healthy", "1.0.0")
    assert body["capabilities"]["supportsDimensions"] is True


def test_a_right_answer_in_the_right_form_is_worth_1_and_says_why(grader):
    status, body = ask(grader, "/score", completion=completion("14 * 12 = 168\nAnswer: 168", promptId="sum-01"))
    assert status == 200
    assert body["score"]["value"] == 1.0
    assert {d["name"]: d["value"] for d in body["score"]["dimensions"]} == dict.fromkeys(
        ("correctness", "format", "brevity"), 1.0
    )
    assert sum(d["weight"] for d in body["score"]["dimensions"]) == pytest.approx(1)
    assert body["score"]["reasoning"].startswith("Right in substance.")


def test_a_partly_right_answer_earns_part_of_the_score(grader):
    _, body = ask(grader, "/score", completion=completion("It is 168.", promptId="sum-01"))
    assert body["score"]["value"] == 0.75


def test_a_prompt_that_is_not_in_the_key_is_an_error_and_not_a_zero(grader):
    status, body = ask(grader, "/score", completion=completion("42", promptId="sum-99"))
    assert status == 200
    assert "score" not in body
    assert "sum-99" in body["error"]


def test_a_sample_of_the_platform_is_judged_without_a_prompt_id(grader):
    status, body = ask(grader, "/score", completion=completion("4"))
    assert status == 200
    assert 0 <= body["score"]["value"] <= 1


def test_a_batch_is_judged_item_by_item(grader):
    items = [completion("168", promptId="sum-01") | {"id": "comp_1"}, completion("?", promptId="no") | {"id": "comp_2"}]
    _, body = ask(grader, "/score/batch", completions=items)
    assert [(entry["completionId"], "score" in entry) for entry in body["scores"]] == [
        ("comp_1", True),
        ("comp_2", False),
    ]

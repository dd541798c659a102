"""Answers that pages show are compared with real ones: every member, every text; of ids, times and numbers the kind."""

import pytest

from tests.support.answers import differences, ids

ID = "0" * 26
TIMES = "2026-11-30T08:00:00.000Z", "2031-01-02T03:04:05.678Z"


@pytest.mark.parametrize(
    ("shown", "actual"),
    [
        (None, None),
        (True, True),
        ("completed", "completed"),
        (1, 0.25),
        ("comp_…", f"comp_{ID}"),
        ("at_live_…", "at_live_xyz"),
        ("a line, …", "a line, and another\nline"),
        ("https://…/in", "https://hooks.example.com/in"),
        TIMES,
        ([], []),
        ([{"a": 1}], [{"a": 2}, {"b": 3}]),
        ({"a": {"b": "c"}}, {"a": {"b": "c"}}),
        ({"a": 1, "…": "…"}, {"a": 1, "b": 2}),
    ],
)
def test_answers_of_the_same_shape_agree(shown, actual):
    assert differences(shown, actual) == []


@pytest.mark.parametrize(
    ("shown", "actual"),
    [
        (None, 0),
        (0, None),
        (False, 0),
        (1, True),
        (1, "1"),
        ("completed", "failed"),
        ("…", ""),
        ("comp_…", f"run_{ID}"),
        ("comp_…", "comp_1"),
        (TIMES[0], "yesterday"),
        (TIMES[0], None),
        ([], [1]),
        ([1], []),
        ([1, 2], [1]),
        ({}, []),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ({"a": 1, "…": "…"}, {"b": 2}),
        ([{"a": 1}], [{"a": 1, "b": 2}]),
    ],
)
def test_answers_of_another_shape_differ(shown, actual):
    assert len(differences(shown, actual)) == 1


def test_every_difference_has_its_pointer():
    shown = {"task": {"name": "Arithmetic", "graders": [{"weight": 1, "part": "scoring"}]}, "extra": 1}
    actual = {"task": {"name": "Arithmetic", "graders": [{"weight": None, "part": "shadow"}], "model": None}}
    pointers = [line.partition(":")[0] for line in differences(shown, actual)]
    assert sorted(pointers) == ["/extra", "/task/graders/0/part", "/task/graders/0/weight", "/task/model"]


def test_ids_of_an_answer_are_those_of_later_examples():
    shown = {"completion": {"id": "comp_…", "taskId": "task_…"}, "workflowRunIds": ["run_…"], "secret": "at_live_…"}
    actual = {
        "completion": {"id": f"comp_{ID}", "taskId": f"task_{ID}"},
        "workflowRunIds": [f"run_{ID}", "another"],
        "secret": "at_live_xyz",
    }
    assert ids(shown, actual) == {"comp_…": f"comp_{ID}", "task_…": f"task_{ID}", "run_…": f"run_{ID}"}

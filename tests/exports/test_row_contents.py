"""Exported rows: equal names on every row, text that stays a single line, and what identifies the submission."""

import json

import pytest

from scores.retention import erasing
from tasks.models import Completion
from tests.exports.exported import body, lines, parquet
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.answering import answered, rewarded

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def test_c11_a_panel_has_the_same_names_on_every_row(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    task = TaskFactory(organization=api.organization, graders=graders)

    def score_completion(*dimensions):
        completion = CompletionFactory(task=task)
        for grader, values in zip(graders, dimensions, strict=True):
            entries = [{"name": name, "value": value, "weight": None} for name, value in values.items()]
            ScoreFactory(run__completion=completion, run__grader=grader, dimensions=entries or None, reward=False)
        rewarded(completion, 0.5)

    score_completion({"tone": 1}, {"style": 0.5})
    score_completion({"tone": 0.25}, {"tone": 0.75})
    score_completion({}, {})
    expected = [{"style": 0.5, "tone": 1.0}, {"style": None, "tone": 0.5}, {"style": None, "tone": None}]
    assert [row["dimensions"] for row in lines(api, "dimensions=true")] == expected
    columns = lines(api, "dimensionColumns=true")
    assert [{name: row[f"dimension_{name}"] for name in ("style", "tone")} for row in columns] == expected
    assert [dict(row) for row in parquet(api, "dimensions=true").column("dimensions").to_pylist()] == expected


def test_c11_a_newer_score_of_a_panel_replaces_its_dimensions(api):
    grader, other = (GraderFactory(organization=api.organization) for _ in range(2))
    task = TaskFactory(organization=api.organization, graders=[grader, other])
    completion = CompletionFactory(task=task)
    for value in (0.25, 0.75):
        ScoreFactory(
            run=RunFactory(completion=completion, grader=grader, status="completed", generation=int(value > 0.5)),
            dimensions=[{"name": "tone", "value": value, "weight": None}], reward=False,
        )  # fmt: skip
    rewarded(completion, 0.5)
    (row,) = lines(api, "dimensions=true")
    assert row["dimensions"] == {"tone": 0.75}


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\n"])
def test_c15_no_character_of_a_text_ends_a_line(api, task, separator):
    text = f'a{separator}b\\{separator}"{separator}'
    answered(task, text, text, 0.5, model_id=f"m{separator}", external_id=text, metadata={"k": text})
    for query in ("layout=records&include=metadata", "layout=kto", "layout=verl", "layout=records&conversational=true"):
        raw = body(api, query)
        assert len(raw.decode().splitlines()) == 1, query
        row = json.loads(raw)
    assert (row["prompt"], row["response"], row["messages"][0]["content"]) == (text, text, text)
    assert row["metadata"]["external_id"] == text


def test_c15_the_bytes_of_other_characters_stay_unchanged(api, task):
    text = "…\u2027\u202a\u0084\u0086Ā\u0145é😀"
    answered(task, text, text, 0.5)
    raw = body(api, "layout=kto")
    assert text.encode() in raw


def test_c17_a_row_identifies_its_submission(api, task):
    body_ = {
        "taskId": public("task", task), "modelId": "m", "variables": {"question": "2 + 2?"}, "response": "4",
        "externalId": "row-7", "metadata": {"difficulty": 3},
    }  # fmt: skip
    assert api.post("/completions", body_).status_code == 202
    assert api.post("/completions", {"taskId": body_["taskId"], "modelId": "m", "prompt": "3 + 3?", "response": "6"})
    for completion in Completion.objects.order_by("id"):
        rewarded(completion, 0.5)
    first, second = lines(api, "layout=records&include=metadata,variables")
    assert (first["metadata"]["external_id"], second["metadata"]["external_id"]) == ("row-7", "")
    assert (first["metadata"]["reused_from"], second["metadata"]["reused_from"]) == ("", "")
    assert (json.loads(first["completion_metadata"]), json.loads(second["completion_metadata"])) == (
        {"difficulty": 3},
        {},
    )
    assert (json.loads(first["variables"]), json.loads(second["variables"])) == ({"question": "2 + 2?"}, {})
    assert [row["metadata"]["external_id"] for row in lines(api, "layout=kto")] == ["row-7", ""]
    (only,) = [row for row in lines(api, "include=variables&naming=camel") if row["metadata"]["externalId"]]
    assert list(only)[-2:] == ["variables", "metadata"]
    assert "completionMetadata" in lines(api, "include=metadata&naming=camel")[0]


def test_c17_variables_are_erased_with_the_text(api, task):
    api.post(
        "/completions",
        {"taskId": public("task", task), "modelId": "m", "variables": {"question": "secret"}, "response": "4"},
    )
    completion = Completion.objects.get()
    assert completion.variables == {"question": "secret"}
    erasing.erase([completion.pk], end_unfinished=True)
    assert Completion.objects.filter(variables__isnull=True).count() == 1

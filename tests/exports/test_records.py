"""GET /scores/export: which records there are, and what they say."""

import json

import pytest

from autotune.core import clock
from exports.reading import ranges
from graders.models import GraderVersion
from scores.models import Reward, Score
from tasks.models import Completion
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    public,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


def scored(task, value=0.5, **more):
    return ScoreFactory(run__completion__task=task, value=value, **more)


def rewarded(completion, value, used=2, **more):
    return Reward.objects.create(
        completion=completion,
        organization=completion.organization,
        task=completion.task,
        value=value,
        confidence=None if value is None else 0.8,
        aggregation="mean",
        used=used,
        failed=0,
        **more,
    )


def text(response):
    assert response.status_code == 200, response.content
    return b"".join(response.streaming_content)


def records(api, query=""):
    return [json.loads(line) for line in text(api.get(f"/scores/export{query}")).splitlines()]


def values(api, query=""):
    return [record["score"] for record in records(api, query)]


def test_a_record_has_the_shape_of_the_contract(api, task):
    score = scored(task, 1.0, run__completion__prompt="2 + 2?\u2028“ ”", run__completion__response="4\n\t\x7f😀")
    response = api.get("/scores/export")
    body = text(response)
    assert response["Content-Type"] == "application/x-ndjson"
    assert response["Content-Disposition"].startswith('attachment; filename="autotune-records-')
    assert response["Content-Disposition"].endswith('.jsonl"')
    assert response["X-Accel-Buffering"] == "no"
    assert "Content-Length" not in response
    assert "😀".encode() in body
    assert b'"score":1.0,' in body
    assert json.loads(body) == {
        "prompt": "2 + 2?\u2028“ ”",
        "messages": '[{"role":"user","content":"2 + 2?\u2028“ ”"}]',
        "response": "4\n\t\x7f😀",
        "score": 1.0,
        "dimensions": None,
        "metadata": {
            "task_id": public("task", task),
            "model_id": "model-a",
            "completion_id": public("comp", score.completion),
            "grader_id": public("grader", score.grader),
            "grader_version": "1.0.0",
            "grader_version_id": public("graderv", score.grader_version),
            "confidence": 0.9,
            "scored_at": clock.wire(score.completion.reward.scored_at),
            "external_id": "",
            "reused_from": "",
        },
    }


def test_camel_names_are_those_of_the_first_document(api, task):
    scored(task)
    snake, camel = records(api)[0], records(api, "?naming=camel")[0]
    assert list(camel["metadata"]) == [
        "taskId", "modelId", "completionId", "graderId", "graderVersion", "graderVersionId", "confidence", "scoredAt",
        "externalId", "reusedFrom",
    ]  # fmt: skip
    assert list(camel["metadata"].values()) == list(snake["metadata"].values())


def test_records_come_in_the_order_of_completion_ids_over_many_ranges(api, task, monkeypatch):
    monkeypatch.setattr(ranges, "RANGE_ROWS", 3)
    monkeypatch.setattr(ranges, "TEXT_BYTES", 200)
    grader = task.version.members.get().grader
    expected = [public("comp", scored(task, n / 10).completion) for n in range(8)]
    assert [record["metadata"]["completion_id"] for record in records(api)] == expected
    assert [record["metadata"]["completion_id"] for record in records(api, "?per=grader")] == expected
    assert len(records(api, f"?graderId={public('grader', grader)}")) == 8


def test_only_final_rewards_with_a_value_are_exported(api, task):
    scored(task, 0.4)
    scored(task, 0.9, reward=False)
    failed = CompletionFactory(task=task)
    RunFactory(completion=failed, status="failed")
    rewarded(failed, None, used=0, error_code="grader_timeout")
    CompletionFactory(task=task)
    assert values(api) == [0.4]


@pytest.fixture
def panel(api):
    """A panel of two and a shadow grader, on one completion: 0.2, 0.6 and 0.0; the reward is 0.4."""
    first, second, shadow = (GraderFactory(organization=api.organization) for _ in range(3))
    task = TaskFactory(
        organization=api.organization,
        graders=[(first, 1.0, "scoring"), (second, 1.0, "scoring"), (shadow, 1.0, "shadow")],
    )
    completion = CompletionFactory(task=task)
    tone, style = ({"name": name, "value": 1, "weight": 1.0} for name in ("tone", "style"))
    for grader, value, dimensions in ((first, 0.2, [tone]), (second, 0.6, [style]), (shadow, 0.0, None)):
        ScoreFactory(
            run__completion=completion,
            run__grader=grader,
            value=value,
            dimensions=dimensions,
            purpose="shadow" if grader is shadow else "score",
            reward=False,
        )
    rewarded(completion, 0.4)
    completion.graders = (first, second, shadow)
    return completion


def test_a_panel_has_one_record_that_names_no_grader(api, panel):
    (record,) = records(api, "?dimensions=true")
    assert (record["score"], record["metadata"]["confidence"]) == (0.4, 0.8)
    assert record["dimensions"] == {"style": 1.0, "tone": 1.0}
    assert [record["metadata"][name] for name in ("grader_id", "grader_version", "grader_version_id")] == [None] * 3


def test_a_panel_of_which_one_failed_is_still_a_panel(api, panel):
    Score.objects.filter(grader=panel.graders[1]).delete()
    assert records(api)[0]["metadata"]["grader_id"] is None


def test_per_grader_has_one_record_for_each_score_that_counts(api, panel):
    exported = records(api, "?per=grader&dimensions=true")
    assert [record["score"] for record in exported] == [0.2, 0.6]
    assert [record["metadata"]["grader_id"] for record in exported] == [public("grader", g) for g in panel.graders[:2]]
    assert [record["dimensions"] for record in exported] == [{"style": None, "tone": 1.0}, {"style": 1.0, "tone": None}]
    assert {record["prompt"] for record in exported} == {panel.prompt}


def test_shadow_graders_select_nothing(api, panel):
    shadow = public("grader", panel.graders[2])
    assert values(api, f"?graderId={shadow}") == values(api, f"?graderId={shadow}&per=grader") == []


def test_dimensions_are_the_same_on_every_row_of_the_selection(api, task):
    scored(task, dimensions=[{"name": "tone", "value": 1, "weight": None}, {"name": "form", "value": 0.5, "weight": 1}])
    scored(task)
    scored(TaskFactory(organization=api.organization), dimensions=[{"name": "other", "value": 0, "weight": 1}])
    dimensions = [record["dimensions"] for record in records(api, f"?dimensions=true&taskId={public('task', task)}")]
    assert dimensions == [{"form": 0.5, "tone": 1.0}, {"form": None, "tone": None}]
    assert set(records(api, "?dimensions=true")[0]["dimensions"]) == {"form", "tone", "other"}
    assert {record["dimensions"] is None for record in records(api, "?dimensions=false")} == {True}


def test_dimensions_as_columns_are_numbers_or_null_on_every_row(api, task):
    scored(task, dimensions=[{"name": "tone_of", "value": 1, "weight": None}])
    scored(task)
    first, second = records(api, "?dimensionColumns=true&naming=camel")
    assert list(first) == ["prompt", "messages", "response", "score", "dimension_tone_of", "metadata"]
    assert (first["dimension_tone_of"], second["dimension_tone_of"]) == (1.0, None)


@pytest.mark.parametrize("naming", ["snake", "camel"])
def test_dimensions_as_columns_may_have_any_name(api, task, naming):
    names = ["factual-accuracy", "a b", 'a"b', "class", "1", "é", "a.b"]
    scored(task, dimensions=[{"name": name, "value": 0.5, "weight": None} for name in names])
    query = f"/scores/export?dimensionColumns=true&naming={naming}"
    (line,) = [json.loads(line) for line in text(api.get(query)).splitlines()]
    assert {name: line[f"dimension_{name}"] for name in names} == dict.fromkeys(names, 0.5)
    assert json.loads(text(api.get(f"{query}&format=json")))["records"] == [line]
    for form in ("parquet", "tfrecord"):
        assert b"dimension_factual-accuracy" in text(api.get(f"{query}&format={form}"))


def test_dimensions_without_any_are_an_empty_object(api, task):
    scored(task)
    assert records(api, "?dimensions=true")[0]["dimensions"] == {}


def test_too_many_dimensions_for_a_row_are_refused(api, task, monkeypatch):
    monkeypatch.setattr("exports.reading.dimensions.MAX_NAMES", 1)
    scored(task, dimensions=[{"name": name, "value": 1, "weight": 1} for name in ("a", "b")])
    response = api.get("/scores/export?dimensions=true")
    assert (response.status_code, response.json()["errors"][0]["pointer"]) == (400, "?dimensions")


def test_after_a_rescore_the_record_has_the_newest_score(api, task):
    old = scored(task, 0.1)
    newer = GraderVersion.objects.create(grader=old.grader, label="2.0.0")
    ScoreFactory(run__completion=old.completion, grader_version=newer, value=0.9, reward=False)
    Reward.objects.update(value=0.9)
    (record,) = records(api)
    assert (record["score"], record["metadata"]["grader_version"]) == (0.9, "2.0.0")
    assert values(api, "?per=grader") == [0.9]  # also before the older one is marked as superseded
    assert values(api, "?per=grader&maxScore=0.5") == []


def test_scores_of_a_completion_without_a_final_reward_are_no_records(api, task):
    scored(task, 0.1)
    scored(task, 0.2, reward=False)  # the rest of its panel is at work
    failed = scored(task, 0.3, reward=False)
    rewarded(failed.completion, None, error_code="no_score")
    assert values(api, "?per=grader") == values(api, f"?per=grader&taskId={public('task', task)}") == [0.1]
    assert len(json.loads(text(api.get("/scores/export?per=grader&format=json")))["records"]) == 1


def test_filters_apply_to_the_reward_or_to_the_score(api, panel):
    first = public("grader", panel.graders[0])
    version = public("graderv", panel.graders[0].version)
    for query, per_completion, per_grader in (
        ("minScore=0.3", [0.4], [0.6]),
        ("maxScore=0.3", [], [0.2]),
        ("minConfidence=0.85", [], [0.2, 0.6]),
        ("minReward=0.4", [0.4], [0.2, 0.6]),
        ("minReward=0.41", [], []),
        (f"graderId={first}", [0.4], [0.2]),
        (f"graderVersion={version}", [0.4], [0.2]),
        ("modelId=model-b", [], []),
        ("modelId=model-a", [0.4], [0.2, 0.6]),
        (f"taskId={public('task', panel.task)}", [0.4], [0.2, 0.6]),
        ("endDate=2020-01-01", [], []),
        ("startDate=2020-01-01", [0.4], [0.2, 0.6]),
    ):
        assert values(api, f"?{query}") == per_completion, query
        assert values(api, f"?per=grader&{query}") == per_grader, query


def test_a_filter_that_few_scores_pass_is_not_read_through_empty_ranges(
    api, task, monkeypatch, django_assert_max_num_queries
):
    monkeypatch.setattr(ranges, "RANGE_ROWS", 2)
    rare = [scored(task, 1.0 if n in (3, 19) else 0.1) for n in range(20)]
    with django_assert_max_num_queries(24):  # not the ten ranges of the completions
        exported = records(api, "?per=grader&minScore=0.9")
    assert [record["metadata"]["completion_id"] for record in exported] == [
        public("comp", rare[n].completion) for n in (3, 19)
    ]


def test_erased_text_is_left_out(api, task):
    gone = scored(task, 0.1)
    scored(task, 0.2)
    Completion.objects.filter(pk=gone.completion_id).update(prompt=None, response=None)
    assert values(api) == values(api, "?per=grader") == [0.2]


def test_a_row_erased_during_the_export_is_left_out(api, task, monkeypatch):
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    rows = [scored(task, n / 10).completion_id for n in range(4)]
    stream = iter(api.get("/scores/export").streaming_content)
    first = next(stream)
    Completion.objects.filter(pk=rows[2]).update(prompt=None, response=None)
    scores = [json.loads(line)["score"] for line in b"".join([first, *stream]).splitlines()]
    assert scores == [0.0, 0.1, 0.3]


def test_records_have_the_stored_prompt_of_messages(api, task):
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "the question"}]
    scored(task, run__completion__messages=messages, run__completion__prompt="the question")
    assert records(api)[0]["prompt"] == "the question"


def test_nothing_to_export_is_an_empty_file(api):
    assert text(api.get("/scores/export")) == b""


@pytest.mark.parametrize(
    ("query", "pointer", "named"),
    [
        ("format=csv", "?format", "jsonl or parquet or tfrecord or json"),
        ("layout=pairs", "?layout", "records or preferences or kto or verl"),
        ("per=panel", "?per", "completion or grader"),
        ("naming=kebab", "?naming", "snake or camel"),
        ("dimensions=maybe", "?dimensions", ""),
        ("minReward=2", "?minReward", ""),
        ("minReward=null", "?minReward", ""),
        ("compression=lz4", "?compression", "gzip or zstd"),
        ("include=prompt", "?include", "metadata or variables"),
        ("include=metadata,,variables", "?include", "metadata or variables"),
        ("layout=kto&threshold=1.5", "?threshold", ""),
        ("layout=preferences&strategy=worst", "?strategy", "best_worst or all or random"),
        ("layout=preferences&capPerPrompt=0", "?capPerPrompt", ""),
        ("layout=preferences&seed=-1&strategy=random", "?seed", ""),
        ("filename=../../etc/x", "?filename", ""),
        ("minScore=0.5&maxScore=0.4", "?minScore", ""),
        ("taskid=x", "?taskid", ""),
        ("limit=10", "?limit", ""),
    ],
)
def test_an_unsupported_value_is_refused_by_name(api, query, pointer, named):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert error["pointer"] == pointer
    assert named in error["detail"]


@pytest.mark.parametrize(
    ("query", "pointer", "named"),
    [
        ("threshold=0.5", "?threshold", "layout=kto"),
        ("layout=verl&conversational=true", "?conversational", "layout=preferences or layout=kto"),
        ("tools=true", "?tools", "conversational=true"),
        ("layout=kto&tools=true", "?tools", "conversational=true"),
        ("layout=verl&tools=true", "?tools", "layout=records or layout=preferences or layout=kto"),
        ("layout=preferences&include=metadata", "?include", "layout=records"),
        ("minScoreDelta=0.1", "?minScoreDelta", "layout=preferences"),
        ("strategy=all", "?strategy", "layout=preferences"),
        ("layout=kto&capPerPrompt=2", "?capPerPrompt", "layout=preferences"),
        ("layout=preferences&seed=1", "?seed", "strategy=random"),
        ("layout=preferences&strategy=all&seed=1", "?seed", "strategy=random"),
        ("layout=preferences&capPerPrompt=2", "?capPerPrompt", "strategy=all or strategy=random"),
        ("layout=preferences&strategy=best_worst&capPerPrompt=2", "?capPerPrompt", "strategy=all or strategy=random"),
        ("layout=preferences&per=grader", "?per", "layout=records"),
        ("layout=kto&dimensions=true", "?dimensions", "layout=records"),
        ("layout=kto&dimensionColumns=true", "?dimensionColumns", "layout=records"),
        ("dimensions=true&dimensionColumns=true", "?dimensionColumns", "it replaces `dimensions`"),
        ("layout=verl&naming=camel", "?naming", "layout=records"),
        ("layout=verl&format=tfrecord", "?format", "jsonl or parquet"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(api, query, pointer, named):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert (error["pointer"], error["code"]) == (pointer, "does_not_fit")
    assert named in error["detail"]


def test_another_organization_is_not_exported(api, api_for, task):
    scored(task)
    stranger = api_for(role="training_operator")
    assert text(stranger.get("/scores/export")) == text(stranger.get("/scores/export?per=grader")) == b""
    response = stranger.get(f"/scores/export?taskId={public('task', task)}")
    assert (response.status_code, response.json()["errors"][0]["pointer"]) == (404, "?taskId")


@pytest.mark.parametrize("role", ["grader_owner", "reviewer"])
def test_roles_without_exports_are_refused(api_for, role):
    assert api_for(role=role).get("/scores/export").status_code == 403


def test_without_a_key_there_is_no_export(api):
    api.key = None
    assert api.get("/scores/export").status_code == 401


def test_a_grader_owner_of_another_organization_does_not_get_the_texts(api_for):
    owner = api_for(role="organization_admin")
    mine = GraderFactory(organization=owner.organization, created_by=UserFactory(), visibility="listed")
    scored(TaskFactory(organization=OrganizationFactory(), graders=[mine]))
    assert text(owner.get(f"/scores/export?per=grader&graderId={public('grader', mine)}")) == b""


def test_head_returns_the_headers_without_reading_rows(api, task, django_assert_max_num_queries):
    scored(task)
    with django_assert_max_num_queries(4 + 11):  # the event is the first of its chain, whose key is made
        response = api.call("HEAD", "/scores/export?format=parquet")
    assert (response.status_code, response.content) == (200, b"")
    assert response["Content-Type"] == "application/vnd.apache.parquet"

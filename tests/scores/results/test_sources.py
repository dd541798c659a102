"""What readers leave out: held-out completions always, evaluations and telemetry unless `source` names them.

Each completion has a value of its own, so an answer shows which completions it includes.
"""

import json

import pytest
from django.db import connection

from autotune.access.principal import Principal
from exports import previews
from exports.requests import ExportQuery
from scores.counters import building, folding, progress
from scores.models import Reward, Score, UncountedTask
from scores.results import comparisons
from tasks.models import Completion
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.answering import digests_of

pytestmark = pytest.mark.django_db
VALUES = {"api": 0.1, "manual": 0.2, "telemetry": 0.3, "evaluation": 0.4}
HELD_OUT = 0.9  # the value of each held-out completion
DEFAULT_LIST = {"api", "manual", "telemetry"}
DEFAULT_FIGURES = {"api", "manual"}
CHOICES = [
    ("", None),
    ("source=api", {"api"}),
    ("source=telemetry", {"telemetry"}),
    ("source=evaluation", {"evaluation"}),
    ("source=api&source=evaluation", {"api", "evaluation"}),
    ("source=manual&source=telemetry&source=manual", {"manual", "telemetry"}),
    ("source=api&source=manual&source=telemetry&source=evaluation", set(VALUES)),
]


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def scored(task):
    """A scored completion of each source, and a held-out one: all answer one prompt."""
    for source, value in VALUES.items():
        for held_out in (False, True):
            add(task, source, HELD_OUT if held_out else value, held_out=held_out)


def add(task, source, value, *, held_out=False, **fields):
    response = f"{source} {held_out}"
    completion = CompletionFactory(
        task=task, source=source, held_out=held_out, prompt="p", response=response,
        **digests_of(task, "p", response), **fields,
    )  # fmt: skip
    return ScoreFactory(run=RunFactory(completion=completion, status="completed", attempt=1), value=value)


def sources_of(values):
    """The sources with these values; fails if a held-out completion is among them."""
    by_value = {value: source for source, value in VALUES.items()}
    return {by_value[round(value, 6)] for value in values}


def answer_of(api, path):
    response = api.get(path)
    assert response.status_code == 200, response.content
    return response.json()


# --- lists ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "expected"), CHOICES)
def test_the_list_of_scores(api, task, scored, query, expected):
    for path in (f"/scores?taskId={public('task', task)}&{query}", f"/scores?{query}", f"/scores?sort=value&{query}"):
        body = answer_of(api, path)
        assert sources_of(score["value"] for score in body["scores"]) == (expected or DEFAULT_LIST), path
        assert body["pagination"]["total"] == len(expected or DEFAULT_LIST)


@pytest.mark.parametrize(("query", "expected"), CHOICES)
def test_scores_of_one_model_are_narrowed_by_counters_of_the_same_sources(api, task, scored, query, expected):
    for fold in (False, True):
        if fold:
            folding.fold()
        body = answer_of(api, f"/scores?modelId=model-a&{query}")
        assert sources_of(score["value"] for score in body["scores"]) == (expected or DEFAULT_LIST)


@pytest.mark.parametrize(("query", "expected"), CHOICES)
def test_the_list_of_completions_includes_held_out_ones(api, scored, query, expected):
    completions = answer_of(api, f"/completions?{query}")["completions"]
    pairs = sorted((completion["source"], completion["heldOut"]) for completion in completions)
    assert pairs == sorted((source, held_out) for source in expected or DEFAULT_LIST for held_out in (False, True))


def test_one_completion_and_its_score_are_read_by_id(api, task, scored):
    for completion in Completion.objects.filter(source="evaluation"):
        body = answer_of(api, f"/completions/{public('comp', completion)}")["completion"]
        assert (body["source"], body["heldOut"]) == ("evaluation", completion.held_out)
        assert answer_of(api, f"/completions/{public('comp', completion)}/score")["status"] == "completed"


def test_an_external_id_finds_a_completion_of_any_source(api, task):
    completion = CompletionFactory(task=task, external_id="x", source="evaluation")
    listed = answer_of(api, "/completions?externalId=x")["completions"]
    assert [row["id"] for row in listed] == [public("comp", completion)]
    assert answer_of(api, "/completions?externalId=x&source=api")["completions"] == []


@pytest.mark.parametrize("path", ["/completions", "/scores", "/scores/summary", "/scores/export"])
@pytest.mark.parametrize("query", ["source=", "source=API", "source=api&source=x", "source=null", "source=api,manual"])
def test_an_unknown_source_is_rejected(api, path, query):
    answer = api.get(f"{path}?{query}")
    assert answer.status_code == 400
    assert [(error["pointer"], error["code"]) for error in answer.json()["errors"]] == [("?source", "invalid_choice")]


def test_other_parameters_may_occur_only_once(api):
    answer = api.get("/scores?modelId=a&modelId=b")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "repeated_parameter")


# --- figures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "expected"), CHOICES)
@pytest.mark.parametrize("reading", ["tallies", "counters", "rows"])
def test_the_summary(api, task, scored, query, expected, reading):
    if reading == "counters":
        folding.fold()
    if reading == "rows":
        UncountedTask.objects.create(task_id=task.pk)
    values = sorted(VALUES[source] for source in expected or DEFAULT_FIGURES)
    for path in (f"/scores/summary?taskId={public('task', task)}&{query}", f"/scores/summary?{query}"):
        body = answer_of(api, path)
        assert body["totalRecords"] == len(values)
        figures = body["scoreDistribution"]
        assert (figures["min"], figures["max"]) == (values[0], values[-1])
        assert figures["mean"] == pytest.approx(sum(values) / len(values), abs=1e-12)


@pytest.mark.parametrize(("query", "expected"), CHOICES)
def test_unscored_runs_are_counted_by_the_same_rule(api, task, query, expected):
    for source in VALUES:
        for held_out in (False, True):
            RunFactory(completion=CompletionFactory(task=task, source=source, held_out=held_out))
    assert answer_of(api, f"/scores/summary?{query}")["unscored"] == len(expected or DEFAULT_FIGURES)


def test_the_progress_of_a_task_counts_what_the_summary_counts(task, scored):
    failed = CompletionFactory(task=task, source="evaluation")
    Reward.objects.create(
        completion=failed, organization=task.organization, task=task, aggregation="mean", used=0, failed=1,
        error_code="timeout", source="evaluation",
    )  # fmt: skip
    expected = progress.TaskProgress(2, 2, 0, 300_000_000_000)
    assert progress.of_tasks([task.pk])[task.pk] == expected
    folding.fold()
    assert progress.of_tasks([task.pk])[task.pk] == expected
    UncountedTask.objects.create(task_id=task.pk)
    assert progress.of_tasks([task.pk])[task.pk] == expected
    assert building.check(task.pk)
    building.build(task.pk)
    assert progress.of_tasks([task.pk])[task.pk] == expected
    assert building.check(task.pk)


def test_counters_follow_changes_and_deletions_of_rows_that_readers_leave_out(task, scored):
    Score.objects.filter(source="evaluation").update(value=0.6)
    Reward.objects.filter(source="evaluation").update(value=0.6)
    Reward.objects.filter(source="manual", held_out=False).update(value=0.7)
    Reward.objects.filter(source="telemetry").delete()
    assert building.check(task.pk)
    assert progress.of_tasks([task.pk])[task.pk] == progress.TaskProgress(2, 2, 0, 800_000_000_000)


def test_the_comparison_of_models(task, scored):
    (model,) = comparisons.of_task(task.pk).models
    assert (model.count, model.mean) == (2, pytest.approx(0.15))


# --- training data --------------------------------------------------------------------------------------------------


def exported(api, query):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 200, response.content
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


@pytest.mark.parametrize(("query", "expected"), CHOICES)
@pytest.mark.parametrize("per", ["completion", "grader"])
def test_records(api, task, scored, query, expected, per):
    for scope in ("", f"taskId={public('task', task)}"):
        rows = exported(api, f"per={per}&{scope}&{query}".replace("&&", "&").strip("&"))
        assert sources_of(row["score"] for row in rows) == (expected or DEFAULT_FIGURES)
        assert len(rows) == len(expected or DEFAULT_FIGURES)


@pytest.mark.parametrize(("query", "expected"), CHOICES)
def test_pairs_in_exports_and_in_samples(api, task, scored, query, expected):
    values = sorted(VALUES[source] for source in expected or DEFAULT_FIGURES)
    extremes = [(values[-1], values[0])] if len(values) > 1 else []
    rows = exported(api, f"layout=preferences&{query}".strip("&"))
    assert [(row["chosen_score"], row["rejected_score"]) for row in rows] == extremes
    members = {"source": sorted(expected)} if expected else {}
    body = {"taskId": public("task", task), "minScoreDelta": 0, "sampleSize": 10, **members}
    answer = api.post("/preference-pairs", body)
    assert answer.status_code == 200, answer.content
    assert [(pair["chosenScore"], pair["rejectedScore"]) for pair in answer.json()["pairs"]] == extremes


@pytest.mark.parametrize(("query", "expected"), CHOICES)
def test_verl_groups_only_what_is_selected(api, scored, query, expected):
    (row,) = exported(api, f"layout=verl&{query}".strip("&"))
    assert row["extra_info"]["answers"] == len(expected or DEFAULT_FIGURES)


@pytest.mark.parametrize("members", [{}, {"source": ("telemetry",)}, {"source": ("api", "evaluation")}])
@pytest.mark.parametrize("layout", ["records", "kto"])
def test_a_preview_counts_what_the_export_has(api, task, scored, members, layout):
    principal = Principal(api.organization, api.api_key.role, api.user)
    preview = previews.build_preview(ExportQuery(layout=layout, **members), principal)
    assert preview.rows.value == len(members.get("source", DEFAULT_FIGURES))
    assert len(preview.sample) == preview.rows.value
    assert preview.left_out == []


def test_an_export_job_stores_its_sources(api, task, scored):
    answer = api.post("/exports", {"source": ["manual", "telemetry"]})
    assert answer.status_code == 202, answer.content
    assert answer.json()["export"]["query"]["source"] == ["manual", "telemetry"]
    refusal = api.post("/exports", {"source": "manual"})
    assert (refusal.status_code, refusal.json()["errors"][0]["pointer"]) == (400, "/source")


# --- indexes --------------------------------------------------------------------------------------------------------


def plan_of(queryset):
    """The database's plan, with sequential scans and sorts as the last resort."""
    sql, params = queryset.query.sql_with_params()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("set local enable_seqscan = off; set local enable_sort = off")
        cursor.execute(f"explain {'' if connection.vendor == 'postgresql' else 'query plan '}{sql}", params)
        return "\n".join(" ".join(map(str, row)) for row in cursor.fetchall())


@pytest.mark.parametrize(
    ("index", "rows"),
    [
        ("scores_score_by_org", lambda task, s: Score.objects.for_readers(s).filter(organization=task.organization)),
        ("scores_score_by_task", lambda task, s: Score.objects.for_readers(s).filter(task=task)),
        ("scores_reward_by_org", lambda task, s: Reward.objects.for_readers(s).filter(organization=task.organization)),
        ("scores_reward_by_task", lambda task, s: Reward.objects.for_readers(s).filter(task=task)),
    ],
)
@pytest.mark.parametrize("sources", [("api",), ("api", "manual"), ("telemetry",), ("telemetry", "api", "manual")])
def test_readers_use_their_partial_indexes(task, index, rows, sources):
    assert index in plan_of(rows(task, sources).order_by("-pk"))


def test_evaluations_have_a_small_index(task):
    for rows, index in ((Score, "scores_score_evaluated"), (Completion, "tasks_completion_evaluated")):
        evaluated = rows.objects.for_readers(["evaluation"]).filter(organization=task.organization)
        assert index in plan_of(evaluated.order_by("-pk"))


def test_prompts_are_read_from_the_readers_index(task):
    prompts = (
        Completion.objects.for_readers(("api",)).filter(task=task, prompt_digest__gt=b"").order_by("prompt_digest")
    )
    assert "tasks_completion_by_prompt" in plan_of(prompts)

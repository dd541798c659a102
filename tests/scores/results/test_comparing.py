"""The comparison of a task's models: what is counted, how wide the intervals are, and where there is none."""

import math
from datetime import UTC, datetime, timedelta
from statistics import quantiles, stdev

import pytest

from scores.models import Reward
from scores.results import comparisons
from scores.results.comparisons import BINS, quantile95
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory


@pytest.fixture
def task(db):
    return TaskFactory()


def scored(task, model, *values, prompts=None):
    """Completions of a model with these rewards, each of its own prompt unless `prompts` names them."""
    for at, value in enumerate(values):
        digest = (prompts[at] if prompts else f"{model}-{at}").encode().ljust(16, b"\0")[:16]
        completion = CompletionFactory(task=task, model_id=model, prompt_digest=digest)
        ScoreFactory(run=RunFactory(completion=completion, status="completed"), value=value)


def of(task, model):
    return next(row for row in comparisons.of_task(task.pk).models if row.model == model)


def test_a_task_without_scores_has_an_empty_comparison(task):
    comparison = comparisons.of_task(task.pk)
    assert (comparison.models, comparison.count, comparison.since, comparison.mean) == ([], 0, None, None)


def test_with_one_answer_per_prompt_the_interval_is_students(task):
    values = [0.2, 0.4, 0.5, 0.9]
    scored(task, "a", *values)
    model = of(task, "a")
    assert (model.count, model.prompts) == (4, 4)
    assert model.mean == pytest.approx(0.5)
    assert model.error == pytest.approx(stdev(values) / 2)
    assert model.margin == pytest.approx(3.182 * stdev(values) / 2)


def test_answers_to_one_prompt_count_as_one_group(task):
    scored(task, "a", 0.1, 0.1, 0.1, 0.9, 0.9, 0.9, prompts="xxxyyy")
    model = of(task, "a")
    assert (model.count, model.prompts) == (6, 2)
    assert model.error == pytest.approx(0.4)  # of two prompts, 0.1 and 0.9
    assert model.interval == (0.0, 1.0)


def test_a_single_prompt_has_a_mean_and_no_interval(task):
    scored(task, "a", 0.3, 0.5, prompts="xx")
    scored(task, "b", 0.7)
    assert (of(task, "a").mean, of(task, "a").interval) == (pytest.approx(0.4), None)
    assert (of(task, "b").mean, of(task, "b").margin) == (pytest.approx(0.7), None)


def test_prompts_that_have_no_digest_yet_count_each_for_itself(task):
    for value in (0.2, 0.6):
        ScoreFactory(run=RunFactory(completion=CompletionFactory(task=task, model_id="a")), value=value)
    CompletionFactory(task=task, model_id="a", prompt_digest=b"")
    for value in (0.2, 0.6):
        completion = CompletionFactory(task=task, model_id="b", prompt_digest=b"")
        ScoreFactory(run=RunFactory(completion=completion), value=value)
    assert (of(task, "a").prompts, of(task, "b").prompts) == (2, 2)


def test_failures_and_other_tasks_do_not_count(task):
    scored(task, "a", 0.5)
    scored(TaskFactory(), "a", 1.0)
    failed = CompletionFactory(task=task, model_id="a")
    Reward.objects.create(
        completion=failed, organization=task.organization, task=task, aggregation="mean", used=0, failed=1,
        error_code="timeout",
    )  # fmt: skip
    comparison = comparisons.of_task(task.pk)
    assert (comparison.count, comparison.mean, [model.count for model in comparison.models]) == (1, 0.5, [1])


def test_the_buckets_hold_both_ends(task):
    scored(task, "a", 0.0, 0.049, 0.5, 1.0, 0.999)
    bins = of(task, "a").bins
    assert (len(bins), sum(bins), bins[0], bins[BINS // 2], bins[-1]) == (BINS, 5, 2, 1, 2)


def test_only_the_newest_scores_are_compared(task, monkeypatch):
    scored(task, "old", 0.1, 0.2)
    scored(task, "new", 0.8, 0.9)
    monkeypatch.setattr(comparisons, "NEWEST", 2)
    comparison = comparisons.of_task(task.pk)
    assert ([model.model for model in comparison.models], comparison.count, comparison.is_full) == (["new"], 2, True)


def test_the_course_over_time_has_the_mean_of_each_period(task):
    scored(task, "a", 0.2, 0.4, 0.9)
    start = datetime(2026, 11, 1, tzinfo=UTC)
    for at, reward in enumerate(Reward.objects.order_by("completion_id")):
        Reward.objects.filter(pk=reward.pk).update(scored_at=start + timedelta(days=[0, 0, 40][at]))
    comparison = comparisons.of_task(task.pk)
    assert abs(comparison.since - start) < timedelta(seconds=1)
    assert abs(comparison.until - start - timedelta(days=40)) < timedelta(seconds=1)
    (first, low), (last, high) = of(task, "a").moments
    assert (low, high) == (pytest.approx(0.3), pytest.approx(0.9))
    assert comparison.since <= first < last <= comparison.until


def test_models_are_ordered_by_mean_and_clear_differences_are_marked(task):
    scored(task, "low", 0.1, 0.12, 0.11, 0.09)
    scored(task, "high", 0.9, 0.92, 0.91, 0.89)
    scored(task, "near", 0.85, 0.95, 0.8, 0.99)
    scored(task, "single", 0.5)
    comparison = comparisons.of_task(task.pk)
    assert [model.model for model in comparison.models] == ["high", "near", "single", "low"]
    clear_by_pair = {
        (difference.better, difference.worse): difference.is_clear
        for difference in comparisons.differences(comparison.models)
    }
    assert clear_by_pair == {("high", "low"): True, ("near", "low"): True, ("high", "near"): False}


def test_two_models_with_equal_constant_scores_differ_by_exactly_zero(task):
    scored(task, "a", 1.0, 1.0)
    scored(task, "b", 1.0, 1.0)
    (pair,) = comparisons.differences(comparisons.of_task(task.pk).models)
    assert (pair.value, pair.low, pair.high, pair.is_clear) == (0.0, 0.0, 0.0, False)


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.706), (2, 4.303), (10, 2.228), (11, 2.201), (30, 2.042), (120, 1.980), (1e6, 1.960)],
)
def test_the_quantile_matches_published_tables(freedom, expected):
    assert math.isclose(quantile95(freedom), expected, abs_tol=0.001)


def test_names_of_models_are_data(task):
    name = "'; drop table tasks_task; -- %s {source} \u202e"
    scored(task, name, 0.5)
    assert [model.model for model in comparisons.of_task(task.pk).models] == [name]


def test_the_quartiles_of_a_model_are_exact(task):
    values = [0.1, 0.9, 0.58, 0.2, 0.581, 0.7, 0.05]
    scored(task, "a", *values)
    scored(task, "b", 0.25)
    scored(task, "c", 0.2, 0.5)
    assert of(task, "a").quartiles == pytest.approx(quantiles(values, n=4, method="inclusive"))
    assert of(task, "b").quartiles == (0.25, 0.25, 0.25)
    assert of(task, "c").quartiles == pytest.approx((0.275, 0.35, 0.425))

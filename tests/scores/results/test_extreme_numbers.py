"""Figures are right for any count of valid numbers, from the smallest above 0 up to 1, and no page fails."""

from fractions import Fraction
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from autotune.access.principal import Principal
from autotune.core import fixedpoint
from graders.statistics import tallies
from scores.engine.rewards import WeightedScore, aggregate
from scores.models import Score
from scores.results import comparisons
from scores.results.pages import task_counts
from tests.factories import TaskFactory, public
from tests.support.scoring import add_scores

pytestmark = pytest.mark.django_db
LEAST = 5e-324
VALUES = st.one_of(
    st.floats(0, 1, allow_subnormal=True),
    st.sampled_from([0.0, LEAST, 1e-310, 1e-200, 1e-160, 1e-13, 4e-13, 0.1, 0.3, 1 - 2**-53, 1.0]),
    st.floats(0, 1e-300, allow_subnormal=True),
)
number = count()
many = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
values = given(st.lists(VALUES, min_size=1, max_size=14))


@pytest.fixture
def api(api_for):
    return api_for(role="organization_admin")


def a_task(organization):
    return TaskFactory(organization=organization, name=f"Extreme {next(number)}")


def exact_figures(numbers):
    """(mean, std), rounded only at the end."""
    exact = [Fraction(value) for value in numbers]
    mean = sum(exact) / len(exact)
    spread = sum((value - mean) ** 2 for value in exact) / len(exact)
    return float(mean), float(spread) ** 0.5


def at_share(numbers, share):
    ordered = [Fraction(value) for value in sorted(numbers)]
    position = (len(ordered) - 1) * Fraction(share).limit_denominator(100)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (ordered[high] - ordered[low]) * (position - low))


def assert_right(summary, numbers):
    distribution = summary["scoreDistribution"]
    mean, std = exact_figures(numbers)
    assert distribution["mean"] == pytest.approx(mean, abs=1e-12, rel=0)
    assert distribution["std"] >= 0
    assert distribution["std"] == pytest.approx(std, abs=1e-12, rel=0)
    assert (distribution["min"], distribution["max"]) == pytest.approx((min(numbers), max(numbers)), abs=1e-12, rel=0)
    for name, share in (("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p95", 0.95)):
        assert distribution["min"] <= distribution["percentiles"][name] <= distribution["max"]
        assert distribution["percentiles"][name] == pytest.approx(at_share(numbers, share), abs=1e-12, rel=0)
    assert sum(summary["histogram"]) == summary["totalRecords"] == len(numbers)


def test_c1_the_smallest_positive_number_breaks_no_page(api, visitor):
    task = a_task(api.organization)
    (score,) = add_scores(task, [LEAST])
    client = visitor("organization_admin", api.organization)
    task_id = public("task", task)
    for page in ("/scores", f"/scores?taskId={task_id}", f"/tasks/{task_id}", "/tasks", "/", "/graders"):
        assert client.get(page).status_code == 200, page
    summary = api.get(f"/scores/summary?taskId={task_id}").json()
    assert_right(summary, [LEAST])
    assert summary["byModel"][0]["mean"] == pytest.approx(0, abs=1e-12)
    assert api.get("/scores").json()["scores"][0]["value"] == LEAST
    assert client.get(f"/completions/{public('comp', score.completion)}").status_code == 200


@many
@values
@example([LEAST, LEAST])
@example([LEAST, 0.0])
@example([1 - 2**-53, 1.0])
@example([0.1] * 10)
def test_c1_figures_of_any_valid_numbers_are_exact_to_twelve_decimals(api, numbers):
    task = a_task(api.organization)
    add_scores(task, numbers, models=("model-a", "model-b"))
    path = f"/scores/summary?taskId={public('task', task)}"
    from_counters = api.get(path).json()
    from_rows = api.get(f"{path}&minScore=0&maxScore=1").json()
    assert from_counters == from_rows
    assert_right(from_counters, numbers)
    for row in from_counters["byModel"]:
        mean, std = exact_figures(numbers[row["modelId"] == "model-b" :: 2])
        assert (row["mean"], row["std"]) == pytest.approx((mean, std), abs=1e-12, rel=0)


@settings(many, max_examples=15)
@values
@example([LEAST])
@example([LEAST, LEAST, 1.0])
@example([0.0])
@example([1.0, 1.0])
def test_c1_every_page_and_route_of_figures_takes_any_valid_numbers(api, visitor, numbers):
    task = a_task(api.organization)
    add_scores(task, numbers, models=("model-a", "model-b"))
    grader = task.version.members.get().grader
    tallies.record(grader.pk, grader.version_id, values=numbers, latency_ms=[1e-9, 1e12][: len(numbers)], errors={})
    name, judge = public("task", task), public("grader", grader)
    person = visitor("organization_admin", api.organization)
    pages = (
        "/", "/scores", f"/scores?taskId={name}", f"/scores?taskId={name}&minScore=0&maxScore=1e-300", f"/tasks/{name}",
        "/tasks", f"/graders/{judge}", f"/scores?taskId={name}&minConfidence=5e-324",
    )  # fmt: skip
    for page in pages:
        assert person.get(page).status_code == 200, (page, numbers)
    routes = (
        "/scores/summary", f"/scores/summary?taskId={name}&minConfidence=5e-324", f"/tasks/{name}", "/scores",
        f"/scores?taskId={name}&minScore=5e-324", f"/graders/{judge}/stats", f"/scores/export?taskId={name}&layout=records",
    )  # fmt: skip
    for route in routes:
        assert api.get(route).status_code == 200, (route, numbers)
    report = api.get(f"/graders/{judge}/stats").json()
    assert report["totalScored"] == sum(report["scoreDistribution"]) == len(numbers)
    assert report["avgScore"] == pytest.approx(exact_figures(numbers)[0], abs=1e-12, rel=1e-12)


@many
@values
@example([LEAST, LEAST])
@example([0.0, LEAST, 0.0])
def test_c1_a_comparison_of_models_takes_any_valid_numbers(api, numbers):
    task = a_task(api.organization)
    add_scores(task, [*numbers, *reversed(numbers)], models=("model-a", "model-b"))
    comparison = comparisons.of_task(task.pk)
    assert comparison.count == 2 * len(numbers)
    for model in comparison.models:
        model_numbers = [*numbers, *reversed(numbers)][model.model == "model-b" :: 2]
        mean, std = exact_figures(model_numbers)
        assert model.mean == pytest.approx(mean, abs=1e-12, rel=0)
        if model.error is not None:
            error = std / (len(model_numbers) - 1) ** 0.5
            assert model.error == pytest.approx(error, abs=1e-9, rel=1e-6)
    for pair in comparisons.differences(comparison.models):
        assert pair.low <= pair.value <= pair.high


@many
@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=5))
@example([(0.5, LEAST, 1.0), (0.7, LEAST, 1.0)])
@example([(0.5, 1e-200, 1e-200), (0.7, 1e-200, 1e-200)])
@example([(0.2, 1.0, 1e-15), (0.9, 1.0, 1.0), (0.95, 1.0, 1e-15)])
def test_c1_rewards_are_exact_for_any_weights_and_confidences(panel):
    scores = [WeightedScore(*member) for member in panel]
    for aggregation in ("mean", "confidence_weighted"):
        weights = [Fraction(score.weight) for score in scores]
        if aggregation == "confidence_weighted":
            products = [Fraction(score.weight) * Fraction(score.confidence) for score in scores]
            weights = products if sum(products) else weights
        weights = weights if sum(weights) else [Fraction(1)] * len(scores)
        products = [weight * Fraction(score.value) for weight, score in zip(weights, scores, strict=True)]
        exact = sum(products) / sum(weights)
        assert aggregate(scores, aggregation) == pytest.approx(float(exact), abs=1e-12, rel=0)
    assert min(score.value for score in scores) <= aggregate(scores, "median") <= max(score.value for score in scores)


def test_c1_the_median_under_tiny_weights_is_the_middle_value():
    scores = [WeightedScore(value, 1.0, 1e-15) for value in (0.1, 0.2, 0.9)]
    assert aggregate(scores, "median") == 0.2


@many
@given(st.lists(VALUES, max_size=14))
def test_c1_a_tasks_mean_reward_is_exact(api, numbers):
    task = a_task(api.organization)
    add_scores(task, numbers)
    principal = Principal(api.organization, api.api_key.role, api.user)
    counts = task_counts.of_tasks(principal, [task.pk])[task.pk]
    assert (counts.completions, counts.scored, counts.failed) == (len(numbers), len(numbers), 0)
    if numbers:
        assert counts.mean == pytest.approx(exact_figures(numbers)[0], abs=1e-12, rel=0)


@many
@given(st.lists(VALUES, max_size=30), st.randoms())
def test_c1_sums_do_not_depend_on_the_order_and_the_database_sums_like_python(numbers, random):
    task = TaskFactory(name=f"Extreme {next(number)}")
    add_scores(task, numbers)
    rows = Score.objects.filter(task=task).aggregate(**fixedpoint.sums("value"))
    moments = fixedpoint.Moments()
    shuffled = [fixedpoint.units(value) for value in numbers]
    random.shuffle(shuffled)
    moments.note(shuffled)
    assert fixedpoint.moments(rows.values()) == moments


def test_c1_millions_of_numbers_are_summed_exactly():
    part = fixedpoint.Moments()
    part.note([fixedpoint.units(value) for value in (0.1, 0.7, 1.0, LEAST)])
    whole = fixedpoint.Moments(part.count * 10**7, part.total * 10**7, part.squares * 10**7)
    assert whole.mean == pytest.approx(0.45, abs=1e-15)
    assert whole.std == pytest.approx(part.std, abs=1e-15)

"""A panel's scores as one number: every aggregation by hand, and what holds for any scores."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scores.engine.rewards import NO_SCORE, PANEL_INCOMPLETE, WeightedScore, aggregate, reward
from tasks.states import Aggregation

ALL = [choice.value for choice in Aggregation]
WEIGHTED = ["mean", "confidence_weighted", "median"]

unit = st.floats(0, 1, allow_subnormal=False)
some_scores = st.lists(st.builds(WeightedScore, unit, unit, unit), min_size=1, max_size=8)
heavy_scores = st.lists(st.builds(WeightedScore, unit, unit, st.floats(0.01, 1)), min_size=1, max_size=8)


def scored(*triples):
    return [WeightedScore(*triple) for triple in triples]


THREE = scored((0.2, 0.9, 1.0), (0.6, 0.5, 0.5), (1.0, 0.1, 0.25))


# --- by hand ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("aggregation", "value"),
    [
        ("mean", (0.2 + 0.3 + 0.25) / 1.75),
        ("confidence_weighted", (0.2 * 0.9 + 0.6 * 0.25 + 1.0 * 0.025) / (0.9 + 0.25 + 0.025)),
        ("median", 0.2),
        ("min", 0.2),
        ("max", 1.0),
        ("all_or_nothing", 0.0),
    ],
)
def test_three_scores_of_different_weight(aggregation, value):
    assert aggregate(THREE, aggregation) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("aggregation", [name for name in ALL if name != "all_or_nothing"])
def test_a_sole_score_is_the_reward_to_the_last_bit(aggregation):
    assert aggregate(scored((0.1, 0.3, 0.7)), aggregation) == 0.1


def test_zero_confidence_throughout_leaves_the_mean():
    assert aggregate(scored((0.2, 0, 1.0), (0.8, 0, 0.5)), "confidence_weighted") == pytest.approx(0.6 / 1.5)


def test_a_score_without_confidence_does_not_count_beside_others():
    assert aggregate(scored((0.2, 0, 1), (0.8, 0.1, 1)), "confidence_weighted") == 0.8


def test_a_weight_of_zero_does_not_count():
    light = scored((1.0, 0.5, 0.0), (0.25, 0.5, 1.0))
    assert {aggregation: aggregate(light, aggregation) for aggregation in WEIGHTED} == dict.fromkeys(WEIGHTED, 0.25)


def test_min_and_max_ignore_weights():
    light = scored((1.0, 0.5, 0.0), (0.25, 0.5, 1.0))
    assert (aggregate(light, "min"), aggregate(light, "max")) == (0.25, 1.0)


def test_weights_that_are_all_zero_count_equally():
    assert {name: aggregate(scored((0.2, 1, 0), (0.6, 1, 0)), name) for name in WEIGHTED} == {
        name: pytest.approx(0.4) for name in WEIGHTED
    }


@pytest.mark.parametrize(
    ("triples", "median"),
    [
        ([(0.9, 1, 1), (0.1, 1, 1), (0.5, 1, 1)], 0.5),
        ([(0.1, 1, 1), (0.3, 1, 1), (0.5, 1, 1), (0.9, 1, 1)], 0.4),  # half is reached between two: their middle
        ([(0.1, 1, 0.6), (0.5, 1, 0.2), (0.9, 1, 0.2)], 0.1),
        ([(0.1, 1, 0.2), (0.5, 1, 0.2), (0.9, 1, 0.6)], 0.9),
        ([(0.1, 1, 0.5), (0.5, 1, 0.25), (0.9, 1, 0.25)], 0.3),
        ([(0.1, 1, 0.1), (0.2, 1, 0.2), (0.6, 1, 0.3)], 0.4),  # 0.1 + 0.2 is half of 0.6, though not in binary
        ([(0.1, 1, 0.5), (0.4, 1, 0.0), (0.9, 1, 0.5)], 0.5),  # what weighs nothing is no neighbour
    ],
)
def test_the_weighted_median(triples, median):
    assert aggregate(scored(*triples), "median") == pytest.approx(median)


@pytest.mark.parametrize(
    ("values", "value"), [((1.0, 1.0), 1.0), ((1.0, 0.999), 0.0), ((0.0, 0.0), 0.0), ((1.0,), 1.0), ((0.5,), 0.0)]
)
def test_all_or_nothing_requires_a_full_score_from_every_grader(values, value):
    assert aggregate([WeightedScore(each, 0.5) for each in values], "all_or_nothing") == value


def test_nothing_cannot_be_aggregated():
    with pytest.raises(ValueError, match="nothing"):
        aggregate([], "mean")


def test_an_unknown_aggregation_is_an_error():
    with pytest.raises(ValueError, match="mode"):
        aggregate(THREE, "mode")


# --- rewards, with graders that failed ------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregation", ALL)
def test_the_confidence_is_the_smallest_of_those_used(aggregation):
    assert reward(THREE, failed=0, aggregation=aggregation).confidence == 0.1


@pytest.mark.parametrize("aggregation", [name for name in ALL if name != "all_or_nothing"])
def test_other_aggregations_use_the_available_scores_and_count_the_missing(aggregation):
    result = reward(THREE[:2], failed=1, aggregation=aggregation)
    assert result.value == aggregate(THREE[:2], aggregation)
    assert (result.confidence, result.used, result.failed, result.error_code) == (0.5, 2, 1, "")


@pytest.mark.parametrize("value", [1.0, 0.3])
def test_all_or_nothing_fails_with_one_grader_missing(value):
    result = reward(scored((value, 1)), failed=1, aggregation="all_or_nothing")
    assert (result.value, result.confidence, result.used, result.failed) == (None, None, 0, 1)
    assert result.error_code == PANEL_INCOMPLETE


@pytest.mark.parametrize("aggregation", ALL)
def test_no_score_at_all_is_a_failure_with_the_graders_code_and_never_a_zero(aggregation):
    result = reward([], failed=2, aggregation=aggregation, error_code="grader_error")
    assert (result.value, result.used, result.failed, result.error_code) == (None, 0, 2, "grader_error")
    assert reward([], failed=2, aggregation=aggregation, error_code="").error_code == NO_SCORE


# --- for any scores --------------------------------------------------------------------------------------------------


@given(some_scores, st.sampled_from([name for name in ALL if name != "all_or_nothing"]))
def test_a_reward_lies_between_the_lowest_and_the_highest_score(scores, aggregation):
    values = [score.value for score in scores]
    assert min(values) <= aggregate(scores, aggregation) <= max(values)


@given(some_scores, st.sampled_from(ALL), st.randoms())
def test_the_order_of_graders_does_not_matter(scores, aggregation, random):
    shuffled = list(scores)
    random.shuffle(shuffled)
    assert aggregate(shuffled, aggregation) == pytest.approx(aggregate(scores, aggregation), abs=1e-9)


@given(heavy_scores, st.sampled_from(ALL), st.sampled_from([0.5, 0.25, 0.125]))
def test_only_the_proportion_of_weights_counts(scores, aggregation, factor):
    scaled = [replace(score, weight=score.weight * factor) for score in scores]
    assert aggregate(scaled, aggregation) == pytest.approx(aggregate(scores, aggregation), abs=1e-9)


@given(some_scores, st.sampled_from(ALL))
def test_equal_scores_with_equal_weights_are_the_reward(scores, aggregation):
    value = scores[0].value
    alike = [replace(score, value=value) for score in scores]
    expected = float(value == 1) if aggregation == "all_or_nothing" else value
    assert aggregate(alike, aggregation) == expected


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(1, 10)), min_size=1, max_size=9))
def test_the_weighted_median_has_at_most_half_of_the_weight_on_either_side(pairs):
    median = aggregate([WeightedScore(value / 10, 1.0, weight / 10) for value, weight in pairs], "median")
    half = Fraction(sum(weight for _, weight in pairs), 2)
    assert sum(weight for value, weight in pairs if value / 10 < median - 1e-9) <= half
    assert sum(weight for value, weight in pairs if value / 10 > median + 1e-9) <= half


@given(heavy_scores, unit)
def test_more_confidence_in_one_score_draws_the_reward_towards_it(scores, confidence):
    first = scores[0]
    assume(first.confidence <= confidence)
    surer = [replace(first, confidence=confidence), *scores[1:]]
    before, after = aggregate(scores, "confidence_weighted"), aggregate(surer, "confidence_weighted")
    if any(score.confidence > 1e-6 for score in scores):  # else the plain mean is used
        assert abs(after - first.value) <= abs(before - first.value) + 1e-9

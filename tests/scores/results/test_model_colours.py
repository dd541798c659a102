"""The colours of models: the same on every chart of an organization, and never changed by a new model."""

import pytest

from autotune.charts import COLOURS, SLOTS
from scores.counters import folding
from scores.results import model_colours
from scores.results.model_colours import assigned, distinct
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory

FIFTY = [f"model-{number}" for number in range(50)]


def scored(task, *models):
    for model in models:
        completion = CompletionFactory(task=task, model_id=model)
        ScoreFactory(run=RunFactory(completion=completion, status="completed"), value=0.5)
        folding.fold()


def test_names_that_prefer_one_colour_get_two():
    places = assigned(FIFTY[:SLOTS])
    assert sorted(places.values()) == list(range(SLOTS))
    assert set(assigned(FIFTY[:COLOURS]).values()) == set(range(COLOURS))  # full lines before patterns


def test_a_new_model_changes_no_other():
    for count in range(1, 50):
        before, after = assigned(FIFTY[:count]), assigned(FIFTY[: count + 1])
        assert {model: after[model] for model in before} == before


def test_fifty_models_have_places_and_those_of_one_chart_differ():
    places = assigned(FIFTY)
    assert set(places.values()) == set(range(SLOTS))
    for first in range(44):
        chart = FIFTY[first : first + 6]
        assert len(set(distinct(places, chart).values())) == 6


def test_hostile_names_have_places():
    names = ["<script>" * 25, "", "\ud800", "\u202e", "x" * 200]
    assert len(set(assigned(names).values())) == len(names)


@pytest.mark.django_db
def test_two_charts_of_an_organization_give_a_model_one_colour(django_assert_num_queries):
    first, other = TaskFactory(), TaskFactory()
    organization = first.organization_id
    scored(first, "b", "a", "c")
    scored(other, "z", "a")
    with django_assert_num_queries(1):
        all_places = model_colours.slots(organization, ["a", "b", "c"])
    assert model_colours.slots(organization, ["c", "a"]) == {name: all_places[name] for name in ("c", "a")}
    scored(first, "0", "d")
    assert model_colours.slots(organization, ["a", "b", "c"]) == all_places


@pytest.mark.django_db
def test_models_without_counters_have_places_too():
    assert len(set(model_colours.slots(TaskFactory().organization_id, FIFTY[:12]).values())) == 12

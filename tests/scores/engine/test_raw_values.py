"""A score's raw value, on the scale of its grader version: from the verdict through save, review, re-score and copy."""

from math import inf, nan

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graders.models import GraderVersion
from graders.verdicts import Verdict
from scores.models import Review, Score
from tests.factories import GraderFactory, ReviewFactory, ScoreFactory, public
from tests.scores.submitting import problems
from tests.support.results import Bench, claim

pytestmark = pytest.mark.django_db


def rescale(grader, low=-3.0, high=3.0):
    """Give the grader a new version with this scale."""
    grader.version = GraderVersion.objects.create(grader=grader, label=f"{low}", scale_min=low, scale_max=high)
    grader.save(update_fields=["version"])
    return grader


@pytest.fixture
def bench():
    bench = Bench()
    rescale(bench.grader)
    return bench


# --- save -------------------------------------------------------------------------------------------------------------


def test_without_a_raw_value_it_follows_from_the_value(bench):
    bench.save([bench.judged(claim(bench.run()), 0.75)])
    assert Score.objects.values_list("value", "raw_value").get() == (0.75, 1.5)


def test_a_raw_value_of_the_grader_is_kept_as_it_is(bench):
    """Also one that does not follow from the value: with direction `minimize`, or with penalties."""
    bench.save(
        [bench.judged(claim(bench.run()), 0.25, raw_value=1.5), bench.judged(claim(bench.run()), 0.0, raw_value=-7)]
    )
    assert list(Score.objects.order_by("value").values_list("value", "raw_value")) == [(0.0, -7.0), (0.25, 1.5)]


@pytest.mark.parametrize("scale", [(0.0, 1e308), (0.0, 5e-324), (-1e308, 1e308)])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_odd_scales_are_stored_to_the_last_bit(bench, scale, value):
    rescale(bench.grader, *scale)
    bench.save([bench.judged(claim(bench.run()), value)])
    assert Score.objects.get().raw_value == scale[int(value)]


def test_a_process_reads_the_scale_of_a_version_once(bench):
    verdicts = [bench.judged(claim(bench.run()), 0.5, raw_value=n if n % 2 else None) for n in range(6)]
    reads = []
    for part in (verdicts[:2], verdicts[2:]):
        with CaptureQueriesContext(connection) as queries:
            bench.save(part)
        reads.append(sum("scale_min" in query["sql"] for query in queries))
    assert reads == [1, 0]
    assert sorted(Score.objects.values_list("raw_value", flat=True)) == [0, 0, 0, 1, 3, 5]


@pytest.mark.parametrize("raw_value", [nan, inf, -inf])
def test_a_raw_value_that_is_not_finite_is_no_verdict(raw_value):
    with pytest.raises(ValueError, match="must be a finite number"):
        Verdict(0.5, 1.0, raw_value=raw_value)


# --- reviews ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def doubtful():
    bench = Bench(review_below_confidence=0.5)
    rescale(bench.grader)
    return bench


@pytest.fixture
def reviewer(api_for, doubtful):
    return api_for(role="reviewer", organization=doubtful.task.organization)


def decide(reviewer, **body):
    answer = reviewer.post(f"/reviews/{Review.objects.get().public_id}/decision", body)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(("raw_value", "expected"), [(None, -1.5), (-1.25, -1.25)])
def test_an_approval_keeps_the_preliminary_raw_value(doubtful, reviewer, raw_value, expected):
    doubtful.save([doubtful.judged(claim(doubtful.run()), 0.25, 0.1, raw_value=raw_value)])
    listed = reviewer.get("/reviews").json()["reviews"][0]
    assert (listed["preliminaryScore"], listed["preliminaryRawValue"], listed["rawValue"]) == (0.25, expected, None)
    assert listed["scale"] == {"min": -3.0, "max": 3.0}
    status, answer = decide(reviewer, approved=True)
    assert (status, answer["review"]["value"], answer["review"]["rawValue"]) == (200, 0.25, expected)
    assert Score.objects.values_list("value", "raw_value").get() == (0.25, expected)


@pytest.mark.parametrize(
    ("body", "value", "raw_value"),
    [
        ({"value": 0.75}, 0.75, 1.5),
        ({"rawValue": 1.5}, 0.75, 1.5),
        ({"rawValue": 3}, 1.0, 3.0),
        ({"rawValue": 3.0000000000000004}, 1.0, 3.0000000000000004),
    ],
)
def test_a_reviewer_decides_in_either_form(doubtful, reviewer, body, value, raw_value):
    doubtful.save([doubtful.judged(claim(doubtful.run()), 0.25, 0.1, raw_value=-1.25)])
    status, answer = decide(reviewer, approved=True, **body)
    assert (status, answer["review"]["value"], answer["review"]["rawValue"]) == (200, value, raw_value)
    score = Score.objects.get()
    assert (score.value, score.raw_value, score.confidence) == (value, raw_value, 1.0)
    assert [part["value"] for part in score.dimensions] == [0.25, value]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"approved": True, "rawValue": 3.1}, "out_of_range"),
        ({"approved": True, "rawValue": -1e308}, "out_of_range"),
        ({"approved": True, "rawValue": 1, "value": 0.5}, "mutually_exclusive"),
        ({"approved": True, "rawValue": 1, "adjustedScore": 0.5}, "mutually_exclusive"),
        ({"approved": False, "rawValue": 1}, "mutually_exclusive"),
        ({"approved": True, "rawValue": "1"}, "wrong_type"),
    ],
)
def test_a_raw_value_that_cannot_be_is_refused_and_decides_nothing(reviewer, doubtful, body, code):
    doubtful.save([doubtful.judged(claim(doubtful.run()), 0.25, 0.1)])
    answer = reviewer.post(f"/reviews/{Review.objects.get().public_id}/decision", body)
    assert problems(answer) == [("/rawValue", code)]
    assert (Review.objects.get().status, Score.objects.count()) == ("open", 0)


def test_a_list_of_reviews_reads_all_scales_at_once(api_for, django_assert_max_num_queries):
    graders = [rescale(GraderFactory(), -n, n) for n in range(1, 6)]
    reviews = [ReviewFactory(grader=grader, grader_version=grader.version) for grader in graders]
    api = api_for(role="organization_admin", organization=reviews[0].organization)
    Review.objects.update(organization=reviews[0].organization)
    with django_assert_max_num_queries(10):
        body = api.get("/reviews?sort=createdAt").json()
    assert [review["scale"]["max"] for review in body["reviews"]] == [1, 2, 3, 4, 5]


# --- what the API shows -----------------------------------------------------------------------------------------------


def test_a_score_shows_its_raw_value_with_the_scale_of_its_own_version(api_for):
    old = ScoreFactory(value=0.5, raw_value=0.5)
    grader = rescale(old.grader, 1.0, 5.0)
    new = ScoreFactory(run__completion__task=old.task, grader_version=grader.version, value=0.5, raw_value=3.0)
    api = api_for(organization=old.organization)
    shown = {score["id"]: (score["rawValue"], score["scale"]) for score in api.get("/scores").json()["scores"]}
    assert shown == {
        public("score", old): (0.5, {"min": 0.0, "max": 1.0}),
        public("score", new): (3.0, {"min": 1.0, "max": 5.0}),
    }
    score = api.get(f"/scores/{public('score', new)}").json()["score"]
    assert (score["rawValue"], score["scale"]) == (3.0, {"min": 1.0, "max": 5.0})


def test_a_rescore_has_the_raw_value_of_the_newer_version(api_for, bench):
    api = api_for(role="training_operator", organization=bench.task.organization)
    run = bench.run()
    bench.save([bench.judged(claim(run), 0.75)])
    rescale(bench.grader, 0.0, 100.0)
    assert api.post(f"/completions/{public('comp', run.completion)}/rescore").status_code == 202
    bench.save([bench.judged(claim(run.completion.runs.latest("pk")), 0.25)])
    assert list(Score.objects.order_by("pk").values_list("raw_value", flat=True)) == [1.5, 25.0]
    shown = api.get(f"/completions/{public('comp', run.completion)}/score").json()["scores"]
    assert {(score["rawValue"], score["scale"]["max"]) for score in shown} >= {(25.0, 100.0)}

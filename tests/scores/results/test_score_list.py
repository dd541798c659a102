"""GET /scores and GET /scores/:id: what is listed, for whom, and in what shape."""

import pytest

from autotune.core import clock, ids
from graders.models import GraderVersion
from scores.models import Score
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


def values(response):
    assert response.status_code == 200, response.content
    return [score["value"] for score in response.json()["scores"]]


def test_a_score_has_the_shape_of_the_contract(api, task):
    score = scored(task, 0.25, reasoning="Right — “4”.", dimensions=[{"name": "tone", "value": 1.0, "weight": 0.5}])
    body = api.get(f"/scores?taskId={public('task', task)}").json()
    assert body["pagination"] == {"limit": 50, "offset": 0, "total": 1, "nextCursor": None, "totalIsLowerBound": False}
    assert body["scores"] == [
        {
            "id": public("score", score),
            "completionId": public("comp", score.completion),
            "graderId": public("grader", score.grader),
            "graderVersion": public("graderv", score.grader_version),
            "value": 0.25,
            "confidence": 0.9,
            "rawValue": 0.25,
            "scale": {"min": 0.0, "max": 1.0},
            "calibrated": None,
            "reasoning": "Right — “4”.",
            "dimensions": [{"name": "tone", "value": 1.0, "weight": 0.5}],
            "reviewedBy": None,
            "reusedFrom": None,
            "receipt": None,
            "createdAt": clock.wire(score.created_at),
        }
    ]
    assert api.get(f"/scores/{public('score', score)}").json() == {"score": body["scores"][0]}


def test_a_score_without_reasoning_and_dimensions_says_null(api, task):
    scored(task)
    score = api.get("/scores").json()["scores"][0]
    assert (score["reasoning"], score["dimensions"]) == (None, None)


def test_the_newest_come_first_and_other_orders_can_be_requested(api, task):
    for value in (0.2, 0.9, 0.4):
        scored(task, value)
    assert values(api.get("/scores")) == [0.4, 0.9, 0.2]
    assert values(api.get("/scores?sort=createdAt")) == [0.2, 0.9, 0.4]
    assert values(api.get("/scores?sort=-value")) == [0.9, 0.4, 0.2]


def test_a_cursor_lists_every_row_once_while_rows_are_added(api, task):
    expected = {public("score", scored(task, n / 10)) for n in range(7)}
    seen, path = [], "/scores?limit=2"
    while path:
        body = api.get(path).json()
        seen += [score["id"] for score in body["scores"]]
        scored(task, 1.0)
        cursor = body["pagination"]["nextCursor"]
        path = cursor and f"/scores?limit=2&cursor={cursor}"
    assert set(seen) == expected
    assert len(seen) == len(expected)


def test_filters_narrow_the_list(api, task):
    other = TaskFactory(organization=api.organization)
    low, high = scored(task, 0.2, confidence=0.3), scored(other, 0.8, run__completion__model_id="model-b")
    newer = GraderVersion.objects.create(grader=low.grader, label="2.0.0")
    again = scored(task, 0.5, grader_version=newer)
    for query, expected in {
        f"taskId={public('task', task)}": [0.5, 0.2],
        "modelId=model-b": [0.8],
        f"graderId={public('grader', high.grader)}": [0.8],
        f"graderVersion={public('graderv', newer)}": [0.5],
        "minScore=0.5": [0.8, 0.5] if again.id < high.id else [0.5, 0.8],
        "minScore=0.2&maxScore=0.5": [0.5, 0.2],
        "maxScore=0": [],
        "minConfidence=0.9": [0.5, 0.8],
        "minConfidence=0.91": [],
    }.items():
        assert values(api.get(f"/scores?{query}")) == expected, query


def test_dates_are_inclusive_as_dates_and_exclusive_as_instants(api, task):
    for day, value in ((1, 0.1), (2, 0.2), (3, 0.3)):
        score = scored(task, value)
        Score.objects.filter(pk=score.pk).update(created_at=f"2026-03-0{day}T12:00:00Z")
    for query, expected in {
        "startDate=2026-03-02": [0.3, 0.2],
        "endDate=2026-03-02": [0.2, 0.1],
        "endDate=2026-03-02T12:00:00Z": [0.1],
        "startDate=2026-03-02T12:00:00Z&endDate=2026-03-02T12:00:00.001": [0.2],
        "startDate=2026-03-02T14:00:00%2B02:00&endDate=2026-03-02": [0.2],
        "startDate=2028-02-29": [],
    }.items():
        assert values(api.get(f"/scores?{query}")) == expected, query


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("owner__password__startswith=p", "?owner__password__startswith"),
        ("ordering=user__password", "?ordering"),
        ("grader__secret__regex=", "?grader__secret__regex"),
        ("minscore=0.5", "?minscore"),
        ("sort=reasoning", "?sort"),
        ("sort=completion__organization__name", "?sort"),
        ("minScore=NaN", "?minScore"),
        ("minScore=null", "?minScore"),
        ("minScore=", "?minScore"),
        ("minScore=1.01", "?minScore"),
        ("maxScore=1e999", "?maxScore"),
        ("minConfidence=-0.1", "?minConfidence"),
        ("minConfidence=true", "?minConfidence"),
        ("minScore=0.6&maxScore=0.5", "?minScore"),
        ("minScore=0.1&minScore=0.2", "?minScore"),
        ("taskId=null", "?taskId"),
        ("taskId=", "?taskId"),
        ("taskId=task_1", "?taskId"),
        ("taskId=comp_01jdq5w3v0e8qabcdefghjkmnp", "?taskId"),
        ("graderVersion=1.0.0", "?graderVersion"),
        ("modelId=", "?modelId"),
        ("modelId=a%00b", "?modelId"),
        ("startDate=yesterday", "?startDate"),
        ("startDate=2026-02-30", "?startDate"),
        ("endDate=9999-12-31", "?endDate"),
        ("endDate=0001-01-01T00:00:00%2B23:59", "?endDate"),
        ("startDate=2026-03-02&endDate=2026-02-01", "?startDate"),
        ("limit=0", "?limit"),
        ("limit=1001", "?limit"),
        ("offset=10000000", "?offset"),
        ("cursor=nonsense", "?cursor"),
    ],
)
def test_an_invalid_query_is_refused(api, query, pointer):
    response = api.get(f"/scores?{query}")
    assert response.status_code == 400, response.content
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


def test_a_cursor_of_another_organization_or_altered_is_refused(api, api_for, task):
    scored(task), scored(task)
    cursor = api.get("/scores?limit=1").json()["pagination"]["nextCursor"]
    assert api.get(f"/scores?limit=1&cursor={cursor}").status_code == 200
    assert api.get(f"/scores?limit=1&cursor={cursor[:-1]}{'a' if cursor[-1] != 'a' else 'b'}").status_code == 400
    assert api.get(f"/scores?sort=value&cursor={cursor}").status_code == 400
    assert api_for().get(f"/scores?cursor={cursor}").status_code == 400


def test_ids_that_the_caller_may_not_see_are_not_found(api):
    foreign = ScoreFactory()
    for name, kind, instance in (
        ("taskId", "task", foreign.task),
        ("graderId", "grader", foreign.grader),
        ("graderVersion", "graderv", foreign.grader_version),
    ):
        for text in (public(kind, instance), ids.encode(kind, ids.new())):
            response = api.get(f"/scores?{name}={text}")
            assert response.status_code == 404
            assert response.json()["errors"][0]["pointer"] == f"?{name}"


def test_a_stranger_sees_nothing(api, api_for, task):
    score = scored(task)
    stranger = api_for()
    assert stranger.get("/scores").json()["scores"] == []
    assert stranger.get(f"/scores/{public('score', score)}").status_code == 404
    assert api.get("/scores/score_1").status_code == 404
    assert api.get(f"/scores/{public('comp', score.completion)}").status_code == 404


def test_without_a_key_scores_are_401(api):
    api.key = None
    for path in ("/scores", "/scores/summary", f"/scores/{ids.encode('score', ids.new())}"):
        assert api.get(path).status_code == 401


def test_an_admin_of_the_operating_organization_sees_all(admin_api):
    foreign = ScoreFactory()
    assert len(admin_api.get("/scores").json()["scores"]) == 1
    assert len(admin_api.get(f"/scores?taskId={public('task', foreign.task)}").json()["scores"]) == 1


def test_a_grader_owner_sees_the_scores_of_their_graders_wherever_these_judged(api_for):
    owner = api_for(role="grader_owner")
    mine = GraderFactory(organization=owner.organization, created_by=owner.user, visibility="listed")
    colleagues = GraderFactory(organization=owner.organization, created_by=UserFactory())
    elsewhere = TaskFactory(organization=OrganizationFactory(), graders=[mine])
    score = scored(elsewhere, 0.7)
    unseen = scored(TaskFactory(organization=owner.organization, graders=[colleagues]))
    assert values(owner.get("/scores")) == [0.7]
    assert values(owner.get(f"/scores?taskId={public('task', elsewhere)}")) == [0.7]
    assert owner.get(f"/scores/{public('score', score)}").status_code == 200
    assert owner.get(f"/scores/{public('score', unseen)}").status_code == 404
    assert owner.get(f"/scores?taskId={public('task', unseen.task)}").status_code == 404
    assert owner.get(f"/scores?graderId={public('grader', colleagues)}").status_code == 404


def test_a_grader_that_is_no_longer_listed_can_still_be_a_filter(api, task):
    theirs = GraderFactory(visibility="private")
    scored(TaskFactory(organization=api.organization, graders=[theirs]), 0.3)
    assert values(api.get(f"/scores?graderId={public('grader', theirs)}")) == [0.3]


def test_shadow_scores_are_listed(api, task):
    scored(task, 0.3, purpose="shadow", reward=False)
    assert values(api.get("/scores")) == [0.3]


def test_a_current_etag_gets_304(api, task):
    path = f"/scores/{public('score', scored(task))}"
    first = api.get(path)
    tag = first["ETag"]
    assert tag.startswith('"')
    for header in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = api.get(path, if_none_match=header)
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert api.get(path, if_none_match='"other"').content == first.content


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.parametrize("rows", [1, 40])
def test_a_page_takes_the_same_few_queries_for_any_number_of_rows(api, task, rows, django_assert_max_num_queries):
    grader = task.version.members.get().grader
    for _ in range(rows):
        ScoreFactory(run=RunFactory(completion=CompletionFactory(task=task), grader=grader), reasoning="x")
    with django_assert_max_num_queries(12):  # the graders' redaction and the audit trail among them
        assert len(values(api.get(f"/scores?taskId={public('task', task)}"))) == rows

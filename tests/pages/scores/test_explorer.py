"""The explorer of scores: the filters in the address, the chart, the figures, and what each role finds there."""

import re
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from autotune.core import ids
from scores.results import distributions, filters, summary
from scores.results.filters import ScoreFilter
from tests.factories import CompletionFactory, GraderFactory, OrganizationFactory, ScoreFactory, TaskFactory, public
from tests.support.markup import compact

pytestmark = pytest.mark.django_db


@pytest.fixture
def task():
    return TaskFactory()


def make_scores(task, *values, **fields):
    return [ScoreFactory(run__completion__task=task, value=value, **fields) for value in values]


def page_of(client, status=200, headers=None, **query):
    answer = client.get(reverse("scores"), query, headers=headers or {})
    assert answer.status_code == status
    return answer.content.decode()


def listed(html):
    """The values of the rows."""
    return re.findall(r'aria-label="Score ([\d.]+)"', html)


def test_it_lists_the_newest_first_with_chart_and_figures(visitor, task):
    make_scores(task, 0.25, 0.5, 0.75)
    html = page_of(visitor("training_operator", task.organization))
    assert listed(html) == ["0.750", "0.500", "0.250"]
    assert 'id="count">3<' in html
    assert "0 to 0.05" in html or "Distribution" in html
    assert 'data-brush-min="score-min"' in html


def test_a_time_is_one_click_and_keeps_the_other_filters(visitor, task):
    make_scores(task, 0.25, created_at=timezone.now() - timedelta(days=20))
    make_scores(task, 0.75)
    client = visitor("reviewer", task.organization)
    html = page_of(client, taskId=public("task", task), offset="0")
    week, month = (f"{timezone.now().date() - timedelta(days=days - 1)}" for days in (7, 30))
    links = dict(re.findall(r'<a href="([^"]*)"[^>]*>(Any time|Today|7 days|30 days)</a>', html))
    assert list(links.values()) == ["Any time", "Today", "7 days", "30 days"]
    by_name = {name: link.replace("&amp;", "&") for link, name in links.items()}
    assert by_name["7 days"] == f"?taskId={public('task', task)}&startDate={week}"
    assert listed(client.get(reverse("scores") + by_name["7 days"]).content.decode()) == ["0.750"]
    html = page_of(client, startDate=month)
    assert listed(html) == ["0.750", "0.250"]
    assert re.search(r'aria-current="true">30 days<', html)
    assert not re.search(r'aria-current="true">30 days<', page_of(client, startDate=month, endDate=week))


def test_each_filter_of_the_api_works_in_the_query_string(visitor, task):
    make_scores(task, 0.25, 0.75)
    elsewhere = ScoreFactory(
        run__completion__task=TaskFactory(organization=task.organization), run__completion__model_id="model-b",
        value=0.9, confidence=0.3,
    )  # fmt: skip
    client = visitor("reviewer", task.organization)
    for query, expected in (
        ({"taskId": public("task", task)}, ["0.750", "0.250"]),
        ({"modelId": "model-b"}, ["0.900"]),
        ({"graderId": public("grader", elsewhere.grader)}, ["0.900"]),
        ({"graderVersion": public("graderv", elsewhere.grader_version)}, ["0.900"]),
        ({"minScore": "0.5", "maxScore": "0.8"}, ["0.750"]),
        ({"minConfidence": "0.5"}, ["0.750", "0.250"]),
        ({"startDate": "2099-01-01"}, []),
        ({"endDate": "2001-01-01"}, []),
        ({"sort": "value"}, ["0.250", "0.750", "0.900"]),
        ({"modelId": "", "minScore": ""}, ["0.900", "0.750", "0.250"]),
    ):
        assert listed(page_of(client, **query)) == expected, query


def test_an_invalid_filter_is_reported_and_ignored(visitor, task):
    make_scores(task, 0.5)
    client = visitor("reviewer", task.organization)
    for query in (
        {"taskId": "task_nonsense"}, {"taskId": "task_01jd0000000000000000000000"}, {"minScore": "7"},
        {"minScore": "0.9", "maxScore": "0.1"}, {"startDate": "yesterday"}, {"sort": "colour"}, {"limit": "x"},
        {"offset": "999999999"}, {"cursor": "x"}, {"modelId": "a\x00b"}, {"graderId": "<script>alert(1)</script>"},
    ):  # fmt: skip
        html = page_of(client, **query)
        assert "<script>alert" not in html
        if "\x00" not in str(query.values()) and "modelId" not in query:
            assert "These filters are not valid" in html, query


def test_the_figures_are_those_of_the_api(visitor, task):
    make_scores(task, 0.0, 0.15, 0.3, 0.5, 0.5, 0.95, 1.0)
    client = visitor("training_operator", task.organization)
    principal = client.get(reverse("scores")).wsgi_request.principal
    for query in (ScoreFilter(), ScoreFilter(min_score=0.15, max_score=0.5)):
        ours = distributions.of(filters.check(query, principal))
        theirs = summary.of(query, principal).score_distribution
        figures = (ours.figures.mean, ours.figures.std, ours.figures.low, ours.figures.high)
        assert figures == pytest.approx((theirs.mean, theirs.std, theirs.min, theirs.max))
        quantiles = (ours.figures.p25, ours.figures.p50, ours.figures.p75)
        assert quantiles == pytest.approx(
            (theirs.percentiles.p25, theirs.percentiles.p50, theirs.percentiles.p75), abs=1e-3
        )
        assert sum(ours.counts) == 7


def test_the_caption_of_the_chart_has_the_median_of_the_figures(visitor, task):
    make_scores(task, 0.1, 0.58, 0.5801, 0.59, 0.9)
    client = visitor("training_operator", task.organization)
    html = page_of(client)
    assert "Median 0.580; half between 0.580 and 0.590; 5 scores." in html
    assert re.search(r"<dt>Median</dt>\s*<dd>\s*0\.580\s*</dd>", html)
    chosen = page_of(client, minScore="0.585", maxScore="1")
    assert "Median of the chosen 0.745; half between 0.667 and 0.823; 5 scores in all. Chosen: 0.585 to 1." in chosen
    assert re.search(r"<dt>Median</dt>\s*<dd>\s*0\.745\s*</dd>", chosen)


def test_a_value_on_an_edge_begins_its_bucket(visitor, task):
    make_scores(task, *(place / 20 for place in range(21)))
    client = visitor("training_operator", task.organization)
    principal = client.get(reverse("scores")).wsgi_request.principal
    assert distributions.of(filters.check(ScoreFilter(), principal)).counts == [1] * 19 + [2]


def test_a_bucket_links_to_its_range_and_keeps_the_other_filters(visitor, task):
    make_scores(task, 0.12)
    html = page_of(visitor("training_operator", task.organization), modelId="model-a")
    link = escape("/scores?modelId=model-a&minScore=0.1&maxScore=0.15")
    assert link in html
    assert listed(page_of(visitor("reviewer", task.organization), modelId="model-a", minScore="0.1", maxScore="0.15"))


def test_shadow_and_replaced_scores_are_listed_and_not_counted(visitor, task):
    make_scores(task, 0.5)
    make_scores(task, 0.7, purpose="shadow", reward=False)
    make_scores(task, 0.9, superseded=True, reward=False)
    html = page_of(visitor("training_operator", task.organization))
    assert listed(html) == ["0.900", "0.700", "0.500"]
    assert 'id="count">1<' in html


def test_another_organization_sees_nothing(visitor, task):
    make_scores(task, 0.5)
    client = visitor("organization_admin")
    assert listed(page_of(client)) == []
    assert "No scores yet" in page_of(client)
    html = page_of(client, taskId=public("task", task))
    assert "These filters are not valid" in html
    assert task.name not in html


def test_an_owner_of_graders_sees_the_scores_of_theirs_without_names_of_others(visitor, task):
    grader = GraderFactory(organization=OrganizationFactory(), visibility="listed", name="Mine")
    make_scores(TaskFactory(organization=task.organization, graders=[grader], name="Their task"), 0.625)
    make_scores(task, 0.375)
    html = page_of(visitor("grader_owner", grader.organization, grader.created_by))
    assert listed(html) == ["0.625"]
    assert "Mine" in html
    assert "Their task" not in html
    assert "Export" not in html


def test_htmx_gets_only_the_results(visitor, task):
    make_scores(task, 0.5)
    html = page_of(visitor("reviewer", task.organization), headers={"HX-Request": "true", "HX-Target": "results"})
    assert 'id="results"' in html
    assert "<html" not in html


def test_the_versions_of_a_chosen_grader_are_offered(visitor, task):
    score = make_scores(task, 0.5)[0]
    client = visitor("training_operator", task.organization)
    assert "Grader version" not in page_of(client)
    html = page_of(client, graderId=public("grader", score.grader))
    assert public("graderv", score.grader_version) in html


def test_it_takes_few_queries(visitor, task, django_assert_max_num_queries):
    for _ in range(6):
        make_scores(TaskFactory(organization=task.organization), 0.1, 0.2, 0.3, 0.4)
    client = visitor("organization_admin", task.organization)
    page_of(client)
    with django_assert_max_num_queries(20):
        page_of(client, minScore="0.1")


def test_hostile_names_are_text(visitor):
    task = TaskFactory(name="<script>alert(1)</script>\u202e")
    completion = CompletionFactory(task=task, model_id="<img src=x onerror=alert(1)>" + "m" * 170)
    ScoreFactory(run__completion=completion, value=0.5)
    html = page_of(visitor("organization_admin", task.organization))
    assert "<script>alert" not in html
    assert "<img src=x" not in html


@pytest.mark.parametrize("by", ["taskId", "graderId", None])
def test_with_very_many_scores_chart_and_figures_cover_the_newest_and_say_so(visitor, task, monkeypatch, by):
    grader = GraderFactory(organization=task.organization)
    scores = make_scores(task, 0.1, 0.2, 0.6, 0.7, 0.8, grader=grader)
    client = visitor("training_operator", task.organization)
    query = {by: public("task", task) if by == "taskId" else public("grader", grader)} if by else {}
    assert "among the newest" not in page_of(client, **query)  # counters cover all scores
    query["minConfidence"] = "0"
    monkeypatch.setattr(distributions, "NEWEST", 5)
    html = page_of(client, **query)
    assert 'id="count">5<' in compact(html)
    assert "among the newest" not in html
    monkeypatch.setattr(distributions, "NEWEST", 3)
    html = page_of(client, **query)
    assert 'id="count">3</dd><dd class="note">among the newest 3</dd>' in compact(html)
    assert listed(html) == ["0.800", "0.700", "0.600", "0.200", "0.100"]
    newest = page_of(client, **query, minScore="0.75")
    assert 'id="count">1</dd><dd class="note">among the newest 3</dd>' in compact(newest)
    assert len(scores) == 5


def test_days_select_rows_exact_to_the_second(visitor, task):
    for timestamp, value in (("2026-03-01T00:00:00", 0.1), ("2026-03-01T23:59:59", 0.2), ("2026-03-02T00:00:00", 0.3)):
        moment = datetime.fromisoformat(f"{timestamp}+00:00")
        for late, shown in ((timedelta(0), value), (timedelta(hours=3), value + 0.5)):
            ScoreFactory(
                id=later(ids.first_of(moment + late), shown), run__completion__task=task, value=shown, created_at=moment
            )
    client = visitor("reviewer", task.organization)
    for query, expected in (
        ({"startDate": "2026-03-01", "endDate": "2026-03-01"}, ["0.100", "0.200", "0.600", "0.700"]),
        ({"startDate": "2026-03-02"}, ["0.300", "0.800"]),
        ({"endDate": "2026-02-28"}, []),
        ({"endDate": "2026-03-01T23:59:59Z"}, ["0.100", "0.600"]),
        ({"startDate": "0001-01-01", "endDate": "9999-12-31"}, ["0.100", "0.200", "0.300", "0.600", "0.700", "0.800"]),
    ):
        html = page_of(client, **query)
        assert sorted(listed(html)) == expected, query
        assert (f'id="count">{len(expected)}<' in html) == bool(expected)


def later(pk, value):
    """Another id of the same millisecond."""
    return UUID(int=pk.int + int(value * 1000))

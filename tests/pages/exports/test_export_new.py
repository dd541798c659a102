"""The form of an export: what it would be, and how it starts."""

import json
import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from autotune.access.models import AuditEvent
from exports import first_rows, previews
from exports.models import Export
from tests.factories import GraderFactory, TaskFactory, public

LAYOUTS = ("records", "preferences", "kto", "verl")


def samples(seen):
    return [
        json.loads(unescape(text)) for text in re.findall(r'class="sample"[^>]*><code>(.*?)</code>', seen.html, re.S)
    ]


def test_it_counts_and_previews_rows_before_an_export_starts(operator, task, scored, see):
    scored(7)
    seen = see(operator, "/exports/new", taskId=public("task", task))
    assert "7 rows" in seen
    assert [row["score"] for row in samples(seen)] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert not Export.objects.exists()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_preview_equals_the_first_rows_of_the_file(
    operator, task, scored, see, run, django_capture_on_commit_callbacks, layout
):
    scored(9)
    shown = samples(see(operator, "/exports/new", taskId=public("task", task), layout=layout))
    answer = operator.post("/exports/new", {"taskId": public("task", task), "layout": layout, "start": "1"})
    export = run(Export.objects.get())
    assert answer.url == f"/exports/{public('exp', export)}"
    data = b"".join(operator.get(f"/api/v1/exports/{public('exp', export)}/download").streaming_content)
    assert shown == [json.loads(line) for line in data.splitlines()][: first_rows.SAMPLE]
    assert shown


def test_the_query_string_fills_in_the_form(operator, task, scored, see):
    scored(7)
    seen = see(operator, "/exports/new", taskId=public("task", task), minScore="0.35", layout="kto", threshold="0.6")
    assert "4 rows" in seen
    assert 'name="minScore" value="0.35"' in seen.html
    assert [row["label"] for row in samples(seen)] == [False, False, True, True]


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"minScore": 0.3, "maxScore": 0.6},
        {"minReward": 0.5},
        {"endDate": "2020-01-01"},
        {"modelId": "osprey-32b"},
        {"per": "grader", "maxScore": 0.4},
    ],
)
def test_the_count_equals_the_rows_of_the_file(operator, task, scored, filters):
    from autotune.access.models import Membership
    from autotune.access.principal import Principal
    from autotune.core.api import parsing
    from exports import layouts
    from exports.work.requests import NewExport
    from scores.results import filters as score_filters

    scored(9)
    role = Membership.objects.get(user=operator.user).role
    principal = Principal(operator.organization, role, operator.user)
    query = parsing.convert({"taskId": public("task", task), **filters}, NewExport)
    layout = layouts.layout(query, score_filters.check(query, principal))
    assert str(previews.build_preview(query, principal).rows) == str(layout.expected())


def test_it_says_how_many_are_left_out_and_why(operator, task, scored, see):
    done = scored(6)
    type(done[0]).objects.filter(pk=done[5].pk).update(
        prompt=None, response=None, prompt_digest=None, erased_at="2026-01-01T00:00Z"
    )
    done[0].reward.delete()
    type(done[1].reward).objects.filter(pk=done[1].pk).update(value=None, confidence=None, error_code="timeout")
    seen = see(operator, "/exports/new", taskId=public("task", task), minScore="0.4")
    for words in (
        "1 not scored yet",
        "1 failed: no reward",
        "1 outside the bounds, dates or grader",
        "1 rewarded, but the text was erased",
    ):
        assert words in seen


def test_invalid_options_are_reported_and_nothing_starts(operator, task, see):
    seen = see(operator, "/exports/new", minScore="0.9", maxScore="0.2")
    assert seen.status == 200
    assert "Correct these fields to export" in seen
    answer = operator.post("/exports/new", {"minScore": "0.9", "maxScore": "0.2", "modelId": "kept", "start": "1"})
    assert answer.status_code == 400
    assert 'value="kept"' in answer.content.decode()
    assert not Export.objects.exists()


def test_a_task_of_another_organization_is_not_found(operator, see):
    theirs = public("task", TaskFactory())
    assert "Correct these fields to export" in see(operator, "/exports/new", taskId=theirs)
    assert operator.post("/exports/new", {"taskId": theirs, "start": "1"}).status_code == 400
    assert not Export.objects.exists()


def test_fields_of_other_layouts_are_ignored(operator, task):
    operator.post(
        "/exports/new",
        {"layout": "records", "minScoreDelta": "0.4", "strategy": "all", "threshold": "0.9", "start": "1"},
    )
    assert Export.objects.get().query == {}


def test_a_seed_is_used_only_with_the_random_strategy(operator):
    operator.post(
        "/exports/new",
        {"layout": "preferences", "strategy": "best_worst", "seed": "4", "capPerPrompt": "9", "start": "1"},
    )
    assert Export.objects.get().query == {"layout": "preferences"}


def test_without_javascript_counting_redirects_to_the_options(operator, task):
    answer = operator.post(
        "/exports/new", {"layout": "kto", "taskId": public("task", task), "minScore": "0.5", "preview": "1"}
    )
    assert (answer.status_code, answer.url) == (
        302,
        f"/exports/new?layout=kto&taskId={public('task', task)}&minScore=0.5",
    )


def test_pairs_are_counted_by_their_choices(operator, task, scored, see):
    scored(9)
    best_worst = see(operator, "/exports/new", taskId=public("task", task), layout="preferences")
    all_pairs = see(
        operator, "/exports/new", taskId=public("task", task), layout="preferences", strategy="all", minScoreDelta="0.3"
    )
    assert "3 pairs" in best_worst
    assert "9 pairs" in all_pairs


def test_above_the_limit_the_count_is_a_lower_bound(operator, task, scored, see, monkeypatch):
    monkeypatch.setattr(previews, "MOST", 4)
    scored(7)
    assert "more than 4 rows" in see(operator, "/exports/new", taskId=public("task", task))


def test_a_model_is_counted_among_the_first_completions(operator, task, scored, see, monkeypatch):
    monkeypatch.setattr(previews, "READ", 4)
    scored(7)
    seen = see(operator, "/exports/new", taskId=public("task", task), modelId="osprey-32b")
    assert "more than 5 rows" in seen
    assert "Counted only in the first 4 completions" in seen


def test_many_pairs_are_counted_among_the_first_prompts(operator, task, scored, see, monkeypatch):
    monkeypatch.setattr(previews, "GROUPED", 4)
    scored(9)
    assert "more than 2 pairs" in see(operator, "/exports/new", taskId=public("task", task), layout="preferences")


def test_too_many_rows_for_json_show_a_warning(operator, task, scored, see, monkeypatch):
    monkeypatch.setattr("exports.formats.json.MAX_RECORDS", 3)
    scored(7)
    assert "JSON holds at most 10,000 rows" in see(operator, "/exports/new", taskId=public("task", task), format="json")


def test_an_export_that_may_not_start_is_refused_with_the_reason(operator, task, settings):
    settings.EXPORTS_WAITING = 0
    answer = operator.post("/exports/new", {"start": "1"})
    assert answer.status_code == 400
    assert "unfinished exports" in answer.content.decode()


def test_versions_are_those_of_the_chosen_grader(operator, see):
    grader = GraderFactory(organization=operator.organization, version_label="2026.11")
    assert "2026.11" not in see(operator, "/exports/new")
    assert "2026.11" in see(operator, "/exports/new", graderId=public("grader", grader))


def test_long_texts_are_cut_in_the_sample(operator, task, scored, see):
    scored(1, response="x" * 100_000)
    seen = see(operator, "/exports/new", taskId=public("task", task))
    assert "(100,000 characters)" in seen
    assert len(seen.html) < 60_000


def test_hostile_texts_are_text(operator, task, scored, see):
    scored(1, prompt="<script>alert(1)</script>\u202e", response="</code></pre><img src=x onerror=alert(1)>")
    seen = see(operator, "/exports/new", taskId=public("task", task))
    assert "<script>alert" not in seen.html
    assert "<img src=x" not in seen.html


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_form_takes_few_queries(operator, task, scored, layout):
    scored(9)
    with CaptureQueriesContext(connection) as queries:
        operator.get("/exports/new", {"taskId": public("task", task), "layout": layout})
    read = [
        sql
        for query in queries.captured_queries
        if (sql := query["sql"].lstrip()).lower().startswith(("select", "with"))
    ]
    # settings of a statement's transaction, and keys that a process reads once
    settings = ("set_config", "core_datakey", "core_masterkey")
    assert len([sql for sql in read if not any(name in sql for name in settings)]) <= 20


def test_the_audit_log_records_the_task_and_the_number_of_previewed_rows(operator, task, scored, see):
    scored(7)
    see(operator, "/exports/new", taskId=public("task", task))
    event = AuditEvent.objects.get(action="exports.read")
    assert (event.object_id, event.objects_count) == (public("task", task), first_rows.SAMPLE)


def test_the_audit_log_uses_the_action_names_of_the_api(operator, task, scored):
    scored(3)
    operator.post("/exports/new", {"taskId": public("task", task), "preview": "1"})
    operator.post("/exports/new", {"minScore": "0.9", "maxScore": "0.2", "start": "1"})
    operator.post("/exports/new", {"taskId": public("task", task), "start": "1"})
    export_id = public("exp", Export.objects.get())
    events = AuditEvent.objects.filter(method="POST").order_by("at", "pk")
    assert list(events.values_list("action", "object_id", "outcome")) == [
        ("exports.read", "", "succeeded"),
        ("exports.create", "", "refused"),
        ("exports.create", export_id, "succeeded"),
    ]

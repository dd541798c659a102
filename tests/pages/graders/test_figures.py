"""A grader's figures over the window in the address, as the API reports them."""

import pytest

from graders.failure_codes import advice
from graders.models import Grader, GraderVersion, Tally
from graders.statistics import folding
from tests.factories import public
from tests.support.markup import compact


def test_the_figures_are_those_of_the_report(owner, grader, counted, pages):
    counted(grader, [0.25, 0.75], {"timeout": 1, "bad_signature": 1})
    text = owner.get(pages.address("grader", grader)).content.decode()
    for expected in ("<dd>2</dd>", "50 %", "0.500", "120 ms", "Scores", "Scored and failed"):
        assert expected in compact(text), expected


def test_each_code_shows_who_is_responsible_and_what_to_change(owner, grader, counted, pages):
    counted(grader, [], {"timeout": 3, "invalid_request": 1, "of_the_future": 1})
    text = owner.get(pages.address("grader", grader)).content.decode()
    for code in ("timeout", "invalid_request", "of_the_future"):
        assert f"<code>{code}</code>" in text
        assert advice(code).replace("'", "&#x27;") in text
    assert "60 %" in text


@pytest.mark.parametrize(
    ("window", "is_counted"), [("1h", False), ("24h", False), ("7d", True), ("30d", True), ("all", True)]
)
def test_the_window_is_in_the_address(owner, grader, pages, ago, window, is_counted):
    Tally.objects.create(
        grader_id=grader.pk, at=ago(days=3), scored=4321, value_sum=2000.0, histogram=[4321] + [0] * 9,
        latencies={"140": 4321}, latency_sum_ms=4321.0,
    )  # fmt: skip
    folding.fold()
    text = owner.get(f"{pages.address('grader', grader)}?window={window}").content.decode()
    assert ("4,321" in text) is is_counted
    assert ("No figures for this period" in text) is not is_counted


def test_an_unknown_window_defaults_to_a_day(owner, grader, pages):
    answer = owner.get(f"{pages.address('grader', grader)}?window=<script>")
    assert answer.context["window"] == "24h"
    assert "?window=&lt;" not in answer.content.decode()


def test_a_missing_mean_is_a_dash_and_not_a_zero(owner, grader, pages):
    text = owner.get(pages.address("grader", grader)).content.decode()
    assert "<dt>Mean score</dt><dd>–</dd>" in compact(text)


def test_an_unverified_grader_says_what_to_do_next(owner, grader, pages):
    Grader.objects.update(status="inactive", verified_at=None)
    text = owner.get(pages.address("grader", grader)).content.decode()
    assert "Autotune does not call this grader until it is verified." in text
    assert pages.address("grader_verify", grader) in text


def test_troubles_are_shown_with_how_they_end(owner, grader, pages):
    Grader.objects.update(status="degraded", troubles=["auth", "health"])
    text = owner.get(pages.address("grader", grader)).content.decode()
    assert "rejects Autotune&#x27;s signature" in text
    assert "after two healthy checks" in text


def test_versions_are_listed_with_the_current_one_marked(owner, grader, pages):
    GraderVersion.objects.create(grader=grader, label="<i>2</i>")
    text = owner.get(pages.address("grader", grader)).content.decode()
    assert "&lt;i&gt;2&lt;/i&gt;" in text
    assert text.count(">current<") == 1


@pytest.mark.parametrize(
    "name", ["grader", "grader_health", "grader_settings", "grader_edit", "grader_verify", "grader_try"]
)
def test_a_page_takes_few_queries(owner, grader, counted, pages, name, django_assert_max_num_queries):
    counted(grader, [0.5] * 9, {"timeout": 1})
    with django_assert_max_num_queries(20):
        assert owner.get(pages.address(name, grader)).status_code == 200


def test_hostile_text_breaks_no_page(owner, grader, counted, pages):
    Grader.objects.update(
        name=pages.hostile[:200],
        description="\u202e" + pages.hostile * 40,
        domains=['"><img src=x>'] * 32,
        troubles=["<b>"],
    )
    GraderVersion.objects.update(label=pages.hostile[:200])
    counted(grader, [0.5], {"<script>alert(1)</script>": 1})
    names = (
        "grader",
        "grader_health",
        "grader_settings",
        "grader_edit",
        "grader_verify",
        "grader_try",
        "grader_rotate",
    )
    for name in (*names, "grader_delete"):
        answer = owner.get(pages.address(name, grader))
        text = answer.content.decode()
        assert answer.status_code == 200
        assert "<script>alert" not in text, name
        assert "<img src=x" not in text, name


def test_the_refreshing_part_is_served_without_the_page(owner, visitor, grader, pages, django_assert_max_num_queries):
    assert owner.get(pages.address("grader", grader)).status_code == 200  # and the data keys are made
    with django_assert_max_num_queries(20):
        text = owner.get(pages.address("grader", grader), headers={"HX-Request": "true", "HX-Target": "state"}).content
    assert text.decode().lstrip().startswith('<section id="state"')
    assert b"Measured" not in text
    Grader.objects.update(visibility="listed")
    other = visitor("training_operator").get(pages.address("grader", grader), headers={"HX-Target": "state"})
    assert b'id="state"' not in other.content


def test_an_admin_of_the_operating_organization_sees_the_owner_of_a_grader(visitor, operating, grader, pages):
    admin = visitor("admin", operating)
    text = admin.get("/graders").content.decode()
    assert f"of <code>{public('org', grader.organization)}</code>" in text
    assert admin.get(pages.address("grader_settings", grader)).status_code == 200

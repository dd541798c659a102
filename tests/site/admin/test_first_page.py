"""The first page of the administration: branded, grouped, with figures; and readable in a browser, by everybody."""

import pytest
from django.contrib import admin
from django.urls import reverse

from graders.models import Grader
from scores.models import WorkflowRun
from tests.factories import GraderFactory, ReviewFactory, RunFactory, ScoreFactory
from tests.site.admin.world import address
from tests.support.browsing import DESK, PHONE, is_right, too_wide, violations

FIRST = "/admin/"


def test_it_links_to_the_product_and_to_every_table(boss):
    page = boss.get(FIRST).content.decode()
    assert f'<a class="product" href="{reverse("home")}">' in page
    for model in admin.site._registry:
        if model._meta.app_label != "auth":
            assert address(model, "changelist") in page, model
    for title in ("Graders", "Scoring", "Organizations and people", "Installation", "Audit and logins"):
        assert f'<span class="section">{title}</span>' in page


def test_no_page_is_of_a_kind_of_schedule_that_nothing_uses(boss):
    page = boss.get(FIRST).content.decode()
    assert "solarschedule" not in page
    assert "clockedschedule" not in page
    form = boss.get("/admin/django_celery_beat/periodictask/add/").content.decode()
    assert "id_interval" in form
    assert not [name for name in ("id_solar", "id_clocked", "id_routing_key") if name in form]


def test_lists_and_forms_have_the_names_of_the_first_page(boss):
    page = boss.get("/admin/access/throttle/").content.decode()
    assert "<h1>Throttled callers</h1>" in page
    assert "Administration</a> › Throttled callers" in page
    assert "<h1>Graders: versions</h1>" in boss.get("/admin/graders/graderversion/").content.decode()
    grader = GraderFactory(name="Tests")
    form = boss.get(f"/admin/graders/grader/{grader.pk}/change/").content.decode()
    assert '<a href="/admin/graders/grader/">Graders</a> › <bdi>' in form


def test_figures_show_what_needs_attention_and_link_to_it(boss):
    GraderFactory(status="degraded", troubles=["health"])
    ReviewFactory()
    page = boss.get(FIRST)
    shown = {entry.label: entry for entry in page.context["shown"]}
    assert (shown["Graders that need attention"].text, shown["Graders that need attention"].tone) == ("1", "warn")
    assert shown["Reviews that wait"].text == "1"
    assert shown["Parked deliveries"].tone == "calm"
    for figure in shown.values():
        assert boss.get(figure.url).status_code == 200, figure


def test_staff_see_only_permitted_tables_and_figures_and_no_empty_group(staff):
    page = staff("view_grader").get(FIRST)
    assert [entry.label for entry in page.context["shown"]] == ["Graders that need attention"]
    html = page.content.decode()
    assert address(Grader, "changelist") in html
    assert '<span class="section">Scoring</span>' not in html


def test_it_takes_few_queries(boss, django_assert_max_num_queries):
    boss.get(FIRST)
    with django_assert_max_num_queries(15):
        boss.get(FIRST)


@pytest.mark.pages
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_usable_by_everybody(boss, browse, live_server, scheme):
    score = ScoreFactory()
    RunFactory(completion=score.completion, grader=GraderFactory(), status="failed", error_code="timeout")
    boss.get(FIRST)
    for path in (FIRST, address(WorkflowRun, "changelist"), address(Grader, "change", score.grader_id)):
        for viewport in (DESK, PHONE):
            page = browse(boss, path, viewport=viewport, color_scheme=scheme)
            assert too_wide(page) <= 0, (path, viewport)
            assert is_right(page, scheme), path
            assert (page.console_errors, page.failed_urls) == ([], []), path
            if viewport is DESK:
                assert [*violations(page)] == [], path
            page.close()

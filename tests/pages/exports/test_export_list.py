"""The list of exports."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.factories import ExportFactory, TaskFactory, UserFactory, public

HOSTILE = "<script>alert(1)</script>\u202egnp.exe 🦜" + "a" * 150


def test_it_shows_status_layout_task_rows_and_requester(operator, task, see):
    ExportFactory(
        organization=operator.organization, created_by=operator.user, status="running", rows=300, left_out=2,
        expected=1000, query={"taskId": public("task", task), "layout": "preferences", "format": "parquet"},
    )  # fmt: skip
    seen = see(operator, "/exports")
    for words in ("Preference pairs", "Parquet", "running", "Contract clauses", "300", "2 left out", "30 %", "by you"):
        assert words in seen


def test_it_refreshes_every_five_seconds_only_while_an_export_runs(operator, see):
    export = ExportFactory(organization=operator.organization, created_by=operator.user)
    assert 'data-live="5"' in see(operator, "/exports").html
    type(export).objects.update(status="cancelled")
    assert "data-live" not in see(operator, "/exports").html


def test_an_empty_list_links_to_the_form(operator, see):
    seen = see(operator, "/exports")
    assert "No exports yet" in seen
    assert 'href="/exports/new"' in seen.html


def test_filters_without_matches_and_invalid_filters_are_reported(operator, see):
    ExportFactory(organization=operator.organization, created_by=operator.user)
    assert "No export has this status" in see(operator, "/exports?status=expired")
    bad = see(operator, "/exports?status=nonsense")
    assert bad.status == 200
    assert "faults" in bad.html


@pytest.mark.parametrize("role", ["reviewer", "grader_owner"])
@pytest.mark.parametrize("path", ["/exports", "/exports/new", "/pairs"])
def test_a_role_without_training_data_is_refused(visitor, role, path):
    assert visitor(role).get(path).status_code == 403


def test_an_admin_sees_the_email_of_the_requester(visitor, operator, see):
    ExportFactory(organization=operator.organization, created_by=operator.user)
    admin = visitor("organization_admin", operator.organization)
    assert f"by {operator.user.email}" in see(admin, "/exports")


def test_an_export_of_another_organization_is_not_listed(visitor, operator, see):
    export = ExportFactory()
    assert public("exp", export) not in see(operator, "/exports").html
    assert operator.get(f"/exports/{public('exp', export)}").status_code == 404
    assert operator.post(f"/exports/{public('exp', export)}/cancel").status_code == 404
    assert operator.post(f"/exports/{public('exp', export)}/link", {"expires_in_s": "3600"}).status_code == 404


def test_an_export_with_a_wider_scope_is_not_listed(operator, see):
    export = ExportFactory(organization=operator.organization, reach="all")
    assert public("exp", export) not in see(operator, "/exports").html
    assert operator.get(f"/exports/{public('exp', export)}").status_code == 404


def test_hostile_names_are_text(operator, see):
    task = TaskFactory(organization=operator.organization, name=HOSTILE)
    ExportFactory(organization=operator.organization, created_by=operator.user, query={"taskId": public("task", task)})
    assert "<script>alert" not in see(operator, "/exports").html
    assert "<script>alert" not in see(operator, "/exports/new").html


def test_the_list_takes_few_queries(operator, django_assert_max_num_queries):
    for n in range(30):
        ExportFactory(
            organization=operator.organization, created_at=timezone.now() - timedelta(hours=n), created_by=UserFactory(),
            query={"taskId": public("task", TaskFactory(organization=operator.organization))},
        )  # fmt: skip
    with django_assert_max_num_queries(20):
        assert operator.get("/exports").status_code == 200

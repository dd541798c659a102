"""The status board and the marketplace: whose graders, which figures, in few queries."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from graders.models import Grader, GraderCheck
from graders.states import Trouble
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory, public
from tests.support.markup import compact


def test_an_owner_sees_exactly_the_graders_that_they_made(owner, grader, colleague, listed):
    other = GraderFactory(organization=owner.organization, name="A colleague's")
    text = owner.get("/graders").content.decode()
    assert grader.name in text
    assert other.name not in text
    assert listed.name not in text


@pytest.mark.parametrize("role", ["training_operator", "reviewer", "organization_admin"])
def test_other_roles_see_all_of_their_organization_and_none_of_others(role, grader, colleague, listed):
    reader = colleague(role)
    GraderFactory(organization=reader.organization, name="Another one")
    text = reader.get("/graders").content.decode()
    assert "Law" in text
    assert "Another one" in text
    assert listed.name not in text


def test_only_roles_that_may_register_see_the_link_to_register(owner, colleague):
    assert "Register a grader" in owner.get("/graders").content.decode()
    page = colleague("training_operator").get("/graders").content.decode()
    assert "Register a grader" not in page
    assert "No graders yet" in page


def test_the_board_shows_success_latency_circuit_queue_and_version(owner, grader, counted):
    counted(grader, [0.5] * 3, {"timeout": 1})
    Grader.objects.filter(pk=grader.pk).update(
        troubles=[Trouble.CIRCUIT], status="degraded", held_reason="circuit_open",
        held_until=timezone.now() + timedelta(minutes=1),
    )  # fmt: skip
    completion = CompletionFactory(task=TaskFactory(organization=owner.organization, graders=[grader]))
    RunFactory(completion=completion, created_at=timezone.now() - timedelta(minutes=4))
    text = owner.get("/graders").content.decode()
    for expected in ("75 %", "3 scored", "p50", "p99", "degraded", "circuit", ">open<", "4 min ago", "1.0.0"):
        assert expected in text, expected


def test_the_board_shows_the_last_health_checks(owner, grader):
    assert "chart-strip" not in owner.get("/graders").content.decode()
    for minutes, passed in ((15, True), (10, False), (5, True)):
        GraderCheck.objects.create(
            grader=grader, name="health", passed=passed, at=timezone.now() - timedelta(minutes=minutes)
        )
    text = owner.get("/graders").content.decode()
    assert "The last 3 health checks: 1 failed, the last 10 min ago." in text


def test_unmeasured_figures_are_a_dash_and_not_a_zero(owner, grader):
    text = owner.get("/graders").content.decode()
    assert '<span>–<span class="sub">0 scored' in compact(text)


@pytest.mark.parametrize(
    ("address", "listed"),
    [
        ("/graders?status=active", True),
        ("/graders?status=inactive", False),
        ("/graders?domain=law", True),
        ("/graders?domain=Law", False),
        ("/graders?search=JUDGES", True),
        ("/graders?search=maths", False),
        ("/graders?status=unheard", True),
    ],
)
def test_filters_are_those_of_the_api_and_invalid_ones_are_reported(owner, grader, address, listed):
    answer = owner.get(address)
    assert answer.status_code == 200
    assert (f'/graders/{grader.public_id}"' in answer.content.decode()) is listed


def test_no_match_differs_from_an_empty_board(owner, grader):
    assert "No grader matches" in owner.get("/graders?search=nothing").content.decode()


def test_a_full_board_takes_few_queries(owner, counted, django_assert_max_num_queries):
    for number in range(25):
        grader = GraderFactory(organization=owner.organization, created_by=owner.user, name=f"Grader {number:02}")
        counted(grader, [0.5], {"timeout": 1})
    with django_assert_max_num_queries(20):
        assert owner.get("/graders").content.decode().count('data-label="Circuit"') == 25


@pytest.mark.parametrize("role", ["training_operator", "organization_admin"])
def test_the_marketplace_shows_listed_graders_with_measured_figures(visitor, listed, counted, role):
    operator = visitor(role)
    counted(listed, [0.5] * 150, {"timeout": 50})
    text = operator.get("/marketplace").content.decode()
    for expected in ("Open maths", public("org", listed.organization), "25 %", "over 100", "maths"):
        assert expected in text, expected
    assert "secret-address" not in text
    assert "Elsewhere" not in text


def test_a_private_grader_of_another_organization_is_not_listed(visitor, listed):
    Grader.objects.update(visibility="private")
    operator = visitor("training_operator")
    assert "Open maths" not in operator.get("/marketplace").content.decode()
    assert operator.get(f"/graders/{listed.public_id}").status_code == 404


@pytest.mark.parametrize("role", ["grader_owner", "reviewer", "collector"])
def test_roles_that_read_no_listed_graders_have_no_marketplace(visitor, listed, role):
    assert visitor(role).get("/marketplace").status_code == 403


def test_the_marketplace_is_filtered_by_domain(visitor, listed):
    operator = visitor("training_operator")
    assert "Open maths" in operator.get("/marketplace?domain=maths").content.decode()
    assert "No listed grader matches" in operator.get("/marketplace?domain=law").content.decode()


def test_hostile_names_stay_text(owner, visitor, grader, pages):
    Grader.objects.update(
        name=pages.hostile[:200], description=pages.hostile * 10, visibility="listed", domains=['"><b>x', "x" * 64]
    )
    for address, client in (("/graders", owner), ("/marketplace", visitor("training_operator"))):
        text = client.get(address).content.decode()
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
        assert '"><b>' not in text


def test_the_board_and_the_grader_name_the_thresholds_that_figures_miss(owner, grader, counted):
    counted(grader, [0.5] * 90, {"timeout": 10}, latency_ms=29_000.0)
    for path in ("/graders", reverse("grader", args=[grader.pk])):
        text = owner.get(path).content.decode()
        for expected in ('class="rated bad"', 'aria-label="bad"', "below 95 %", "over 90 % of 30.0 s"):
            assert expected in text, (path, expected)


def test_figures_within_the_thresholds_are_marked_good(owner, grader, counted):
    counted(grader, [0.5] * 100)
    text = owner.get("/graders").content.decode()
    assert text.count('class="rated good"') == 2
    assert "rated bad" not in text

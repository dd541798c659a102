"""The figures at a glance: measured over a day from folded and fresh counters, and the circuit from the grader's row."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from graders import pauses, queued_runs
from graders.health import checks, strip
from graders.models import Grader, GraderCheck, GraderStatistic
from graders.signals import grader_queues
from graders.states import Trouble
from graders.statistics import board, folding, tallies
from tests.factories import GraderFactory


def counted(grader, values, errors=None, latency_ms=100.0):
    tallies.record(
        grader.pk, grader.version_id, values=values, latency_ms=[latency_ms] * len(values), errors=errors or {}
    )


def test_folded_and_fresh_counters_add_up(db):
    grader = GraderFactory()
    counted(grader, [0.5, 1.0], {"timeout": 1})
    folding.fold()
    counted(grader, [0.5], latency_ms=400.0)
    figures = board.measured([grader.pk])[grader.pk]
    assert (figures.scored, figures.errors, figures.success) == (3, 1, 0.75)
    assert figures.p50_ms == pytest.approx(100, rel=0.06)
    assert figures.p99_ms == pytest.approx(400, rel=0.06)


def test_figures_of_all_graders_take_one_query(db, django_assert_num_queries):
    graders = GraderFactory.create_batch(3)
    counted(graders[0], [0.5])
    counted(graders[1], [], {"timeout": 2})
    with django_assert_num_queries(1):
        figures = board.measured([grader.pk for grader in graders])
    assert [(figures[grader.pk].scored, figures[grader.pk].success) for grader in graders] == [
        (1, 1.0),
        (0, 0.0),
        (0, None),
    ]
    assert figures[graders[2].pk].p50_ms is None


def test_the_trend_has_an_entry_for_each_hour_and_a_gap_where_nothing_was_scored(db):
    grader, now = GraderFactory(), timezone.now()
    for hours, bucket in ((0, "140"), (5, "150"), (30, "160")):
        GraderStatistic.objects.create(
            grader=grader, start=folding.floor_to(folding.STEP, now - timedelta(hours=hours)), scored=1,
            histogram=[0] * 10, latencies={bucket: 1},
        )  # fmt: skip
    figures = board.measured([grader.pk], now)[grader.pk]
    assert len(figures.trend) == 24
    assert [place for place, value in enumerate(figures.trend) if value is not None] == [18, 23]
    assert figures.scored == 2


@pytest.mark.parametrize(
    ("troubles", "held_s", "reason", "phase"),
    [
        ([], None, "", "closed"),
        ([Trouble.HEALTH], 60, pauses.UNHEALTHY, "closed"),
        ([Trouble.CIRCUIT], 60, pauses.CIRCUIT_OPEN, "open"),
        ([Trouble.CIRCUIT], -1, pauses.CIRCUIT_OPEN, "half_open"),
        ([Trouble.CIRCUIT], None, "", "half_open"),
    ],
)
def test_the_circuit_is_read_from_the_row(troubles, held_s, reason, phase):
    now = timezone.now()
    held_until = None if held_s is None else now + timedelta(seconds=held_s)
    assert board.circuit(Grader(troubles=troubles, held_until=held_until, held_reason=reason), now) == phase


def test_without_graders_no_query_is_made(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert (board.measured([]), queued_runs.of([])) == ({}, {})


def test_a_grader_without_runs_has_an_empty_queue(db):
    grader = GraderFactory()
    assert queued_runs.of([grader.pk]) == {grader.pk: queued_runs.EMPTY}
    assert grader_queues.has_listeners()


def test_past_hours_are_read_once(db):
    grader, now = GraderFactory(), timezone.now()
    earlier = board.measured([grader.pk], now)[grader.pk]
    for hours in (0, 5):  # the second could not be counted by now
        start = folding.floor_to(folding.STEP, now - timedelta(hours=hours))
        GraderStatistic.objects.create(grader=grader, start=start, scored=1, histogram=[0] * 10, latencies={"140": 1})
    again = board.measured([grader.pk, GraderFactory().pk], now)
    assert (earlier.scored, again[grader.pk].scored) == (0, 1)
    later = board.measured([grader.pk], now + timedelta(days=2))[grader.pk]
    assert later.scored == 0


def test_the_cache_of_hours_is_bounded(db, monkeypatch):
    monkeypatch.setattr(board, "REMEMBERED", 60)
    graders = GraderFactory.create_batch(5)
    for grader in graders:
        board.measured([grader.pk])
        assert len(board._hour_cache) <= 60


def add_health_checks(grader, outcomes):
    """Looks at its /health, the newest last, a minute apart; each with a check of its clock beside it."""
    now = timezone.now()
    for place, passed in enumerate(outcomes):
        moment = now - timedelta(minutes=len(outcomes) - place)
        for name, result in ((checks.HEALTH, passed), (checks.CLOCK, True)):
            GraderCheck.objects.create(grader=grader, name=name, passed=result, at=moment)


def test_the_last_health_checks_of_each_grader_take_two_queries(db, django_assert_num_queries):
    steady, shaky, never = GraderFactory.create_batch(3)
    add_health_checks(steady, [True] * (strip.LAST + 3))
    add_health_checks(shaky, [True, False, True])
    with django_assert_num_queries(2):
        recent_checks = strip.recent([steady.pk, shaky.pk, never.pk])
    assert [look.passed for look in recent_checks[shaky.pk]] == [True, False, True]
    assert [len(recent_checks[grader.pk]) for grader in (steady, never)] == [strip.LAST, 0]
    assert recent_checks[steady.pk] == sorted(recent_checks[steady.pk], key=lambda look: look.at)


@pytest.mark.postgres
def test_a_grader_with_few_checks_does_not_scan_those_of_others(db):
    graders = GraderFactory.create_batch(20)
    GraderCheck.objects.bulk_create(
        GraderCheck(grader=grader, name=checks.HEALTH, passed=True) for _ in range(400) for grader in graders
    )
    with connection.cursor() as cursor:
        cursor.execute("analyze graders_gradercheck")
    newest = GraderCheck.objects.newest_of(OuterRef("pk")).values("pk")[:1]
    assert "graders_check_recent" in Grader.objects.values_list("pk", Subquery(newest)).explain()

"""Windows that are read hour by hour: the same figures as from the finest counters, from far fewer rows."""

import random
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from graders.models import GraderHour, GraderStatistic, Tally
from graders.statistics import folding, latencies, reports, tallies
from tests.factories import GraderFactory

NOW = datetime(2026, 3, 4, 12, 37, 30, tzinfo=UTC)  # no window begins at a whole hour
SECOND = timedelta(seconds=1)
AGES = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}


def tally(grader, moment, rnd, version=None):
    values = [rnd.random() for _ in range(rnd.randrange(4))]
    took = [rnd.lognormvariate(5, 1) for _ in values]
    histogram = [0] * 10
    for value in values:
        histogram[tallies.bin_of(value)] += 1
    return Tally(
        grader_id=grader.pk, at=moment, scored=len(values), value_sum=sum(values), histogram=histogram,
        latency_sum_ms=sum(took), latencies=latencies.counted(took),
        errors={"timeout": 1, rnd.choice(("bad_signature", "timeout", "grader_error")): 2} if rnd.random() < 0.4 else {},
        **({"version_id": version} if version else {}),
    )  # fmt: skip


def busy(grader, *, seed=1, count=350, days=31):
    """Counters at any time, and at the very edges of each window and of its first whole hour."""
    rnd = random.Random(seed)
    edges = []
    for age in AGES.values():
        began = folding.floor_to(folding.STEP, NOW - age)
        whole = folding.floor_to(folding.HOUR, began) + folding.HOUR
        edges += [began - SECOND, began, whole - SECOND, whole, whole + folding.STEP - SECOND]
    moments = edges + [NOW - timedelta(days=days) * rnd.random() for _ in range(count)]
    rnd.shuffle(moments)
    rows = [tally(grader, moment, rnd, grader.version_id if rnd.random() < 0.5 else None) for moment in moments]
    return Tally.objects.bulk_create(rows)


def figures(grader, window):
    """A report with its sums of floats rounded: they are added up in another order."""

    def plain(value):
        if isinstance(value, float):
            return round(value, 9)
        return [plain(item) for item in value] if isinstance(value, list) else value

    def members(struct):
        return {name: getattr(struct, name) for name in struct.__struct_fields__}

    fields = members(reports.report(grader, window))
    parts = {name: [members(row) for row in fields.pop(name)] for name in ("errors", "timeline")}
    return {name: plain(value) for name, value in fields.items()} | {
        name: [{key: plain(value) for key, value in row.items()} for row in many] for name, many in parts.items()
    }


@pytest.mark.django_db
@pytest.mark.parametrize("window", [*AGES, "all"])
def test_a_window_is_the_same_unfolded_half_folded_and_folded(window, monkeypatch):
    grader = GraderFactory()
    busy(grader)
    monkeypatch.setattr(folding, "GROUP", 100)
    monkeypatch.setattr(folding, "MAX_GROUPS", 2)
    with time_machine.travel(NOW, tick=False):
        fresh = figures(grader, window)
        assert folding.fold() == 200
        half = figures(grader, window)
        assert folding.fold() < 200
        assert not Tally.objects.exists()
        assert figures(grader, window) == half == fresh
    assert fresh["total_scored"] > 0
    assert fresh["p99_latency_ms"] is not None


@pytest.mark.django_db
@pytest.mark.parametrize("window", AGES)
def test_a_window_is_exact_to_the_second(window):
    grader, rnd = GraderFactory(), random.Random(2)
    counters = busy(grader, seed=3, count=200) + Tally.objects.bulk_create([tally(GraderFactory(), NOW, rnd)])
    began = folding.floor_to(folding.STEP, NOW - AGES[window])
    inside = [counter for counter in counters if counter.grader_id == grader.pk and counter.at >= began]
    folding.fold()
    with time_machine.travel(NOW, tick=False):
        report = reports.report(grader, window)
    assert report.total_scored == sum(counter.scored for counter in inside)
    assert sum(error.count for error in report.errors) == sum(sum(counter.errors.values()) for counter in inside)
    assert report.score_distribution == [sum(counter.histogram[at] for counter in inside) for at in range(10)]
    counts = {}
    for counter in inside:
        for bucket, count in counter.latencies.items():
            counts[bucket] = counts.get(bucket, 0) + count
    assert report.p99_latency_ms == latencies.percentile(counts, 0.99)


@pytest.mark.django_db
def test_a_month_of_every_five_minutes_is_read_from_less_than_a_tenth_of_the_rows(django_assert_num_queries):
    grader = GraderFactory()
    steps = [folding.floor_to(folding.STEP, NOW) - folding.STEP * number for number in range(3 * 288)]
    Tally.objects.bulk_create(Tally(grader_id=grader.pk, at=step, scored=1, histogram=[1] + [0] * 9) for step in steps)
    folding.fold()
    began = steps[-1]
    whole = folding.floor_to(folding.HOUR, began) + folding.HOUR
    assert GraderStatistic.objects.count() == len(list(tallies.rows(grader.pk, began))) == len(steps)
    assert len(list(tallies.rows(grader.pk, began, hours=whole))) < len(steps) / 10
    with time_machine.travel(NOW, tick=False), django_assert_num_queries(1):
        assert reports.report(grader, "30d").total_scored == len(steps)


@pytest.mark.django_db
def test_hours_are_the_sums_of_their_statistics_whatever_comes_late():
    grader, other = GraderFactory(), GraderFactory()
    for seed in range(3):
        busy(grader, seed=seed, count=60, days=50)
        busy(other, seed=seed, count=20)
        folding.fold()
        folding.compact(grader.pk, NOW)
    assert GraderStatistic.objects.count() > GraderHour.objects.count() > 100
    for each_grader in (grader, other):
        assert of_hours(each_grader) == from_statistics(each_grader)
        assert tallies.by_version(each_grader.pk) == {
            version: (
                sum(row.scored for row in rows),
                pytest.approx(sum(row.value_sum for row in rows)),
            )
            for version in {row.version_id for row in each_grader.statistics.all()}
            if (rows := list(each_grader.statistics.filter(version_id=version)))
        }


def of_hours(grader):
    return {(row.version_id, row.start): sums([row]) for row in grader.hours.all()}


def from_statistics(grader):
    rows_by_hour = {}
    for row in grader.statistics.all():
        rows_by_hour.setdefault((row.version_id, folding.floor_to(folding.HOUR, row.start)), []).append(row)
    return {key: sums(rows) for key, rows in rows_by_hour.items()}


def sums(rows):
    total = tallies.CounterSums()
    for row in rows:
        total.add(*(getattr(row, name) for name in tallies.COUNTERS))
    return {
        name: {key: count for key, count in value.items() if count} if isinstance(value, dict)
        else round(value, 6) if isinstance(value, float) else value
        for name, value in total.values().items()
    }  # fmt: skip

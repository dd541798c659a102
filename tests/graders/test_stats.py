"""Counters, folding, GET /graders/:id/stats and /versions."""

import random
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from graders import jobs, versions
from graders.models import GraderHour, GraderStatistic, GraderVersion, Tally
from graders.statistics import folding, latencies, tallies
from tests.factories import GraderFactory

NOON = datetime(2026, 3, 4, 12, 2, 30, tzinfo=UTC)


def record(grader, values=(), latency_ms=None, errors=None, version=None):
    latency = [10.0] * len(values) if latency_ms is None else latency_ms
    tallies.record(grader.pk, version, values=values, latency_ms=latency, errors=errors or {})


def report(api, path, window=None):
    answer = api.get(f"{path}/stats" + (f"?window={window}" if window else ""))
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_grader_that_did_nothing_has_nulls_and_no_zeros(owner, path):
    assert report(owner, path) == {
        "totalScored": 0,
        "avgLatencyMs": None,
        "p50LatencyMs": None,
        "p99LatencyMs": None,
        "errorRate": None,
        "avgScore": None,
        "scoreDistribution": [0] * 10,
        "errors": [],
        "timeline": [],
    }


def figures(owner, grader, path):
    with time_machine.travel(NOON, tick=False):
        record(grader, [0.0, 0.05, 0.1, 0.95, 1.0], [10.0, 10.0, 10.0, 10.0, 60.0], {"timeout": 2})
        record(grader, [0.5], [20.0], {"grader_error": 1, "timeout": 1}, version=grader.version_id)
        yield report(owner, path)
        assert folding.fold() == 2
        yield report(owner, path)
        record(grader, errors={"timeout": 1})
        yield report(owner, path)


def test_the_figures_are_the_same_before_and_after_folding(owner, grader, path):
    fresh, folded, more = figures(owner, grader, path)
    assert folded == fresh
    assert fresh["totalScored"] == 6
    assert fresh["avgLatencyMs"] == pytest.approx(20.0)
    assert fresh["avgScore"] == pytest.approx(2.6 / 6)
    assert fresh["errorRate"] == pytest.approx(4 / 10)
    assert fresh["scoreDistribution"] == [2, 1, 0, 0, 0, 1, 0, 0, 0, 2]
    assert fresh["errors"] == [{"code": "timeout", "count": 3}, {"code": "grader_error", "count": 1}]
    assert fresh["timeline"] == [
        {
            "at": "2026-03-04T12:00:00.000Z",
            "scored": 6,
            "errors": 4,
            "avgScore": pytest.approx(2.6 / 6),
            "avgLatencyMs": pytest.approx(20.0),
        }
    ]
    assert more["errors"][0] == {"code": "timeout", "count": 4}
    assert more["errorRate"] == pytest.approx(5 / 11)


def test_a_grader_with_only_errors_has_a_rate_and_no_mean(owner, grader, path):
    record(grader, errors={"timeout": 3})
    stats = report(owner, path)
    assert (stats["errorRate"], stats["avgScore"], stats["avgLatencyMs"]) == (1.0, None, None)
    assert (stats["timeline"][0]["scored"], stats["timeline"][0]["avgScore"]) == (0, None)


def test_nothing_to_count_writes_nothing(grader):
    record(grader)
    assert not Tally.objects.exists()


def test_recording_is_one_statement(grader, django_assert_num_queries):
    with django_assert_num_queries(1):
        record(grader, [0.5] * 64, [float(n) for n in range(64)], {"timeout": 1})


def test_another_graders_figures_are_not_counted(owner, grader, path):
    record(GraderFactory(), [1.0])
    assert report(owner, path)["totalScored"] == 0


@pytest.mark.parametrize(
    ("window", "ages"),
    [("1h", 1), ("24h", 2), ("7d", 3), ("30d", 4), ("all", 5), (None, 5)],
)
@pytest.mark.parametrize("folded", [False, True])
def test_a_window_counts_only_its_own_period(owner, grader, path, window, ages, folded):
    for age in (timedelta(minutes=50), timedelta(hours=20), timedelta(days=6), timedelta(days=29), timedelta(days=400)):
        with time_machine.travel(NOON - age, tick=False):
            record(grader, [0.5])
    if folded:
        folding.fold()
    with time_machine.travel(NOON, tick=False):
        assert report(owner, path, window)["totalScored"] == ages


@pytest.mark.parametrize("window", ["1h", "24h", "7d", "30d", "all"])
def test_a_timeline_has_at_most_about_120_points(owner, grader, path, window):
    span = {"1h": 1, "24h": 24, "7d": 168, "30d": 720, "all": 24 * 900}[window] * 3600
    Tally.objects.bulk_create(
        Tally(grader_id=grader.pk, at=NOON - timedelta(seconds=span * n / 1000), scored=1, histogram=[1] + [0] * 9)
        for n in range(1000)
    )
    folding.fold()
    with time_machine.travel(NOON, tick=False):
        stats = report(owner, path, window)
    assert 10 <= len(stats["timeline"]) <= 122
    assert sum(point["scored"] for point in stats["timeline"]) == stats["totalScored"] > 10
    assert [point["at"] for point in stats["timeline"]] == sorted(point["at"] for point in stats["timeline"])


@pytest.mark.parametrize("window", ["2h", "", "24", "ALL"])
def test_an_unknown_window_is_400(owner, path, window):
    answer = owner.get(f"{path}/stats?window={window}")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?window")


def test_stats_and_versions_are_404_for_strangers_and_401_without_a_key(api_for, owner, path):
    for part in ("stats", "versions"):
        assert api_for(role="organization_admin").get(f"{path}/{part}").status_code == 404
    owner.key = None
    for part in ("stats", "versions"):
        assert owner.get(f"{path}/{part}").status_code == 401


def test_a_role_without_graders_is_403(api_for, path):
    from autotune.access.models import Role

    role = Role.objects.create(name="none", permissions=[])
    for part in ("stats", "versions", "health"):
        assert api_for(role=role).get(f"{path}/{part}").status_code == 403


def test_folding_adds_up_by_version_and_five_minutes(grader):
    with time_machine.travel(NOON, tick=False):
        record(grader, [0.5])
        record(grader, [0.7], version=grader.version_id)
        assert folding.fold() == 2
        record(grader, [0.9, 0.1], version=grader.version_id, errors={"timeout": 1})
    with time_machine.travel(NOON + timedelta(minutes=5), tick=False):
        record(grader, [0.2])
        assert folding.fold() == 2
    assert not Tally.objects.exists()
    rows = GraderStatistic.objects.order_by("start", "scored").values_list("start", "version_id", "scored", "errors")
    noon = NOON.replace(minute=0, second=0)
    assert [row[0] for row in rows] == [noon, noon, noon + timedelta(minutes=5)]
    assert [row[2] for row in rows] == [1, 3, 1]
    assert rows[1][1] == grader.version_id
    assert rows[1][3] == {"timeout": 1}


def test_folding_is_bounded_and_continues(grader, monkeypatch):
    monkeypatch.setattr(folding, "GROUP", 3)
    monkeypatch.setattr(folding, "MAX_GROUPS", 2)
    for _ in range(8):
        record(grader, [1.0])
    assert folding.fold() == 6
    assert folding.fold() == 2
    assert folding.fold() == 0
    assert sum(GraderStatistic.objects.values_list("scored", flat=True)) == 8


@time_machine.travel(NOON, tick=False)
def test_old_days_are_compacted_to_one_row_per_version_without_changing_figures(owner, grader, path):
    other = GraderFactory()
    for hours in (0, 24 * 31, 24 * 40, 24 * 40 + 2, 24 * 40 + 4, 24 * 60):
        for each_grader in (grader, other):
            record(each_grader, [0.25, 1.0], [10.0, 20.0], {"timeout": 1}, version=each_grader.version_id)
        record(grader, [0.5], [30.0])
        Tally.objects.update(at=NOON - timedelta(hours=hours))
        folding.fold()
    whole, month = report(owner, path, "all"), report(owner, path, "30d")
    assert folding.compact(grader.pk, NOON) == 8  # of both tables
    assert folding.compact(grader.pk, NOON) == 0
    for table in (GraderStatistic, GraderHour):
        assert table.objects.filter(grader=grader).count() == 8
        assert table.objects.filter(grader=other).count() == 6
    after = report(owner, path, "all")
    assert {**after, "timeline": None} == {**whole, "timeline": None}
    assert sum(point["scored"] for point in after["timeline"]) == after["totalScored"] == 18
    assert report(owner, path, "30d") == month


@time_machine.travel(NOON, tick=False)
def test_a_compacted_day_accepts_late_counters(grader):
    midnight = folding.floor_to(folding.DAY, NOON) - timedelta(days=50)
    for hours in (0, 3, 9):
        record(grader, [0.5], [10.0])
        Tally.objects.update(at=midnight + timedelta(hours=hours))
        folding.fold()
        folding.compact(grader.pk, NOON)
    for row in (GraderStatistic.objects.get(), GraderHour.objects.get()):
        assert (row.start, row.scored) == (midnight, 3)


def test_the_counters_of_a_deleted_grader_are_dropped(grader):
    import uuid

    tallies.record(uuid.uuid4(), None, values=[0.5], latency_ms=[1.0], errors={})
    record(grader, [1.0])
    jobs.fold_statistics()
    assert not Tally.objects.exists()
    assert GraderStatistic.objects.get().grader_id == grader.pk


@pytest.mark.parametrize(
    "sample",
    [
        [5.0],
        [1.0, 1000.0],
        [0.05, 0.2],
        [100.0] * 99 + [5000.0],
        [random.Random(1).lognormvariate(4, 1) for _ in range(1000)],
        [random.Random(2).uniform(1, 120_000) for _ in range(5000)],
        [50.0] * 1000,
    ],
)
@pytest.mark.parametrize("q", [0.5, 0.95, 0.99, 1.0])
def test_a_percentile_from_buckets_is_at_most_5_percent_off(sample, q):
    ordered = sorted(sample)
    rank = q * (len(ordered) - 1)
    low = int(rank)
    exact = ordered[low] + (rank - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])
    estimate = latencies.percentile(latencies.counted(sample), q)
    assert estimate == pytest.approx(exact, rel=0.05, abs=0.1)


def test_latencies_beyond_the_buckets_go_into_the_outer_ones():
    assert [latencies.bucket(ms) for ms in (-1, 0, 0.1, 1e9)] == [0, 0, 0, latencies.LAST]
    assert latencies.bucket(20 * 60_000 * 0.95) < latencies.LAST
    assert latencies.percentile({}, 0.99) is None


@pytest.mark.parametrize(("value", "place"), [(0, 0), (0.0999, 0), (0.1, 1), (0.3, 3), (0.7, 7), (0.999, 9), (1, 9)])
def test_scores_fall_into_bins_of_a_tenth_the_last_closed(value, place):
    assert tallies.bin_of(value) == place


def test_versions_come_with_what_they_scored(owner, grader, path):
    record(grader, [0.5, 1.0], version=grader.version_id)
    folding.fold()
    record(grader, [0.0], version=grader.version_id)
    newer = versions.seen(grader, "2.0.0")
    body = owner.get(f"{path}/versions").json()["versions"]
    assert [(v["label"], v["scored"], v["avgScore"], v["digest"]) for v in body] == [
        ("2.0.0", 0, None, None),
        ("1.0.0", 3, 0.5, None),
    ]
    assert body[0]["id"] == newer.public_id == owner.get(path).json()["grader"]["version"]


def test_a_version_seen_again_is_the_same_and_current(grader):
    first = grader.version
    newer = versions.seen(grader, "2.0.0")
    assert versions.seen(grader, "1.0.0") == first
    grader.refresh_from_db()
    assert grader.version == first
    assert versions.seen(grader, "2.0.0") == newer
    assert GraderVersion.objects.count() == 2

"""Web, worker and beat as real processes: completions in, each scored once, whichever process dies."""

import json
import signal
import time
from collections import Counter

import pyarrow.parquet
import pytest

from scores.engine import claims
from tests.support.concurrency import until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _somebody_works(server):
    """A test before this one, of another file, may have ended the worker."""
    if not any(name.startswith("worker") and server.lives(name) for name in server.tree.pids):
        server.start("worker", "worker")


def all_scored_once(server, task, ids):
    """Every completion is final with the score that its response names, and has one score."""
    outcomes = server.client.completions.wait_for_scores(ids, timeout_s=PATIENCE_S)
    assert {outcome.status for outcome in outcomes.values()} == {"completed"}, server.log("worker")
    assert [outcomes[key].value for key in ids] == [n % 100 / 100 for n in range(len(ids))]
    scores = Counter(score.completion_id for score in server.client.scores.iterate(task_id=task.id))
    assert scores == dict.fromkeys(ids, 1)
    summary = server.client.scores.summary(task_id=task.id)
    assert (summary.total_records, summary.unscored) == (len(ids), 0)


def scored(server, task):
    return server.client.scores.summary(task_id=task.id).total_records


def test_completions_become_training_data(server, tmp_path):
    task = server.task("whole")
    before = server.client.graders.stats(server.grader_id, window="all").total_scored
    ids = server.submit(task, 120)
    all_scored_once(server, task, ids)

    server.client.scores.export(tmp_path / "scores.jsonl", format="jsonl", task_id=task.id)
    records = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [record["metadata"]["completion_id"] for record in records] == sorted(ids)
    assert {record["response"]: record["score"] for record in records} == {str(n): n / 100 for n in range(100)}
    assert {record["metadata"]["grader_version"] for record in records} == {"1.2.3"}

    server.client.scores.export(tmp_path / "scores.parquet", format="parquet", task_id=task.id)
    table = pyarrow.parquet.read_table(tmp_path / "scores.parquet")
    assert table.column("response").to_pylist() == [record["response"] for record in records]
    assert table.column("score").to_pylist() == [record["score"] for record in records]

    stats = server.client.graders.stats(server.grader_id, window="all")
    assert stats.total_scored - before >= 120  # what a test before this one left under way counts too
    assert sum(stats.score_distribution) == stats.total_scored
    logged = [json.loads(line)["completionId"] for line in server.grader_log.read_text().splitlines()]
    assert Counter(logged) >= Counter(ids)


def test_an_unjudged_completion_fails_with_a_reason_and_without_a_score(server):
    task = server.task("unjudged")
    sent = server.client.completions.submit(task_id=task.id, model_id="m", prompt="p", response="none")
    result = server.client.completions.wait_for_score(sent.completion.id, timeout_s=PATIENCE_S)
    assert (result.status, result.score, result.value) == ("failed", None, None)


def test_killing_a_worker_only_delays_scores(server):
    server.ensure("worker", "worker")
    task = server.task("killed")
    ids = server.submit(task, 150, pause_ms=150)
    until(lambda: scored(server, task) >= 20, every_s=0.05)
    server.kill("worker")
    server.ensure("worker", "worker-2")
    assert scored(server, task) < 150
    all_scored_once(server, task, ids)


def test_two_workers_and_a_second_beat_score_everything_once(server):
    server.ensure("beat", "beat-2")
    server.ensure("worker", "worker-2")
    server.ensure("worker", "worker-3")
    task = server.task("doubled")
    all_scored_once(server, task, server.submit(task, 200, pause_ms=10))
    for name in ("beat", "beat-2", "worker-2", "worker-3", "web"):
        assert server.lives(name), server.log(name)


def test_a_stopping_worker_finishes_its_calls_and_another_continues_at_once(server):
    server.ensure("worker", "worker-2")
    server.ensure("worker", "worker-3")
    task = server.task("ended")
    ids = server.submit(task, 400, pause_ms=150)
    until(lambda: scored(server, task) >= 10, every_s=0.05)
    began = time.monotonic()
    server.kill("worker-2", signal.SIGTERM)
    until(lambda: not server.lives("worker-2"))
    assert time.monotonic() - began < 5
    all_scored_once(server, task, ids)
    assert time.monotonic() - began < claims.LEASE.total_seconds()


def test_scoring_continues_without_beat(server):
    server.ensure("beat", "beat")
    server.kill("beat")
    if "beat-2" in server.tree.pids and server.lives("beat-2"):
        server.kill("beat-2")
    task = server.task("beatless")
    all_scored_once(server, task, server.submit(task, 50))

"""Scores through the client: shapes, waiting, lists, figures, exports."""

import json
import time
from datetime import UTC, datetime, timedelta

import pyarrow.parquet
import pytest

from tests.support.concurrency import aside
from tests.support.submitting import is_recent, items

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
MOMENT = timedelta(milliseconds=1)


def test_a_score_has_the_clients_shape(client, task, grader, fake, score):
    fake.judge = lambda completion: {
        "value": 0.25, "confidence": 0.5, "reasoning": "Because.", "dimensions": [{"name": "a", "value": 1, "weight": 1}],
    }  # fmt: skip
    sent = client.completions.submit(task_id=task.id, model_id="m", prompt="p", response="r").completion
    before = client.completions.score(sent.id)
    assert (before.status, before.final, before.score, before.scores, before.value) == (
        "pending",
        False,
        None,
        (),
        None,
    )
    score()
    result = client.completions.score(sent.id)
    assert (result.completion_id, result.status, result.final) == (sent.id, "completed", True)
    assert (result.value, result.confidence, result.reward.aggregation) == (0.25, 0.5, "mean")
    assert (result.reward.used, result.reward.failed) == (1, 0)
    assert is_recent(result.reward.scored_at)
    assert result.scores == (result.score,)
    assert (result.score.completion_id, result.score.grader_id) == (sent.id, grader.id)
    assert (result.score.grader_version, result.score.reasoning) == (grader.version, "Because.")
    assert [(dimension.name, dimension.value, dimension.weight) for dimension in result.score.dimensions] == [
        ("a", 1, 1)
    ]
    assert client.scores.get(result.score.id) == result.score
    assert client.completions.get(sent.id).reward == result.reward


def test_a_failed_completion_has_no_value(client, task, fake, score):
    fake.judge = lambda completion: "no verdict"
    sent = client.completions.submit(task_id=task.id, model_id="m", prompt="p", response="r").completion
    score()
    result = client.completions.wait_for_score(sent.id, timeout_s=5)
    assert (result.status, result.final, result.value, result.score, result.scores) == ("failed", True, None, None, ())
    assert client.completions.wait_for_scores([sent.id], timeout_s=5)[sent.id].status == "failed"
    assert client.scores.summary(task_id=task.id).unscored == 1


def test_many_scores_are_awaited_in_the_requested_order(client, task, score):
    ids = client.completions.submit_batch(items(60), task_id=task.id).ids
    score()
    requested_ids = list(reversed(ids))
    outcomes = client.completions.wait_for_scores(requested_ids, timeout_s=10)
    assert list(outcomes) == requested_ids
    assert [outcomes[completion_id].value for completion_id in ids] == [n / 100 for n in range(60)]


@pytest.mark.postgres
def test_the_server_waits_exactly_as_long_as_requested(client, task, score):
    sent = client.completions.submit(task_id=task.id, model_id="m", prompt="p", response="r").completion
    began = time.monotonic()
    assert client.completions.score(sent.id, wait_s=1).status == "pending"
    assert 0.9 < time.monotonic() - began < 3
    waiting = aside(lambda: client.completions.score(sent.id, wait_s=20))
    score()
    assert waiting.result(10).value == 0.01
    assert time.monotonic() - began < 10


def test_scores_are_listed_filtered_and_summed_up(client, task, grader, score):
    client.completions.submit_batch(items(20), task_id=task.id)
    score()
    assert len(list(client.scores.iterate(page_size=6, task_id=task.id))) == 20
    some = client.scores.list(task_id=task.id, min_score=0.05, max_score=0.09, model_id="model-1", grader_id=grader.id)
    assert sorted(row.value for row in some) == [0.05, 0.07, 0.09]
    assert client.scores.list(task_id=task.id, min_confidence=0.6).total == 0
    assert client.scores.list(grader_version=grader.version, end_date=datetime.now(UTC) + MOMENT).total == 20
    summary = client.scores.summary(task_id=task.id)
    assert (summary.total_records, summary.unscored, summary.task_ids) == (20, 0, (task.id,))
    assert set(summary.model_ids) == {"model-0", "model-1"}
    spread = summary.score_distribution
    assert (spread.min, spread.max, spread.mean) == (0, 0.19, pytest.approx(0.095))
    assert spread.percentiles.p50 == pytest.approx(0.095)
    assert (len(summary.histogram), len(summary.by_model)) == (10, 2)


def test_an_empty_selection_has_no_figures(client, task):
    summary = client.scores.summary(task_id=task.id)
    assert (summary.total_records, summary.model_ids) == (0, ())
    assert summary.score_distribution is None or summary.score_distribution.mean is None


def test_exports_arrive_complete(client, task, score, tmp_path):
    client.completions.submit_batch(items(30), task_id=task.id)
    score()
    lines = client.scores.export(tmp_path / "s.jsonl", task_id=task.id, naming="camel", min_reward=0.1)
    records = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert [record["score"] for record in records] == [n / 100 for n in range(10, 30)]
    assert {"taskId", "modelId", "completionId"} <= set(records[0]["metadata"])
    assert lines.bytes == (tmp_path / "s.jsonl").stat().st_size
    client.scores.export(tmp_path / "s.parquet", format="parquet", task_id=task.id, per="grader", dimensions=True)
    assert pyarrow.parquet.read_table(tmp_path / "s.parquet").num_rows == 30

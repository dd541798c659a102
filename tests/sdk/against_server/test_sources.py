"""Sources and held-out completions through the client."""

import io
import json

import pytest
from autotune_sdk import ConflictError, InvalidRequest

from scores.models import Reward, Score
from tasks.models import Completion

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


@pytest.fixture
def scored(client, task, score):
    """Scored completions: `a` from the API, `bb` from telemetry, `ccc` from an evaluation, and `dddd` held out."""
    for response in ("a", "bb", "ccc", "dddd"):
        client.completions.submit(
            task_id=task.id, model_id=response, prompt="p", response=response, held_out=response == "dddd"
        )
    score()
    for model, source in (("bb", "telemetry"), ("ccc", "evaluation")):
        Completion.objects.filter(model_id=model).update(source=source)
        for rows in (Score, Reward):
            rows.objects.filter(completion__model_id=model).update(source=source)


def test_a_submission_is_held_out_if_it_says_so(client, task):
    content = {"task_id": task.id, "model_id": "m", "prompt": "p", "response": "r", "external_id": "e"}
    sent = client.completions.submit(**content, held_out=True)
    assert sent.completion.held_out
    assert client.completions.get(sent.completion.id).held_out
    assert client.completions.submit(**content, held_out=True).existing
    with pytest.raises(ConflictError):
        client.completions.submit(**content)
    item = {"model_id": "m", "prompt": "p", "response": "r"}
    (plain, held_out) = client.completions.submit_batch([item, item | {"held_out": True}], task_id=task.id).ids
    assert [client.completions.get(pk).held_out for pk in (plain, held_out)] == [False, True]


@pytest.mark.parametrize(
    ("source", "listed", "figured"),
    [(None, "a bb", "a"), ("telemetry", "bb", "bb"), (["api", "evaluation"], "a ccc", "a ccc"), (("api",), "a", "a")],
)
def test_every_reader_takes_a_source_or_several(client, task, scored, source, listed, figured):
    values = sorted(len(name) / 100 for name in listed.split())
    assert sorted(row.value for row in client.scores.list(source=source)) == values
    assert sorted(row.value for row in client.scores.iterate(source=source, page_size=1)) == values
    assert client.scores.summary(source=source).total_records == len(figured.split())
    models = {row.model_id for row in client.completions.list(source=source)}
    assert models - {"dddd"} == set(listed.split())
    target = io.BytesIO()
    client.scores.export(target, source=source)
    rows = [json.loads(line) for line in target.getvalue().splitlines()]
    assert sorted(row["metadata"]["model_id"] for row in rows) == figured.split()
    pairs = client.preference_pairs(task_id=task.id, sample_size=10, source=source)
    assert pairs.available == (1 if len(figured.split()) > 1 else 0)


@pytest.mark.parametrize("source", ["telemetry", ["telemetry", "api"]])
def test_an_export_job_takes_a_source_or_several(client, task, source):
    export = client.exports.create(source=source)
    assert client.exports.get(export.id).query["source"] == ([source] if isinstance(source, str) else source)


def test_an_unknown_source_is_an_error(client):
    with pytest.raises(InvalidRequest):
        client.scores.list(source="people")

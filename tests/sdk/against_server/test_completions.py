"""Completions through the client: shapes, batches, filters to the millisecond, pages."""

from datetime import timedelta

import pytest
from autotune_sdk import ConflictError, InvalidRequest

from tests.support.submitting import is_recent, items

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
MOMENT = timedelta(milliseconds=1)


def test_a_submission_has_the_clients_shape(client, task):
    metadata = {"snake_case": [1, None, {"camelCase": 0.5}]}
    sent = client.completions.submit(
        task_id=task.id, model_id="m", variables={"question": "How long?"}, response="yes", external_id="e", metadata=metadata,
        priority="high",
    )  # fmt: skip
    completion = sent.completion
    assert (sent.status, sent.existing, sent.workflow_run_id) == ("scoring", False, sent.workflow_run_ids[0])
    assert sent.estimated_score_time_ms >= 0
    assert (completion.prompt, completion.response, completion.messages, completion.external_id) == (
        "How long?",
        "yes",
        None,
        "e",
    )
    assert (completion.task_id, completion.task_version, completion.model_id, completion.source) == (
        task.id,
        task.version,
        "m",
        "api",
    )
    assert (completion.metadata, completion.priority, completion.status, completion.reward, completion.erased_at) == (
        metadata,
        "high",
        "pending",
        None,
        None,
    )
    assert is_recent(completion.created_at)
    assert client.completions.get(completion.id) == completion


def test_messages_are_returned_unchanged(client, task):
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "2 + 2?", "snake_case": {"a_b": 1}}]
    sent = client.completions.submit(task_id=task.id, model_id="m", messages=messages, response="4")
    assert (sent.completion.messages, sent.completion.prompt) == (messages, "2 + 2?")


def test_the_same_external_id_is_the_same_completion(client, task):
    content = {"task_id": task.id, "model_id": "m", "prompt": "p", "response": "r", "external_id": "e"}
    first, second = client.completions.submit(**content), client.completions.submit(**content)
    assert (second.existing, second.completion.id, first.existing) == (True, first.completion.id, False)
    with pytest.raises(ConflictError) as refused:
        client.completions.submit(**{**content, "response": "other"})
    assert refused.value.code == "external_id_conflict"


def test_batch_results_keep_their_order_and_repeats_return_existing_objects(client, task):
    first = client.completions.submit_batch(items(5), task_id=task.id)
    assert [completion.external_id for completion in first.completions] == [f"e{n}" for n in range(5)]
    assert [completion.index for completion in first.completions] == list(range(5))
    again = client.completions.submit_batch(items(7), task_id=task.id)
    assert again.ids[:5] == first.ids
    assert [completion.existing for completion in again.completions] == [True] * 5 + [False] * 2


def test_an_invalid_item_is_named_by_its_index(client, task):
    batch = items(4)
    batch[2]["priority"] = "urgent"
    with pytest.raises(InvalidRequest) as refused:
        client.completions.submit_batch(batch, task_id=task.id)
    (error,) = refused.value.errors
    assert (error.pointer, error.index) == ("/completions/2/priority", 2)
    assert client.completions.list(task_id=task.id).total == 0
    taken = client.completions.submit_batch(batch, task_id=task.id, partial=True)
    assert [completion.index for completion in taken.completions] == [0, 1, 3]
    assert [(item_error.index, item_error.pointer) for item_error in taken.errors] == [(2, "/completions/2/priority")]


def test_completions_are_filtered_to_the_millisecond(client, task):
    ids = [client.completions.submit(task_id=task.id, **{**item}).completion.id for item in items(3)]
    created_times = [client.completions.get(completion_id).created_at for completion_id in ids]

    def within(start, end):
        return {
            completion.id for completion in client.completions.list(task_id=task.id, start_date=start, end_date=end)
        }

    assert within(created_times[0], created_times[-1] + MOMENT) == set(ids)
    assert ids[0] not in within(created_times[0] + MOMENT, created_times[-1] + MOMENT)
    assert ids[-1] not in within(created_times[0], created_times[-1])
    assert within(created_times[0].date(), created_times[-1].date()) == set(ids)


def test_completions_are_listed_page_by_page(client, task):
    ids = client.completions.submit_batch(items(7), task_id=task.id).ids
    page = client.completions.list(task_id=task.id, limit=3, sort="createdAt")
    listed_ids, pages = [completion.id for completion in page.items], 1
    assert (page.total, page.offset, page.limit) == (7, 0, 3)
    while page.next_cursor:
        page = client.completions.list(task_id=task.id, limit=3, sort="createdAt", cursor=page.next_cursor)
        assert page.total is None
        listed_ids, pages = listed_ids + [completion.id for completion in page.items], pages + 1
    assert (listed_ids, pages) == (ids, 3)
    assert [completion.id for completion in client.completions.list(task_id=task.id, external_id="e4")] == [ids[4]]
    assert client.completions.list(task_id=task.id, model_id="model-1", status="pending", source="api").total == 3

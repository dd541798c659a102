"""Reviews through the client: what waits, a claim, a decision."""

import pytest
from autotune_sdk import ConflictError, Dimension

from tests.support.submitting import is_recent, items

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def test_a_score_that_is_unsure_waits_and_is_decided(client, grader, score):
    task = client.tasks.create(
        name="Unsure", prompt_template="{{q}}", grader_id=grader.id, review={"below_confidence": 0.8}
    )
    assert task.review.below_confidence == 0.8
    taken = client.completions.submit_batch(items(3), task_id=task.id).ids
    score()

    reviews = client.reviews.list(task_id=task.id, status="open", sort="createdAt")
    assert ([review.completion_id for review in reviews], reviews.total) == (taken, 3)
    assert [review.id for review in client.reviews.iterate(task_id=task.id)] == [review.id for review in reviews][::-1]
    first, second, third = reviews
    assert (first.preliminary_confidence, first.prompt, first.response) == (0.5, None, None)
    whole = client.reviews.get(first.id)
    assert (whole.prompt, whole.response, whole.task_name, whole.model_id) == ("p0", "", "Unsure", "model-0")
    assert is_recent(whole.created_at)
    assert client.completions.score(taken[0]).status == "processing"

    claimed = client.reviews.claim(first.id)
    assert claimed.claimed_by is not None
    decided = client.reviews.decide(first.id, approved=True, value=0.75, explanation="Good.")
    assert (decided.status, decided.value, decided.explanation) == ("approved", 0.75, "Good.")
    result = client.completions.score(taken[0])
    assert (result.status, result.value, result.confidence) == ("completed", 0.75, 1.0)
    assert (result.score.reviewed_by, result.score.reasoning) == (decided.decided_by, "Good.")
    assert result.score.dimensions == (Dimension("ai_preliminary", 0.0, 0), Dimension("human_review", 0.75, 1))

    assert client.reviews.decide(second.id, approved=True).value == 0.01
    assert client.completions.score(taken[1]).confidence == 0.5
    assert client.reviews.decide(third.id, approved=False).value is None
    assert client.completions.score(taken[2]).status == "failed"
    with pytest.raises(ConflictError) as caught:
        client.reviews.decide(third.id, approved=True)
    assert caught.value.code == "review_closed"

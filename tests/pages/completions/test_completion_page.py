"""A completion's page: the texts, the scores by grader, how the reward came about, and its way through the states."""

import pytest
from django.urls import reverse
from django.utils import timezone

from scores.models import Reward, Score
from tasks.models import PanelMember
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
)

pytestmark = pytest.mark.django_db


def page_of(client, completion, status=200, **query):
    answer = client.get(reverse("completion", args=[completion.pk]), query)
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


@pytest.fixture
def scored():
    """A panel of two: one scored with dimensions and reasoning, the other failed."""
    task = TaskFactory(name="Sums")
    first = task.version.members.get()
    PanelMember.objects.filter(pk=first.pk).update(weight=0.75)
    second = PanelMember.objects.create(
        task_version=task.version, grader=GraderFactory(organization=task.organization), weight=0.25, position=1
    )
    score = ScoreFactory(
        run__completion__task=task, run__grader=first.grader, value=0.8, reasoning="Right, and short.",
        run__completion__external_id="row-7", run__completion__metadata={"seed": 11},
        dimensions=[{"name": "clarity", "value": 0.9, "weight": 0.5}], reward=False,
    )  # fmt: skip
    RunFactory(
        completion=score.completion, grader=second.grader, status="failed", error_code="timeout", attempt=3,
        error_message="No answer within 10 s.",
    )  # fmt: skip
    Reward.objects.create(
        completion=score.completion, organization=task.organization, task=task, value=0.8, confidence=0.9,
        aggregation="mean", used=1, failed=1,
    )  # fmt: skip
    return score.completion


def test_it_shows_the_texts_the_scores_and_how_the_reward_was_computed(visitor, scored):
    html = page_of(visitor("training_operator", scored.organization), scored)
    for text in (
        "What is 2 + 2?",
        "0.800",
        "Right, and short.",
        "clarity",
        "weight 0.5",
        "row-7",
        "&quot;seed&quot;: 11",
    ):
        assert text in html
    assert "The mean of the scores, each with its weight" in html
    assert "1 missing" in html
    assert "weight 0.75" in html


def test_a_failed_run_shows_its_code_and_what_to_change(visitor, scored):
    html = page_of(visitor("training_operator", scored.organization), scored)
    assert "timeout" in html
    assert "Answer within the grader&#x27;s time limit" in html
    assert "3 attempts" in html


def test_a_completion_without_a_reward_shows_why_and_no_zero(visitor):
    run = RunFactory(status="failed", error_code="timeout", attempt=1)
    Reward.objects.create(
        completion=run.completion, organization=run.organization, task=run.task, value=None, confidence=None,
        aggregation="mean", used=0, failed=1, error_code="timeout",
    )  # fmt: skip
    html = page_of(visitor("reviewer", run.organization), run.completion)
    assert "No reward: timeout." in html
    assert "0.000" not in html


def test_it_refreshes_until_it_is_final(visitor, scored):
    run = RunFactory(status="running", attempt=1, started_at=timezone.now())
    client = visitor("training_operator", run.organization)
    assert 'data-live="' in page_of(client, run.completion)
    part = client.get(
        reverse("completion", args=[run.completion.pk]), headers={"HX-Request": "true", "HX-Target": "state"}
    )
    assert b'id="state"' in part.content
    assert b"<html" not in part.content
    assert 'data-live="' not in page_of(visitor("training_operator", scored.organization), scored)


def test_messages_are_bubbles_below_the_system_prompt(visitor):
    task = TaskFactory()
    task.version.content = {**task.version.content, "systemPrompt": "Be terse."}
    task.version.save()
    messages = [
        {"role": "system", "content": "You add."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "2 + 2?"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
    ]
    completion = CompletionFactory(task=task, messages=messages, prompt="2 + 2?")
    html = page_of(visitor("training_operator", task.organization), completion)
    assert "Be terse." in html
    assert html.count('class="bubble') >= 2
    assert "image url" in html


def test_an_older_score_of_a_grader_is_shown_as_replaced(visitor, scored):
    old = Score.objects.get(completion=scored)
    Score.objects.filter(pk=old.pk).update(superseded=True)
    again = RunFactory(completion=scored, grader=old.grader, generation=1, status="completed", attempt=1)
    ScoreFactory(run=again, value=0.6, reward=False)
    html = page_of(visitor("training_operator", scored.organization), scored)
    assert "Earlier scores and workflow runs (1)" in html
    assert "replaced" in html


def test_a_review_is_shown_to_who_may_see_it(visitor):
    review = ReviewFactory()
    html = page_of(visitor("reviewer", review.organization), review.completion)
    assert f"…{review.public_id[-6:]}" in html
    assert "0.250" in html


def test_it_takes_few_queries_however_many_graders(visitor, keys_at_hand, django_assert_max_num_queries):
    graders = [GraderFactory() for _ in range(12)]
    task = TaskFactory(graders=graders)
    completion = CompletionFactory(task=task, prompt_digest=b"x" * 16)
    for grader in graders:
        ScoreFactory(run__completion=completion, run__grader=grader, reasoning="a", reward=False)
    for _ in range(5):
        CompletionFactory(task=task, prompt_digest=b"x" * 16)
    client = visitor("organization_admin", task.organization)
    page_of(client, completion)  # the organization's first event of the audit makes a key
    keys_at_hand()
    with django_assert_max_num_queries(20):
        assert "Other answers to this prompt" in page_of(client, completion)


def test_raw_shows_the_unchanged_response(visitor):
    completion = CompletionFactory(response="Hi\n```python\nx = 1\n```\n")
    client = visitor("training_operator", completion.organization)
    assert 'class="code"' in page_of(client, completion)
    raw = page_of(client, completion, view="raw")
    assert "```python" in raw
    assert 'class="code"' not in raw

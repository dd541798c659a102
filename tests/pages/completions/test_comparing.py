"""Two completions side by side: of one prompt only, with the difference of each grader's scores."""

import random

import pytest
from django.urls import reverse

from autotune.access.models import AuditEvent
from scores.models import Score
from scores.results import differences
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.damaging import damage_row


@pytest.fixture
def pair():
    task = TaskFactory()
    first = ScoreFactory(run__completion__task=task, run__completion__response="the quick fox", value=0.25).completion
    second = ScoreFactory(run__completion__task=task, run__completion__response="the slow fox", value=0.75).completion
    return first, second


def compared(client, *two, status=200, **query):
    named = dict(zip("ab", (public("comp", completion) for completion in two), strict=False))
    answer = client.get(reverse("completions_compare"), named | query)
    assert answer.status_code == status
    return answer.content.decode()


@pytest.mark.django_db
def test_scores_are_shown_side_by_side_with_the_difference(visitor, pair):
    html = compared(visitor("reviewer", pair[0].organization), *pair)
    for text in ("0.250", "0.750", "+0.500", "the quick fox", "the slow fox"):
        assert text in html


@pytest.mark.django_db
def test_the_words_that_differ_are_marked(visitor, pair):
    html = compared(visitor("reviewer", pair[0].organization), *pair, diff="words")
    assert "the<del> quick</del> fox" in html
    assert "the<ins> slow</ins> fox" in html


@pytest.mark.django_db
def test_two_of_different_prompts_are_refused_with_a_sentence(visitor, pair):
    other = CompletionFactory(task=pair[0].task, prompt="Another one")
    html = compared(visitor("reviewer", pair[0].organization), pair[0], other, status=409)
    assert "These completions answer different prompts." in html


@pytest.mark.django_db
def test_the_same_one_twice_and_an_erased_one_are_refused(visitor, pair):
    client = visitor("reviewer", pair[0].organization)
    assert "the same completion" in compared(client, pair[0], pair[0], status=409)


@pytest.mark.django_db
def test_completions_that_the_person_may_not_see_are_404(visitor, pair):
    compared(visitor("organization_admin"), *pair, status=404)
    own = CompletionFactory()
    compared(visitor("organization_admin", own.organization), own, pair[1], status=404)


@pytest.mark.django_db
def test_with_one_completion_the_others_of_its_prompt_are_offered(visitor):
    task = TaskFactory()
    chosen, other = (
        CompletionFactory(task=task, prompt_digest=b"d" * 16, model_id=name) for name in ("left-m", "right-m")
    )
    elsewhere = CompletionFactory(task=task, prompt_digest=b"e" * 16, model_id="elsewhere-m")
    html = compared(visitor("reviewer", task.organization), chosen)
    assert public("comp", other) in html
    assert public("comp", elsewhere) not in html


@pytest.mark.django_db
def test_a_score_that_one_of_them_lacks_is_a_dash(visitor, pair):
    Score.objects.filter(completion=pair[1]).delete()
    RunFactory(completion=pair[1])
    html = compared(visitor("reviewer", pair[0].organization), *pair)
    assert "0.250" in html
    assert html.count("+0.500") == 1  # only the rewards


def test_the_pieces_add_up_to_both_texts():
    random.seed(1)
    for _ in range(300):
        left, right = (" ".join(random.choices("abcd", k=random.randint(0, 14))) for _ in range(2))
        difference = differences.between(left, right, "words")
        assert "".join(piece.text for piece in difference.left) == left
        assert "".join(piece.text for piece in difference.right) == right
        kept = ["".join(p.text for p in side if not p.changed) for side in (difference.left, difference.right)]
        assert kept[0] == kept[1]


def test_very_different_texts_are_not_compared():
    left, right = (" ".join(str(random.random()) for _ in range(3_000)) for _ in range(2))
    assert differences.between(left, right, "words") is None
    assert differences.between("x" * 10**6, "y", "words") is None


@pytest.mark.django_db
def test_the_audit_log_names_both(visitor, pair):
    compared(visitor("reviewer", pair[0].organization), *pair)
    read = AuditEvent.objects.filter(action="completions.read", route="/completions/compare", status=200)
    assert set(read.values_list("object_id", flat=True)) == {public("comp", completion) for completion in pair}
    assert read.count() == 2


@pytest.mark.django_db
def test_the_audit_log_names_a_single_or_refused_completion(visitor, pair):
    client = visitor("reviewer", pair[0].organization)
    compared(client, pair[0])
    compared(client, pair[1], pair[1], status=409)
    events = AuditEvent.objects.filter(route="/completions/compare").order_by("at").values_list("object_id", "status")
    assert list(events) == [(public("comp", pair[0]), 200), (public("comp", pair[1]), 409)]


@pytest.mark.django_db
def test_completions_without_digests_and_with_a_damaged_system_prompt_are_refused(visitor, pair):
    first, second = pair
    damage_row(first.task_version, "content")
    assert not first.prompt_digest
    html = compared(visitor("reviewer", first.organization), first, second, status=409)
    assert "The system prompt of one of the two cannot be read" in html

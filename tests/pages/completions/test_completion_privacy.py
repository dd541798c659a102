"""Who sees what of a completion: each role, owners of graders with and without `shareText`, other organizations."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from scores.models import Reward
from scores.retention import deleting
from tasks.models import PanelMember
from tests.factories import (
    GraderFactory,
    OrganizationFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
)

PROMPT, RESPONSE, EXTERNAL, METADATA = "the-prompt-text", "the-response-text", "row-seven", "note-of-ours"
OWN_REASON, OTHER_REASON, OWN_DIMENSION = "because of the rule", "because of ours", "hidden-dimension"
pytestmark = pytest.mark.django_db


@pytest.fixture
def maker():
    return UserFactory()


@pytest.fixture
def grader(maker):
    """Another organization's, listed."""
    return GraderFactory(
        organization=OrganizationFactory(), created_by=maker, visibility="listed", name="Foreign judge"
    )


@pytest.fixture
def task(grader):
    own_task = TaskFactory(graders=[grader], name="Our own task", share_text=True)
    ours = GraderFactory(organization=own_task.organization, name="Inner judge")
    PanelMember.objects.create(task_version=own_task.version, grader=ours, position=1, weight=0.625)
    return own_task


@pytest.fixture
def completion(task, grader):
    score = ScoreFactory(
        run__completion__task=task, run__completion__prompt=PROMPT, run__completion__response=RESPONSE,
        run__completion__external_id=EXTERNAL, run__completion__metadata={"by": METADATA}, run__grader=grader,
        value=0.111, reasoning=OWN_REASON, dimensions=[{"name": OWN_DIMENSION, "value": 0.5, "weight": None}],
        reward=False,
    )  # fmt: skip
    ours = task.version.members.last().grader
    ScoreFactory(
        run=RunFactory(completion=score.completion, grader=ours, status="completed", attempt=1), value=0.777,
        reasoning=OTHER_REASON, reward=False,
    )  # fmt: skip
    Reward.objects.create(
        completion=score.completion, organization=task.organization, task=task, value=0.444, confidence=0.9,
        aggregation="mean", used=2, failed=0,
    )  # fmt: skip
    return score.completion


@pytest.fixture
def owner(visitor, grader, maker):
    return visitor("grader_owner", grader.organization, maker)


def seen(client, completion, status=200):
    answer = client.get(reverse("completion", args=[completion.pk]))
    assert answer.status_code == status
    return answer.content.decode()


@pytest.mark.parametrize("role", ["training_operator", "reviewer", "organization_admin"])
def test_the_submitting_organization_sees_everything(visitor, completion, role):
    html = seen(visitor(role, completion.organization), completion)
    for text in (
        PROMPT,
        RESPONSE,
        EXTERNAL,
        METADATA,
        OWN_REASON,
        OTHER_REASON,
        "0.111",
        "0.777",
        "0.444",
        "Who may see what",
    ):
        assert text in html


def test_the_graders_owner_sees_the_texts_and_their_own_score(owner, completion):
    html = seen(owner, completion)
    for text in (PROMPT, RESPONSE, "0.111", OWN_REASON, "its task shares text with the owners of its graders"):
        assert text in html


def test_the_graders_owner_sees_nothing_else_of_it(owner, completion, task):
    html = seen(owner, completion)
    hidden = (
        EXTERNAL, METADATA, OTHER_REASON, "0.777", "0.444", task.name, task.organization.name, "Inner judge", "0.625",
        "Who may see what", completion.created_by.email, "Score again", "Erase text",
    )  # fmt: skip
    for untold in hidden:
        assert untold not in html, untold


def test_without_share_text_the_owner_sees_the_score_and_not_the_completion(owner, completion, task, grader):
    task.share_text = False
    task.save()
    seen(owner, completion, 404)
    score = completion.scores.get(grader=grader)
    html = owner.get(reverse("score", args=[score.pk])).content.decode()
    assert "0.111" in html
    assert OWN_REASON in html
    assert PROMPT not in html
    assert "Its text is not shared with you." in html
    assert owner.get(reverse("completion_text", args=[completion.pk, "response"])).status_code == 404


def test_other_organizations_do_not_see_redacted_reasoning(visitor, owner, completion, grader):
    grader.redact_reasoning = grader.redact_dimensions = True
    grader.save()
    html = seen(visitor("organization_admin", completion.organization), completion)
    assert OWN_REASON not in html
    assert OWN_DIMENSION not in html
    assert OTHER_REASON in html
    assert "does not share it" in html
    assert OWN_REASON in seen(owner, completion)


def test_redaction_by_another_organizations_grader_is_not_revealed(visitor, completion, grader):
    client = visitor("organization_admin", completion.organization)
    completion.scores.filter(grader=grader).update(reasoning=None, dimensions=None)
    before = client.get(reverse("score", args=[completion.scores.get(grader=grader).pk])).content
    grader.redact_reasoning = grader.redact_dimensions = True
    grader.save()
    after = client.get(reverse("score", args=[completion.scores.get(grader=grader).pk])).content
    assert b"does not share it" in before
    assert b"does not share it" in after


def test_other_organizations_and_colleagues_of_the_owner_find_nothing(visitor, completion, grader):
    for client in (
        visitor("organization_admin"), visitor("reviewer"), visitor("grader_owner", grader.organization),
        visitor("training_operator", grader.organization),
    ):  # fmt: skip
        seen(client, completion, 404)
        for part in ("prompt", "response", "messages", "metadata"):
            assert client.get(reverse("completion_text", args=[completion.pk, part])).status_code == 404
        assert PROMPT not in client.get(reverse("completions")).content.decode()


def test_metadata_cannot_be_downloaded_without_the_right_to_read_it(owner, completion):
    assert owner.get(reverse("completion_text", args=[completion.pk, "response"])).content == RESPONSE.encode()
    assert owner.get(reverse("completion_text", args=[completion.pk, "metadata"])).status_code == 404


def test_the_list_shows_a_shared_completion_without_its_owner(owner, completion):
    html = owner.get(reverse("completions")).content.decode()
    assert PROMPT in html
    assert "shared with you" in html
    for untold in (EXTERNAL, "0.444", "Our own task"):
        assert untold not in html
    assert PROMPT not in owner.get(reverse("completions"), {"externalId": EXTERNAL}).content.decode()


def test_an_erased_completion_is_marked_and_keeps_its_scores(visitor, completion):
    deleting.delete_completion(completion.pk)
    client = visitor("organization_admin", completion.organization)
    html = seen(client, completion)
    assert "The text was erased" in html
    assert "0.444" in html
    for gone in (PROMPT, RESPONSE, METADATA, OWN_REASON, "Score again", "Erase text"):
        assert gone not in html
    assert client.get(reverse("completion_text", args=[completion.pk, "response"])).status_code == 410
    assert "Text erased" in client.get(reverse("completions")).content.decode()


def test_a_failure_message_that_names_a_foreign_host_is_hidden(visitor, task, grader, owner):
    run = RunFactory(
        completion__task=task, grader=grader, status="failed", error_code="connect_failed", attempt=1,
        error_message="grader.secret.example refused the connection.",
    )  # fmt: skip
    html = seen(visitor("training_operator", task.organization), run.completion)
    assert "connect failed" in html
    assert "grader.secret.example" not in html
    assert "grader.secret.example" in seen(owner, run.completion)


def test_a_role_without_reasoning_sees_only_the_numbers(visitor, completion):
    from autotune.access.models import Role

    names = ("completions", "scores", "workflow_runs")
    role = Role.objects.create(
        organization=completion.organization, name="numbers",
        permissions=[{"resource": name, "actions": ["read"], "scope": "organization"} for name in names],
    )  # fmt: skip
    html = seen(visitor(role, completion.organization), completion)
    assert "0.111" in html
    assert OWN_REASON not in html
    assert OTHER_REASON not in html
    assert "Our own task" not in html
    assert "0.625" not in html
    assert "Your role can read the numbers but not the reasoning." in html


def test_reviews_are_not_shown_to_owners_of_its_graders(visitor, owner, completion, grader):
    run = completion.runs.get(grader=grader)
    review = ReviewFactory(run=run, value=0.2475, status="open", expires_at=timezone.now() + timedelta(days=1))
    html = seen(visitor("reviewer", completion.organization), completion)
    assert reverse("review", args=[review.pk]) in html
    assert '<span class="badge busy">open</span>' in html
    html = seen(owner, completion)
    assert reverse("review", args=[review.pk]) not in html
    assert "0.247" not in html
    assert "0.248" not in html


def _reader(completion, name="reader_of_ours"):
    from autotune.access.models import Role

    return Role.objects.create(
        organization=completion.organization, name=name,
        permissions=[
            {"resource": resource, "actions": ["read"], "scope": "organization"}
            for resource in ("completions", "scores", "tasks")
        ],
    )  # fmt: skip


def test_names_of_custom_roles_require_the_right_to_read_roles(visitor, completion):
    _reader(completion, "night_watch")
    html = seen(visitor(_reader(completion), completion.organization), completion)
    assert "Who may see what" in html
    assert "night_watch" not in html
    assert "training operator" in html
    assert "night_watch" in seen(visitor("organization_admin", completion.organization), completion)


def test_redacted_reasoning_is_marked_for_those_who_see_it(visitor, completion, task):
    ours = task.version.members.last().grader
    ours.redact_reasoning = True
    ours.save()
    note = "reasoning is redacted for others"
    assert note in seen(visitor("organization_admin", completion.organization), completion)
    html = seen(visitor(_reader(completion), completion.organization), completion)
    assert note not in html
    assert "its owners decide what others see" in html

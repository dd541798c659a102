"""Lists of the administration: found by pasted ids and typed names, counted to a bound, linked, safe with hostile names."""

import pytest
from django.contrib import admin

from autotune.access.models import ApiKey, AuditEvent, Membership
from autotune.core.admin import lists
from graders.models import Grader, GraderCheck
from scores.models import Reward, Score, WorkflowRun
from tasks.models import Completion, Task, TaskVersion
from tests.factories import ApiKeyFactory, GraderFactory, OrganizationFactory, ScoreFactory, TaskFactory, public
from tests.site.admin.world import address

pytestmark = pytest.mark.django_db
GROWING = (AuditEvent, Completion, WorkflowRun, Score, Reward, GraderCheck)
HOSTILE = "<script>alert(1)</script>\u202egnp.exe " + "x" * 150


def matching_ids(client, model, **query):
    answer = client.get(address(model, "changelist"), query)
    assert answer.status_code == 200, query
    return {row.pk for row in answer.context["cl"].result_list}


@pytest.fixture
def two():
    return ScoreFactory(), ScoreFactory()


def test_a_pasted_id_finds_what_it_names_and_what_names_it(boss, two):
    score, _ = two
    for model, row in ((Score, score), (WorkflowRun, score.run), (Completion, score.completion), (Task, score.task)):
        assert matching_ids(boss, model, q=row.public_id) == {row.pk}
    for whose in (score.completion, score.task, score.grader):
        assert matching_ids(boss, WorkflowRun, q=f" {whose.public_id} ") == {score.run_id}
    assert matching_ids(boss, TaskVersion, q=score.task.public_id) == {score.task.version_id}
    assert matching_ids(boss, Completion, q=public("org", score.organization)) == {score.completion_id}


def test_a_key_and_a_member_are_found_by_their_person_and_organization(boss):
    key, _ = ApiKeyFactory(), ApiKeyFactory()
    for kind, row in (("key", key), ("org", key.organization), ("user", key.user)):
        assert matching_ids(boss, ApiKey, q=public(kind, row)) == {key.pk}
    member = Membership.objects.get(user=key.user)
    assert matching_ids(boss, Membership, q=member.public_id) == {member.pk}


def test_a_filter_takes_a_part_of_a_name_or_an_id_and_loads_no_options(boss, two):
    score, other = two
    for model, row in ((WorkflowRun, score.run), (Score, score), (Completion, score.completion)):
        assert matching_ids(boss, model, task=score.task.public_id) == {row.pk}
        assert matching_ids(boss, model, organization=score.organization.name) == {row.pk}
        assert matching_ids(boss, model, organization="nobody of that name") == set()
    page = boss.get(
        address(Score, "changelist"), {"grader": score.grader.name, "purpose__exact": "score"}
    ).content.decode()
    assert '<input type="hidden" name="purpose__exact" value="score">' in page
    assert other.task.name not in page


def test_a_filter_takes_anything(boss, two):
    for text in ("\x00", "%'\"", "é" * 500, "org_zzzz", "<script>"):
        boss.get(address(Score, "changelist"), {"organization": text}).content.decode().index("Filter")


def test_the_age_filter_uses_the_key(boss, two):
    assert len(matching_ids(boss, WorkflowRun, made="hour")) == 2
    assert matching_ids(boss, WorkflowRun, made="never") == {score.run_id for score in two}


@pytest.mark.parametrize("model", GROWING, ids=lambda model: model.__name__)
def test_a_growing_table_is_counted_to_a_limit_and_sorted_by_its_key(model):
    page = admin.site._registry[model]
    assert page.paginator is lists.CappedPaginator
    assert not page.show_full_result_count
    assert page.show_facets is admin.ShowFacets.NEVER
    assert tuple(page.sortable_by) == ()


def test_above_the_limit_the_list_says_so(boss, two, monkeypatch):
    monkeypatch.setattr(lists, "COUNTED", 2)
    assert "The first 2 scores" in " ".join(boss.get(address(Score, "changelist")).content.decode().split())


def test_hostile_names_are_text_everywhere(boss):
    grader = GraderFactory(name=HOSTILE)
    task = TaskFactory(name=HOSTILE, organization=OrganizationFactory(name=HOSTILE), graders=[grader])
    score = ScoreFactory(run__completion__task=task, run__completion__external_id=HOSTILE)
    for model, row in ((Grader, grader), (Task, task), (Completion, score.completion), (WorkflowRun, score.run)):
        for path in (address(model, "changelist"), address(model, "change", row.pk)):
            page = boss.get(path).content.decode()
            assert "<script>alert(1)" not in page, path
            assert "&lt;script&gt;" in page, path


def test_a_form_links_to_its_parts_its_lists_and_the_product(boss):
    score = ScoreFactory()
    page = boss.get(address(Completion, "change", score.completion_id)).content.decode()
    for part in (score, score.run):
        assert address(type(part), "change", part.pk) in page
    page = boss.get(address(Task, "change", score.task_id)).content.decode()
    assert f"?task={score.task.public_id}" in page
    assert address(Grader, "change", score.grader_id) in page


def test_only_the_newest_20_checks_are_on_the_form(boss):
    grader = GraderFactory()
    for n in range(25):
        GraderCheck.objects.create(grader=grader, name="health", passed=True, detail=f"look number {n:02}")
    page = boss.get(address(Grader, "change", grader.pk)).content.decode()
    assert "look number 24" in page
    assert "look number 05" in page
    assert "look number 04" not in page


def test_a_missing_reward_is_a_failure_and_no_zero(boss, two):
    score, _ = two
    Reward.objects.filter(pk=score.completion_id).update(value=None, confidence=None, error_code="timeout")
    page = boss.get(address(Reward, "changelist"), {"q": score.completion.public_id}).content.decode()
    assert '<span class="badge bad">timeout</span>' in page
    assert "0.000" not in page

"""The admin pages of tasks: lists and forms with 50 rows, few queries, no text in a list, records unchanged."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.urls import reverse

from tasks.models import Completion, PanelMember, Task, TaskVersion
from tests.factories import SECRET, CompletionFactory, GraderFactory, TaskFactory, UserFactory

MODELS = (Task, TaskVersion, PanelMember, Completion)
TEXT = "a prompt that only superusers read"


@pytest.fixture
def rows(db):
    task = TaskFactory(name="The sums", description="adds up", metadata={"sort": "hidden metadata"})
    graders = [GraderFactory(organization=task.organization) for _ in range(3)]
    for _ in range(49):
        TaskFactory(organization=task.organization, created_by=task.created_by, graders=graders)
    for number in range(50):
        CompletionFactory(
            task=task, prompt=TEXT, response="=1+1 <b>", metadata={"k": TEXT}, external_id=f"row-{number}"
        )
    return task


@pytest.fixture
def superuser(client, db):
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def staff(client, db):
    user = UserFactory(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="tasks"))
    client.force_login(user)
    return client


def page(model, instance=None):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    return reverse(f"{name}_change", args=[instance.pk]) if instance else reverse(f"{name}_changelist")


@pytest.mark.parametrize("model", MODELS)
def test_a_list_of_50_rows_takes_at_most_15_queries_and_shows_no_text(
    superuser, rows, model, django_assert_max_num_queries
):
    with django_assert_max_num_queries(15):
        answer = superuser.get(page(model))
    assert answer.status_code == 200
    assert answer.content.count(b"<tr>") > 50
    assert TEXT.encode() not in answer.content
    assert b"hidden metadata" not in answer.content


@pytest.mark.parametrize("model", MODELS)
def test_a_form_takes_few_queries_and_shows_no_secret(superuser, rows, model, django_assert_max_num_queries):
    with django_assert_max_num_queries(15 + 5):  # the event is the first of its chain, whose key is made
        answer = superuser.get(page(model, model.objects.first()))
    assert answer.status_code == 200
    assert SECRET.encode() not in answer.content


def test_superusers_read_the_text_of_a_completion_as_plain_text(superuser, rows):
    html = superuser.get(page(Completion, Completion.objects.first())).content.decode()
    assert TEXT in html
    assert "=1+1 &lt;b&gt;" in html


def test_other_staff_see_no_text(staff, rows):
    for model in (Completion, TaskVersion):
        answer = staff.get(page(model, model.objects.first()))
        assert answer.status_code == 200
        assert TEXT not in answer.content.decode()
        assert "{{question}}" not in answer.content.decode()


@pytest.mark.parametrize(
    ("model", "term", "count"),
    [
        (Task, "The sums", 1),
        (Task, "adds up", 1),
        (Task, "nothing of the kind", 0),
        (TaskVersion, "The sums", 1),
        (Completion, "row-7", 1),
        (Completion, "The sums", 50),
        (PanelMember, "The sums", 1),
    ],
)
def test_search_finds_names_descriptions_and_external_ids(superuser, rows, model, term, count):
    answer = superuser.get(page(model), {"q": term})
    assert answer.context["cl"].result_count == count


def test_search_finds_a_public_id(superuser, rows):
    for model in (Task, TaskVersion, Completion):
        row = model.objects.first()
        answer = superuser.get(page(model), {"q": f" {row.public_id} "})
        assert [result.pk for result in answer.context["cl"].result_list] == [row.pk]


@pytest.mark.parametrize("model", [TaskVersion, PanelMember, Completion])
def test_records_are_not_changed_by_hand(superuser, rows, model, rf):
    of_model = admin.site._registry[model]
    assert not of_model.has_add_permission(rf.get("/"))
    assert superuser.post(page(model, model.objects.first()), {}).status_code == 403
    assert superuser.get(page(model) + "add/").status_code == 403
    assert superuser.get(page(model, model.objects.first()).replace("change", "delete")).status_code == 403


def test_a_task_is_renamed_and_archived_and_keeps_the_rest(superuser, rows):
    answer = superuser.post(page(Task, rows), {"name": "Sums", "description": "adds", "archived": "on"})
    assert answer.status_code == 302
    task = Task.objects.get(pk=rows.pk)
    assert (task.name, task.description, task.archived) == ("Sums", "adds", True)
    assert (task.metadata, task.version_id) == ({"sort": "hidden metadata"}, rows.version_id)


def test_a_taken_name_is_an_error_of_the_form(superuser, rows):
    other = Task.objects.exclude(pk=rows.pk).first()
    answer = superuser.post(page(Task, rows), {"name": other.name, "description": ""})
    assert answer.status_code == 200
    assert Task.objects.get(pk=rows.pk).name == "The sums"


def test_the_action_archives(superuser, rows):
    superuser.post(page(Task), {"action": "archive", "_selected_action": [str(rows.pk)]})
    assert Task.objects.get(pk=rows.pk).archived

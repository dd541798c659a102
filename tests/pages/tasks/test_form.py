"""The form of a task: everything the API takes, its refusals at the fields, and versions only where they are due."""

import json

import pytest

from autotune.access.models import AuditEvent
from tasks import definitions
from tasks.models import Task, TaskVersion
from tasks.pages.forms import TaskForm
from tasks.requests import NewTask, TaskPatch
from tests.factories import GraderFactory, OrganizationFactory, TaskFactory, UserFactory, public

pytestmark = pytest.mark.django_db


def text_of(response):
    return response.content.decode()


def errors(response):
    return {name: list(messages) for name, messages in response.context["form"].errors.items()}


@pytest.fixture
def client(visitor):
    return visitor("training_operator")


@pytest.fixture
def grader(client):
    return GraderFactory(organization=client.organization, name="Exact match")


def new(client, filled, **changes):
    return client.post("/tasks/new", filled(client.get("/tasks/new"), **changes))


def edit(client, task, filled, **changes):
    address = f"/tasks/{task.public_id}/edit"
    return client.post(address, filled(client.get(address), **changes))


# --- making ----------------------------------------------------------------------------------------------------------


def test_every_member_of_the_body_has_a_field():
    form = TaskForm(choices=[], task=None)
    members = {form.pointer(name).split("/")[1] for name in form.fields if name != "seen"}
    assert members >= set(NewTask.__struct_encode_fields__) - {"graderId", "graders"}
    assert {form.pointer(f"{name}_0") for name in ("grader", "weight", "part")} <= {
        f"/graders/32/{name}" for name in ("graderId", "weight", "part")
    }


def test_a_whole_form_makes_a_whole_task(client, grader, filled):
    shadow = GraderFactory(organization=OrganizationFactory(), visibility="listed")
    fields = {
        "name": "Sums", "description": "Of two numbers", "prompt_template": "What is {{a}}?\r\nAnswer.",
        "system_prompt": "Be brief.", "response_schema": '{"type": "string"}', "model__name": "m",
        "model__provider": "p", "model__params": '{"temperature": 0.5}', "aggregation": "min",
        "retry__max_attempts": "3", "retry__backoff_ms": "2 s", "retry__max_backoff_ms": "1 min", "deadline_ms": "2 d",
        "review__below_confidence": "0.25", "options__include_dimensions": None, "share_text": "on",
        "retention__text_days": "30", "metadata": '{"suite": 1}',
        "grader_0": public("grader", grader), "weight_0": "0.5",
        "grader_2": public("grader", shadow), "weight_2": "", "part_2": "shadow",
    }  # fmt: skip
    response = new(client, filled, **fields)
    task = Task.objects.get()
    assert response.url == f"/tasks/{task.public_id}"
    assert task.version.content == {
        "systemPrompt": "Be brief.", "promptTemplate": "What is {{a}}?\nAnswer.", "responseSchema": {"type": "string"},
        "model": {"provider": "p", "name": "m", "params": {"temperature": 0.5}},
    }  # fmt: skip
    assert [(m.grader_id, m.weight, m.part) for m in task.version.members.all()] == [
        (grader.pk, 0.5, "scoring"),
        (shadow.pk, 1.0, "shadow"),
    ]
    assert (task.version.aggregation, task.max_attempts, task.backoff_ms, task.max_backoff_ms) == (
        "min",
        3,
        2000,
        60000,
    )
    assert (task.deadline_ms, task.review_below_confidence, task.text_days) == (2 * 86_400_000, 0.25, 30)
    assert (task.include_dimensions, task.include_explanation, task.share_text) == (False, True, True)
    assert (task.metadata, task.model_name, task.created_by) == ({"suite": 1}, "m", client.user)


def test_a_link_from_a_grader_puts_it_into_the_panel(client, grader):
    page = client.get("/tasks/new", {"grader": public("grader", grader)})
    assert page.context["form"]["grader_0"].value() == public("grader", grader)
    assert f'<option value="{public("grader", grader)}" selected>Exact match' in text_of(page)
    assert client.get("/tasks/new", {"grader": "<script>"}).status_code == 200


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"name": ""}, "name", "required"),
        ({"name": "   "}, "name", "spaces"),
        ({"response_schema": "{"}, "response_schema", "valid JSON"),
        ({"response_schema": '{"type": "nonsense"}'}, "response_schema", "/type: It must be one of"),
        ({"response_schema": '{"a": 1, "a": 2}'}, "response_schema", "twice"),
        ({"metadata": "[1]"}, "metadata", "object"),
        ({"weight_0": "2"}, "weight_0", "at most 1"),
        ({"weight_0": "0"}, "panel", "positive sum"),
        ({"part_0": "shadow"}, "panel", "At least one"),
        ({"grader_0": ""}, "panel", "at least one grader"),
        ({"grader_0": "grader_nonsense"}, "grader_0", "begins with"),
        ({"retry__max_attempts": "21"}, "retry__max_attempts", "at most 20"),
        ({"retry__backoff_ms": "soon"}, "retry__backoff_ms", "unit"),
        ({"retry__backoff_ms": "1 h"}, "retry__max_backoff_ms", "less than"),
        ({"deadline_ms": "10 ms"}, "deadline_ms", "at least 1000"),
        ({"review__below_confidence": "1.5"}, "review__below_confidence", "at most 1"),
        ({"retention__text_days": "0"}, "retention__text_days", "at least 1"),
        ({"model__provider": "p"}, "model__name", "required"),
        ({"model__name": "m" * 201}, "model__name", "at most 200 characters"),
    ],
)
def test_a_refusal_is_shown_at_its_field_and_nothing_is_saved(client, grader, filled, changes, field, problem):
    fields = {"name": "Sums", "prompt_template": "{{a}}", "grader_0": public("grader", grader)} | changes
    response = new(client, filled, **fields)
    assert response.status_code == 400
    assert problem in " ".join(errors(response).get(field, [])), errors(response)
    assert not Task.objects.exists()
    assert response.context["form"]["prompt_template"].value() == "{{a}}"  # what was typed stays


def test_a_row_knows_its_place_though_rows_before_it_are_empty(client, grader, filled):
    rows = {"grader_0": "", "grader_1": public("grader", grader), "weight_1": "1"}
    stranger = GraderFactory()
    response = new(client, filled, name="T", prompt_template="x", **rows, grader_2=public("grader", stranger))
    assert errors(response) == {"grader_2": ["There is no such grader."]}
    response = new(client, filled, name="T", prompt_template="x", **rows, grader_2=public("grader", grader))
    assert errors(response) == {"grader_2": ["This grader is named twice."]}


def test_a_taken_name_is_reported_at_its_field(client, grader, filled):
    TaskFactory(organization=client.organization, name="Sums")
    response = new(client, filled, name="Sums", prompt_template="x", grader_0=public("grader", grader))
    assert "has this name" in errors(response)["name"][0]
    assert Task.objects.count() == 1


def test_more_rows_and_the_preview_work_without_scripts_and_save_nothing(client, grader, filled):
    fields = {"name": "", "prompt_template": "{{a}} <b>{{b}}</b> {{a}}", "grader_0": public("grader", grader)}
    more = new(client, filled, **fields, step="rows")
    assert (more.status_code, more.context["form"].rows, errors(more)) == (200, 6, {})
    shown = new(client, filled, **fields, step="preview", **{"sample:a": "<i>one</i>"})
    assert "&lt;i&gt;one&lt;/i&gt;" in text_of(shown)
    assert [part.text for part in shown.context["preview"]] == ["<i>one</i>", " <b>", "{{b}}", "</b> ", "<i>one</i>"]
    assert not Task.objects.exists()


def test_a_panel_offers_usable_graders_without_their_owners(client):
    listed = GraderFactory(
        organization=OrganizationFactory(name="Secret owner"), created_by=UserFactory(email="owner@example.org"),
        visibility="listed", name="Listed one",
    )  # fmt: skip
    private = GraderFactory(name="Private one")
    page = text_of(client.get("/tasks/new"))
    assert public("grader", listed) in page
    assert "Listed one" in page
    assert public("grader", private) not in page
    assert "Secret owner" not in page
    assert "owner@example.org" not in page


# --- changing --------------------------------------------------------------------------------------------------------


def test_saving_unchanged_fields_creates_no_version(client, make_task, filled):
    task = make_task(client, prompt_template="a\r\nb {{c}}\r\n", system_prompt="")
    before = task.version_id, task.updated_at
    response = edit(client, task, filled)
    task.refresh_from_db()
    assert response.status_code == 302
    assert (task.version_id, task.updated_at) == before
    assert task.version.content["promptTemplate"] == "a\r\nb {{c}}\r\n"


def test_a_change_of_the_prompt_creates_a_version_and_says_so(client, make_task, filled):
    task = make_task(client)
    page = client.get(f"/tasks/{task.public_id}/edit")
    assert "the task gets version 2" in text_of(page)
    response = client.post(page.request["PATH_INFO"], filled(page, prompt_template="New {{a}}"), follow=True)
    assert "Version 2 is now current" in text_of(response)
    assert TaskVersion.objects.filter(task=task).count() == 2


def test_other_changes_create_no_version(client, make_task, filled):
    task = make_task(client)
    response = edit(client, task, filled, name="Other", retry__max_attempts="7", archived="on", description="New")
    task.refresh_from_db()
    assert response.status_code == 302
    assert (task.name, task.max_attempts, task.archived, task.description) == ("Other", 7, True, "New")
    assert task.versions.count() == 1


def test_emptied_fields_return_to_their_defaults(client, make_task, filled):
    task = make_task(client, description="x", metadata={"a": 1}, model="m", system_prompt="s", deadline_ms=5000)
    edit(client, task, filled, description="", metadata="", model__name="", system_prompt="", deadline_ms="")
    task = Task.objects.get()
    assert (task.description, task.metadata, task.deadline_ms, task.model_name) == ("", {}, 86_400_000, "")
    assert (task.version.content["model"], task.version.content["systemPrompt"]) == (None, None)


def test_a_panel_that_stays_is_no_obstacle_when_a_grader_is_private_now(client, make_task, filled):
    listed = GraderFactory(visibility="listed")
    task = TaskFactory(organization=client.organization, graders=[listed])
    listed.visibility = "private"
    listed.save()
    response = edit(client, task, filled, name="Renamed")
    assert response.status_code == 302
    assert Task.objects.get().name == "Renamed"


def test_a_concurrent_change_is_not_overwritten_unseen(client, make_task, filled, principal):
    task = make_task(client)
    sent = filled(client.get(f"/tasks/{task.public_id}/edit"), description="mine")
    definitions.patch(principal(client), task, TaskPatch(description="theirs"))
    refused = client.post(f"/tasks/{task.public_id}/edit", sent)
    assert refused.status_code == 400
    assert "Somebody changed this task" in text_of(refused)
    assert Task.objects.get().description == "theirs"
    again = client.post(f"/tasks/{task.public_id}/edit", filled(refused))
    assert again.status_code == 302
    assert Task.objects.get().description == "mine"


# --- who -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["reviewer", "grader_owner"])
def test_a_role_that_may_not_write_tasks_is_refused(visitor, make_task, role):
    client = visitor(role)
    task = make_task(client)
    assert client.get("/tasks/new").status_code == 403
    assert client.post("/tasks/new", {}).status_code == 403
    assert client.get(f"/tasks/{task.public_id}/edit").status_code == 403
    assert client.post(f"/tasks/{task.public_id}/edit", {}).status_code == 403


def test_a_task_of_another_organization_is_not_found(client):
    task = TaskFactory()
    assert client.get(f"/tasks/{task.public_id}/edit").status_code == 404
    assert client.post(f"/tasks/{task.public_id}/edit", {}).status_code == 404


def test_a_hostile_text_stays_text(client, make_task):
    hostile = "</textarea><script>alert(1)</script>\u202e{{a}}"
    task = make_task(client, prompt_template=hostile, description=hostile, metadata={"x": hostile})
    page = text_of(client.get(f"/tasks/{task.public_id}/edit"))
    assert "<script>alert" not in page
    assert (
        json.dumps("</textarea>")[1:-1] not in page.split("<main")[1].split('name="prompt_template"')[1].split(">")[1]
    )


def test_the_form_takes_few_queries(client, make_task, queries):
    task = make_task(client, graders=GraderFactory.create_batch(10, organization=client.organization))
    assert queries(client, f"/tasks/{task.public_id}/edit") <= 20


# --- hostile sizes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "sample"),
    [("{{a}}" * 50_000, "x" * 50_000), ("x" * 1_000_000, ""), ("".join(f"{{{{a{n}}}}}" for n in range(20_000)), "")],
)
def test_a_preview_of_what_was_not_checked_yet_stays_small(client, grader, filled, template, sample):
    typed = {"name": "x", "prompt_template": template, "grader_0": public("grader", grader)}
    shown = new(client, filled, **typed, step="preview", **{"sample:a": sample})
    preview = shown.context["preview"]
    assert shown.status_code == 200
    assert len(preview) <= 2_001
    assert sum(len(part.text) for part in preview) <= 100_000
    assert all(len(row.value) <= 2_000 for row in shown.context["samples"])
    assert "The preview shows only the beginning of the prompt." in text_of(shown)
    assert len(text_of(shown)) < len(template) + 300_000
    assert not Task.objects.exists()


@pytest.mark.parametrize("step", ["preview", "rows", ""])
def test_oversized_texts_are_not_shown_again(client, grader, filled, settings, step):
    settings.MAX_TEXT_BYTES = 1_000
    refused = new(client, filled, name="x", system_prompt="y" * 4_001, prompt_template="z", step=step)
    assert refused.status_code == 413
    assert "y" * 100 not in text_of(refused)
    assert not Task.objects.exists()


# --- the trail -------------------------------------------------------------------------------------------------------


def test_the_audit_log_names_created_and_changed_tasks(client, grader, filled):
    new(client, filled, name="Sums", prompt_template="x", grader_0=public("grader", grader))
    task = Task.objects.get()
    event = AuditEvent.objects.get(action="tasks.create", method="POST")
    assert (event.resource, event.object_id, event.outcome) == ("tasks", task.public_id, "succeeded")
    edit(client, task, filled, description="Of two numbers")
    event = AuditEvent.objects.get(action="tasks.update", method="POST")
    assert (event.object_id, event.outcome) == (task.public_id, "succeeded")


def test_the_audit_log_names_refused_changes(client, filled):
    new(client, filled, name="", prompt_template="")
    event = AuditEvent.objects.get(method="POST")
    assert (event.action, event.object_id, event.outcome) == ("tasks.create", "", "refused")

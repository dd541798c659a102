"""What one small request may cost: names, templates and lists that would make the server work or hold far too much."""

import time

import pytest

from autotune.access.models import Role
from autotune.core.api import pagination, parsing
from autotune.core.errors import Invalid
from graders.models import Grader
from scores.engine.drain import Drain, callable_grader
from scores.intake.requests import NewCompletion
from tasks import templates
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    public,
)


def test_a_long_member_name_is_neither_searched_nor_echoed():
    name = "`" * 100_000 + "x - at `$z"
    with pytest.raises(Invalid) as refused:
        parsing.convert({name: 1}, NewCompletion)
    (error,) = refused.value.errors
    assert (error.code, error.pointer) == ("unknown_field", "")
    assert len(error.detail) < 300


def test_a_prompt_that_would_be_too_long_is_refused_before_it_is_made():
    with pytest.raises(Invalid) as refused:
        templates.render("{{x}}" * 200_000, {"x": "y" * 1_000_000})
    assert [(error.pointer, error.code) for error in refused.value.errors] == [("/variables", "too_long")]


def test_rendered_prompts_are_bounded_over_a_whole_batch(api_for, settings):
    settings.MAX_BODY_BYTES = 10_000
    api = api_for(role="training_operator")
    task = TaskFactory(organization=api.organization)
    content = task.version.content | {"promptTemplate": "{{q}}" * 10}
    task.version.content = content
    task.version.save()
    item = {"taskId": task.public_id, "modelId": "m", "response": "r", "variables": {"q": "x" * 100}}
    answer = api.post("/completions/batch", {"completions": [item] * 12})
    assert answer.status_code == 400
    assert answer.json()["errors"][0] | {"detail": ""} == {"pointer": "/completions", "code": "too_long", "detail": ""}
    assert task.completions.count() == 0


def test_a_page_of_tasks_is_bounded_in_bytes(api_for, monkeypatch):
    api = api_for(role="training_operator")
    TaskFactory.create_batch(3, organization=api.organization)
    assert api.get("/tasks?limit=3").status_code == 200
    monkeypatch.setattr(pagination, "MAX_PAGE_BYTES", 300)
    answer = api.get("/tasks?limit=3")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "page_too_large")


def walked(api, path, what):
    """Every object of a list that is walked by its cursor, and the sizes of the pages."""
    objects, sizes, query = [], [], ""
    while True:
        body = api.get(f"{path}?limit=1000{query}").json()
        page = body["pagination"]
        assert page["limit"] == len(body[what]) or page["nextCursor"] is None
        objects += body[what]
        sizes.append(len(body[what]))
        if page["nextCursor"] is None:
            return objects, sizes
        query = f"&cursor={page['nextCursor']}"


def test_a_page_of_scores_is_bounded_by_its_texts(api_for, monkeypatch):
    api = api_for(role="training_operator")
    task = TaskFactory(organization=api.organization)
    for size in (10, 900, 900, 10, 10, 5_000, 10):
        ScoreFactory(run__completion=CompletionFactory(task=task), reasoning="x" * size)
    assert walked(api, "/scores", "scores")[1] == [7]
    monkeypatch.setattr(pagination, "MAX_PAGE_BYTES", 1_500)
    scores, sizes = walked(api, "/scores", "scores")
    assert [len(score["reasoning"]) for score in scores] == [10, 5_000, 10, 10, 900, 900, 10]  # the newest first
    assert sizes == [1, 1, 3, 2]


def test_a_page_of_versions_is_bounded_by_their_texts(api_for, monkeypatch):
    api = api_for(role="training_operator")
    task = TaskFactory(organization=api.organization)
    for size in (500, 900, 100, 5_000):
        assert api.patch(f"/tasks/{task.public_id}", {"promptTemplate": "x" * size}).status_code == 200
    path = f"/tasks/{task.public_id}/versions"
    assert walked(api, path, "versions")[1] == [5]
    monkeypatch.setattr(pagination, "MAX_PAGE_BYTES", 1_500)
    versions, sizes = walked(api, path, "versions")
    assert [len(version["promptTemplate"]) for version in versions][:4] == [5_000, 100, 900, 500]
    assert sizes[0] == 1
    assert len(sizes) > 2


def test_an_unreadable_grader_cannot_be_put_into_a_panel(api_for):
    organization = OrganizationFactory()
    permissions = [
        {"resource": "tasks", "actions": ["create", "read"], "scope": "organization"},
        {"resource": "endpoint_graders", "actions": ["read"], "scope": "organization"},
    ]
    role = Role.objects.create(organization=organization, name="without the marketplace", permissions=permissions)
    api = api_for(role=role, organization=organization)
    listed = GraderFactory(organization=OrganizationFactory(), visibility="listed")
    assert api.get(f"/graders/{public('grader', listed)}").status_code == 404
    answer = api.post("/tasks", {"name": "t", "promptTemplate": "p", "graderId": public("grader", listed)})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/graderId")


def test_a_smaller_batch_size_replans_the_waiting_calls(task, grader, fake):
    """The grader's limit is lowered while calls of the old size wait in the drain."""
    runs = [RunFactory(completion=CompletionFactory(task=task)) for _ in range(25)]
    work = Drain(callable_grader(grader.pk), until=time.monotonic() + 20, is_woken=lambda: False, ending=lambda: False)
    work._claim()
    ready = work.plan.next(room=1, fit=lambda runs: runs)
    assert len(ready.entries) == 10
    work.plan.halve(ready)  # two calls of the old size wait now
    Grader.objects.filter(pk=grader.pk).update(max_batch_size=1)
    work._refresh()
    work.run()
    assert {path for path, _ in fake.calls} == {"/score"}
    assert sorted(fake.items) == sorted(public("comp", run.completion) for run in runs)

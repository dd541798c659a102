"""A task's page: what it shows of scores, runs and graders, to whom, and in how many queries."""

import pytest

from autotune.access.models import Role
from scores.models import Reward
from tasks.pages import prompts
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    public,
)
from tests.support.markup import compact

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202e😀"


def text_of(response):
    return response.content.decode()


def address(task):
    return f"/tasks/{public('task', task)}"


def scored(task, model, *values):
    for at, value in enumerate(values):
        completion = CompletionFactory(task=task, model_id=model, prompt_digest=f"{model}{at}".encode()[:16])
        ScoreFactory(run=RunFactory(completion=completion, status="completed"), value=value)


def failed(task, code):
    completion = CompletionFactory(task=task)
    RunFactory(completion=completion, status="failed", error_code=code)
    Reward.objects.create(
        completion=completion, organization=task.organization, task=task, aggregation="mean", used=0, failed=1,
        error_code=code,
    )  # fmt: skip


@pytest.fixture
def client(visitor):
    return visitor("training_operator")


def test_progress_counts_completions_and_runs(client):
    task = TaskFactory(organization=client.organization)
    scored(task, "a", 0.2, 0.4)
    for code in ("timeout", "timeout", "bad_signature"):
        failed(task, code)
    RunFactory(completion=CompletionFactory(task=task), status="sleeping")
    RunFactory(completion=CompletionFactory(task=task), status="waiting", waits_for="review")
    failed(TaskFactory(organization=client.organization), "timeout")
    for path in (address(task), f"{address(task)}/progress"):
        context = client.get(path).context
        counts = context["counts"]
        assert (counts.completions, counts.scored, counts.failed, counts.open) == (7, 2, 3, 2)
        assert counts.mean == pytest.approx(0.3)
        assert {state: count for state, count, _ in context["states"]} == {
            "pending": 0, "running": 0, "sleeping": 1, "waiting": 1, "completed": 2, "failed": 3,
        }  # fmt: skip
        assert [(failure["code"], failure["count"]) for failure in context["failures"]] == [
            ("timeout", 2),
            ("bad_signature", 1),
        ]


def test_models_are_compared_and_the_page_says_what_is_counted(client):
    task = TaskFactory(organization=client.organization)
    scored(task, "strong", 0.9, 0.95, 0.85)
    scored(task, "weak", 0.1, 0.15, 0.05)
    scored(task, "lonely", 0.5)
    page = text_of(client.get(address(task)))
    assert "Of all 7 scored completions" in page
    assert "How the intervals are computed" in page
    assert "lonely</bdi>: mean 0.500 of 1 completion" in page
    assert '<span class="badge good">clear</span>' in page


def test_a_task_without_scores_says_what_will_be_shown(client):
    page = text_of(client.get(address(TaskFactory(organization=client.organization))))
    assert "No completion of this task has been scored yet" in page
    assert "Submit the first one" in page
    assert "<dd>–</dd>" in compact(page)


def test_the_panel_hides_name_and_owner_of_graders_that_the_reader_may_not_read(visitor):
    client = visitor("organization_admin")
    other = OrganizationFactory(name="Secret owner")
    ours = GraderFactory(organization=client.organization, name="Ours")
    private = GraderFactory(organization=other, name="Private now", created_by=UserFactory(email="owner@example.org"))
    task = TaskFactory(organization=client.organization, graders=[(ours, 0.75, "scoring"), (private, 0.25, "scoring")])
    page = text_of(client.get(address(task)))
    assert "Ours" in page
    assert "75 %" in page
    assert public("grader", private) in page
    for hidden in ("Private now", "Secret owner", "owner@example.org", public("user", private.created_by)):
        assert hidden not in page


def test_a_listed_grader_is_shown_without_its_owner(client):
    listed = GraderFactory(organization=OrganizationFactory(name="Secret owner"), visibility="listed", name="Listed")
    page = text_of(client.get(address(TaskFactory(organization=client.organization, graders=[listed]))))
    assert "Listed" in page
    assert "of another organization" in page
    assert "Secret owner" not in page


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("training_operator", {"edit", "archive", "submit", "export"}),
        ("reviewer", set()),
        ("organization_admin", {"edit", "archive", "submit", "export", "delete"}),
    ],
)
def test_buttons_are_those_of_the_role(visitor, role, may):
    client = visitor(role)
    task = TaskFactory(organization=client.organization)
    page = text_of(client.get(address(task)))
    marks = {
        "edit": f"{address(task)}/edit", "archive": f"{address(task)}/archive", "delete": f"{address(task)}/delete",
        "submit": "AUTOTUNE_API_KEY", "export": "/exports/new?taskId=",
    }  # fmt: skip
    shown = {name for name, mark in marks.items() if mark in page}
    assert shown - {"export"} == may - {"export"}
    assert shown <= may


def test_a_role_without_scores_or_completions_sees_neither_figures_nor_rows(visitor):
    role = Role.objects.create(
        organization=OrganizationFactory(), name="task reader",
        permissions=[{"resource": "tasks", "actions": ["read"], "scope": "organization"}],
    )  # fmt: skip
    client = visitor(role, organization=role.organization)
    task = TaskFactory(organization=client.organization)
    scored(task, "model-secret", 0.123)
    failed(task, "timeout")
    response = client.get(address(task))
    page = text_of(response)
    assert (response.status_code, response.context["figures"], response.context["runs"]) == (200, None, None)
    for hidden in ("model-secret", "0.123", "timeout", "Newest completions"):
        assert hidden not in page
    row = client.get("/tasks").context["rows"][0]["counts"]
    assert (row.completions, row.scored, row.failed, row.open, row.mean) == (None, None, None, None, None)


def test_strangers_find_nothing_and_grader_owners_are_refused(visitor):
    task = TaskFactory()
    for path in (address(task), f"{address(task)}/progress", f"{address(task)}/versions"):
        assert visitor("organization_admin").get(path).status_code == 404
    owner = visitor("grader_owner")
    assert owner.get(address(TaskFactory(organization=owner.organization))).status_code == 403


def test_the_snippet_has_the_tasks_variables_and_no_key(client, make_task):
    task = make_task(client, prompt_template="{{question}} {{it's}} {{x.y}}")
    page = text_of(client.get(address(task)))
    curl = client.get(address(task)).context["snippets"].curl
    assert public("task", task) in curl
    assert '"question": "…"' in curl
    assert '"x.y": "…"' in curl
    assert "$AUTOTUNE_API_KEY" in curl
    assert "atk_" not in page


def test_hostile_texts_stay_text(client, make_task):
    task = make_task(
        client, [GraderFactory(organization=client.organization, name=HOSTILE)], name=HOSTILE, description=HOSTILE,
        prompt_template=HOSTILE + "{{a}}", system_prompt=HOSTILE, metadata={HOSTILE: HOSTILE}, model=HOSTILE,
    )  # fmt: skip
    scored(task, HOSTILE * 5, 0.5, 0.6)
    CompletionFactory(task=task, external_id=HOSTILE)
    page = text_of(client.get(address(task)))
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_the_page_takes_few_queries_whatever_it_holds(visitor, queries):
    client = visitor("organization_admin")
    task = TaskFactory(
        organization=client.organization, graders=GraderFactory.create_batch(5, organization=client.organization)
    )
    for model in "abcdefgh":
        scored(task, f"model-{model}", 0.1, 0.5, 0.9)
    failed(task, "timeout")
    assert queries(client, address(task)) <= 20
    assert queries(client, f"{address(task)}/progress") <= 12


def test_the_progress_part_opened_directly_is_a_page(client):
    task = TaskFactory(organization=client.organization, name="Sums")
    path = f"{address(task)}/progress"
    page = text_of(client.get(path))
    assert "<h1>Progress of<bdi>Sums</bdi></h1>" in compact(page)
    assert f'href="{address(task)}"' in page
    assert 'id="progress"' in page
    part = text_of(client.get(path, headers={"HX-Request": "true"}))
    assert 'id="progress"' in part
    assert "<h1" not in part
    assert "<html" not in part


def test_many_variables_do_not_make_the_page_grow_without_limit(client, make_task):
    template = "{{a}} " * 20_000
    task = make_task(client, prompt_template=template)
    for path in (address(task), f"{address(task)}/versions/1"):
        page = client.get(path, follow=True)
        assert text_of(page).count('<mark class="variable">') <= 1_000
        assert "".join(part.text for part in page.context["parts"]) == template
    assert len(prompts.parts(template)) <= 2_001


def role_of(organization, *permissions):
    entries = [{"resource": resource, "actions": ["read"], "scope": scope} for resource, scope in permissions]
    return Role.objects.create(organization=organization, name="custom", permissions=entries)


def test_a_role_limited_to_own_scores_gets_no_figures_of_others(visitor, operating):
    others = ("scores", "completions", "workflow_runs")
    role = role_of(operating, ("tasks", "all"), *((resource, "organization") for resource in others))
    client = visitor(role, operating)
    own, foreign = TaskFactory(organization=operating), TaskFactory()
    scored(own, "model-ours", 0.5)
    scored(foreign, "model-theirs", 0.123)
    for path in (address(foreign), f"{address(foreign)}/progress"):
        page = client.get(path)
        counts = page.context["counts"]
        assert (counts.completions, counts.scored, counts.failed, counts.mean) == (None, None, None, None)
        assert {state: count for state, count, _ in page.context["states"]}["completed"] == 0
        for hidden in ("model-theirs", "0.123"):
            assert hidden not in text_of(page)
    counts = {row["task"].pk: row["counts"] for row in client.get("/tasks").context["rows"]}
    assert (counts[own.pk].completions, counts[own.pk].scored, counts[own.pk].mean) == (1, 1, 0.5)
    assert (counts[foreign.pk].completions, counts[foreign.pk].scored) == (None, None)
    assert client.get(address(own)).context["counts"].scored == 1


def test_the_creator_of_a_task_is_shown_to_those_who_may_see_that_member(visitor):
    organization = OrganizationFactory()
    maker = visitor("organization_admin", organization)
    left = UserFactory(name="Secret Person", email="left@example.org")
    task = TaskFactory(organization=organization, created_by=maker.user)
    orphan = TaskFactory(organization=organization, created_by=left)
    reader = visitor(role_of(organization, ("tasks", "organization"), ("members", "own")), organization)
    admin = visitor("organization_admin", organization)
    for path in (address(task), f"{address(task)}/versions"):
        assert maker.user.email not in text_of(reader.get(path))
        assert public("user", maker.user) in text_of(reader.get(path))
        assert maker.user.email in text_of(admin.get(path))
    page = text_of(admin.get(address(orphan)))
    assert public("user", left) in page
    for hidden in ("Secret Person", "left@example.org"):
        assert hidden not in page

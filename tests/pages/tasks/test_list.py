"""The list of tasks: who sees it, what each row shows, and its filters."""

import pytest

from scores.models import Reward
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.markup import compact

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202e" + "x" * 100


def text_of(response):
    return response.content.decode()


def failed(task):
    completion = CompletionFactory(task=task)
    Reward.objects.create(
        completion=completion, organization=task.organization, task=task, aggregation="mean", used=0, failed=1,
        error_code="timeout",
    )  # fmt: skip


@pytest.mark.parametrize("role", ["training_operator", "reviewer", "organization_admin"])
def test_readers_see_only_tasks_of_their_organization(visitor, role):
    client = visitor(role)
    TaskFactory(organization=client.organization, name="Ours")
    TaskFactory(name="Theirs")
    page = text_of(client.get("/tasks"))
    assert "Ours" in page
    assert "Theirs" not in page
    assert ("/tasks/new" in page) == (role != "reviewer")


def test_a_grader_owner_is_refused(visitor):
    assert visitor("grader_owner").get("/tasks").status_code == 403


def test_an_anonymous_visitor_is_sent_to_the_login(client):
    assert client.get("/tasks").status_code == 302


def test_a_row_counts_what_is_scored_failed_and_open(visitor):
    client = visitor("training_operator")
    task = TaskFactory(organization=client.organization)
    for value in (0.25, 0.75):
        ScoreFactory(run=RunFactory(completion=CompletionFactory(task=task)), value=value)
    failed(task)
    CompletionFactory.create_batch(3, task=task)
    counts = client.get("/tasks").context["rows"][0]["counts"]
    assert (counts.completions, counts.scored, counts.failed, counts.open, counts.mean) == (6, 2, 1, 3, 0.5)


def test_a_task_without_a_score_has_a_dash_and_not_a_zero(visitor):
    client = visitor()
    TaskFactory(organization=client.organization)
    assert '<td class="number" data-label="Mean">–</td>' in compact(text_of(client.get("/tasks")))


def test_filters_apply_and_can_be_shared_by_address(visitor):
    client = visitor()
    grader = GraderFactory(organization=client.organization)
    TaskFactory(organization=client.organization, name="Alpha", graders=[grader])
    TaskFactory(organization=client.organization, name="Beta")
    TaskFactory(organization=client.organization, name="Gone", archived=True)
    names = lambda query: {row["task"].name for row in client.get("/tasks", query).context["rows"]}  # noqa: E731
    assert names({}) == {"Alpha", "Beta"}
    assert names({"search": "alp"}) == {"Alpha"}
    assert names({"graderId": public("grader", grader)}) == {"Alpha"}
    assert names({"archived": "true"}) == {"Gone"}
    assert [row["task"].name for row in client.get("/tasks", {"sort": "-name"}).context["rows"]] == ["Beta", "Alpha"]


def test_an_invalid_filter_is_reported_and_ignored(visitor):
    client = visitor()
    TaskFactory(organization=client.organization, name="Alpha")
    response = client.get("/tasks", {"graderId": "nonsense"})
    assert response.status_code == 200
    assert "begins with" in text_of(response)
    assert "Alpha" in text_of(response)


@pytest.mark.parametrize(
    ("role", "query", "message"),
    [
        ("organization_admin", {}, "Create one, then submit completions"),
        ("reviewer", {}, "Your role can only read tasks."),
        ("organization_admin", {"search": "nothing"}, "No task matches these filters"),
        ("organization_admin", {"archived": "true"}, "No archived tasks"),
    ],
)
def test_an_empty_list_says_what_to_do(visitor, role, query, message):
    assert message in text_of(visitor(role).get("/tasks", query))


def test_an_invalid_sort_is_ignored(visitor):
    assert visitor().get("/tasks", {"sort": "nonsense"}).status_code == 200


def test_hostile_names_stay_text(visitor):
    client = visitor()
    grader = GraderFactory(organization=client.organization, name=HOSTILE)
    TaskFactory(organization=client.organization, name=HOSTILE, graders=[grader])
    page = text_of(client.get("/tasks"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_many_tasks_take_few_queries(visitor, queries):
    client = visitor()
    for _ in range(12):
        ScoreFactory(run=RunFactory(completion=CompletionFactory(task=TaskFactory(organization=client.organization))))
    assert queries(client, "/tasks") <= 20

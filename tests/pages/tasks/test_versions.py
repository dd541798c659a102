"""A task's versions: which there are, who made them, and what differs."""

import pytest

from tasks import definitions
from tasks.requests import TaskPatch
from tests.factories import GraderFactory, TaskFactory, public

pytestmark = pytest.mark.django_db


def text_of(response):
    return response.content.decode()


@pytest.fixture
def client(visitor):
    return visitor("organization_admin")


@pytest.fixture
def task(client, make_task, principal):
    task = make_task(client, prompt_template="One\nTwo {{a}}\nThree")
    definitions.patch(principal(client), task, TaskPatch(prompt_template="One\n2 {{a}}\nThree"))
    return definitions.patch(principal(client), task, TaskPatch(aggregation="min", system_prompt="Be brief."))


def address(task, *parts):
    return "/".join((f"/tasks/{public('task', task)}/versions", *parts))


def test_the_list_shows_changes_newest_first(client, task):
    response = client.get(address(task))
    changes = [(row.number, row.changed) for row in response.context["rows"]]
    assert changes == [(3, ["System prompt", "Aggregation"]), (2, ["Prompt template"]), (1, None)]
    assert text_of(response).count('<span class="badge good">current</span>') == 1


def test_a_version_is_compared_with_the_one_before_it_line_by_line(client, task):
    page = client.get(address(task, "2"), follow=True)
    text = text_of(page)
    assert "From version 1 to version 2" in text
    assert '<span aria-hidden="true">−</span><span class="aside">removed: </span>' in text
    assert '<span aria-hidden="true">+</span><span class="aside">added: </span>' in text
    assert [(line.kind, line.text) for line in page.context["change"].texts[0].lines] == [
        ("same", "One"), ("removed", "Two {{a}}"), ("added", "2 {{a}}"), ("same", "Three"),
    ]  # fmt: skip


def test_any_two_versions_can_be_compared_from_the_older_to_the_newer(client, task):
    first, _, third = task.versions.order_by("created_at")
    for path in (
        address(task, third.public_id, "diff", first.public_id),
        address(task, first.public_id, "diff", third.public_id),
        f"{address(task, third.public_id)}?against={first.public_id}",
    ):
        page = client.get(path)
        change = page.context["change"]
        assert [text.name for text in change.texts] == ["System prompt", "Prompt template"]
        assert [(field.name, field.before, field.after) for field in change.fields] == [("Aggregation", "mean", "min")]
        assert "From version 1 to version 3" in text_of(page)


def test_the_first_version_has_nothing_to_compare_with_and_its_maker(client, task):
    page = client.get(address(task, "1"), follow=True)
    assert page.context["change"] is None
    assert "by <bdi>you</bdi>" in text_of(page)


def test_each_version_shows_the_email_of_its_author_to_those_who_may_see_members(client, make_task, filled, visitor):
    task = make_task(client)
    other = visitor("organization_admin", client.organization)
    page = other.get(f"/tasks/{task.public_id}/edit")
    other.post(page.request["PATH_INFO"], filled(page, prompt_template="New"))
    assert [row.maker for row in client.get(address(task)).context["rows"]] == [other.user.email, "you"]
    assert f"by <bdi>{other.user.email}</bdi>" in text_of(client.get(address(task, "2"), follow=True))
    operator = visitor("training_operator", client.organization)
    rows = operator.get(address(task)).context["rows"]
    assert [row.maker for row in rows] == [public("user", other.user), public("user", client.user)]
    for path in (address(task), address(task, "2")):
        text = text_of(operator.get(path, follow=True))
        assert client.user.email not in text
        assert other.user.email not in text


def test_a_version_without_a_recorded_author_names_nobody(client, task):
    task.versions.update(created_by=None)
    page = client.get(address(task))
    assert [row.maker for row in page.context["rows"]] == ["", "", ""]
    assert text_of(page).count(">unknown<") == 3
    assert " by <bdi>" not in text_of(client.get(address(task, "1"), follow=True))


def test_a_grader_that_may_not_be_read_is_shown_by_its_id(client):
    hidden = GraderFactory(name="Private now")
    task = TaskFactory(organization=client.organization, graders=[hidden])
    page = text_of(client.get(address(task, "1"), follow=True))
    assert public("grader", hidden) in page
    assert "Private now" not in page


def test_a_version_of_another_task_is_not_found(client, task):
    other = TaskFactory(organization=client.organization)
    foreign = TaskFactory()
    version = task.version.public_id
    for path in (
        address(task, "4"), address(task, "0"), address(task, other.version.public_id),
        address(task, version, "diff", other.version.public_id), address(foreign), address(foreign, "1"),
        address(foreign, foreign.version.public_id),
    ):  # fmt: skip
        assert client.get(path).status_code == 404, path
    assert client.get(f"{address(task, version)}?against=nonsense").status_code == 400


def test_many_versions_take_few_queries(client, make_task, principal, queries):
    task = make_task(client)
    for number in range(30):
        definitions.patch(principal(client), task, TaskPatch(prompt_template=f"Number {number}"))
    page = client.get(address(task))
    assert [row.number for row in page.context["rows"]] == list(range(31, 6, -1))
    assert page.context["rows"][-1].changed == ["Prompt template"]
    assert queries(client, address(task)) <= 20
    assert queries(client, address(task, task.version.public_id)) <= 20

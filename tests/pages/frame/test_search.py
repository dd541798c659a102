"""The search: an id of any kind finds its object, a word objects with it in their name, never across organizations."""

import pytest

from autotune.access.models import Membership, Role
from autotune.core import ids
from autotune.site.search import results
from graders.models import GraderVersion
from tests.factories import (
    ApiKeyFactory,
    CompletionFactory,
    ExportFactory,
    GraderFactory,
    ReviewFactory,
    RewardEndpointFactory,
    ScoreFactory,
    TaskFactory,
    WebhookFactory,
    public,
)

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202egnirts"


@pytest.fixture(autouse=True)
def _every_page_is_there(monkeypatch):
    """These tests do not depend on pages of other areas."""
    monkeypatch.setattr(results, "reverse", lambda route, kwargs=None, query=None: f"/{route}/{kwargs or query}")


def search_page(client, text):
    answer = client.get("/search", {"q": text})
    assert answer.status_code == 200
    return answer.content.decode()


def search_results(client, text):
    answer = client.get("/search", {"q": text})
    return [(result.kind, result.label) for result in answer.context["found"]]


def everything(organization, user):
    """{kind of id: public id} of one object each."""
    grader = GraderFactory(organization=organization, created_by=user)
    task = TaskFactory(organization=organization, created_by=user, graders=[grader])
    score = ScoreFactory(run__completion__task=task)
    return {
        "grader": public("grader", grader),
        "graderv": public("graderv", GraderVersion.objects.get(grader=grader)),
        "task": public("task", task),
        "taskv": public("taskv", task.version),
        "comp": public("comp", score.completion),
        "score": public("score", score),
        "run": public("run", score.run),
        "rev": public("rev", ReviewFactory(run__completion__task=task)),
        "exp": public("exp", ExportFactory(organization=organization, created_by=user)),
        "rwd": public("rwd", RewardEndpointFactory(task=task)),
        "whk": public("whk", WebhookFactory(organization=organization, created_by=user)),
        "key": public("key", ApiKeyFactory(organization=organization, user=user)),
        "member": Membership.objects.filter(organization=organization).first().public_id,
    }


def test_an_id_of_each_kind_is_found(visitor):
    client = visitor()
    for kind, public_id in everything(client.organization, client.user).items():
        assert [label for _, label in search_results(client, f"  {public_id} ")] == [public_id], kind


def test_ids_of_another_organization_are_not(visitor):
    client, other = visitor(), visitor()
    for kind, public_id in everything(other.organization, other.user).items():
        assert search_results(client, public_id) == [], kind
        assert "Nothing that you may open has this name or id" in search_page(client, public_id)


def test_objects_that_the_role_may_not_read_are_not_found(visitor):
    boss = visitor()
    public_ids = everything(boss.organization, boss.user)
    reviewer = visitor("reviewer", boss.organization)
    hidden = {kind for kind, public_id in public_ids.items() if not search_results(reviewer, public_id)}
    assert hidden == {"exp", "rwd", "whk", "key", "member"}
    owner = visitor("grader_owner", boss.organization)
    assert [kind for kind, public_id in public_ids.items() if search_results(owner, public_id)] == []


def test_names_of_each_kind_are_found(visitor):
    client = visitor()
    own = {"organization": client.organization, "created_by": client.user}
    task = TaskFactory(**own, name="Law of Norway")
    GraderFactory(**own, name="The law, in short")
    RewardEndpointFactory(task=task, model_id="live-1")
    WebhookFactory(**own, description="Informs the lawyers")
    ApiKeyFactory(organization=client.organization, user=client.user, name="law trainer")
    CompletionFactory(task=task, model_id="law-7b")
    assert sorted(kind for kind, _ in search_results(client, "LAW")) == [
        "API key", "action", "endpoint", "grader", "model", "task", "webhook",
    ]  # fmt: skip
    assert search_results(client, client.user.email) == [("member", client.user.email)]
    assert search_results(client, "nothing of the kind") == []


def test_names_of_another_organization_are_not(visitor):
    other = visitor()
    TaskFactory(organization=other.organization, name="Secret law")
    GraderFactory(organization=other.organization, name="Secret law")
    assert search_results(visitor(), "secret") == []


def test_a_listed_grader_is_found_with_its_organization_by_roles_that_may_use_it(visitor):
    grader = GraderFactory(name="Open law", visibility="listed")
    (result,) = visitor("training_operator").get("/search", {"q": "open law"}).context["found"]
    assert (result.label, result.note) == ("Open law", public("org", grader.organization))
    assert search_results(visitor("reviewer"), "open law") == []


def test_hostile_text_is_text(visitor):
    client = visitor()
    TaskFactory(organization=client.organization, name=HOSTILE)
    html = search_page(client, "<script>")
    assert "<script>alert" not in html
    assert "<bdi>&lt;script&gt;alert(1)" in html
    for text in (
        "%",
        "_",
        "\\",
        "'",
        '"',
        "\0",
        "\u202e",
        "😀" * 300,
        "x" * 5_000,
        "task_",
        "task_zzz",
        "comp_" + "0" * 26,
    ):
        assert client.get("/search", {"q": text}).status_code == 200, text


def test_only_200_characters_are_searched(visitor):
    answer = visitor().get("/search", {"q": "x" * 5_000})
    assert answer.context["search_text"] == "x" * 200


def test_a_word_that_resembles_an_id_is_searched_as_a_name(visitor):
    client = visitor()
    TaskFactory(organization=client.organization, name="task_force")
    assert search_results(client, "task_force") == [("task", "task_force")]


def test_missing_pages_are_left_out(visitor, monkeypatch):
    def missing(*_, **__):
        raise results.NoReverseMatch

    monkeypatch.setattr(results, "reverse", missing)
    client = visitor()
    TaskFactory(organization=client.organization, name="Law")
    assert search_results(client, "law") == []
    assert search_results(client, ids.encode("task", ids.new())) == []


def test_it_takes_few_queries(visitor, django_assert_max_num_queries):
    client = visitor()
    for number in range(12):
        everything(client.organization, client.user)
        GraderFactory(organization=client.organization, name=f"Grader of law {number}")
    client.get("/search")
    with django_assert_max_num_queries(16):
        assert len(search_results(client, "a")) > 20


def test_an_endpoint_is_not_found_by_the_name_of_a_task_that_the_role_does_not_read(visitor):
    boss = visitor()
    task = TaskFactory(organization=boss.organization, name="Secret law")
    RewardEndpointFactory(task=task, model_id="live-1")
    entry = {"resource": "reward_endpoints", "actions": ["read"], "scope": "organization"}
    role = Role.objects.create(organization=boss.organization, name="live rewards", permissions=[entry])
    client = visitor(role, boss.organization)
    assert search_results(client, "secret") == []
    assert search_results(client, "live-1") == [("endpoint", "live-1")]
    assert "Secret law" not in client.get("/search", {"q": "live-1"}).content.decode()
    assert ("endpoint", "Secret law") in search_results(boss, "live-1")


def test_pages_are_found_by_roles_that_may_open_them(visitor):
    assert search_results(visitor(), "retention") == [("page", "Retention")]
    assert search_results(visitor("reviewer"), "retention") == []


def test_actions_are_offered_only_where_the_role_permits_them(visitor):
    assert search_results(visitor(), "register a") == [("action", "Register a grader")]
    assert search_results(visitor("reviewer"), "register a") == []


def test_the_rotation_of_a_secret_is_found_by_the_name_of_the_grader(visitor):
    client, other = visitor(), visitor()
    grader = GraderFactory(organization=client.organization, created_by=client.user, name="Law")
    GraderFactory(organization=client.organization, created_by=client.user, name="Medicine")
    GraderFactory(organization=other.organization, name="Law of others", visibility="listed")
    action = ("action", "Rotate the secret of Law")
    assert action in search_results(client, "law")
    assert search_results(client, "Rotate the secret of law") == [action]
    assert search_results(client, "rotate") == [action, ("action", "Rotate the secret of Medicine")]
    assert f"/grader_rotate/{{'grader_id': {grader.pk!r}}}" in {
        match.url for match in client.get("/search", {"q": "law"}).context["found"]
    }
    assert action not in search_results(visitor("reviewer", client.organization), "law")


def test_a_completion_is_found_by_its_whole_external_id_within_the_organization(visitor):
    client, other = visitor(), visitor()
    CompletionFactory(task=TaskFactory(organization=client.organization), external_id="row-17")
    assert search_results(client, "row-17") == [("completion", "row-17")]
    assert search_results(client, "row-1") == []
    assert search_results(other, "row-17") == []

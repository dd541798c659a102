"""Who reaches which of a grader's pages."""

import pytest

from autotune.access.models import Role
from graders.models import Grader
from tests.factories import public
from tests.support.markup import compact

READ = ("grader", "grader_health", "grader_settings")
FORMS = ("grader_edit", "grader_verify", "grader_rotate", "grader_delete", "grader_try")
POSTED = (*FORMS, "grader_switch", "grader_health")


@pytest.mark.parametrize("name", [*READ, *FORMS])
@pytest.mark.parametrize("role", ["grader_owner", "training_operator", "reviewer", "organization_admin"])
def test_a_grader_of_another_organization_is_not_found(visitor, grader, pages, name, role):
    client = visitor(role)
    expected = 403 if name in FORMS and role in ("training_operator", "reviewer") else 404
    assert client.get(pages.address(name, grader)).status_code == expected


@pytest.mark.parametrize("name", POSTED)
@pytest.mark.parametrize("role", ["grader_owner", "organization_admin"])
def test_a_stranger_gets_404_for_every_form(visitor, grader, pages, name, role):
    assert visitor(role).post(pages.address(name, grader), {"name": grader.name, "to": "off"}).status_code == 404
    assert Grader.objects.get().status == "active"


@pytest.mark.parametrize("name", [*READ, *FORMS])
def test_an_owner_with_scope_own_does_not_find_a_colleagues_grader(grader, colleague, pages, name):
    assert colleague("grader_owner").get(pages.address(name, grader)).status_code == 404


@pytest.mark.parametrize("role", ["training_operator", "reviewer"])
def test_a_read_only_role_sees_no_forms(grader, colleague, pages, role):
    client = colleague(role)
    for name in READ:
        answer = client.get(pages.address(name, grader))
        text = answer.content.decode().partition("<main")[2]
        assert answer.status_code == 200
        assert 'method="post"' not in text
        for route in FORMS:
            assert pages.address(route, grader) not in text
    for name in POSTED:
        assert client.post(pages.address(name, grader), {"name": grader.name, "to": "off"}).status_code == 403
    assert client.get("/graders/new").status_code == 403
    assert Grader.objects.get().status == "active"


@pytest.mark.parametrize("role", ["grader_owner", "organization_admin"])
def test_a_role_that_may_change_it_has_every_page(owner, grader, colleague, pages, role):
    client = owner if role == "grader_owner" else colleague(role)
    for name in (*READ, *FORMS):
        assert client.get(pages.address(name, grader)).status_code == 200, name
    assert client.get("/graders/new").status_code == 200


def test_a_role_that_reads_all_graders_sees_a_colleagues_grader_fully(grader, colleague, pages):
    text = colleague("reviewer").get(pages.address("grader_settings", grader)).content.decode()
    assert "https://law.example.org" in text


@pytest.mark.parametrize("role", ["training_operator", "organization_admin"])
def test_a_foreign_listed_grader_shows_no_more_than_the_api(visitor, listed, pages, role):
    operator = visitor(role)
    Grader.objects.update(rate_per_minute=4321, troubles=["health"], health="unhealthy", pins=["A" * 43 + "="])
    assert operator.get(pages.address("grader_health", listed)).status_code == 404
    for name in ("grader", "grader_settings"):
        answer = operator.get(pages.address(name, listed))
        text = answer.content.decode()
        assert answer.status_code == 200
        for hidden in ("secret-address", "4,321", "gkey_", "AAAAAAAA", "unhealthy", "is degraded", "Registered by"):
            assert hidden not in text, (name, hidden)
        assert "Elsewhere" not in text
        assert public("org", listed.organization) in text
    assert operator.post(pages.address("grader_switch", listed), {"to": "off"}).status_code == 403
    for name in FORMS:
        assert operator.get(pages.address(name, listed)).status_code == 403, name


def test_people_who_are_not_logged_in_are_sent_to_the_login(client, grader, pages):
    answer = client.get(pages.address("grader", grader))
    assert answer.status_code == 302
    assert "login" in answer["Location"]


def test_an_unknown_and_a_deleted_grader_get_the_same_response(owner, grader, pages, ago):
    Grader.objects.update(deleted_at=ago(minutes=1))
    for name in (*READ, *FORMS):
        assert owner.get(pages.address(name, grader)).status_code == 404


def role_of(organization, **scopes):
    """A role of the organization that reads, and nothing else."""
    permissions = [{"resource": resource, "scope": scope, "actions": ["read"]} for resource, scope in scopes.items()]
    return Role.objects.create(organization=organization, name="little", permissions=permissions)


def test_a_role_with_only_the_marketplace_opens_no_grader(visitor, owner, listed, api_for, pages):
    role = role_of(owner.organization, listed_graders="all")
    client = visitor(role, owner.organization)
    for name in READ:
        assert client.get(pages.address(name, listed)).status_code == 403, name
    text = client.get("/marketplace").content.decode()
    assert "Open maths" in text
    assert pages.address("grader", listed) not in text
    api = api_for(organization=owner.organization, role=role)
    assert api.get(f"/graders/{listed.public_id}").status_code == 403


def test_the_creator_is_an_email_for_those_who_see_members_and_an_id_for_others(visitor, owner, grader, pages):
    reader = visitor(role_of(owner.organization, endpoint_graders="organization"), owner.organization)
    for client, maker in ((reader, public("user", owner.user)), (owner, "you")):
        text = client.get(pages.address("grader_settings", grader)).content.decode().partition("Registered by")[2]
        assert f"<dd><bdi>{maker}</bdi></dd>" in compact(text)
        assert owner.user.email not in text
    admin = visitor("organization_admin", owner.organization)
    assert owner.user.email in admin.get(pages.address("grader_settings", grader)).content.decode()

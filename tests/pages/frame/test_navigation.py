"""Each role's navigation: what it may enter, and nothing else."""

import re

import pytest

from autotune.access.frame import navigation
from autotune.access.models import Role
from autotune.access.principal import Principal
from tests.factories import OrganizationFactory, UserFactory

pytestmark = pytest.mark.django_db
ALL = [entry.label for entry in navigation.entries()]
ENDS = ["Settings"]
ENTRIES = {
    "grader_owner": ["Graders", "Completions", "Scores", "Workflow runs", "API keys", "Webhooks"],
    "training_operator": [
        "Graders", "Marketplace", "Reviews", "Tasks", "Completions", "Scores", "Workflow runs", "Exports", "Preference pairs",
        "Live rewards", "API keys", "Webhooks",
    ],
    "reviewer": ["Graders", "Reviews", "Tasks", "Completions", "Scores", "Workflow runs", "API keys"],
    "organization_admin": [label for label in ALL if label not in {"Overview", *ENDS}],
    "collector": [],
    "admin": [label for label in ALL if label not in {"Overview", *ENDS}],
}  # fmt: skip


def principal(role, **organization):
    return Principal(OrganizationFactory(**organization), Role.objects.get(organization=None, name=role), UserFactory())


def labels(sections):
    return [link.label for section in sections for link in section.links]


def current(principal, path):
    links = [link for section in navigation.sections(principal, path) for link in section.links]
    return [link.label for link in [*links, *(inner for link in links for inner in link.below)] if link.current]


@pytest.fixture
def _every_page_is_there(monkeypatch):
    monkeypatch.setattr(navigation, "_url", lambda name: "/" if name == "home" else f"/{name}")


@pytest.mark.parametrize("role", ENTRIES)
@pytest.mark.usefixtures("_every_page_is_there")
def test_a_role_sees_its_own_entries(role):
    person = principal(role)
    entries = [*labels(navigation.sections(person, "/")), *(link.label for link in navigation.settings_links(person))]
    assert sorted(entries) == sorted(["Overview", *ENTRIES[role], *ENDS])


def test_the_sections_follow_the_job():
    sections = navigation.sections(principal("organization_admin"), "/")
    assert [(section.label, labels([section])) for section in sections] == [
        ("", ["Overview"]),
        ("Judge", ["Graders", "Reviews", "Marketplace"]),
        ("Data", ["Tasks", "Completions"]),
        ("Measure", ["Scores"]),
        ("Train", ["Exports", "Preference pairs", "Live rewards"]),
        ("Operate", ["Workflow runs"]),
        ("", ["Settings"]),
    ]


def test_the_settings_are_one_entry_that_opens_its_side_list():
    person = principal("organization_admin")
    outside = navigation.sections(person, "/graders")[-1].links[0]
    inside = navigation.sections(person, "/settings/members")[-1].links[0]
    assert outside.below == []
    assert [link.label for link in inside.below] == ["Members", "Roles", "API keys", "Webhooks", "Retention", "Audit"]
    assert current(person, "/settings/members/member_x") == ["Members"]
    assert current(person, "/settings/") == ["Settings"]
    assert current(person, "/settings/organizations") == ["Settings"]


def test_the_nearest_entry_above_a_page_is_the_current_one():
    person = principal("admin")
    assert current(person, "/") == ["Overview"]
    assert current(person, "/graders") == ["Graders"]
    assert current(person, "/graders/grader_x/edit") == ["Graders"]
    assert current(person, "/gradersonly") == []
    assert current(person, "/search") == []


def test_an_entry_whose_page_is_missing_is_left_out(monkeypatch):
    entry = navigation.NavigationEntry("Nowhere", "nowhere", "home", "Data", 20)
    monkeypatch.setitem(navigation._entries, "nowhere", entry)
    assert "Nowhere" not in labels(navigation.sections(principal("admin"), "/"))


def test_an_app_adds_an_entry_in_the_order_of_its_section(monkeypatch):
    monkeypatch.setattr(navigation, "_entries", dict(navigation._entries))
    navigation.register(navigation.NavigationEntry("Decks", "home", "task", "Data", 20))
    sections = {section.label: labels([section]) for section in navigation.sections(principal("admin"), "/")}
    assert sections["Data"] == ["Tasks", "Decks", "Completions"]


def test_an_entry_in_an_unknown_section_is_refused():
    with pytest.raises(ValueError, match="no section 'Elsewhere'"):
        navigation.register(navigation.NavigationEntry("Decks", "decks", "task", "Elsewhere", 20))


@pytest.mark.parametrize("page", ["/search", "/settings/members"])
def test_each_entry_opens_its_page(visitor, page):
    client = visitor("organization_admin")
    nav = re.search(r'<nav id="nav".*?</nav>', client.get(page).content.decode(), re.DOTALL)[0]
    links = re.findall(r'href="([^"]+)"', nav)
    assert {"/", "/settings/"} <= set(links)
    assert ("/settings/keys" in links) == (page == "/settings/members")
    for link in links:
        assert client.get(link).status_code == 200, link


def test_the_account_is_in_the_menu_of_the_person(visitor):
    menu = re.search(r'<div id="who".*?</form>', visitor("reviewer").get("/search").content.decode(), re.DOTALL)[0]
    assert 'href="/account"' in menu

"""Each role's navigation: what it may enter, and nothing else."""

import re

import pytest

from autotune.access.frame import navigation
from autotune.access.models import Role
from autotune.access.principal import Principal
from tests.factories import OrganizationFactory, UserFactory

pytestmark = pytest.mark.django_db
ALL = [place.label for places in navigation.PLACES.values() for place in places]
ENDS = ["Organization", "Your account"]
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


@pytest.fixture
def _every_page_is_there(monkeypatch):
    monkeypatch.setattr(navigation, "_url", lambda name: "/" if name == "home" else f"/{name}")


@pytest.mark.parametrize("role", ENTRIES)
@pytest.mark.usefixtures("_every_page_is_there")
def test_a_role_sees_its_own_entries(role):
    entries = labels(navigation.sections(principal(role), "/"))
    assert sorted(entries) == sorted(["Overview", *ENTRIES[role], *ENDS])


@pytest.mark.usefixtures("_every_page_is_there")
def test_the_nearest_place_above_a_page_is_the_current_one():
    def current(path):
        sections = navigation.sections(principal("admin"), path)
        return [link.label for section in sections for link in section.links if link.current]

    assert current("/") == ["Overview"]
    assert current("/graders") == ["Graders"]
    assert current("/graders/grader_x/edit") == ["Graders"]
    assert current("/gradersonly") == []
    assert current("/search") == []


def test_a_missing_page_is_left_out(monkeypatch):
    places = {
        "": (
            navigation.NavigationEntry("Overview", "home", "home"),
            navigation.NavigationEntry("Nowhere", "nowhere", "home"),
        )
    }
    monkeypatch.setattr(navigation, "PLACES", places)
    assert labels(navigation.sections(principal("admin"), "/")) == ["Overview"]


def test_each_entry_opens_its_page(visitor):
    client = visitor("organization_admin")
    nav = re.search(r'<nav id="nav".*?</nav>', client.get("/search").content.decode(), re.DOTALL)[0]
    links = re.findall(r'href="([^"]+)"', nav)
    assert "/" in links
    assert "/account" in links
    for link in links:
        assert client.get(link).status_code == 200, link

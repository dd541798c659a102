"""Pages and mails name roles and resources by their labels: never `training_operator`. The API keeps its codes."""

import re
from html.parser import HTMLParser

import pytest
from django.core import mail
from django.test import Client

from autotune.access.models import Membership, Role
from autotune.access.roles.builtin import RESOURCES
from autotune.core import labels
from tests.access.matrix import owned
from tests.factories import OrganizationFactory, public
from tests.support.concurrency import until
from tools.page_routes import readable

pytestmark = pytest.mark.django_db
ROLES = ("grader_owner", "training_operator", "organization_admin")
CODES = re.compile(rf"\b({'|'.join(name for name in (*ROLES, *RESOURCES) if '_' in name)})\b")
NOT_PROSE = {"code", "pre", "script", "style"}  # codes for use with the API


class Prose(HTMLParser):
    """Collects the text of a page that a person reads, without code."""

    def __init__(self):
        super().__init__()
        self.inside, self.text = 0, []

    def handle_starttag(self, tag, attrs):
        self.inside += tag in NOT_PROSE
        self.text += [value or "" for name, value in attrs if name in ("title", "aria-label", "placeholder", "alt")]

    def handle_endtag(self, tag):
        self.inside -= tag in NOT_PROSE

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)


def codes_in(page):
    prose = Prose()
    prose.feed(page)
    return sorted(set(CODES.findall("\n".join(prose.text))))


def client_of(owner):
    client = Client()
    membership = next(row for row in Membership.objects.all() if row.public_id == owner.ids["member"])
    client.force_login(membership.user)
    return client


@pytest.mark.parametrize("role", ROLES)
def test_no_page_shows_the_code_of_a_role_or_resource(role):
    owner = owned(OrganizationFactory(), role)
    client = client_of(owner)
    addresses = [page.address(owner.ids) for page in readable()]
    built_in = [f"/settings/roles/{public('role', row)}" for row in Role.objects.filter(organization=None)]
    raw = {}
    for address in [*addresses, *built_in, "/account"]:
        answer = client.get(address)
        if not answer.streaming and (codes := codes_in(answer.content.decode())):
            raw[address] = codes
    assert raw == {}


def test_the_mail_and_the_page_of_an_invitation_name_the_role(django_capture_on_commit_callbacks):
    owner = owned(OrganizationFactory(), "organization_admin")
    role_id = public("role", Role.objects.get(name="training_operator"))
    with django_capture_on_commit_callbacks(execute=True):
        client_of(owner).post("/settings/members/invite", {"email": "new@example.org", "role": role_id})
    letter = until(lambda: mail.outbox)[0]
    assert "with the role training operator" in letter.body
    assert codes_in(letter.body) == []
    link = re.search(r"https?://[^/\s]+(/\S+)", letter.body).group(1)
    invitation = Client().get(link, follow=True).content.decode()
    assert "training operator" in invitation
    assert codes_in(invitation) == []


@pytest.mark.parametrize(
    ("code", "label"),
    [("half_open", "half open"), ("grader_5xx", "grader 5xx"), ("plain", "plain"), ("My_Role", "My_Role"), ("", "")],
)
def test_a_code_is_written_with_spaces_and_other_text_is_unchanged(code, label):
    assert labels.label(code) == label


def test_a_role_that_an_organization_named_keeps_its_name():
    assert Role(name="data_team", organization=OrganizationFactory()).label == "data_team"
    assert Role(name="training_operator").label == "training operator"

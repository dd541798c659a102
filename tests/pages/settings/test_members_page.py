"""Members and invitations on their pages."""

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from autotune.access.models import ApiKey, Membership, Role
from tests.factories import ApiKeyFactory, OrganizationFactory, UserFactory, public

from .conftest import HOSTILE

pytestmark = pytest.mark.django_db
LIST, INVITE = "/settings/members", "/settings/members/invite"


def built_in(name):
    return Role.objects.get(organization=None, name=name)


def member_of(organization, role="reviewer", **user):
    return Membership.objects.create(organization=organization, user=UserFactory(**user), role=built_in(role))


def invited_to(organization, email="new@example.org", days=3, role="reviewer", **more):
    return Membership.objects.create(
        organization=organization, email=email, role=built_in(role), token_digest=email.encode().ljust(32)[:32],
        expires_at=timezone.now() + timedelta(days=days), **more,
    )  # fmt: skip


def page_of(member):
    return f"{LIST}/{member.public_id}"


def role_id(name):
    return public("role", built_in(name))


def test_the_list_shows_only_members_of_the_own_organization(visitor):
    client = visitor()
    member_of(client.organization, email="ours@example.org", name="Jon")
    member_of(OrganizationFactory(), email="theirs@example.org")
    invited_to(OrganizationFactory(), email="invited-elsewhere@example.org")
    body = client.get(LIST).content.decode()
    assert "ours@example.org" in body
    assert "theirs@example.org" not in body
    assert "invited-elsewhere@example.org" not in body


def test_it_separates_members_invitations_and_expired_invitations(visitor):
    client = visitor()
    invited_to(client.organization, "soon@example.org")
    invited_to(client.organization, "late@example.org", days=-1)
    body = client.get(LIST).content.decode()
    assert "link expires in 3 d" in body
    assert "invitation expired" in body
    only = client.get(LIST, {"status": "active"}).content.decode()
    assert "soon@example.org" not in only


def test_an_unknown_filter_shows_everybody(visitor):
    client = visitor()
    assert client.user.email in client.get(LIST, {"status": "nonsense"}).content.decode()


def test_an_admin_invites_somebody_by_mail(visitor, django_capture_on_commit_callbacks):
    client = visitor()
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(INVITE, {"email": "New@Example.org", "role": role_id("reviewer")})
    assert answer["Location"] == LIST
    invited = Membership.objects.get(organization=client.organization, email="new@example.org")
    assert (invited.user, invited.role.name, invited.invited_by) == (None, "reviewer", client.user)
    assert "/invitations/" not in client.get(LIST).content.decode()  # the link is only for their mailbox


@pytest.mark.parametrize(
    ("email", "problem"),
    [("nonsense", "this is not an email address"), ("me@example.org", "This person is already a member.")],
)
def test_a_refused_invitation_keeps_what_was_typed_and_sends_nothing(visitor, email, problem):
    client = visitor(user=UserFactory(email="me@example.org"))
    answer = client.post(INVITE, {"email": email, "role": role_id("reviewer")})
    assert answer.status_code == 400
    body = answer.content.decode()
    assert problem in body
    assert f'value="{email}"' in body
    assert not Membership.objects.filter(user=None).exists()
    assert not [message for message in mail.outbox if email in message.to]


def test_roles_above_ones_own_are_neither_offered_nor_accepted(visitor, role_of):
    organization = OrganizationFactory()
    role = role_of(organization, members=("organization", "create", "read"), scores=("organization", "read"))
    client = visitor(role, organization)
    assert "organization admin</option>" not in client.get(INVITE).content.decode()
    answer = client.post(INVITE, {"email": "x@example.org", "role": role_id("organization_admin")})
    assert answer.status_code == 400
    assert not Membership.objects.filter(email="x@example.org").exists()


def test_an_organization_admin_invites_into_no_other_organization(visitor):
    client, other = visitor(), OrganizationFactory()
    answer = client.post(INVITE, {"email": "x@example.org", "role": role_id("reviewer"), "into": public("org", other)})
    assert answer.status_code == 404
    assert not Membership.objects.filter(email="x@example.org").exists()


def test_operators_invite_into_another_organization(visitor, operating):
    client, other = visitor("admin", operating), OrganizationFactory()
    data = {"email": "x@example.org", "role": role_id("organization_admin"), "into": public("org", other)}
    assert client.post(INVITE, data).status_code == 302
    assert Membership.objects.get(email="x@example.org").organization == other


def test_an_invitation_is_sent_again_with_another_link(visitor):
    client = visitor()
    invited = invited_to(client.organization, days=-1)
    before = bytes(invited.token_digest)
    assert client.post(f"{page_of(invited)}/again")["Location"] == LIST
    invited.refresh_from_db()
    assert bytes(invited.token_digest) != before
    assert invited.expires_at > timezone.now()


def test_nobody_sends_the_invitation_of_another_organization_again(visitor):
    invited = invited_to(OrganizationFactory())
    before = bytes(invited.token_digest)
    assert visitor().post(f"{page_of(invited)}/again").status_code == 404
    invited.refresh_from_db()
    assert bytes(invited.token_digest) == before


def test_an_invitation_is_withdrawn(visitor):
    client = visitor()
    invited = invited_to(client.organization)
    assert client.post(f"{page_of(invited)}/remove")["Location"] == LIST
    assert not Membership.objects.filter(pk=invited.pk).exists()


def test_a_member_gets_another_role(visitor):
    client = visitor()
    member = member_of(client.organization)
    assert client.post(page_of(member), {"role": role_id("training_operator")})["Location"] == page_of(member)
    member.refresh_from_db()
    assert member.role.name == "training_operator"


def test_nobody_changes_their_own_role(visitor):
    client = visitor()
    me = Membership.objects.get(user=client.user)
    assert "Change the role" not in client.get(page_of(me)).content.decode()
    answer = client.post(page_of(me), {"role": role_id("reviewer")})
    assert answer.status_code == 403
    assert "You cannot change your own role." in answer.content.decode()


def test_the_page_warns_that_a_removed_member_loses_their_keys(visitor):
    client = visitor()
    key = ApiKeyFactory(organization=client.organization, role="reviewer")
    member = Membership.objects.get(user=key.user)
    assert "1 API key" in client.get(page_of(member)).content.decode()
    assert client.post(f"{page_of(member)}/remove")["Location"] == LIST
    assert not Membership.objects.filter(pk=member.pk).exists()
    assert ApiKey.objects.get(pk=key.pk).revoked_at is not None


def test_the_last_admin_cannot_leave_and_the_page_says_why(visitor):
    client = visitor()
    me = Membership.objects.get(user=client.user)
    answer = client.post(f"{page_of(me)}/remove", follow=True)
    assert "Nobody else can change the organization&#x27;s members." in answer.content.decode()
    assert Membership.objects.filter(pk=me.pk).exists()


def test_one_of_two_admins_leaves(visitor):
    client = visitor()
    member_of(client.organization, "organization_admin")
    me = Membership.objects.get(user=client.user)
    assert client.post(f"{page_of(me)}/remove")["Location"] == "/account"
    assert not Membership.objects.filter(pk=me.pk).exists()


def test_a_read_only_role_sees_and_sends_no_forms(visitor, role_of):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, members=("organization", "read")), organization)
    member, invited = member_of(organization), invited_to(organization)
    body = client.get(LIST).content.decode() + client.get(page_of(member)).content.decode()
    for word in ("Send the invitation", "Send again", "Change the role", "Remove"):
        assert word not in body
    assert client.post(INVITE, {"email": "x@example.org", "role": role_id("reviewer")}).status_code == 403
    for path in (page_of(member), f"{page_of(member)}/remove", f"{page_of(invited)}/again"):
        assert client.post(path, {"role": role_id("reviewer")}).status_code == 403
    member.refresh_from_db()


def test_a_role_limited_to_itself_sees_nobody_else(visitor, role_of):
    organization = OrganizationFactory()
    client = visitor(role_of(organization, members=("own", "read", "delete")), organization)
    other = member_of(organization, email="other@example.org")
    assert "other@example.org" not in client.get(LIST).content.decode()
    assert client.get(page_of(other)).status_code == 404
    assert client.post(f"{page_of(other)}/remove").status_code == 404


@pytest.mark.parametrize("what", ["", "/again", "/remove"])
def test_a_member_of_another_organization_is_not_found(visitor, what):
    client, member = visitor(), member_of(OrganizationFactory())
    if not what:
        assert client.get(page_of(member)).status_code == 404
    assert client.post(f"{page_of(member)}{what}", {"role": role_id("reviewer")}).status_code == 404
    assert Membership.objects.filter(pk=member.pk).exists()


def test_hostile_names_are_text(visitor):
    client = visitor()
    member = member_of(client.organization, name=HOSTILE)
    for path in (LIST, page_of(member)):
        assert "<script>alert" not in client.get(path).content.decode()


def test_many_members_take_as_few_queries_as_one(visitor, django_assert_max_num_queries):
    client = visitor()
    for _ in range(30):
        member_of(client.organization)
    with django_assert_max_num_queries(20):
        assert ">Next<" in client.get(LIST).content.decode()

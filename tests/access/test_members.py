"""`/members`: inviting, changing and removing people; and nobody gains rights by it."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import RequestFactory
from django.utils import timezone

from autotune.access.accounts import joining
from autotune.access.members import invitations, membership
from autotune.access.models import ApiKey, Membership, Role, User
from autotune.access.principal import Principal
from autotune.access.requests import Invitation
from autotune.core import ids
from autotune.core.errors import AutotuneError
from tests.conftest import Api
from tests.factories import ApiKeyFactory, OrganizationFactory, UserFactory
from tests.support.concurrency import together, until

EMAIL = "new@example.org"


@pytest.fixture
def boss(api_for):
    return api_for(role="organization_admin")


@pytest.fixture
def second(api_for, boss):
    return api_for(role="organization_admin", organization=boss.organization)


@pytest.fixture
def operator(api_for, boss):
    return api_for(role="training_operator", organization=boss.organization)


def role_of(name):
    return Role.objects.get(organization=None, name=name)


def path_of(api):
    return f"/members/{Membership.objects.get(user=api.user, organization=api.organization).public_id}"


def code(answer):
    return answer.status_code, answer.json()["code"]


def role_held(api):
    return Membership.objects.get(user=api.user, organization=api.organization).role.name


def custom(organization, name, **entries):
    """A role of the organization's own: `resource="actions scope"`."""
    permissions = [
        {"resource": resource, "actions": text.split()[:-1], "scope": text.split()[-1]}
        for resource, text in entries.items()
    ]
    return Role.objects.create(organization=organization, name=name, permissions=permissions)


@pytest.fixture
def invite(django_capture_on_commit_callbacks):
    """The answer, and the token in the mail that went out (None without one)."""

    def send(api, role="reviewer", email=EMAIL, **more):
        before = len(mail.outbox)
        with django_capture_on_commit_callbacks(execute=True):
            answer = api.post("/members", {"email": email, "role": role, **more})
        if answer.status_code != 201:
            assert len(mail.outbox) == before
            return answer, None
        until(lambda: len(mail.outbox) > before)
        return answer, re.search(r"/invitations/(\S+)", mail.outbox[-1].body)[1]

    return send


def take(token, email=EMAIL):
    user, _ = User.objects.get_or_create(email=email, defaults={"password": "!"})
    return joining.take(RequestFactory().get("/"), token, user)


# --- inviting -------------------------------------------------------------------------------------------------------


def test_an_invitation_is_mailed_and_only_the_digest_of_its_token_is_stored(boss, invite):
    answer, token = invite(boss, email=" New@Example.ORG ")
    member = answer.json()["member"]
    assert (member["email"], member["role"], member["status"]) == (EMAIL, "reviewer", "invited")
    assert (member["userId"], member["name"]) == (None, None)
    assert token not in answer.content.decode()
    row = Membership.objects.get(user=None)
    assert bytes(row.token_digest) == hashlib.sha256(token.encode()).digest()
    assert row.invited_by == boss.user
    assert timedelta(days=6, hours=23) < row.expires_at - timezone.now() < timedelta(days=7)
    sent = mail.outbox[-1]
    assert sent.to == [EMAIL]
    assert f"http://localhost:8000/invitations/{token}" in sent.body or "/invitations/" in sent.body


def test_an_invitation_does_not_reveal_whether_the_person_has_an_account(boss, invite):
    UserFactory(email="known@example.org", name="Known")
    shown = []
    for email in ("known@example.org", "unknown@example.org"):
        member = invite(boss, email=email)[0].json()["member"]
        shown.append({**member, "id": "", "email": "", "createdAt": "", "expiresAt": ""})
    assert shown[0] == shown[1]


def test_a_second_invitation_invalidates_the_first_link(boss, invite):
    _, first = invite(boss)
    answer, second = invite(boss, role="training_operator")
    assert answer.json()["member"]["role"] == "training_operator"
    assert Membership.objects.filter(user=None).count() == 1
    assert joining.find(first) is None
    assert joining.find(second) is not None


def test_repeated_invitations_to_one_address_are_throttled(boss):
    statuses = [boss.post("/members", {"email": EMAIL, "role": "reviewer"}).status_code for _ in range(7)]
    assert statuses == [201] * 5 + [429] * 2
    assert int(boss.last["Retry-After"]) > 0
    assert boss.post("/members", {"email": "else@example.org", "role": "reviewer"}).status_code == 201


def test_an_invited_person_is_no_member_until_they_accept(boss, invite):
    _, token = invite(boss, role="organization_admin")
    user = UserFactory(email=EMAIL)
    members_here = boss.get("/members?status=active").json()["members"]
    assert [member["userId"] for member in members_here] == [ids.encode("user", boss.user.pk)]
    assert take(token).user == user
    assert boss.get("/members?status=invited").json()["members"] == []


@pytest.mark.parametrize("email", ["", "nobody", "a@b", "a b@example.org", "a@example.org\nBcc: x@example.org"])
def test_an_invalid_address_is_refused(boss, invite, email):
    assert invite(boss, email=email)[0].status_code == 400
    assert not Membership.objects.filter(user=None).exists()


def test_a_member_cannot_be_invited(boss, operator, invite):
    assert code(invite(boss, email=operator.user.email)[0]) == (409, "already_member")


def test_an_expired_invitation_is_shown_as_expired_and_deleted_later(boss, invite):
    _, token = invite(boss)
    Membership.objects.filter(user=None).update(expires_at=timezone.now() - timedelta(days=1))
    assert joining.find(token) is None
    assert [member["status"] for member in boss.get("/members?status=invited").json()["members"]] == ["expired"]
    invitations.clean()
    assert Membership.objects.filter(user=None).exists()
    Membership.objects.filter(user=None).update(expires_at=timezone.now() - timedelta(days=31))
    invitations.clean()
    assert not Membership.objects.filter(user=None).exists()


def test_an_invitation_is_withdrawn(boss, invite):
    answer, token = invite(boss)
    assert boss.delete(f"/members/{answer.json()['member']['id']}").status_code == 204
    assert take(token) is None


def test_an_invitation_ends_when_its_sender_loses_the_right(boss, second, invite):
    """Otherwise a member about to be removed could invite themselves by another address."""
    _, token = invite(second, role="organization_admin")
    assert boss.patch(path_of(second), {"role": "training_operator"}).status_code == 200
    assert take(token) is None
    assert boss.patch(path_of(second), {"role": "organization_admin"}).status_code == 200
    assert joining.find(token) is not None
    assert boss.delete(path_of(second)).status_code == 204
    assert take(token) is None


def test_another_person_does_not_take_it(boss, invite):
    _, token = invite(boss)
    assert take(token, email="somebody.else@example.org") is None


# --- no climbing ----------------------------------------------------------------------------------------------------


def test_nobody_invites_to_a_role_above_their_own(boss, operating, api_for, invite):
    assert code(invite(boss, role="admin")[0]) == (403, "beyond_own_role")
    theirs = api_for(role="organization_admin", organization=operating)
    assert code(invite(theirs, role="admin")[0]) == (403, "beyond_own_role")
    inviter = custom(boss.organization, "front desk", members="create read organization")
    desk = api_for(role=inviter, organization=boss.organization)
    for role in ("organization_admin", "reviewer"):
        assert code(invite(desk, role=role)[0]) == (403, "beyond_own_role")
    assert invite(desk, role="front desk")[0].status_code == 201


def test_an_invitation_above_ones_role_cannot_be_replaced_changed_or_deleted(boss, api_for, invite):
    answer, token = invite(boss, role="organization_admin")
    desk_role = custom(boss.organization, "desk", members="create read update delete organization")
    desk = api_for(role=desk_role, organization=boss.organization)
    assert code(invite(desk, role="desk")[0]) == (403, "beyond_own_role")
    path = f"/members/{answer.json()['member']['id']}"
    assert code(desk.patch(path, {"role": "desk"})) == (403, "beyond_own_role")
    assert code(desk.delete(path)) == (403, "beyond_own_role")
    assert joining.find(token).role.name == "organization_admin"


def test_nobody_changes_their_own_role_by_key_or_by_another_of_their_organizations(boss, admin_api):
    for role in ("organization_admin", "reviewer", "admin"):
        assert code(boss.patch(path_of(boss), {"role": role})) == (403, "own_role")
    elsewhere = ApiKeyFactory(user=admin_api.user, role="reviewer")
    there = Membership.objects.get(user=admin_api.user, organization=elsewhere.organization)
    assert code(admin_api.patch(f"/members/{there.public_id}", {"role": "admin"})) == (403, "own_role")


def test_nobody_assigns_a_role_above_their_own_or_changes_a_member_above_them(operating, api_for):
    boss = api_for(role="organization_admin", organization=operating)
    operator = api_for(role="training_operator", organization=operating)
    above = api_for(role="admin", organization=operating)
    assert code(boss.patch(path_of(operator), {"role": "admin"})) == (403, "beyond_own_role")
    assert code(boss.patch(path_of(above), {"role": "reviewer"})) == (403, "beyond_own_role")
    assert code(boss.delete(path_of(above))) == (403, "beyond_own_role")
    assert role_held(operator) == "training_operator"
    assert boss.patch(path_of(operator), {"role": "organization_admin"}).status_code == 200
    assert role_held(operator) == "organization_admin"


def test_a_role_of_another_organization_cannot_be_assigned(boss, operator):
    foreign = custom(OrganizationFactory(), "theirs", tasks="read organization")
    answer = boss.patch(path_of(operator), {"role": ids.encode("role", foreign.pk)})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/role")
    assert boss.patch(path_of(operator), {"role": "theirs"}).status_code == 400


def test_members_of_another_organization_are_not_found(boss, api_for):
    there = api_for(role="reviewer")
    for method in ("GET", "PATCH", "DELETE"):
        body = {"role": "reviewer"} if method == "PATCH" else None
        assert boss.call(method, path_of(there), body).status_code == 404
    assert boss.get(f"/members?organizationId={ids.encode('org', there.organization.pk)}").json()["members"] == []
    foreign = {"organizationId": ids.encode("org", there.organization.pk)}
    assert boss.post("/members", {"email": EMAIL, "role": "reviewer", **foreign}).status_code == 404


def test_operators_run_all_organizations(admin_api, invite, api_for):
    there = OrganizationFactory()
    where = {"organizationId": ids.encode("org", there.pk)}
    answer, token = invite(admin_api, role="organization_admin", **where)
    assert answer.json()["member"]["organizationId"] == where["organizationId"]
    assert take(token).organization == there
    members = admin_api.get(f"/members?organizationId={where['organizationId']}").json()["members"]
    assert [member["email"] for member in members] == [EMAIL]


# --- leaving, being removed, the last one ---------------------------------------------------------------------------


def test_a_removed_member_loses_their_keys_permanently(boss, operator):
    assert boss.delete(path_of(operator)).status_code == 204
    assert operator.get("/tasks").status_code == 401
    Membership.objects.create(organization=boss.organization, user=operator.user, role=role_of("training_operator"))
    assert operator.get("/tasks").status_code == 401
    assert ApiKey.objects.get(pk=operator.api_key.pk).revoked_at is not None


def test_the_last_member_who_may_change_members_cannot_leave(boss, second, operator):
    assert boss.delete(path_of(boss)).status_code == 204  # the second is still there
    assert code(second.delete(path_of(second))) == (409, "last_admin")
    above = Principal(second.organization, role_of("organization_admin"), UserFactory())
    last = Membership.objects.get(user=second.user)
    for attempt in (
        lambda: membership.change_role(above, last.pk, "reviewer"),
        lambda: membership.remove(above, last.pk),
    ):
        with pytest.raises(AutotuneError) as refused:
            attempt()
        assert refused.value.code == "last_admin"
    assert role_held(second) == "organization_admin"


def test_invited_and_inactive_people_do_not_count_as_admins(boss, second, invite):
    invite(boss, role="organization_admin")
    User.objects.filter(pk=second.user.pk).update(is_active=False)
    assert code(boss.delete(path_of(boss))) == (409, "last_admin")


def test_other_roles_are_refused_before_anything_is_revealed(operator, boss):
    for method, path in (("GET", "/members"), ("POST", "/members"), ("GET", path_of(boss)), ("DELETE", path_of(boss))):
        assert code(operator.call(method, path)) == (403, "forbidden")
    assert Api().get("/members").status_code == 401


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_two_admins_who_demote_each_other_concurrently_leave_one():
    organization = OrganizationFactory()
    pair = []
    for _ in range(2):
        key = ApiKeyFactory(organization=organization, role="organization_admin")
        pair.append((Principal(organization, key.role, key.user), Membership.objects.get(user=key.user)))

    def demote(by, whom):
        try:
            membership.change_role(by, whom.pk, "reviewer")
        except AutotuneError as exc:
            return exc.code
        return "done"

    (first, her), (second, him) = pair
    assert sorted(together(lambda: demote(first, him), lambda: demote(second, her))) == ["done", "last_admin"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_concurrent_invitations_to_one_address_leave_one():
    key = ApiKeyFactory()
    principal = Principal(key.organization, key.role, key.user)
    body = Invitation(email=EMAIL, role="reviewer")
    together(*[lambda: invitations.invite(principal, body)] * 4)
    assert Membership.objects.filter(user=None).count() == 1

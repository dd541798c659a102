"""The permissions of the person who requested an export count when it runs."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.models import Membership, Role
from exports.models import Export
from tests.exports.jobs.conftest import content_of, download

pytestmark = pytest.mark.django_db


def test_an_owner_who_lost_the_right_gets_no_export(api, scored, ask, run):
    scored(1)
    left, demoted, revoked = ask(), ask(), ask()
    person = Membership.objects.get(user=api.user)
    Export.objects.exclude(pk=demoted.pk).update(leased_until=timezone.now() + timedelta(hours=1))
    person.role = Role.objects.get(organization=None, name="reviewer")
    person.save()
    assert run(demoted).error_code == "forbidden"
    person.delete()
    Export.objects.filter(pk=left.pk).update(leased_until=None)
    assert run(left).error_code == "forbidden"
    Membership.objects.create(
        organization=api.organization, user=api.user, role=Role.objects.get(organization=None, name="training_operator")
    )
    api.api_key.revoked_at = timezone.now()
    api.api_key.save()
    Export.objects.filter(pk=revoked.pk).update(leased_until=None)
    assert run(revoked).error_code == "forbidden"
    assert {row.file_key for row in Export.objects.all()} == {None}


def test_a_job_has_the_limits_of_the_key_that_started_it(api_for, task, api, run, ask):
    """Both at the time it is asked for and when the key is gone."""
    role = Role.objects.create(
        name="own",
        organization=api.organization,
        permissions=[{"resource": "exports", "actions": ["create", "read"], "scope": "own"}],
    )
    narrow = api_for(organization=api.organization, user=api.user, role=role)
    export = ask(by=narrow)
    assert export.reach == "own"
    Export.objects.filter(pk=export.pk).update(api_key=None)
    assert run(export).error_code == "forbidden"  # the person reads more widely than the key did


def test_readers_with_a_narrower_scope_do_not_see_it(api_for, api, ask, run, operating):
    admin = api_for(organization=operating, role="admin")
    colleague = api_for(organization=operating, role="training_operator")
    wide = run(ask(by=admin))
    assert wide.reach == "all"
    for method, path in (("GET", ""), ("GET", "/download"), ("POST", "/links"), ("POST", "/cancel")):
        assert colleague.call(method, f"/exports/{wide.public_id}{path}").status_code == 404, path
    assert colleague.get("/exports").json()["exports"] == []
    role = Role.objects.create(
        name="own",
        organization=api.organization,
        permissions=[{"resource": "exports", "actions": ["create", "read"], "scope": "own"}],
    )
    mine = run(ask())
    narrow = api_for(organization=api.organization, user=api.user, role=role)
    assert narrow.get(f"/exports/{mine.public_id}").status_code == 404


@pytest.mark.parametrize("member", ["dimensions", "dimensionColumns"])
def test_dimensions_are_for_those_who_read_reasoning(api_for, api, scored, ask, run, member):
    scored(1)
    telling, plain = run(ask(**{member: True})), run(ask())
    role = Role.objects.create(
        name="without dimensions",
        organization=api.organization,
        permissions=[{"resource": "exports", "actions": ["create", "read", "update"], "scope": "organization"}],
    )
    narrow = api_for(organization=api.organization, role=role)
    for method, path in (("GET", ""), ("GET", "/download"), ("POST", "/links"), ("POST", "/cancel")):
        assert narrow.call(method, f"/exports/{telling.public_id}{path}").status_code == 404, path
    assert [export["id"] for export in narrow.get("/exports").json()["exports"]] == [plain.public_id]
    assert content_of(download(narrow, plain))
    assert content_of(download(api_for(organization=api.organization, role="training_operator"), telling))
    mine = run(ask(by=narrow, **{member: True}))
    assert content_of(download(narrow, mine))

"""Keys, members, roles, erasures and holds through the client."""

from datetime import UTC, datetime, timedelta

import pytest
from autotune_sdk import AuthenticationError, AutotuneClient, ConflictError, NotFound, PermissionDenied

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
READS = [{"resource": "tasks", "actions": ["read"], "scope": "organization"}]


def test_the_whole_life_of_a_key(client, live_server):
    ends = datetime.now(UTC) + timedelta(days=3)
    new_key = client.api_keys.create(
        name="trainer", role="training_operator", expires_at=ends, networks=["127.0.0.0/8"]
    )
    assert (new_key.api_key.role, new_key.api_key.networks, new_key.api_key.kind) == (
        "training_operator", ("127.0.0.0/8",), "live",
    )  # fmt: skip
    with AutotuneClient(new_key.secret, live_server.url, max_retries=0) as trainer:
        assert trainer.tasks.list().total == 0
        with pytest.raises(PermissionDenied):
            trainer.api_keys.create(name="more", role="organization_admin")
        assert new_key.api_key.id in [row.id for row in client.api_keys.list(status="usable")]
        assert client.api_keys.update(new_key.api_key.id, name="night").name == "night"
        new = client.api_keys.rotate(new_key.api_key.id, grace_hours=0)
        assert client.api_keys.get(new_key.api_key.id).replaced_by == new.api_key.id
        with pytest.raises(AuthenticationError):
            trainer.tasks.list()
    with AutotuneClient(new.secret, live_server.url, max_retries=0) as trainer:
        assert trainer.tasks.list().total == 0
        client.api_keys.revoke(new.api_key.id)
        with pytest.raises(AuthenticationError):
            trainer.tasks.list()


def test_people_are_invited_given_roles_and_removed(client):
    role = client.roles.create(name="task reader", permissions=READS, description="Reads.")
    assert (role.built_in, role.permissions[0].actions) == (False, ("read",))
    assert client.roles.update(role.id, description=None).description is None
    invited = client.members.invite(email="new@example.org", role="task reader")
    assert (invited.status, invited.user_id, invited.role_id) == ("invited", None, role.id)
    with pytest.raises(ConflictError):
        client.roles.delete(role.id)
    assert client.members.update(invited.id, role="reviewer").role == "reviewer"
    assert client.members.get(invited.id).email == "new@example.org"
    assert [row.id for row in client.members.list(status="invited")] == [invited.id]
    client.members.remove(invited.id)
    client.roles.delete(role.id)
    with pytest.raises(NotFound):
        client.roles.get(role.id)
    assert {each_role.name for each_role in client.roles.list() if each_role.built_in} >= {"admin", "reviewer"}


def test_erasures_and_holds_are_requested(client, task):
    erasure = client.erasures.create(task_id=task.id)
    assert client.erasures.get(erasure.id).task_id == task.id
    assert [row.id for row in client.erasures.list()] == [erasure.id]
    hold = client.legal_holds.create(reason="Case 12", model_id="m")
    assert [row.id for row in client.legal_holds.list(active=True)] == [hold.id]
    client.legal_holds.release(hold.id)
    assert client.legal_holds.get(hold.id).released_at is not None


def test_the_audit_log_records_what_was_done(client):
    client.roles.list()
    events = list(client.audit_events.iterate(limit=1, resource="roles"))
    assert events
    assert client.audit_events.get(events[0].id).resource == "roles"

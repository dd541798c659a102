"""Sessions at rest: a dump of the table opens none of them, and shows nothing that is in one."""

import json
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from autotune.access import jobs
from autotune.access.accounts import sessions
from autotune.access.accounts.sessions import SessionStore
from autotune.access.models import WebSession
from tests.access.accounts.people import PASSWORD, browser, confirm, is_in, log_in, logged_in, person

pytestmark = pytest.mark.django_db
FRESH = "another sentence of mine"
COOKIE = settings.SESSION_COOKIE_NAME


def key_of(client):
    return client.cookies[COOKIE].value


def with_key(key):
    client = browser()
    client.cookies[COOKIE] = key
    return client


def stored():
    """Everything in the table, as bytes and as their hexadecimal digits."""
    rows = [[bytes(v) if isinstance(v, memoryview) else v for v in row] for row in WebSession.objects.values_list()]
    content = b"|".join(v if isinstance(v, bytes) else str(v).encode() for row in rows for v in row)
    return content + content.hex().encode()


def test_the_table_contains_neither_session_keys_nor_session_data():
    client = logged_in(person())
    confirm(client)
    page = client.get("/account/second-factor/on").content.decode()
    secret = client.session["mfa.totp.secret"]
    assert secret in page
    held = stored()
    for text in (key_of(client), secret, "mfa.totp.secret", "_auth_user_backend"):
        assert text.encode() not in held
        assert text.encode().hex().encode() not in held


def test_the_stored_digest_opens_no_session():
    client = logged_in(person())
    row = WebSession.objects.get()
    for text in (bytes(row.key_digest).hex(), bytes(row.key_digest).decode("latin-1"), str(row.pk), row.public_id, ""):
        assert not is_in(with_key(text.replace("\0", "")))
    assert is_in(with_key(key_of(client)))


def test_data_moved_to_another_session_is_ignored():
    """Who can write to the table, and has a session of their own, does not become somebody else."""
    mighty = logged_in(person("boss@example.org", is_staff=True, is_superuser=True))
    mine = logged_in(person())
    theirs, own = WebSession.objects.order_by("created_at")
    WebSession.objects.filter(pk=own.pk).update(data=theirs.data, user=theirs.user, auth_hash=theirs.auth_hash)
    assert not is_in(mine)
    assert is_in(mighty)


def test_altered_session_data_is_ignored():
    key = key_of(logged_in(person()))
    row = WebSession.objects.get()
    for content in (b"", b"x" * 12, bytes(row.data)[:-1], bytes(row.data)[:-1] + bytes([bytes(row.data)[-1] ^ 1])):
        WebSession.objects.update(data=content)
        assert not is_in(with_key(key))
    WebSession.objects.update(data=row.data)
    assert is_in(with_key(key))


def test_the_key_changes_with_the_login_and_the_old_one_is_gone():
    client = browser()
    before = client.session
    before["kept"] = "is here"
    before.save()
    assert log_in(client, person()).status_code == 302
    assert key_of(client) != before.session_key
    assert client.session["kept"] == "is here"
    assert not SessionStore().exists(before.session_key)
    assert WebSession.objects.count() == 1


def test_a_session_key_chosen_by_the_client_is_replaced_at_login():
    chosen = "k" * 32
    client = with_key(chosen)
    log_in(client, person())
    assert key_of(client) != chosen
    assert not SessionStore().exists(chosen)


def test_an_expired_session_is_anonymous_and_deleted_daily():
    client, other = logged_in(person()), logged_in(person("other@example.org"))
    ended = WebSession.objects.order_by("created_at").first()
    WebSession.objects.filter(pk=ended.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not is_in(client)
    assert is_in(other)
    jobs.clean_up()
    assert not WebSession.objects.filter(pk=ended.pk).exists()
    assert is_in(other)


def test_a_session_ended_during_a_request_is_not_saved_again():
    store = SessionStore()
    store["a"] = 1
    store.save()
    WebSession.objects.all().delete()
    store["a"] = 2
    with pytest.raises(sessions.UpdateError):
        store.save()
    assert not WebSession.objects.exists()


def test_a_new_password_keeps_the_current_session():
    user = person()
    thief, client = logged_in(user), logged_in(user, User_Agent="Mine/1")
    client.post("/account/password", {"oldpassword": PASSWORD, "password1": FRESH, "password2": FRESH})
    assert is_in(client)
    assert not is_in(thief)
    user.refresh_from_db()
    row = WebSession.objects.get(user=user)
    assert (row.user_agent, row.address) == ("Mine/1", "127.0.0.1"), "it is still known from where"
    assert [session.pk for session in sessions.of(user)] == [row.pk]


def test_a_password_changed_by_a_command_ends_all_sessions():
    user = person()
    client = logged_in(user)
    user.set_password(FRESH)
    user.save()
    assert list(sessions.of(user)) == []
    assert not is_in(client)


def test_with_another_secret_key_the_old_sessions_end():
    key = key_of(logged_in(person()))
    with override_settings(SECRET_KEY="y" * 60):
        assert not is_in(with_key(key))
    assert is_in(with_key(key))


def test_session_data_is_json():
    store = SessionStore()
    store["text"], store["list"] = "ø", [1, None, {"a": True}]
    store.save()
    again = SessionStore(store.session_key)
    assert json.loads(json.dumps(dict(again.items()))) == {"text": "ø", "list": [1, None, {"a": True}]}

"""Master keys change under load: data keys are wrapped again, and no text is touched."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from autotune.access.models import AuditEvent
from autotune.core import ids
from autotune.core.crypto import encryption, keyproviders, rotation
from autotune.core.crypto.encryption import MasterKeyMissing, place
from autotune.core.crypto.keyproviders import LocalKeys, RefusedKey, UnknownKey
from autotune.core.models import DataKey
from tests.support.concurrency import together

FIRST, SECOND = "first:" + "1a" * 32, "second:" + "2b" * 32
AT, TEXT = place("tasks_completion", "prompt"), b"what a customer wrote"


@pytest.fixture
def masters(settings):
    """`masters(entry, …)`: a restart with these master keys."""

    def restart(*entries):
        settings.AUTOTUNE_ENCRYPTION_KEYS = ",".join(entries)
        settings.AUTOTUNE_ENCRYPTION_KEYS_PATH = None  # else the file of the embedded engine would be asked too
        encryption.keyring.clear()

    restart(FIRST)
    return restart


@pytest.fixture
def written(db, masters):
    """Envelopes of three organizations, and a digest, under the first master key."""
    scopes = [ids.new() for _ in range(3)]
    row = ids.new()
    envelopes = [encryption.cipher_for(scope).encrypt(AT, row, TEXT) for scope in scopes]
    return scopes, row, envelopes, encryption.content_digest(scopes[0], TEXT)


def test_after_a_rotation_the_old_master_key_is_not_needed(written, masters):
    scopes, row, envelopes, digest = written
    masters(SECOND, FIRST)
    assert rotation.rewrap().rewrapped == 4
    assert rotation.wrapped_by() == {"second": 4}
    masters(SECOND)
    assert [encryption.decrypt(AT, row, envelope) for envelope in envelopes] == [TEXT] * 3
    assert encryption.content_digest(scopes[0], TEXT) == digest


def test_a_process_with_the_old_key_order_still_reads_and_writes(written, masters):
    _, row, envelopes, _ = written
    masters(SECOND, FIRST)
    rotation.rewrap()
    masters(FIRST, SECOND)  # another process, not yet restarted
    assert encryption.decrypt(AT, row, envelopes[0]) == TEXT
    envelope = encryption.cipher_for(ids.new()).encrypt(AT, row, TEXT)
    masters(SECOND, FIRST)
    assert encryption.decrypt(AT, row, envelope) == TEXT
    assert rotation.wrapped_by() == {"first": 1, "second": 4}
    assert rotation.rewrap().rewrapped == 1


def test_a_rotation_again_does_nothing(written, masters):
    masters(SECOND, FIRST)
    rotation.rewrap()
    before = set(DataKey.objects.values_list("pk", "wrapping_key"))
    assert rotation.rewrap().rewrapped == 0
    assert set(DataKey.objects.values_list("pk", "wrapping_key")) == before


def test_data_keys_that_no_master_key_opens_are_counted_and_kept(written, masters):
    masters(SECOND)
    done = rotation.rewrap()
    assert (done.rewrapped, done.failed) == (0, {"first": 4})
    assert rotation.wrapped_by() == {"first": 4}
    masters(FIRST)
    assert encryption.decrypt(AT, written[1], written[2][0]) == TEXT


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_two_rotations_at_once_leave_every_data_key_readable(masters):
    row, scopes = ids.new(), [ids.new() for _ in range(40)]
    envelopes = [encryption.cipher_for(scope).encrypt(AT, row, TEXT) for scope in scopes]
    masters(SECOND, FIRST)
    assert sum(done.rewrapped for done in together(*[rotation.rewrap] * 3)) == 40
    masters(SECOND)
    assert [encryption.decrypt(AT, row, envelope) for envelope in envelopes] == [TEXT] * 40


def test_a_key_added_to_the_file_is_found_without_a_restart(written, masters, settings, tmp_path):
    settings.AUTOTUNE_ENCRYPTION_KEYS_PATH = tmp_path / "keys"
    settings.AUTOTUNE_ENCRYPTION_KEYS_PATH.write_text(f"{FIRST}\n")
    keyproviders._made.cache_clear()
    encryption.keyring.clear()
    assert keyproviders.provider().current() == "first"
    DataKey.objects.update(wrapping_key="second")
    with pytest.raises(MasterKeyMissing, match="lacks the key 'second'"):
        encryption.decrypt(AT, written[1], written[2][0])
    (tmp_path / "keys").write_text(f"second:{FIRST.partition(':')[2]},{FIRST}\n")
    assert encryption.decrypt(AT, written[1], written[2][0]) == TEXT
    assert keyproviders.provider().current() == "second"
    keyproviders._made.cache_clear()


def test_the_local_keys_refuse_other_names_contexts_and_altered_data():
    keys = LocalKeys(f"{FIRST},{SECOND}")
    wrapped = keys.wrap("first", b"k" * 32, b"context")
    assert keys.unwrap("first", wrapped, b"context") == b"k" * 32
    for name, content, context in [
        ("second", wrapped, b"context"),
        ("first", wrapped, b"another context"),
        ("first", wrapped[:-1] + bytes([wrapped[-1] ^ 1]), b"context"),
        ("first", b"", b"context"),
    ]:
        with pytest.raises(RefusedKey):
            keys.unwrap(name, content, context)
    with pytest.raises(UnknownKey):
        keys.unwrap("third", wrapped, b"context")


class Service:
    """A key management service in small: its keys stay inside, and what it wraps looks otherwise than ours."""

    inside = LocalKeys(SECOND)

    def current(self):
        return "second"

    def wrap(self, key_id, data_key, context):
        return b"service:" + self.inside.wrap(key_id, data_key, context)

    def unwrap(self, key_id, wrapped, context):
        return self.inside.unwrap(key_id, wrapped.removeprefix(b"service:"), context)


@pytest.mark.django_db
def test_another_provider_wraps_and_unwraps(settings):
    settings.AUTOTUNE_ENCRYPTION_KEYS = ""
    settings.AUTOTUNE_KEY_PROVIDER = f"{__name__}.Service"
    scope, row = ids.new(), ids.new()
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    encryption.keyring.clear()
    assert encryption.decrypt(AT, row, envelope) == TEXT
    assert bytes(DataKey.objects.get().wrapped).startswith(b"service:")


def test_a_missing_provider_is_named(settings):
    settings.AUTOTUNE_KEY_PROVIDER = "nowhere.Provider"
    with pytest.raises(ImproperlyConfigured, match=r"nowhere\.Provider"):
        keyproviders.provider()


def test_the_command_rotates_and_reports_when_the_old_key_may_be_removed(written, masters, capsys):
    masters(SECOND, FIRST)
    call_command("rotate_keys", "--check")
    assert "Keep first" in capsys.readouterr().out
    call_command("rotate_keys")
    output = capsys.readouterr().out
    assert "4 data keys wrapped again under second." in output
    assert "may be removed" in output
    event = AuditEvent.objects.get(action="keys.rotated")
    assert (event.actor, event.object_id, event.objects_count) == ("rotate_keys", "second", 4)


def test_the_command_fails_where_a_data_key_is_lost(written, masters):
    masters(SECOND)
    with pytest.raises(CommandError, match="4 by first"):
        call_command("rotate_keys")

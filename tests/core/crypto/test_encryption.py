"""Encryption at rest: a ciphertext decrypts only in its own row and column, and keys rotate without loss."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from autotune.core import ids
from autotune.core.crypto import encryption, keyproviders
from autotune.core.crypto.encryption import Undecryptable, place
from autotune.core.models import DataKey
from tests.support.concurrency import together

FIRST, SECOND = "first:" + "1a" * 32, "second:" + "2b" * 32
AT, TEXT = place("tasks_completion", "prompt"), b"what a customer wrote"
JANUARY, FEBRUARY = datetime(2026, 1, 31, 23, 59, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def scope():
    return ids.new()


@pytest.fixture
def row():
    return ids.new()


@pytest.fixture
def masters(settings):
    """`masters(entry, …)`: a restart with these master keys."""

    def restart(*entries):
        settings.AUTOTUNE_ENCRYPTION_KEYS = ",".join(entries)
        settings.AUTOTUNE_ENCRYPTION_KEYS_PATH = None  # else the file of the embedded engine would be asked too
        encryption.keyring.clear()

    restart(FIRST)
    return restart


@pytest.mark.django_db
def test_encrypted_text_decrypts_to_the_original(scope, row):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    assert TEXT not in envelope
    assert encryption.decrypt(AT, row, envelope) == TEXT
    assert encryption.decrypt(AT, row, memoryview(envelope)) == TEXT


@pytest.mark.django_db
def test_equal_texts_have_different_ciphertexts(scope, row):
    cipher = encryption.cipher_for(scope)
    assert len({cipher.encrypt(AT, row, TEXT) for _ in range(100)}) == 100


@pytest.mark.django_db
@pytest.mark.parametrize(
    "elsewhere",
    [place("tasks_completion", "response"), place("tasks_task", "prompt")],
    ids=["column", "table"],
)
def test_a_ciphertext_moved_to_another_place_is_refused(scope, row, elsewhere):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    with pytest.raises(Undecryptable):
        encryption.decrypt(elsewhere, row, envelope)


@pytest.mark.django_db
def test_a_ciphertext_moved_to_another_row_is_refused(scope, row):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    with pytest.raises(Undecryptable):
        encryption.decrypt(AT, ids.new(), envelope)


@pytest.mark.django_db
def test_a_ciphertext_with_any_bit_altered_is_refused(scope, row):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    for index in range(len(envelope)):
        altered = bytearray(envelope)
        altered[index] ^= 1 << index % 8
        with pytest.raises(Undecryptable):
            encryption.decrypt(AT, row, bytes(altered))


@pytest.mark.django_db
def test_a_ciphertext_cut_at_any_length_is_refused(scope, row):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    for length in range(len(envelope)):
        with pytest.raises(Undecryptable):
            encryption.decrypt(AT, row, envelope[:length])


@pytest.mark.django_db
def test_another_master_key_of_the_same_name_opens_nothing(masters, scope, row):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    encryption.decrypt(AT, row, envelope)
    masters("first:" + "ff" * 32)
    with pytest.raises(Undecryptable, match="'first' is not the one"):
        encryption.decrypt(AT, row, envelope)


@pytest.mark.django_db
def test_a_missing_master_key_is_named(masters, scope, row):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    masters(SECOND)
    with pytest.raises(Undecryptable, match="lacks the key 'first'"):
        encryption.decrypt(AT, row, envelope)


@pytest.mark.django_db
def test_after_a_rotation_the_old_key_still_unwraps_and_the_first_wraps(masters, scope, row):
    old = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    masters(SECOND, FIRST)
    assert encryption.decrypt(AT, row, old) == TEXT
    assert encryption.cipher_for(scope).key_id == DataKey.objects.get(scope=scope).pk  # this month's stays in use
    other = ids.new()
    new = encryption.cipher_for(other).encrypt(AT, row, TEXT)
    assert DataKey.objects.get(scope=other).wrapping_key == "second"
    masters(SECOND)
    assert encryption.decrypt(AT, row, new) == TEXT


@pytest.mark.django_db
def test_each_organization_and_month_has_a_data_key_of_its_own(scope):
    other = ids.new()
    used = [encryption.cipher_for(who, now=when).key_id for who in (scope, other) for when in (JANUARY, FEBRUARY)]
    assert len(set(used)) == 4
    assert encryption.cipher_for(scope, now=JANUARY).key_id == used[0]
    assert set(DataKey.objects.values_list("period", flat=True)) == {"2026-01", "2026-02"}


@pytest.mark.django_db
def test_without_its_data_key_a_text_cannot_be_recovered(scope, row):
    envelope = encryption.cipher_for(scope).encrypt(AT, row, TEXT)
    DataKey.objects.all().delete()
    encryption.keyring.clear()
    with pytest.raises(Undecryptable, match="dropped"):
        encryption.decrypt(AT, row, envelope)


@pytest.mark.django_db
def test_a_wrapped_key_put_into_another_row_does_not_unwrap(scope, row):
    encryption.cipher_for(scope)
    theirs = DataKey.objects.get(scope=scope)
    mine = encryption.cipher_for(ids.new()).encrypt(AT, row, TEXT)
    DataKey.objects.exclude(pk=theirs.pk).update(wrapped=theirs.wrapped)
    encryption.keyring.clear()
    with pytest.raises(Undecryptable):
        encryption.decrypt(AT, row, mine)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_data_key_that_was_rolled_back_is_not_kept(scope, row):
    with transaction.atomic():
        lost = encryption.cipher_for(scope)
        assert encryption.decrypt(AT, row, lost.encrypt(AT, row, TEXT)) == TEXT
        lost_digest = encryption.digest_key(scope)
        transaction.set_rollback(True)
    kept = encryption.cipher_for(scope)
    assert kept.key_id != lost.key_id
    assert encryption.digest_key(scope) != lost_digest
    encryption.keyring.clear()
    assert encryption.decrypt(AT, row, kept.encrypt(AT, row, TEXT)) == TEXT


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_committed_data_key_is_cached_without_further_queries(scope, row, django_assert_num_queries):
    with transaction.atomic():
        cipher = encryption.cipher_for(scope)
    with django_assert_num_queries(0):
        assert encryption.cipher_for(scope) is cipher
        encryption.decrypt(AT, row, cipher.encrypt(AT, row, TEXT))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_concurrent_first_uses_create_one_data_key(scope):
    def first_use():
        with transaction.atomic():
            return encryption.cipher_for(scope).key_id, encryption.digest_key(scope)

    assert len(set(together(*[first_use] * 8))) == 1
    assert sorted(DataKey.objects.filter(scope=scope).values_list("period", flat=True))[1:] == ["digest"]


@pytest.mark.django_db
def test_a_content_digest_is_stable_over_restarts_months_and_rotations(masters, scope):
    first = encryption.content_digest(scope, b"prompt", b"response")
    masters(SECOND, FIRST)
    assert encryption.content_digest(scope, b"prompt", b"response") == first
    assert len(first) == 32
    assert DataKey.objects.get().period == "digest"


@pytest.mark.django_db
def test_a_content_digest_depends_on_the_organization_and_on_where_the_parts_end(scope):
    digests = {
        encryption.content_digest(who, *parts)
        for who in (scope, ids.new())
        for parts in ((b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), ())
    }
    assert len(digests) == 10


BAD_KEYS = {
    "empty": "",
    "only commas": " , ,",
    "no id": "1a" * 32,
    "short": "k1:" + "1a" * 31,
    "long": "k1:" + "1a" * 33,
    "not hex": "k1:" + "xy" * 32,
    "a space in the id": "k 1:" + "1a" * 32,
    "the same id twice": FIRST + "," + FIRST,
}


@pytest.mark.parametrize("text", BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_malformed_master_keys_are_refused_without_showing_them(settings, text):
    settings.AUTOTUNE_ENCRYPTION_KEYS = text
    with pytest.raises(ImproperlyConfigured) as refused:
        keyproviders.provider()
    assert "1a1a" not in str(refused.value)


def test_master_keys_may_have_spaces_around_them(settings):
    settings.AUTOTUNE_ENCRYPTION_KEYS = f" {FIRST} , {SECOND},"
    assert keyproviders.provider().current() == "first"


@given(st.binary(max_size=200))
def test_invalid_ciphertexts_are_refused_without_a_query(content):
    with pytest.raises(Undecryptable):
        encryption.decrypt(AT, ids.new(), b"\x02" + content)
